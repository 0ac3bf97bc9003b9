//! One-time nonces: fresh, hedged, in memory only, consumed by the one answer they are good for.
//!
//! # Source
//! Committee-mode specification section 1.4 steps 1, 2 and 4.
//! # Security
//! The samplers are constant time with tails beyond 9 sigma. Seed, streams and `E` are erased before
//! [`make`] returns; `R` is erased when the [`Nonce`] is consumed or dropped. Nothing here can be encoded.

use alloc::vec::Vec;
use core::fmt;

use horizon_hash::domain::committee as domain;
use horizon_hash::kmac::kmac256;
use horizon_hash::lanes::XofPrefix;
use horizon_ring::dot::{dot_into, term};
use horizon_ring::matrix::{LazyNttMatrix, NttMatrix};
use horizon_ring::modulus::{self, R52, R64};
use horizon_ring::pack::{PACKED_BYTES, pack49};
use horizon_ring::sample::{SMALL_BYTES, WIDE_BYTES, small_into, wide_into};
use horizon_ring::{LazyNttPoly, NttPoly, Poly, ntt};
use rand_core::CryptoRng;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::error::{Error, Misuse};
use super::mask::add_masks;
use super::message::{Header, MATRIX_LEN, NONCE_MATRIX_LEN, NonceMatrix, Partial};
use super::session::Session;
use super::share::{SetShare, SignerShare};
use crate::params::{COLS, NONCE_COLS, ROWS};

/// The secret of one `(batch, index)`: `R`, 7 × 49.
///
/// It answers one session and is gone: [`respond`](Self::respond) takes it by value.
///
/// ```compile_fail,E0382
/// use horizon_pulsar::committee::{Nonce, Session, SetShare};
///
/// fn answer_twice(nonce: Nonce, first: &Session, second: &Session, share: &SetShare) {
///     let _ = nonce.respond(first, share);
///     let _ = nonce.respond(second, share); // use of moved value
/// }
/// ```
///
/// Nor can it be copied first:
///
/// ```compile_fail,E0308
/// fn copy(nonce: &horizon_pulsar::committee::Nonce) -> horizon_pulsar::committee::Nonce {
///     nonce.clone()
/// }
/// ```
///
/// # Security
/// Erased when dropped. Not `Clone`, no encoding, `Debug` shows batch and index only.
pub struct Nonce {
    batch: u64,
    index: u16,
    /// Entry (column, row) of `R`, plain slots, unreduced: stored in the order the columns are made.
    r: Zeroizing<LazyNttMatrix>,
}

/// One index as [`make`] produces it.
pub(super) struct Made {
    /// The secret.
    pub(super) nonce: Nonce,
    /// The complete NonceMatrix message with `D`.
    pub(super) message: Vec<u8>,
}

impl Nonce {
    /// The batch.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// The index within the batch.
    #[must_use]
    pub fn index(&self) -> u16 {
        self.index
    }

    /// The partial signature for `session`: `R u + lambda s c` and the masks towards all peers.
    ///
    /// # Errors
    /// [`Misuse::Session`] when session, share and nonce do not belong together, or the session holds no
    /// `u`. The nonce is gone then, too.
    ///
    /// # Security
    /// Constant time in nonce, share and seeds.
    pub fn respond(self, session: &Session, share: &SetShare) -> Result<Partial, Error> {
        let mismatch = Error::Misuse(Misuse::Session);
        let Some(u) = session.u() else {
            return Err(mismatch);
        };
        if (self.batch, self.index) != (session.batch(), session.index())
            || *session.set() != share.set
        {
            return Err(mismatch);
        }
        // Without masks this shows a multiple of the share: erased unless they were added.
        // Written in place: a polynomial moved into the vector would leave a bare copy on the stack.
        let mut z = Zeroizing::new(alloc::vec![NttPoly::ZERO; COLS]);
        for (row, (weighted, out)) in share.weighted.iter().zip(z.iter_mut()).enumerate() {
            let mut terms: Vec<_> = self
                .r
                .column(row)
                .zip(u.iter())
                .map(|(r, u)| term(r, u))
                .collect();
            terms.push(term(weighted, session.c()));
            dot_into(&terms, out);
            // Both products carry 2^64.
            out.scale(R64_INVERSE);
        }
        add_masks(&mut z, share, session)?;
        Ok(Partial {
            index: session.index(),
            attempt: session.attempt(),
            session_ctx: *session.session_ctx(),
            z: core::mem::take(&mut *z),
        })
    }
}

impl ZeroizeOnDrop for Nonce {}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nonce")
            .field("batch", &self.batch)
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

/// Draws 64 fresh bytes and makes `R`, `E` and the message with `D = A R + E` of one index. `a` is `A`,
/// 8 × 7, plain slots times 2^52; `header.seq` is the batch.
pub(super) fn make(
    a: &NttMatrix,
    share: &SignerShare,
    header: &Header,
    index: u16,
    rng: &mut impl CryptoRng,
) -> Result<Made, Error> {
    let mut rho = Zeroizing::new([0u8; 64]);
    rng.fill_bytes(&mut rho[..]);
    let seed = hedge(&rho, share, header, index);
    let mut message = NonceMatrix::prefix(header, index);
    message.resize(NONCE_MATRIX_LEN, 0);
    let r = {
        let (packed, _) = message[NONCE_MATRIX_LEN - MATRIX_LEN..].as_chunks_mut::<PACKED_BYTES>();
        sample(a, &seed, packed)?
    };
    Ok(Made {
        nonce: Nonce {
            batch: header.seq,
            index,
            r,
        },
        message,
    })
}

/// `nseed`: fresh bytes hedged with share, era, boot, batch and index.
fn hedge(rho: &[u8; 64], share: &SignerShare, header: &Header, index: u16) -> Zeroizing<[u8; 64]> {
    let mut seed = Zeroizing::new([0; 64]);
    let parts: [&[u8]; 5] = [
        share.nonce_key(),
        &header.ctx,
        &header.boot.to_be_bytes(),
        &header.seq.to_be_bytes(),
        &index.to_be_bytes(),
    ];
    kmac256(rho, domain::NONCE, &parts, &mut seed[..]);
    seed
}

/// Samples `R` and `E` column by column, each column multiplied and packed while it is in cache.
fn sample(
    a: &NttMatrix,
    seed: &[u8; 64],
    packed: &mut [[u8; PACKED_BYTES]],
) -> Result<Zeroizing<LazyNttMatrix>, Error> {
    let prefix = XofPrefix::new(domain::NONCE_STREAM);
    let mut column = Column::new();
    let mut r = Zeroizing::new(LazyNttMatrix::zeros(NONCE_COLS, COLS));
    let constant = LazyNttPoly::constant(R52);
    let mut d = NttPoly::ZERO;
    for c in 0..NONCE_COLS {
        column.fill(&prefix, seed, c)?;
        for row in 0..ROWS {
            let products = a.row(row).zip(column.polys.iter()).map(|(a, r)| term(a, r));
            let error = term(&constant, &column.polys[COLS + row]);
            let mut terms = [error; COLS + 1];
            terms
                .iter_mut()
                .zip(products)
                .for_each(|(place, product)| *place = product);
            dot_into(&terms, &mut d);
            pack49(&d, &mut packed[row * NONCE_COLS + c]);
        }
        for (row, poly) in column.polys.iter().take(COLS).enumerate() {
            if let Some(entry) = r.get_mut(c, row) {
                entry.as_mut_array().copy_from_slice(poly.as_array());
            }
        }
    }
    Ok(r)
}

/// Work space of one column: 7 polynomials of `R` and then 8 of `E`, in slots.
struct Column {
    polys: Zeroizing<Vec<LazyNttPoly>>,
    poly: Zeroizing<Poly>,
    bytes: Zeroizing<Vec<u8>>,
}

impl Column {
    fn new() -> Self {
        Self {
            polys: Zeroizing::new(alloc::vec![LazyNttPoly::ZERO; COLS + ROWS]),
            poly: Zeroizing::new(Poly::ZERO),
            bytes: Zeroizing::new(alloc::vec![0; (COLS + ROWS) * WIDE_BYTES]),
        }
    }

    /// Samples column `c` from one stream per polynomial and transforms it.
    fn fill(&mut self, prefix: &XofPrefix, seed: &[u8; 64], c: usize) -> Result<(), Error> {
        let unit = if c == 0 { WIDE_BYTES } else { SMALL_BYTES };
        let mut inputs = Zeroizing::new([[0u8; STREAM_INPUT_LEN]; COLS + ROWS]);
        for (k, input) in inputs.iter_mut().enumerate() {
            stream_input(seed, k, c, input);
        }
        let bytes = &mut self.bytes[..(COLS + ROWS) * unit];
        // The buffer has exactly one unit per stream, so this cannot fail; going on with known bytes would
        // give the share away.
        prefix
            .fill(&inputs[..], bytes)
            .map_err(|_| Error::Internal)?;
        for (bytes, out) in bytes.chunks_exact(unit).zip(self.polys.iter_mut()) {
            if let Ok(wide) = bytes.try_into() {
                wide_into(wide, &mut self.poly);
            } else if let Ok(small) = bytes.try_into() {
                small_into(small, &mut self.poly);
            }
            ntt::forward_lazy_into(&self.poly, ntt::Scale::One, out);
        }
        Ok(())
    }
}

/// Input of the stream of polynomial `k` of column `c`: polynomials 0 to 6 are rows of `R`, the rest of `E`.
fn stream_input(seed: &[u8; 64], k: usize, c: usize, out: &mut [u8; STREAM_INPUT_LEN]) {
    let (error, row) = if k < COLS { (0, k) } else { (1, k - COLS) };
    out[..64].copy_from_slice(seed);
    // Kinds: 0 wide of R, 1 wide of E, 2 small of R, 3 small of E.
    out[64] = error + if c == 0 { 0 } else { 2 };
    // Both below 49.
    out[66] = row as u8;
    out[68] = c as u8;
}

const STREAM_INPUT_LEN: usize = 69;
/// 2^-64 modulo q.
const R64_INVERSE: u64 = modulus::inv(R64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::committee::context::{Committee, SigningSet};
    use crate::committee::share::testing;
    use crate::group_key::challenge;
    use horizon_testkit::secret::{error_count, mark_defined, mark_undefined};

    struct Setup {
        committee: Committee,
        set: SigningSet,
        shares: Vec<SignerShare>,
        a: NttMatrix,
        rng: horizon_testkit::SeededRng,
    }

    fn setup(seed: u64) -> Setup {
        let mut rng = horizon_testkit::rng(seed);
        let committee = testing::committee(2);
        let set = committee.signing_set(&[0, 1]).unwrap();
        let shares = testing::shares(&committee, &mut rng);
        let a = NttMatrix::from_fn(ROWS, COLS, |_, _| ntt::forward(&testing::uniform(&mut rng)));
        Setup {
            committee,
            set,
            shares,
            a,
            rng,
        }
    }

    impl Setup {
        fn make(&mut self, member: u16, boot: u32) -> Made {
            let ctx = *self.committee.era_ctx();
            let header = Header {
                ctx,
                sender: member,
                boot,
                seq: 5,
            };
            let share = &self.shares[usize::from(member)];
            make(&self.a, share, &header, 2, &mut self.rng).unwrap()
        }

        fn session(&self, challenge_seed: u8, c: u8) -> Session {
            let c = challenge(&[c; 32]);
            Session::of_parts(self.set.clone(), [1; 64], [2; 32], [challenge_seed; 32], c)
        }

        /// What is left of the sum of both partials when an attacker who guessed both shares takes away
        /// `c_0 lambda_0 s_0 + c_1 lambda_1 s_1`: near 2^38 if the guess shows, 2^46.2 if nothing does.
        fn residue(&mut self, sessions: [&Session; 2]) -> f64 {
            let mut sum = alloc::vec![NttPoly::ZERO; COLS];
            for (member, session) in (0..2u16).zip(sessions) {
                let nonce = self.make(member, 1).nonce;
                let share = &self.shares[usize::from(member)];
                let share = share.for_set(&self.committee, &self.set).unwrap();
                let z = nonce.respond(session, &share).unwrap().z;
                for ((sum, z), weighted) in sum.iter_mut().zip(&z).zip(share.weighted.iter()) {
                    sum.add_assign(z);
                    let mut known = NttPoly::ZERO;
                    dot_into(&[term(weighted, session.c())], &mut known);
                    known.scale(R64_INVERSE);
                    sum.sub_assign(&known);
                }
            }
            let polys: Vec<Poly> = sum.iter().map(ntt::inverse).collect();
            testing::log2_deviation(&polys)
        }
    }

    #[test]
    fn c01_two_honest_signers_with_different_challenges_leave_only_uniform_residue() {
        let mut setup = setup(1);
        let (ours, theirs) = (setup.session(7, 7), setup.session(8, 8));
        // Equal contexts: masks cancel, the nonces are left. Two times 2^37.58 in deviation is 2^38.08.
        let honest = setup.residue([&ours, &ours]);
        assert!((honest - 38.08).abs() < 0.1, "2^{honest}");
        // The hole: masks that do not know the challenge cancel although the challenges differ, and the
        // guess shows at 2^38, eight bits below uniform.
        let unbound = setup.session(7, 8);
        let hole = setup.residue([&ours, &unbound]);
        assert!((hole - 38.08).abs() < 0.1, "2^{hole}");
        // Closed: bound to the challenge seed, nothing shows.
        let closed = setup.residue([&ours, &theirs]);
        assert!((closed - 46.2).abs() < 0.05, "2^{closed}");
    }

    #[test]
    fn one_partial_alone_is_uniform() {
        let mut setup = setup(2);
        let session = setup.session(7, 7);
        let nonce = setup.make(0, 1).nonce;
        let share = setup.shares[0]
            .for_set(&setup.committee, &setup.set)
            .unwrap();
        let z = nonce.respond(&session, &share).unwrap().z;
        let polys: Vec<Poly> = z.iter().map(ntt::inverse).collect();
        let deviation = testing::log2_deviation(&polys);
        assert!((deviation - 46.2).abs() < 0.05, "2^{deviation}");
    }

    #[test]
    fn d_is_a_times_r_plus_short_e() {
        let mut setup = setup(3);
        let Made { nonce, message } = setup.make(0, 1);
        let packed = &message[NONCE_MATRIX_LEN - MATRIX_LEN..];
        let (chunks, _) = packed.as_chunks::<PACKED_BYTES>();
        for c in 0..NONCE_COLS {
            let (mut r_max, mut e_max) = (0, 0);
            for row in 0..COLS {
                let r = ntt::inverse(&nonce.r.get(c, row).unwrap().reduce());
                r_max = r_max.max(largest(&r));
            }
            for row in 0..ROWS {
                let mut d: NttPoly =
                    horizon_ring::pack::unpack49(&chunks[row * NONCE_COLS + c], "D").unwrap();
                let terms: Vec<_> = setup
                    .a
                    .row(row)
                    .zip(nonce.r.row(c))
                    .map(|(a, r)| term(a, r))
                    .collect();
                let mut product = NttPoly::ZERO;
                dot_into(&terms, &mut product);
                d.sub_assign(&product);
                e_max = e_max.max(largest(&ntt::inverse(&d)));
            }
            // Column 0 is wide, 2^37.33 with a bound of 2^41.03; the others are small, at most 58. A cut at two
            // deviations, as the reference has it, would leave at most 2^38.33 and 12 (finding F-04).
            let (low, high) = if c == 0 { (3 << 37, 1 << 42) } else { (16, 58) };
            assert!((low..=high).contains(&r_max), "column {c}: R up to {r_max}");
            assert!((low..=high).contains(&e_max), "column {c}: E up to {e_max}");
        }
    }

    fn largest(poly: &Poly) -> u64 {
        poly.as_array()
            .iter()
            .map(|v| modulus::centered(*v).unsigned_abs())
            .max()
            .unwrap()
    }

    #[test]
    fn nonces_differ_in_every_hedged_input_and_in_fresh_randomness() {
        let mut setup = setup(4);
        let seeds: Vec<[u8; 64]> = {
            let ctx = *setup.committee.era_ctx();
            let base = Header {
                ctx,
                sender: 0,
                boot: 1,
                seq: 5,
            };
            let (own, other) = (&setup.shares[0], &setup.shares[1]);
            let changed = Header {
                ctx: [9; 32],
                ..base
            };
            [
                hedge(&[0; 64], own, &base, 2),
                hedge(&[1; 64], own, &base, 2),
                hedge(&[0; 64], other, &base, 2),
                hedge(&[0; 64], own, &changed, 2),
                hedge(&[0; 64], own, &Header { boot: 2, ..base }, 2),
                hedge(&[0; 64], own, &Header { seq: 6, ..base }, 2),
                hedge(&[0; 64], own, &base, 3),
            ]
            .map(|seed| *seed)
            .to_vec()
        };
        for (k, seed) in seeds.iter().enumerate() {
            assert!(seeds[..k].iter().all(|other| other != seed), "input {k}");
        }
        // The generator is read anew for each index: the same inputs never give the same matrix.
        assert_ne!(setup.make(0, 1).message, setup.make(0, 1).message);
    }

    #[test]
    fn every_polynomial_has_a_stream_of_its_own() {
        let mut inputs = Vec::new();
        for c in 0..NONCE_COLS {
            for k in 0..COLS + ROWS {
                let mut input = [0; STREAM_INPUT_LEN];
                stream_input(&[0; 64], k, c, &mut input);
                inputs.push(input);
            }
        }
        assert_eq!(inputs[0][64..], [0, 0, 0, 0, 0]);
        assert_eq!(inputs[14][64..], [1, 0, 7, 0, 0]);
        assert_eq!(inputs[15 + 6][64..], [2, 0, 6, 0, 1]);
        assert_eq!(inputs[15 * 48 + 7][64..], [3, 0, 0, 0, 48]);
        inputs.sort_unstable();
        inputs.dedup();
        assert_eq!(inputs.len(), 735);
    }

    #[test]
    fn a_nonce_of_another_index_is_refused() {
        let mut setup = setup(5);
        let session = setup.session(7, 7);
        let share = setup.shares[0]
            .for_set(&setup.committee, &setup.set)
            .unwrap();
        let ctx = *setup.committee.era_ctx();
        for (seq, index) in [(5, 3), (6, 2)] {
            let header = Header {
                ctx,
                sender: 0,
                boot: 1,
                seq,
            };
            let made = make(&setup.a, &setup.shares[0], &header, index, &mut setup.rng).unwrap();
            let refused = made.nonce.respond(&session, &share).map(drop);
            assert_eq!(refused, Err(Error::Misuse(Misuse::Session)));
        }
    }

    /// A generator whose output is secret.
    struct Marked(horizon_testkit::SeededRng);

    impl rand_core::TryRng for Marked {
        type Error = core::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            self.0.try_next_u32()
        }

        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            self.0.try_next_u64()
        }

        fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
            self.0.try_fill_bytes(out)?;
            mark_undefined(out);
            Ok(())
        }
    }

    impl rand_core::TryCryptoRng for Marked {}

    /// Under valgrind every branch and every index that depends on a nonce or a share is an error. Without
    /// it this only runs the code. Masks: see the test of that module.
    #[test]
    fn no_branch_or_index_depends_on_nonce_or_share() {
        let errors = error_count();
        let mut rng = horizon_testkit::rng(6);
        let committee = testing::committee(1);
        let share = testing::shares(&committee, &mut rng).remove(0);
        share.mark_secrets();
        let a = NttMatrix::from_fn(ROWS, COLS, |_, _| ntt::forward(&testing::uniform(&mut rng)));
        let ctx = *committee.era_ctx();
        let header = Header {
            ctx,
            sender: 0,
            boot: 1,
            seq: 5,
        };
        let Made { nonce, message } = make(&a, &share, &header, 2, &mut Marked(rng)).unwrap();
        // D is public.
        mark_defined(&message[..]);
        let set = committee.signing_set(&[0]).unwrap();
        let session =
            Session::of_parts(set.clone(), [1; 64], [2; 32], [3; 32], challenge(&[3; 32]));
        let share = share.for_set(&committee, &set).unwrap();
        let z = nonce.respond(&session, &share).unwrap().z;
        // So is the partial.
        mark_defined(&z[..]);
        assert_eq!(
            error_count(),
            errors,
            "secret-dependent branches or indices"
        );
        assert_eq!(z.len(), COLS);
    }
}
