//! Hash suites, and the standard functions below them.

use horizon_hash::kmac::kmac256;
use horizon_hash::parallelhash::parallel_hash256;
use horizon_hash::sponge::{cshake256, sha3_256, shake256};
use horizon_hash::suite::{Pairwise, Suite};
use horizon_hash::tuplehash::tuple_hash256;
use serde_json::Value;

use super::Context;
use super::fields::{Checked, Fields, Mismatch, Verdict, bytes, fault, in_field, same};

pub(super) fn check_standard(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let expected = case.bytes("out")?;
    let len = if case.has("outlen") {
        case.size("outlen")?
    } else {
        expected.len()
    };
    same("outlen", &len, &expected.len())?;
    let mut out = vec![0u8; len];
    let custom = |name| {
        if case.has(name) {
            case.bytes(name)
        } else {
            Ok(Vec::new())
        }
    };
    match case.find("fn").and_then(Value::as_str) {
        Some("SHA3-256") => out = sha3_256(&case.bytes("msg")?).to_vec(),
        Some("SHAKE256") => shake256(&[&case.bytes("msg")?], &mut out),
        Some("cSHAKE256") => cshake256(&custom("custom")?, &[&case.bytes("msg")?], &mut out),
        Some("KMAC256") => {
            kmac256(
                &case.bytes("key")?,
                &custom("custom")?,
                &[&case.bytes("msg")?],
                &mut out,
            );
        }
        Some("TupleHash256") => {
            let parts = parts(case, "parts")?;
            let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            tuple_hash256(&custom("custom")?, &parts, &mut out);
        }
        Some("ParallelHash256") => {
            let block = case.size("block_len")?;
            parallel_hash256(block, &custom("custom")?, &[&case.bytes("msg")?], &mut out)
                .map_err(|error| fault(&error.to_string()))?;
        }
        _ => return Err(fault("unknown function")),
    }
    same("out", &out, &expected)?;
    Ok(Verdict::Equal)
}

pub(super) fn check_suite(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    let suite = suite(context.file)?;
    let expected = case.bytes("out")?;
    let len = if case.has("out_len") {
        case.size("out_len")?
    } else {
        expected.len()
    };
    same("out_len", &len, &expected.len())?;
    let mut out = vec![0u8; len];
    match case.find("fn").and_then(Value::as_str) {
        Some("Hc") => out = suite.hc(&[&case.bytes("transcript")?]).to_vec(),
        Some("Hu") => suite.hu(&[&case.bytes("transcript")?], &mut out),
        Some("TranscriptHash") => {
            let parts = parts(case, "parts")?;
            let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            out = suite.transcript_hash(&parts).to_vec();
        }
        Some("PRF") => suite.prf(&case.bytes("key")?, &[&case.bytes("msg")?], &mut out),
        Some("MAC") => suite.mac(&case.bytes("key")?, &[&case.bytes("msg")?], &mut out),
        Some("DerivePairwise") => derive_pairwise(suite, case, &mut out)?,
        _ => return Err(fault("unknown function")),
    }
    same("out", &out, &expected)?;
    Ok(Verdict::Equal)
}

/// The suite that the file names.
pub(super) fn suite(file: &Fields<'_>) -> Result<Suite, Mismatch> {
    suite_by_name(file.text("suite")?)
}

pub(super) fn suite_by_name(name: &str) -> Result<Suite, Mismatch> {
    Suite::from_id(name.as_bytes()).ok_or_else(|| fault(&format!("suite: {name} is unknown")))
}

pub(super) fn check_suite_name(file: &Fields<'_>) -> Checked {
    suite(file).map(|_| Verdict::Equal)
}

fn derive_pairwise(suite: Suite, case: &Fields<'_>, out: &mut [u8]) -> Result<(), Mismatch> {
    let index =
        |name| u32::try_from(case.number(name)?).map_err(|_| fault(&format!("{name}: too large")));
    let (chain_id, group_id) = (case.bytes("chain_id")?, case.bytes("group_id")?);
    let context = Pairwise {
        chain_id: &chain_id,
        group_id: &group_id,
        era_id: case.number("era_id")?,
        generation: case.number("generation")?,
        i: index("i")?,
        j: index("j")?,
    };
    suite.derive_pairwise(&case.bytes("kex")?, &context, out);
    Ok(())
}

fn parts(case: &Fields<'_>, name: &str) -> Result<Vec<Vec<u8>>, Mismatch> {
    case.list(name)?
        .iter()
        .map(|part| in_field(name, bytes(part)))
        .collect()
}
