//! Sealing: bytes that only the holder of one key reads, whatever the link provides.
//!
//! A sealed message is `epk[32] ‖ ct[1088] ‖ ChaCha20-Poly1305(K, nonce 0, aad info, plaintext)`: 1,136
//! bytes longer than the plaintext. The key `K` comes from an X25519 and an ML-KEM-768 shared
//! secret and from a hash of both public keys, both ciphertexts and `info`.
//!
//! All randomness of one message is its [`Coins`]. A sender that keeps them can prove later what it
//! sealed, since anyone can then [`reopen`] the message.
//!
//! # Security
//! The zero nonce is sound because every message has a fresh key: coins are drawn once per message
//! and never used for two plaintexts. Nothing here says who sealed a message; where that matters,
//! the sealed bytes or their [`digest`] are signed.
//!
//! # Source
//! Committee-mode specification, section 2.3; RFC 7748, FIPS 203, RFC 8439, SP 800-185.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use chacha20poly1305::aead::AeadInOut as _;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit as _, Nonce, Tag};
use horizon_hash::domain::committee as domain;
use horizon_hash::kmac::kmac256;
use horizon_hash::sponge::cshake256;
use horizon_hash::tuplehash::tuple_hash256;
use libcrux_ml_kem::mlkem768::{self, MlKem768Ciphertext, MlKem768PublicKey};
use rand_core::CryptoRng;
use subtle::ConstantTimeEq as _;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::{Zeroize as _, ZeroizeOnDrop, Zeroizing};

use crate::{Error, Malformed, Misuse, Rejected};

/// The secret half: opens what was sealed to [`public`](Self::public).
///
/// # Security
/// Erased on drop, not `Clone`, redacted `Debug`. The ML-KEM library leaves copies of expanded keys
/// on the stack; those are not erased.
pub struct SealingKey {
    x: StaticSecret,
    /// `d ‖ z` of FIPS 203.
    seed: Zeroizing<[u8; 64]>,
    public: SealingPublicKey,
}

/// The public half, checked: the X25519 key is not of small order, the ML-KEM-768 key is canonical.
#[derive(Clone, PartialEq, Eq)]
pub struct SealingPublicKey {
    x: [u8; 32],
    kem: Box<[u8; KEM_KEY_LEN]>,
}

/// All randomness of one sealed message.
///
/// # Security
/// Secret as long as the message is; for one message only. Erased on drop, not `Clone`.
pub struct Coins {
    x: Zeroizing<[u8; 32]>,
    m: Zeroizing<[u8; 32]>,
}

/// What a sealed message of a key ceremony is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Context hash of the ceremony.
    pub ceremony: [u8; 32],
    /// What the plaintext is.
    pub purpose: Purpose,
    /// Position of the sender; [`DEALER`] for a dealer outside the committee.
    pub from: u16,
    /// Position of the recipient.
    pub to: u16,
}

/// What a sealed plaintext is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Purpose {
    /// A member's package of a dealing.
    Package = 1,
    /// Half of a pair seed.
    PairSeed = 2,
    /// A new member's row of a resharing.
    Reshare = 3,
    /// An old member's point of a tie polynomial.
    Tie = 4,
    /// Everything a member needs from one trusted dealer: its share with its pair seeds.
    DealtShare = 0x40,
}

impl SealingKey {
    /// A fresh key.
    #[must_use]
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut secret = Zeroizing::new([0; SECRET_LEN]);
        rng.fill_bytes(&mut *secret);
        Self::from_secret(&secret)
    }

    /// The key of an encoded secret: X25519 scalar (32 bytes, before clamping), then the 64-byte
    /// ML-KEM seed.
    ///
    /// # Errors
    /// [`Malformed::Length`] unless there are 96 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let secret: &[u8; SECRET_LEN] = bytes.try_into().map_err(|_| Malformed::Length {
            field: "sealing key",
            expected: SECRET_LEN,
        })?;
        Ok(Self::from_secret(secret))
    }

    fn from_secret(secret: &[u8; SECRET_LEN]) -> Self {
        let mut scalar = Zeroizing::new([0; 32]);
        let mut seed = Zeroizing::new([0; 64]);
        let (low, high) = secret.split_at(32);
        scalar.copy_from_slice(low);
        seed.copy_from_slice(high);
        let x = StaticSecret::from(*scalar);
        let (mut secret, kem) = mlkem768::generate_key_pair(*seed).into_parts();
        erase(&mut secret);
        let public = SealingPublicKey {
            x: PublicKey::from(&x).to_bytes(),
            kem: Box::new(kem.into()),
        };
        Self { x, seed, public }
    }

    /// The encoded secret, 96 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<[u8; SECRET_LEN]> {
        let mut out = Zeroizing::new([0; SECRET_LEN]);
        let (low, high) = out.split_at_mut(32);
        low.copy_from_slice(self.x.as_bytes());
        high.copy_from_slice(&*self.seed);
        out
    }

    /// The public half.
    #[must_use]
    pub const fn public(&self) -> &SealingPublicKey {
        &self.public
    }

    /// Opens a message sealed to this key for `info`.
    ///
    /// # Errors
    /// [`Malformed`] for a length no sealed message has; [`Rejected::SmallOrder`] for a zero shared
    /// secret; [`Rejected::Seal`] when it was sealed to another key, for another `info`, or altered.
    pub fn open(&self, info: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let parts = Parts::split(sealed)?;
        check_info(info)?;
        let shared = self.x.diffie_hellman(&PublicKey::from(*parts.epk));
        if !shared.was_contributory() {
            return Err(Rejected::SmallOrder.into());
        }
        let (mut secret, _) = mlkem768::generate_key_pair(*self.seed).into_parts();
        let ciphertext = MlKem768Ciphertext::from(*parts.ct);
        let kem = Zeroizing::new(mlkem768::decapsulate(&secret, &ciphertext));
        erase(&mut secret);
        let key = message_key(&self.public, &parts, info, &kem, shared.as_bytes());
        decrypt(&key, info, &parts)
    }
}

impl SealingPublicKey {
    /// Reads `ek_x[32] ‖ ek_m[1184]`.
    ///
    /// # Errors
    /// [`Malformed::Length`]; [`Rejected::SmallOrder`]; [`Rejected::KemKey`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let wrong = Malformed::Length {
            field: "sealing public key",
            expected: PUBLIC_LEN,
        };
        let (x, kem) = bytes.split_first_chunk::<32>().ok_or(wrong)?;
        let kem: [u8; KEM_KEY_LEN] = kem.try_into().map_err(|_| wrong)?;
        // Clamped scalars are multiples of the cofactor: any of them sends a point of small order
        // to the identity.
        let probe = StaticSecret::from([0x55; 32]).diffie_hellman(&PublicKey::from(*x));
        if !probe.was_contributory() {
            return Err(Rejected::SmallOrder.into());
        }
        if !mlkem768::validate_public_key(&MlKem768PublicKey::from(kem)) {
            return Err(Rejected::KemKey.into());
        }
        Ok(Self {
            x: *x,
            kem: Box::new(kem),
        })
    }

    /// `ek_x[32] ‖ ek_m[1184]`.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; PUBLIC_LEN] {
        let mut out = [0; PUBLIC_LEN];
        let (x, kem) = out.split_at_mut(32);
        x.copy_from_slice(&self.x);
        kem.copy_from_slice(&*self.kem);
        out
    }
}

impl Coins {
    /// Fresh coins.
    #[must_use]
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let (mut x, mut m) = (Zeroizing::new([0; 32]), Zeroizing::new([0; 32]));
        rng.fill_bytes(&mut *x);
        rng.fill_bytes(&mut *m);
        Self { x, m }
    }

    /// Coins that were published as evidence: `x`, then `m`.
    #[must_use]
    pub fn from_bytes(x: [u8; 32], m: [u8; 32]) -> Self {
        Self {
            x: Zeroizing::new(x),
            m: Zeroizing::new(m),
        }
    }

    /// `(x, m)`, to publish as evidence. Whoever has them reads the message.
    #[must_use]
    pub fn reveal(&self) -> ([u8; 32], [u8; 32]) {
        (*self.x, *self.m)
    }
}

impl Info {
    /// `ceremony ‖ purpose ‖ be16 from ‖ be16 to`, 37 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; INFO_LEN] {
        let mut out = [0; INFO_LEN];
        out[..32].copy_from_slice(&self.ceremony);
        out[32] = self.purpose as u8;
        out[33..35].copy_from_slice(&self.from.to_be_bytes());
        out[35..].copy_from_slice(&self.to.to_be_bytes());
        out
    }
}

impl Purpose {
    /// The purpose of this code.
    ///
    /// # Errors
    /// [`Malformed::Purpose`] when it is not assigned.
    pub const fn from_code(code: u8) -> Result<Self, Error> {
        Ok(match code {
            1 => Self::Package,
            2 => Self::PairSeed,
            3 => Self::Reshare,
            4 => Self::Tie,
            0x40 => Self::DealtShare,
            _ => return Err(Error::Malformed(Malformed::Purpose)),
        })
    }
}

/// Seals `plaintext` to `to`, bound to `info`.
///
/// # Errors
/// [`Misuse::Long`] above [`PLAINTEXT_LEN_MAX`] or [`INFO_LEN_MAX`]; [`Rejected::SmallOrder`] when the
/// shared secret is zero, which no checked key allows.
///
/// # Security
/// Fresh coins for every message. The result has the length of the plaintext plus
/// [`OVERHEAD_LEN`]: the length is not hidden.
pub fn seal(
    to: &SealingPublicKey,
    info: &[u8],
    plaintext: &[u8],
    coins: &Coins,
) -> Result<Vec<u8>, Error> {
    check_info(info)?;
    if plaintext.len() > PLAINTEXT_LEN_MAX {
        return Err(Misuse::Long {
            field: "plaintext",
            max: PLAINTEXT_LEN_MAX,
        }
        .into());
    }
    let sender = Sender::new(to, coins)?;
    let parts = Parts {
        epk: &sender.epk,
        ct: &sender.ct,
        body: &[],
        tag: &[0; TAG_LEN],
    };
    let key = message_key(to, &parts, info, &sender.kem, &sender.x);
    let mut out = Vec::with_capacity(plaintext.len().saturating_add(OVERHEAD_LEN));
    out.extend_from_slice(&sender.epk);
    out.extend_from_slice(&*sender.ct);
    out.extend_from_slice(plaintext);
    let body = out.get_mut(HEAD_LEN..).unwrap_or_default();
    let cipher = ChaCha20Poly1305::new((&*key).into());
    // The library refuses only plaintexts of 256 GiB.
    let tag = cipher
        .encrypt_inout_detached(&Nonce::default(), info, body.into())
        .map_err(|_| Rejected::Seal)?;
    out.extend_from_slice(&tag);
    Ok(out)
}

/// Opens a message with the coins of its sender, as a judge does: they must reproduce the message.
///
/// # Errors
/// [`Malformed`] for a length no sealed message has; [`Rejected::Coins`] when they give another
/// `epk` or `ct`; [`Rejected::Seal`] when the tag does not verify.
pub fn reopen(
    to: &SealingPublicKey,
    info: &[u8],
    sealed: &[u8],
    coins: &Coins,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    check_info(info)?;
    let parts = Parts::split(sealed)?;
    let sender = Sender::new(to, coins)?;
    let same = sender.epk.ct_eq(parts.epk) & sender.ct.ct_eq(parts.ct.as_slice());
    if !bool::from(same) {
        return Err(Rejected::Coins.into());
    }
    let key = message_key(to, &parts, info, &sender.kem, &sender.x);
    decrypt(&key, info, &parts)
}

/// The 32-byte digest of a sealed message that a ledger carries.
#[must_use]
pub fn digest(sealed: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    cshake256(domain::SEALED, &[sealed], &mut out);
    out
}

/// What the sender computes from its coins.
struct Sender {
    epk: [u8; 32],
    ct: Box<[u8; KEM_CIPHERTEXT_LEN]>,
    x: Zeroizing<[u8; 32]>,
    kem: Zeroizing<[u8; 32]>,
}

impl Sender {
    fn new(to: &SealingPublicKey, coins: &Coins) -> Result<Self, Error> {
        let x = StaticSecret::from(*coins.x);
        let shared = x.diffie_hellman(&PublicKey::from(to.x));
        if !shared.was_contributory() {
            return Err(Rejected::SmallOrder.into());
        }
        let key = MlKem768PublicKey::from(&*to.kem);
        let (ct, kem) = mlkem768::encapsulate(&key, *coins.m);
        Ok(Self {
            epk: PublicKey::from(&x).to_bytes(),
            ct: Box::new(ct.into()),
            x: Zeroizing::new(*shared.as_bytes()),
            kem: Zeroizing::new(kem),
        })
    }
}

/// A sealed message by its fields.
struct Parts<'a> {
    epk: &'a [u8; 32],
    ct: &'a [u8; KEM_CIPHERTEXT_LEN],
    body: &'a [u8],
    tag: &'a [u8; TAG_LEN],
}

impl<'a> Parts<'a> {
    fn split(sealed: &'a [u8]) -> Result<Self, Error> {
        let max = PLAINTEXT_LEN_MAX.saturating_add(OVERHEAD_LEN);
        let field = "sealed message";
        if sealed.len() > max {
            return Err(Malformed::Long { field, max }.into());
        }
        let short = Malformed::Length {
            field,
            expected: OVERHEAD_LEN,
        };
        let (epk, rest) = sealed.split_first_chunk().ok_or(short)?;
        let (ct, rest) = rest.split_first_chunk().ok_or(short)?;
        let (body, tag) = rest.split_last_chunk().ok_or(short)?;
        Ok(Self { epk, ct, body, tag })
    }
}

fn check_info(info: &[u8]) -> Result<(), Error> {
    if info.len() > INFO_LEN_MAX {
        return Err(Misuse::Long {
            field: "info",
            max: INFO_LEN_MAX,
        }
        .into());
    }
    Ok(())
}

fn message_key(
    to: &SealingPublicKey,
    parts: &Parts<'_>,
    info: &[u8],
    kem: &[u8; 32],
    x: &[u8; 32],
) -> Zeroizing<[u8; 32]> {
    let mut context = [0; 64];
    let elements: [&[u8]; 5] = [&to.x, &*to.kem, parts.epk, parts.ct, info];
    tuple_hash256(domain::SEAL_CONTEXT, &elements, &mut context);
    let mut secret = Zeroizing::new([0; 64]);
    let (low, high) = secret.split_at_mut(32);
    low.copy_from_slice(kem);
    high.copy_from_slice(x);
    let mut key = Zeroizing::new([0; 32]);
    kmac256(&*secret, domain::SEAL, &[&context], &mut *key);
    key
}

fn decrypt(
    key: &Zeroizing<[u8; 32]>,
    info: &[u8],
    parts: &Parts<'_>,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let cipher = ChaCha20Poly1305::new((&**key).into());
    let mut body = Zeroizing::new(parts.body.to_vec());
    let tag = Tag::from(*parts.tag);
    cipher
        .decrypt_inout_detached(&Nonce::default(), info, body.as_mut_slice().into(), &tag)
        .map_err(|_| Rejected::Seal)?;
    Ok(body)
}

/// The library's expanded key does not erase itself.
fn erase(key: &mut mlkem768::MlKem768PrivateKey) {
    key[0..].zeroize();
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealingKey").finish_non_exhaustive()
    }
}

impl fmt::Debug for SealingPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealingPublicKey")
            .field("x", &self.x)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Coins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coins").finish_non_exhaustive()
    }
}

impl ZeroizeOnDrop for SealingKey {}
impl ZeroizeOnDrop for Coins {}

/// The `from` of a dealer that is no member of the committee.
pub const DEALER: u16 = u16::MAX;
/// Bytes of an encoded secret key.
pub const SECRET_LEN: usize = 96;
/// Bytes of an encoded public key.
pub const PUBLIC_LEN: usize = 32 + KEM_KEY_LEN;
/// Bytes that sealing adds.
pub const OVERHEAD_LEN: usize = HEAD_LEN + TAG_LEN;
/// Most plaintext bytes in one message: a share of 1,024 members with all but one of them needed.
pub const PLAINTEXT_LEN_MAX: usize = 12 << 20;
/// Bytes of an encoded [`Info`].
pub const INFO_LEN: usize = 37;
/// Most bytes of context that a message may be bound to.
pub const INFO_LEN_MAX: usize = 256;

const KEM_KEY_LEN: usize = 1184;
const KEM_CIPHERTEXT_LEN: usize = 1088;
const HEAD_LEN: usize = 32 + KEM_CIPHERTEXT_LEN;
const TAG_LEN: usize = 16;
