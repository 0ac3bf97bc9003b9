//! Every hash of the protocol with its exact input, on its own.

use alloc::vec::Vec;

use horizon_hash::{
    blake2xb::Blake2Xb,
    suite::{Suite, TranscriptHasher},
};
use horizon_ring::{NttPoly, Poly, codec as ring, ntt, sample};

use crate::{
    Error,
    error::Misuse,
    group_key::{GroupKey, PreparedKey, challenge as challenge_poly},
    params::{D_BAR, KEY_LEN, ROWS, Z_LEN},
};

/// Key of the nonce stream: `PRF(SER(share), "RingtailRoundV2" || be64(sid), 32)`, with the prefix
/// `CoronaRoundV2` in a Corona suite. `share` is 7 polynomials in NM form.
///
/// # Security
/// The result is as secret as the share.
#[must_use]
pub fn round_key(suite: Suite, share: &[NttPoly], sid: u64) -> [u8; KEY_LEN] {
    keyed_by_share(suite, share, &[round_prefix(suite), &sid.to_be_bytes()])
}

/// The round key of the academic original, equal for all sessions. For vectors only: signing with
/// it twice reveals the share.
#[must_use]
pub fn legacy_round_key(suite: Suite, share: &[NttPoly]) -> [u8; KEY_LEN] {
    keyed_by_share(suite, share, &[])
}

/// `MAC(key, be64(sender) || SER(D) || be64(sid) || be32(t) || be32(T[0]) ..., 32)`.
///
/// `matrix` is `SER(D)`. The recipient is bound through `key` only.
#[must_use]
pub fn round1_mac(
    suite: Suite,
    key: &[u8],
    sender: u64,
    matrix: &[u8],
    sid: u64,
    signers: &[u32],
) -> [u8; KEY_LEN] {
    let tail = session_tail(sid, signers);
    let mut out = [0; KEY_LEN];
    suite.mac(key, &[&sender.to_be_bytes(), matrix, &tail], &mut out);
    out
}

/// `TranscriptHash(SER(A) || SER(b) || be64(sid) || be32(t) || be32(T[0]) ... || SER(D) ...)`, one
/// tuple element.
///
/// `matrices` are the encodings to absorb, in order: those of the members of `T`. (The reference
/// absorbs ids 0, 1, ... instead, and 8 zero bytes for an absent one; that is the same only for `T`
/// = 0 to t-1.)
#[must_use]
pub fn transcript_hash(
    suite: Suite,
    key: &GroupKey,
    sid: u64,
    signers: &[u32],
    matrices: &[&[u8]],
) -> [u8; 32] {
    let tail = session_tail(sid, signers);
    let mut parts: Vec<&[u8]> = alloc::vec![key.as_bytes(), &tail];
    parts.extend_from_slice(matrices);
    let len = parts.iter().map(|part| part.len() as u64).sum();
    let mut hasher = TranscriptHasher::new(suite, len);
    parts.iter().for_each(|part| hasher.update(part));
    // The announced length is the sum of the parts.
    hasher.finalize().unwrap_or([0; 32])
}

/// Key of the stream of `u`: `Hu(H || message, 32)`.
#[must_use]
pub fn u_seed(suite: Suite, transcript: &[u8], message: &[u8]) -> [u8; KEY_LEN] {
    let mut seed = [0; KEY_LEN];
    suite.hu(&[transcript, message], &mut seed);
    seed
}

/// The hashed vector without its leading 1: `len` (48 when signing) Gaussian polynomials in NM
/// form.
///
/// Public data; the sampler is the reference's, with floating point and without fused multiply-add.
#[must_use]
pub fn gaussian_hash(suite: Suite, transcript: &[u8], message: &[u8], len: usize) -> Vec<NttPoly> {
    u_coefficients(&u_seed(suite, transcript, message), len)
        .iter()
        .map(ntt::forward_montgomery)
        .collect()
}

/// One mask: `len` (7 when signing) uniform polynomials in NM form from the stream keyed by
/// `PRF(prf_key, seed || H || message, 32)`.
#[must_use]
pub fn mask(
    suite: Suite,
    prf_key: &[u8],
    seed: &[u8],
    transcript: &[u8],
    message: &[u8],
    len: usize,
) -> Vec<NttPoly> {
    let mut key = [0; KEY_LEN];
    suite.prf(prf_key, &[seed, transcript, message], &mut key);
    let mut stream = Blake2Xb::from_seed(&key);
    (0..len)
        .map(|_| ntt::forward_montgomery(&sample::uniform(&mut stream)))
        .collect()
}

/// The challenge for `h` (8 polynomials of coefficients up to 2^19 inclusive): slots times 2^64.
///
/// # Errors
/// [`Misuse::Length`] unless `h` has 8 polynomials; `MessageTooLong`.
pub fn challenge(
    suite: Suite,
    key: &GroupKey,
    h: &[Poly],
    message: &[u8],
) -> Result<NttPoly, Error> {
    let Ok(h) = <&[Poly; ROWS]>::try_from(h) else {
        return Err(Misuse::Length { field: "h" }.into());
    };
    Ok(challenge_poly(
        &PreparedKey::new(key, suite).challenge_seed(h, message)?,
    ))
}

/// Gaussian polynomials of width sigma_u in coefficient form.
pub(super) fn u_coefficients(seed: &[u8; KEY_LEN], len: usize) -> Vec<Poly> {
    let mut stream = Blake2Xb::from_seed(seed);
    (0..len)
        .map(|_| sample::constants::SIGMA_U.sample(&mut stream))
        .collect()
}

/// `be64(sid) || be32(t) || be32(T[0]) ...`.
pub(super) fn session_tail(sid: u64, signers: &[u32]) -> Vec<u8> {
    let mut out = Vec::with_capacity(12 + 4 * signers.len());
    out.extend_from_slice(&sid.to_be_bytes());
    out.extend_from_slice(&(signers.len() as u32).to_be_bytes());
    for signer in signers {
        out.extend_from_slice(&signer.to_be_bytes());
    }
    out
}

/// Number of hashed polynomials when signing.
pub(super) const U_LEN: usize = D_BAR;

/// The message prefix of the round key.
pub(super) const fn round_prefix(suite: Suite) -> &'static [u8] {
    match suite {
        Suite::CoronaSha3 | Suite::CoronaBlake3 => horizon_hash::domain::corona::ROUND_KEY,
        _ => horizon_hash::domain::pulsar::ROUND_KEY,
    }
}

pub(super) fn keyed_by_share(suite: Suite, share: &[NttPoly], parts: &[&[u8]]) -> [u8; KEY_LEN] {
    let mut ser = zeroize::Zeroizing::new(Vec::with_capacity(Z_LEN));
    ring::write_vector(share.iter(), &mut *ser);
    let mut key = [0; KEY_LEN];
    suite.prf(&ser, parts, &mut key);
    key
}
