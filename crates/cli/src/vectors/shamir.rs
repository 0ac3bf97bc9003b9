//! Secret sharing and interpolation.

use horizon_pulsar::hazmat::interop;
use horizon_pulsar::params::COLS;
use horizon_pulsar::secret::SecretPolys;
use horizon_pulsar::shamir::lagrange_at_zero;
use horizon_pulsar::signers::{Quorum, SignerSet};
use horizon_ring::{Poly, modulus};
use serde_json::Value;

use super::Context;
use super::fields::{
    Checked, Fields, LabelStream, Mismatch, Raw, Verdict, fault, in_field, number, same,
    same_digest,
};

/// The reference takes signers in any order; ours only ascending. A set in another order counts as
/// strict: ours must refuse it, and the coefficients must be those of the sorted set.
pub(super) fn check_lagrange(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let signers: Vec<u16> = case
        .numbers("T")?
        .into_iter()
        .map(|id| u16::try_from(id).map_err(|_| fault("T: too large")))
        .collect::<Result<_, _>>()?;
    let mut sorted = signers.clone();
    sorted.sort_unstable();
    let ours = lagrange(&sorted)?;
    let by_signer: Vec<u64> = signers
        .iter()
        .filter_map(|id| {
            sorted
                .binary_search(id)
                .ok()
                .and_then(|index| ours.get(index).copied())
        })
        .collect();
    same("lambda", &by_signer, &case.numbers("lambda")?)?;
    let stored: Vec<u64> = by_signer
        .iter()
        .map(|&lambda| modulus::mul(lambda, modulus::R64))
        .collect();
    if case.has("lambda_ntt_mform_coeff") {
        same(
            "lambda_ntt_mform_coeff",
            &stored,
            &case.numbers("lambda_ntt_mform_coeff")?,
        )?;
    }
    if sorted == signers {
        return Ok(Verdict::Equal);
    }
    match signer_set(&signers) {
        Err(_) => Ok(Verdict::Strict),
        Ok(_) => Err(fault("T: an unsorted signer set was accepted")),
    }
}

pub(super) fn lagrange(signers: &[u16]) -> Result<Vec<u64>, Mismatch> {
    Ok(lagrange_at_zero(&signer_set(signers)?))
}

/// Seeded t-of-n sharing.
pub(super) fn check_general(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let quorum = quorum(case.number("t")?, case.number("k")?)?;
    let secret = secret(case)?;
    let seed = case.array("seed")?;
    let shares =
        interop::share_seeded(&secret, quorum, &seed).map_err(|error| fault(&error.to_string()))?;
    same_shares(case, &shares)?;
    Ok(Verdict::Equal)
}

/// The dealer's sharing for t = n, and where its randomness stands afterwards.
pub(super) fn check_t_equals_k(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let parties = u16::try_from(case.number("k")?).map_err(|_| fault("k: too large"))?;
    let secret = secret(case)?;
    let mut stream = DealerStream::new(&case.bytes("key")?);
    let shares = interop::share_t_equals_k(&secret, parties, || stream.integer())
        .map_err(|error| fault(&error.to_string()))?;
    same_shares(case, &shares)?;
    same("next32", &stream.bytes(), &case.array("next32")?)?;
    Ok(Verdict::Equal)
}

pub(super) fn quorum(threshold: u64, parties: u64) -> Result<Quorum, Mismatch> {
    let narrow = |value| u16::try_from(value).map_err(|_| fault("number of parties: too large"));
    Quorum::new(narrow(threshold)?, narrow(parties)?).map_err(|error| fault(&error.to_string()))
}

fn signer_set(signers: &[u16]) -> Result<SignerSet, Mismatch> {
    let parties = signers
        .iter()
        .max()
        .map_or(1, |last| last.saturating_add(1));
    let quorum = quorum(1, u64::from(parties))?;
    SignerSet::new(signers, quorum).map_err(|error| fault(&error.to_string()))
}

fn secret(case: &Fields<'_>) -> Result<SecretPolys, Mismatch> {
    let polys = LabelStream::new(case.text("secret_label")?).polys(COLS, modulus::Q);
    Ok(SecretPolys::new(
        polys.into_iter().map(Poly::from_array_unchecked).collect(),
    ))
}

fn same_shares(case: &Fields<'_>, shares: &[SecretPolys]) -> Result<(), Mismatch> {
    let expected = case.list("shares")?;
    same("number of shares", &shares.len(), &expected.len())?;
    for (index, (share, digest)) in shares.iter().zip(expected).enumerate() {
        let name = format!("shares[{index}]");
        let digest = in_field(&name, Fields::of(digest))?;
        let polys: Vec<Raw> = share.polys().iter().map(|poly| *poly.as_array()).collect();
        if let Some(Value::Array(first)) = digest.find("poly0_first4") {
            let theirs: Vec<u64> = first.iter().map(number).collect::<Result<_, _>>()?;
            same(
                &format!("{name}.poly0_first4"),
                &polys[0].get(..theirs.len()),
                &Some(&*theirs),
            )?;
        }
        same_digest(&name, &digest, &polys)?;
    }
    Ok(())
}

/// The reference dealer's randomness: the BLAKE3 stream of its key.
pub(super) struct DealerStream(blake3::OutputReader);

impl DealerStream {
    pub(super) fn new(key: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(key);
        Self(hasher.finalize_xof())
    }

    /// Seven bytes, big-endian, modulo q.
    fn integer(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes[1..]);
        modulus::reduce(u64::from_be_bytes(bytes))
    }

    fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.0.fill(&mut bytes);
        bytes
    }
}
