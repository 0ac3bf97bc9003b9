//! The keyed stream: BLAKE2Xb of unknown output length.

use horizon_hash::blake2xb::Blake2Xb;

use super::Context;
use super::fields::{Checked, Fields, Mismatch, Verdict, fault, same, sha256};

/// Every field comes from one 100,000-byte read, and again from reads of odd lengths.
pub(super) fn check(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let key = case.bytes("key")?;
    let mut long = vec![0u8; 100_000];
    stream(&key)?.read(&mut long);
    same("first256", &long[..256].to_vec(), &case.bytes("first256")?)?;
    if case.has("bytes_4096_4128") {
        same(
            "bytes_4096_4128",
            &long[4096..4128].to_vec(),
            &case.bytes("bytes_4096_4128")?,
        )?;
    }
    if case.has("last32_of_100000") {
        same(
            "last32_of_100000",
            &long[99_968..].to_vec(),
            &case.bytes("last32_of_100000")?,
        )?;
    }
    if case.has("sha256_100000") {
        same(
            "sha256_100000",
            &sha256(&long),
            &case.array("sha256_100000")?,
        )?;
    }
    if case.has("read_lens") {
        let mut pieces = Vec::new();
        let mut reader = stream(&key)?;
        for len in case.numbers("read_lens")? {
            let len = usize::try_from(len).ok().filter(|len| *len <= READ_LEN_MAX);
            let mut piece = vec![0; len.ok_or_else(|| fault("read_lens: too large"))?];
            reader.read(&mut piece);
            pieces.extend(piece);
        }
        same(
            "read_lens_sha256",
            &sha256(&pieces),
            &case.array("read_lens_sha256")?,
        )?;
    }
    Ok(Verdict::Equal)
}

/// A key that the stream must refuse.
pub(super) fn check_refused(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    case.text("error")?;
    match Blake2Xb::new(&case.bytes("key")?) {
        Err(_) => Ok(Verdict::Equal),
        Ok(_) => Err(fault("the key was accepted")),
    }
}

fn stream(key: &[u8]) -> Result<Blake2Xb, Mismatch> {
    Blake2Xb::new(key).map_err(|_| fault("key: refused"))
}

const READ_LEN_MAX: usize = 64 << 20;
