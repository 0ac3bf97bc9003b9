//! Key material as the reference makes it: its dealer (for vectors only) and its key-era dealer.

use alloc::vec::Vec;
use core::fmt;

use horizon_hash::{blake2xb::Blake2Xb, suite::Suite};
use horizon_ring::{NttPoly, Poly, modulus, ntt, sample};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::{
    Error, GroupKey, codec,
    dealer::{matrix_from_stream, public_key},
    error::Misuse,
    params::{COLS, KEY_LEN, ROWS},
    secret::SecretPolys,
    shamir,
    signers::{Quorum, SignerSet},
};

/// One party's key material for this mode: its share, its own row and column of mask seeds, its MAC
/// keys.
///
/// The reference hands every party all seeds, which lets one corrupted signer unmask everyone; a
/// share here never holds another pair's seed.
///
/// # Security
/// Secret. Erased on drop, not `Clone`, redacted `Debug`. A share serves one mode only: one used
/// here must never sign in committee mode.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Share {
    #[zeroize(skip)]
    pub(super) position: u16,
    #[zeroize(skip)]
    pub(super) quorum: Quorum,
    #[zeroize(skip)]
    pub(super) suite: Suite,
    #[zeroize(skip)]
    pub(super) group_key_hash: [u8; 32],
    /// 7 polynomials, NM form.
    pub(super) share: Vec<NttPoly>,
    /// `seed[i][j]` by peer `j`: masks this party subtracts.
    pub(super) row_seeds: Vec<[u8; KEY_LEN]>,
    /// `seed[j][i]` by peer `j`: masks this party adds.
    pub(super) column_seeds: Vec<[u8; KEY_LEN]>,
    /// Key shared with peer `j`; the own entry is zero and unused.
    pub(super) mac_keys: Vec<[u8; KEY_LEN]>,
}

impl Share {
    /// Assembles a share; `share` is 7 polynomials in NM form, the lists have one entry per party.
    ///
    /// # Errors
    /// [`Misuse::Position`], [`Misuse::Length`], [`Misuse::WrongGroup`] for a suite of another
    /// kernel, and [`Misuse::Secret`] for a slot not below q or a diagonal seed that differs
    /// between row and column.
    #[allow(
        clippy::too_many_arguments,
        reason = "the fields of the object, each of its own type"
    )]
    pub fn new(
        position: u16,
        quorum: Quorum,
        suite: Suite,
        group_key_hash: [u8; 32],
        share: Vec<NttPoly>,
        row_seeds: Vec<[u8; KEY_LEN]>,
        column_seeds: Vec<[u8; KEY_LEN]>,
        mut mac_keys: Vec<[u8; KEY_LEN]>,
    ) -> Result<Self, Error> {
        let parties = usize::from(quorum.parties());
        let own = usize::from(position);
        if own >= parties {
            return Err(Misuse::Position.into());
        }
        for (list, field) in [
            (&row_seeds, "row seeds"),
            (&column_seeds, "column seeds"),
            (&mac_keys, "MAC keys"),
        ] {
            if list.len() != parties {
                return Err(Misuse::Length { field }.into());
            }
        }
        if codec::suite_code(suite) == 0 {
            return Err(Misuse::WrongGroup.into());
        }
        if share.len() != COLS {
            return Err(Misuse::Length { field: "share" }.into());
        }
        let canonical = share
            .iter()
            .all(|poly| poly.as_array().iter().all(|&x| x < modulus::Q));
        if !canonical || row_seeds[own] != column_seeds[own] {
            return Err(Misuse::Secret.into());
        }
        mac_keys[own] = [0; KEY_LEN];
        Ok(Self {
            position,
            quorum,
            suite,
            group_key_hash,
            share,
            row_seeds,
            column_seeds,
            mac_keys,
        })
    }

    /// Position of the party.
    #[must_use]
    pub const fn position(&self) -> u16 {
        self.position
    }

    /// Committee size and threshold.
    #[must_use]
    pub const fn quorum(&self) -> Quorum {
        self.quorum
    }

    /// Hash suite the share signs under.
    #[must_use]
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// [`GroupKey::hash`] of the key it belongs to.
    #[must_use]
    pub const fn group_key_hash(&self) -> &[u8; 32] {
        &self.group_key_hash
    }

    /// The share itself: 7 polynomials, NM form. Secret.
    #[must_use]
    pub fn secret(&self) -> &[NttPoly] {
        &self.share
    }

    /// `seed[i][j]` for every `j`. Secret.
    #[must_use]
    pub fn row_seeds(&self) -> &[[u8; KEY_LEN]] {
        &self.row_seeds
    }

    /// `seed[j][i]` for every `j`. Secret.
    #[must_use]
    pub fn column_seeds(&self) -> &[[u8; KEY_LEN]] {
        &self.column_seeds
    }

    /// Key shared with each peer; zero for the party itself. Secret.
    #[must_use]
    pub fn mac_keys(&self) -> &[[u8; KEY_LEN]] {
        &self.mac_keys
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Share")
            .field("position", &self.position)
            .field("quorum", &self.quorum)
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

/// What a dealer hands out: the group key and one share per party, in order of position.
///
/// # Security
/// Holds every secret of the committee.
pub struct Dealing {
    /// The group key.
    pub group_key: GroupKey,
    /// One share per party.
    pub shares: Vec<Share>,
    /// Key of the mask function, shared by all parties. In the vectors: the dealer stream's next 32
    /// bytes.
    pub prf_key: Zeroizing<[u8; KEY_LEN]>,
}

impl fmt::Debug for Dealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dealing")
            .field("parties", &self.shares.len())
            .finish_non_exhaustive()
    }
}

/// The secret and the error of a group key, with the key they give.
///
/// # Security
/// `s` and `e` are the whole secret of a committee.
#[derive(Debug)]
pub struct ReferenceSecrets {
    /// 56 polynomials row-major, NM form.
    pub a: Vec<NttPoly>,
    /// 7 polynomials as drawn: a zero may be written as q.
    pub s: SecretPolys,
    /// 8 polynomials as drawn: a zero may be written as q.
    pub e: SecretPolys,
}

/// What the reference dealer draws for a key: `A` from one stream, `s` and `e` from a second stream
/// **with the same key**, both from the start.
///
/// # Security
/// This reuse is the reference's gravest flaw: words of the public `A` show 49 of 64 bits of words
/// that also decide secret coefficients. For vectors only.
#[must_use]
pub fn reference_secrets(dealer_key: &[u8; KEY_LEN]) -> ReferenceSecrets {
    let a = matrix_from_stream(&mut Blake2Xb::from_seed(dealer_key));
    let mut stream = Blake2Xb::from_seed(dealer_key);
    let s = gaussians(&mut stream, COLS);
    let e = gaussians(&mut stream, ROWS);
    ReferenceSecrets { a, s, e }
}

/// The reference's `Gen`: one dealer key for everything, all parties must sign.
///
/// # Errors
/// [`Misuse::PartyCount`].
///
/// # Security
/// Insecure by design of the reference (see [`reference_secrets`]): reproduce vectors with it,
/// never make a key. [`crate::dealer`] makes keys.
pub fn gen_reference_for_vectors(
    suite: Suite,
    parties: u16,
    dealer_key: &[u8; KEY_LEN],
) -> Result<Dealing, Error> {
    let quorum = Quorum::new(parties, parties).map_err(|_| Misuse::PartyCount)?;
    let secrets = reference_secrets(dealer_key);
    let mut stream = DealerStream::new(dealer_key);
    let shares = share_t_equals_k(&secrets.s, parties, || stream.integer())?;
    let group_key = public_key(&secrets.a, &secrets.s, &secrets.e)?;
    let (seeds, mac_keys) = interleaved_pairwise(&mut stream, usize::from(parties));
    let prf_key = stream.bytes();
    assemble(
        group_key, suite, quorum, &shares, &seeds, &mac_keys, prf_key,
    )
}

/// The reference's key-era dealer: true t-of-n shares. `entropy` fills a buffer from the dealer's
/// randomness: first the 32-byte key of the stream of `A`, `s`, `e`, then all mask seeds row by
/// row, then the MAC keys of pairs i < j. `coefficient` yields the sharing polynomials'
/// coefficients, below q (see [`key_era_coefficient`]).
///
/// The mask key is not part of this dealing: the returned one is zero, callers agree on one.
///
/// # Errors
/// [`Misuse::Secret`] when a coefficient is not below q.
pub fn gen_key_era(
    suite: Suite,
    quorum: Quorum,
    mut entropy: impl FnMut(&mut [u8]),
    coefficient: impl FnMut() -> u64,
) -> Result<Dealing, Error> {
    let mut key = Zeroizing::new([0; KEY_LEN]);
    entropy(&mut *key);
    let mut stream = Blake2Xb::from_seed(&key);
    let a = matrix_from_stream(&mut stream);
    let s = gaussians(&mut stream, COLS);
    let e = gaussians(&mut stream, ROWS);
    let secrets = ReferenceSecrets { a, s, e };
    let mut reduced = SecretPolys::new(secrets.s.polys().to_vec());
    reduced.polys_mut().iter_mut().for_each(Poly::canonicalize);
    let shares = shamir::share(&reduced, quorum, coefficient)?;
    let group_key = public_key(&secrets.a, &secrets.s, &secrets.e)?;
    let parties = usize::from(quorum.parties());
    let mut draw = || {
        let mut bytes = [0; KEY_LEN];
        entropy(&mut bytes);
        bytes
    };
    let mut seeds = Table::new(parties);
    for i in 0..parties {
        for j in 0..parties {
            seeds.set(i, j, draw());
        }
    }
    let mut mac_keys = Table::new(parties);
    for i in 0..parties {
        for j in i + 1..parties {
            mac_keys.set_pair(i, j, draw());
        }
    }
    assemble(
        group_key,
        suite,
        quorum,
        &shares,
        &seeds,
        &mac_keys,
        Zeroizing::new([0; KEY_LEN]),
    )
}

/// One sharing coefficient of the key-era dealer: 7 bytes big-endian, the first byte's low bit
/// only, drawn again while not below q.
pub fn key_era_coefficient(mut entropy: impl FnMut(&mut [u8])) -> u64 {
    loop {
        let mut bytes = [0; 8];
        entropy(&mut bytes[1..]);
        bytes[1] &= 1;
        let value = u64::from_be_bytes(bytes);
        if value < modulus::Q {
            return value;
        }
    }
}

/// The reference's sharing when everyone must sign: `next` yields the first `parties - 1` shares of
/// each coefficient, the last one completes the interpolation. Output in coefficient form.
///
/// # Errors
/// [`Misuse::PartyCount`].
pub fn share_t_equals_k(
    secret: &SecretPolys,
    parties: u16,
    mut next: impl FnMut() -> u64,
) -> Result<Vec<SecretPolys>, Error> {
    let quorum = Quorum::new(parties, parties).map_err(|_| Misuse::PartyCount)?;
    let lambdas = shamir::lagrange_at_zero(&SignerSet::everyone(quorum));
    let Some((&last_lambda, lambdas)) = lambdas.split_last() else {
        return Err(Misuse::PartyCount.into());
    };
    let last_inverse = modulus::inv(last_lambda);
    let mut shares: Vec<SecretPolys> = (0..parties)
        .map(|_| SecretPolys::zero(secret.len()))
        .collect();
    for (index, poly) in secret.polys().iter().enumerate() {
        for (position, &value) in poly.as_array().iter().enumerate() {
            let mut rest = modulus::reduce(value);
            for (share, &lambda) in shares.iter_mut().zip(lambdas) {
                let rho = next();
                share.polys_mut()[index].as_mut_array()[position] = rho;
                rest = modulus::sub(rest, modulus::mul(lambda, rho));
            }
            if let Some(last) = shares.last_mut() {
                last.polys_mut()[index].as_mut_array()[position] = modulus::mul(rest, last_inverse);
            }
        }
    }
    Ok(shares)
}

/// Seeded t-of-n sharing: coefficients from the BLAKE3 stream of `seed`, 7 bytes big-endian each,
/// modulo q. Output in coefficient form.
///
/// # Errors
/// None that a canonical secret can cause; see [`shamir::share`].
///
/// # Security
/// Whoever knows the seed and one share knows the secret. For vectors.
pub fn share_seeded(
    secret: &SecretPolys,
    quorum: Quorum,
    seed: &[u8; KEY_LEN],
) -> Result<Vec<SecretPolys>, Error> {
    let mut stream = DealerStream::new(seed);
    shamir::share(secret, quorum, || stream.integer())
}

/// The dealer's byte stream: BLAKE3 output of its key, consumed front to back.
pub(super) struct DealerStream(blake3::OutputReader);

impl DealerStream {
    pub(super) fn new(key: &[u8; KEY_LEN]) -> Self {
        Self(blake3::Hasher::new().update(key).finalize_xof())
    }

    /// The next 32 bytes.
    pub(super) fn bytes(&mut self) -> Zeroizing<[u8; KEY_LEN]> {
        let mut out = Zeroizing::new([0; KEY_LEN]);
        self.0.fill(&mut *out);
        out
    }

    /// The next 7 bytes as a big-endian integer modulo q.
    pub(super) fn integer(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes[1..]);
        let value = modulus::reduce(u64::from_be_bytes(bytes));
        bytes.zeroize();
        value
    }
}

impl Drop for DealerStream {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// A square table of keys, erased on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Table {
    #[zeroize(skip)]
    size: usize,
    cells: Vec<[u8; KEY_LEN]>,
}

impl Table {
    fn new(size: usize) -> Self {
        Self {
            size,
            cells: alloc::vec![[0; KEY_LEN]; size * size],
        }
    }

    fn set(&mut self, i: usize, j: usize, key: [u8; KEY_LEN]) {
        self.cells[i * self.size + j] = key;
    }

    fn set_pair(&mut self, i: usize, j: usize, key: [u8; KEY_LEN]) {
        self.set(i, j, key);
        self.set(j, i, key);
    }

    fn row(&self, i: usize) -> Vec<[u8; KEY_LEN]> {
        self.cells[i * self.size..(i + 1) * self.size].to_vec()
    }

    fn column(&self, j: usize) -> Vec<[u8; KEY_LEN]> {
        (0..self.size)
            .map(|i| self.cells[i * self.size + j])
            .collect()
    }
}

/// Seeds and MAC keys in the order of the reference dealer: a pair's MAC key follows the first seed
/// of the pair.
fn interleaved_pairwise(stream: &mut DealerStream, parties: usize) -> (Table, Table) {
    let (mut seeds, mut mac_keys) = (Table::new(parties), Table::new(parties));
    for i in 0..parties {
        for j in 0..parties {
            seeds.set(i, j, *stream.bytes());
            if j > i {
                mac_keys.set_pair(i, j, *stream.bytes());
            }
        }
    }
    (seeds, mac_keys)
}

fn gaussians(stream: &mut Blake2Xb, len: usize) -> SecretPolys {
    SecretPolys::new(
        (0..len)
            .map(|_| sample::constants::SIGMA_E.sample(stream))
            .collect(),
    )
}

fn assemble(
    group_key: GroupKey,
    suite: Suite,
    quorum: Quorum,
    shares: &[SecretPolys],
    seeds: &Table,
    mac_keys: &Table,
    prf_key: Zeroizing<[u8; KEY_LEN]>,
) -> Result<Dealing, Error> {
    let hash = group_key.hash(suite);
    let shares = (0..quorum.parties())
        .zip(shares)
        .map(|(position, share)| {
            let own = usize::from(position);
            let slots = share.polys().iter().map(ntt::forward_montgomery).collect();
            let (row, column) = (seeds.row(own), seeds.column(own));
            Share::new(
                position,
                quorum,
                suite,
                hash,
                slots,
                row,
                column,
                mac_keys.row(own),
            )
        })
        .collect::<Result<_, _>>()?;
    Ok(Dealing {
        group_key,
        shares,
        prf_key,
    })
}
