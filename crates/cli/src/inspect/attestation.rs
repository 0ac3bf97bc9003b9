//! Certificate sets and the Groth16 artifact.

use horizon_warp::attestation::{Attestation, CertSet};
use horizon_warp::limits::{GROTH16_LEN, MLDSA65_SIGNATURE_LEN};
use horizon_warp::{Error, SignerSet};
use serde_json::{Value, json};

use super::walk::Walk;
use super::{Fault, Field, Kind, Report};

pub(super) fn inspect(bytes: &[u8], kind: Kind) -> Report {
    let (facts, fault) = match check(bytes, kind) {
        Ok(facts) => (facts, None),
        Err(error) => (Vec::new(), Some(Fault::from(error))),
    };
    let fields = match kind {
        Kind::Groth16 => groth16_fields(bytes, 0, 0),
        _ => certset_fields(bytes, 0, 0),
    };
    Report {
        kind,
        fields,
        facts,
        fault,
    }
}

fn check(bytes: &[u8], kind: Kind) -> Result<Vec<(&'static str, Value)>, Error> {
    if kind == Kind::CertSet {
        return CertSet::parse(bytes).map(|set| facts(&set));
    }
    Attestation::parse(bytes).map(|_| Vec::new())
}

/// What a certificate set says.
pub(super) fn facts(set: &CertSet<'_>) -> Vec<(&'static str, Value)> {
    let signers: Vec<u32> = set.signers().iter().collect();
    vec![
        ("certificates", json!(signers.len())),
        ("certificate_signers", json!(signers)),
    ]
}

/// The fields of an attestation that stands at `base`.
pub(super) fn fields(bytes: &[u8], base: usize, depth: u8) -> Vec<Field> {
    if bytes.len() == GROTH16_LEN {
        groth16_fields(bytes, base, depth)
    } else {
        certset_fields(bytes, base, depth)
    }
}

fn certset_fields(bytes: &[u8], base: usize, depth: u8) -> Vec<Field> {
    let mut walk = Walk::new(bytes, base, depth);
    let _ = certset(&mut walk);
    walk.remainder("certset.rest");
    walk.fields
}

fn certset(walk: &mut Walk<'_>) -> Option<()> {
    walk.take("certset.kind", 1)?;
    walk.note("1: one signature per validator");
    walk.take("certset.scheme", 1)?;
    walk.note("3: ML-DSA-65");
    let count = walk.number("certset.count", 2)?;
    let len = walk.number("certset.signers.length", 2)?;
    let bits = walk.take("certset.signers", usize::try_from(len).ok()?)?;
    let signers = SignerSet::from_bytes_trimmed(bits).ok()?;
    let indices: Vec<u32> = signers.as_signers().iter().collect();
    walk.note(format!("validators {indices:?}"));
    let mut indices = indices.into_iter();
    for position in 0..count {
        walk.take(
            format!("certset.signature[{position}]"),
            MLDSA65_SIGNATURE_LEN,
        )?;
        if let Some(index) = indices.next() {
            walk.note(format!("validator {index}"));
        }
    }
    Some(())
}

fn groth16_fields(bytes: &[u8], base: usize, depth: u8) -> Vec<Field> {
    let mut walk = Walk::new(bytes, base, depth);
    for (name, len) in [
        ("groth16.a", 48),
        ("groth16.b", 96),
        ("groth16.c", 48),
        ("groth16.inputs_hash", 32),
    ] {
        if walk.take(name, len).is_none() {
            break;
        }
    }
    walk.remainder("groth16.rest");
    walk.fields
}
