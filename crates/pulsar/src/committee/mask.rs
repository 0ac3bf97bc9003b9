//! Masks between the members of one session: they cancel in the sum over the set, and only if every member
//! computed the same challenge seed.
//!
//! # Source
//! Committee-mode specification section 1.4 step 4, findings C-01 and C-12.
//! # Security
//! Which words of a stream are accepted shows in timing; it is independent of the accepted values.

use alloc::vec::Vec;

use horizon_hash::domain::committee as domain;
use horizon_hash::kmac::{KmacJob, kmac256_batch};
use horizon_hash::lanes::XofPrefix;
use horizon_ring::backend::{self, ByteOrder, Kind};
use horizon_ring::modulus::Q;
use horizon_ring::{N, NttPoly};
use zeroize::Zeroizing;

use super::error::Error;
use super::session::Session;
use super::share::SetShare;
use crate::params::COLS;

/// Adds to `z` (7 polynomials, canonical plain slots) the masks towards all peers of the set: those of higher
/// position are added, those of lower position subtracted.
pub(super) fn add_masks(
    z: &mut [NttPoly],
    share: &SetShare,
    session: &Session,
) -> Result<(), Error> {
    let keys = mask_keys(share, session);
    let mut inputs = Zeroizing::new(Vec::with_capacity(keys.len() * COLS));
    for key in keys.iter() {
        inputs.extend((0..7u16).map(|p| mask_input(key, p)));
    }
    let mut sums = Zeroizing::new([[0u64; N]; COLS]);
    let prefix = XofPrefix::new(domain::MASK_POLY);
    let mut polys = Zeroizing::new([[0u64; N]; LANES]);
    for (group, inputs) in inputs.chunks(LANES).enumerate() {
        field_elements(&prefix, inputs, &mut polys)?;
        for (lane, poly) in polys.iter().take(inputs.len()).enumerate() {
            let (peer, p) = ((group * LANES + lane) / COLS, (group * LANES + lane) % COLS);
            let adds = share
                .peers
                .get(peer)
                .is_some_and(|peer| peer.peer > share.member);
            accumulate(&mut sums[p], poly, adds);
        }
    }
    let mut mask = Zeroizing::new(NttPoly::ZERO);
    for (z, sum) in z.iter_mut().zip(sums.iter()) {
        backend::reduce(Kind::active(), sum, mask.as_mut_array());
        z.add_assign(&mask);
    }
    Ok(())
}

/// One key per peer of the set, in set order: over the seed of the pair, bound to transcript, message and
/// challenge seed.
fn mask_keys(share: &SetShare, session: &Session) -> Zeroizing<Vec<[u8; 32]>> {
    let parts: [&[u8]; 3] = [
        session.transcript(),
        session.u_seed(),
        session.challenge_seed(),
    ];
    let jobs: Vec<KmacJob<'_>> = share
        .peers
        .iter()
        .map(|peer| KmacJob {
            key: &peer.seed,
            parts: &parts,
        })
        .collect();
    Zeroizing::new(kmac256_batch(domain::MASK, &jobs))
}

fn mask_input(key: &[u8; 32], poly: u16) -> [u8; 34] {
    let mut input = [0; 34];
    input[..32].copy_from_slice(key);
    input[32..].copy_from_slice(&poly.to_be_bytes());
    input
}

/// One polynomial of uniform slots per input, by rejection from its own stream.
fn field_elements(
    prefix: &XofPrefix,
    inputs: &[[u8; 34]],
    out: &mut [[u64; N]; LANES],
) -> Result<(), Error> {
    // Between 1 and 8 inputs and whole blocks by construction, so neither call fails.
    let mut streams = prefix.lanes(inputs).map_err(|_| Error::Internal)?;
    let mut filled = [0; LANES];
    let mut buffer = Zeroizing::new([0u8; LANES * FIRST_BLOCKS * BLOCK_LEN]);
    let mut blocks = FIRST_BLOCKS;
    while filled[..inputs.len()].iter().any(|filled| *filled < N) {
        let len = blocks * BLOCK_LEN;
        let used = &mut buffer[..len * inputs.len()];
        streams.squeeze_blocks(used).map_err(|_| Error::Internal)?;
        for ((words, out), filled) in used.chunks_exact(len).zip(out.iter_mut()).zip(&mut filled) {
            *filled = backend::parse_words(Kind::active(), ByteOrder::Little, words, out, *filled);
        }
        blocks = MORE_BLOCKS;
    }
    Ok(())
}

/// `sum += poly`, or `sum += q - poly`; at most 1,023 terms of at most q stay below 2^59.
fn accumulate(sum: &mut [u64; N], poly: &[u64; N], adds: bool) {
    if adds {
        backend::add_raw(Kind::active(), sum, poly);
    } else {
        sum.iter_mut()
            .zip(poly)
            .for_each(|(sum, value)| *sum += Q - value);
    }
}

/// Streams squeezed together.
const LANES: usize = 8;
/// Bytes of one block of a stream: 17 words.
const BLOCK_LEN: usize = 136;
/// First read of a stream: 561 words, of which 280 are accepted on average, 256 or more in 98 of 100.
const FIRST_BLOCKS: usize = 33;
/// Every further read.
const MORE_BLOCKS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::committee::share::{SignerShare, testing};
    use crate::secret::SecretPolys;
    use horizon_testkit::secret::{error_count, mark_defined, mark_undefined};

    const H: &str = "f49ed224b139d63acfbd6b709daa7b5c0f34c52238c38afbc1282a58e627f9f7\
                     a267e0a3cd8054af0154e7570618cac08b7bf2e2225be313214fdbfb51142acd";
    const U_SEED: &str = "acebbf0fdb33d7ad6f7b8e81b7ea90c93d34879b45cc2a8ee555eeb4148d1803";

    fn bytes<const L: usize>(hex: &str) -> [u8; L] {
        horizon_testkit::vectors::from_hex(hex)
            .unwrap()
            .try_into()
            .unwrap()
    }

    fn masks(share: &SetShare, session: &Session) -> Vec<NttPoly> {
        let mut z = alloc::vec![NttPoly::ZERO; COLS];
        add_masks(&mut z, share, session).unwrap();
        z
    }

    fn sum(all: &[Vec<NttPoly>]) -> Vec<NttPoly> {
        let mut sum = alloc::vec![NttPoly::ZERO; COLS];
        for z in all {
            sum.iter_mut().zip(z).for_each(|(sum, z)| sum.add_assign(z));
        }
        sum
    }

    fn log2_deviation(slots: &[NttPoly]) -> f64 {
        let polys: Vec<_> = slots.iter().map(horizon_ring::ntt::inverse).collect();
        testing::log2_deviation(&polys)
    }

    #[test]
    fn mask_keys_and_polynomials_have_the_published_values() {
        let committee = testing::committee(2);
        let rng = &mut horizon_testkit::rng(1);
        let mut row = || SecretPolys::new((0..COLS).map(|_| testing::uniform(rng)).collect());
        let share =
            SignerShare::new(&committee, 0, alloc::vec![row()], alloc::vec![[5; 32]; 2]).unwrap();
        let set = committee.signing_set(&[0, 1]).unwrap();
        let share = share.for_set(&committee, &set).unwrap();
        let session = Session::of_parts(set, bytes(H), bytes(U_SEED), [4; 32], NttPoly::ZERO);
        assert_eq!(
            horizon_testkit::vectors::to_hex(&mask_keys(&share, &session)[0]),
            "0f85708ec5a09a68df708358a4aab34eb382b6134ccc0d591420ccad5defd795"
        );
        let slots = masks(&share, &session);
        assert_eq!(
            slots[0].as_array()[..3],
            [52_251_465_690_196, 72_741_251_024_475, 63_239_256_723_769]
        );
    }

    #[test]
    fn c12_masks_of_one_seed_per_pair_cancel_over_the_whole_set_and_only_there() {
        for n in 2..=5u16 {
            let committee = testing::committee(n);
            let shares = testing::shares(&committee, &mut horizon_testkit::rng(n.into()));
            let ids: Vec<u16> = (0..n).collect();
            let set = committee.signing_set(&ids).unwrap();
            let session = Session::of_parts(set.clone(), [1; 64], [2; 32], [3; 32], NttPoly::ZERO);
            let all: Vec<_> = shares
                .iter()
                .map(|share| masks(&share.for_set(&committee, &set).unwrap(), &session))
                .collect();
            assert!(sum(&all) == alloc::vec![NttPoly::ZERO; COLS]);
            for without in 0..usize::from(n) {
                let mut some = all.clone();
                some.remove(without);
                let left = log2_deviation(&sum(&some));
                assert!(
                    (left - 46.2).abs() < 0.05,
                    "without {without} of {n}: 2^{left}"
                );
            }
        }
    }

    #[test]
    fn c12_two_members_with_the_same_sign_do_not_cancel() {
        // A member that takes itself for the higher one of the pair: an invalid signature, no bare partial.
        let committee = testing::committee(2);
        let shares = testing::shares(&committee, &mut horizon_testkit::rng(9));
        let set = committee.signing_set(&[0, 1]).unwrap();
        let session = Session::of_parts(set.clone(), [1; 64], [2; 32], [3; 32], NttPoly::ZERO);
        let low = shares[0].for_set(&committee, &set).unwrap();
        let mut high = shares[1].for_set(&committee, &set).unwrap();
        high.member = 0;
        high.peers[0].peer = 1;
        let left = log2_deviation(&sum(&[masks(&low, &session), masks(&high, &session)]));
        assert!((left - 46.2).abs() < 0.05, "2^{left}");
    }

    #[test]
    fn c01_masks_depend_on_transcript_message_and_challenge() {
        let committee = testing::committee(2);
        let shares = testing::shares(&committee, &mut horizon_testkit::rng(10));
        let set = committee.signing_set(&[0, 1]).unwrap();
        let share = shares[0].for_set(&committee, &set).unwrap();
        let session = |h: u8, u: u8, c: u8| {
            Session::of_parts(set.clone(), [h; 64], [u; 32], [c; 32], NttPoly::ZERO)
        };
        let base = masks(&share, &session(1, 2, 3));
        for other in [session(9, 2, 3), session(1, 9, 3), session(1, 2, 9)] {
            assert!(masks(&share, &other) != base);
        }
    }

    /// Under valgrind, as for nonces. Which words of a stream are accepted is public by design, so the
    /// streams are made of keys that are declared public, and their values are secret again after that.
    #[test]
    fn no_branch_or_index_depends_on_seeds_or_mask_values() {
        let errors = error_count();
        let committee = testing::committee(3);
        let shares = testing::shares(&committee, &mut horizon_testkit::rng(11));
        shares[1].mark_secrets();
        let set = committee.signing_set(&[0, 1, 2]).unwrap();
        let share = shares[1].for_set(&committee, &set).unwrap();
        let session = Session::of_parts(set, [1; 64], [2; 32], [3; 32], NttPoly::ZERO);
        let keys = mask_keys(&share, &session);
        mark_defined(&keys[..]);
        let prefix = XofPrefix::new(domain::MASK_POLY);
        let mut polys = [[0; N]; LANES];
        field_elements(&prefix, &[mask_input(&keys[0], 0)], &mut polys).unwrap();
        mark_undefined(&polys);
        let mut sum = [0; N];
        accumulate(&mut sum, &polys[0], true);
        accumulate(&mut sum, &polys[0], false);
        let mut mask = NttPoly::ZERO;
        backend::reduce(Kind::active(), &sum, mask.as_mut_array());
        mark_defined(mask.as_array());
        assert_eq!(
            error_count(),
            errors,
            "secret-dependent branches or indices"
        );
        assert!(mask == NttPoly::ZERO);
    }
}
