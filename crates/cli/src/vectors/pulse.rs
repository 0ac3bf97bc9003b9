//! The encoding of a signature inside envelopes: three frames with little-endian lengths.

use horizon_pulsar::Signature;
use horizon_pulsar::params::{COLS, Q_NU, ROWS};
use horizon_ring::{N, modulus};

use super::Context;
use super::fields::{
    Checked, Fields, Mismatch, Raw, Verdict, fault, same, ser_poly, ser_vector, sha256,
};
use super::primitives::slots;
use super::signatures::Signed;

/// Encoding of a known signature, compared in full or by digest, and decoded again.
pub(super) fn check_serialize(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    let signed = context.signatures.find(case.text("of")?)?;
    let bytes = signature(&signed)?.to_pulse_bytes();
    same("pulse_len", &bytes.len(), &case.size("pulse_len")?)?;
    same(
        "pulse_sha256",
        &sha256(&bytes),
        &case.array("pulse_sha256")?,
    )?;
    let first = case.bytes("first64")?;
    same(
        "first64",
        &bytes.get(..first.len()),
        &Some(first.as_slice()),
    )?;
    if case.has("pulse") {
        same("pulse", &bytes, &case.bytes("pulse")?)?;
    }
    let decoded = Signature::from_pulse_bytes(&bytes).map_err(|error| fault(&error.to_string()))?;
    let again = decoded.to_pulse_bytes() == bytes;
    same("roundtrip", &again, &case.flag("roundtrip")?)?;
    Ok(Verdict::Equal)
}

/// The reference's decoder does not look at shapes. Ours accepts exactly the one shape that
/// verification can use; a case counts as strict where only the reference accepts.
pub(super) fn check_malformed(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let bytes = if case.has("bytes") {
        case.bytes("bytes")?
    } else {
        build(case)?
    };
    let accepted = case.flag("ok")?;
    same("error", &case.get("error")?.is_null(), &accepted)?;
    let frames = frames(&bytes);
    if accepted {
        let [_, z, delta] = frames.ok_or_else(|| fault("the frames are not whole"))?;
        same("z_len", &count(z), &case.number("z_len")?)?;
        same("delta_len", &count(delta), &case.number("delta_len")?)?;
    }
    let canonical = frames.is_some_and(|[c, z, delta]| {
        is_vector(&[&1u64.to_le_bytes(), c].concat(), 1, modulus::Q)
            && is_vector(z, COLS, modulus::Q)
            && is_vector(delta, ROWS, Q_NU)
    });
    // Bytes that are not canonical may well change when the reference encodes what it understood.
    let reencoded = !accepted || case.flag("reencoded_equal")?;
    match Signature::from_pulse_bytes(&bytes) {
        Ok(signature) => {
            same("reencoded_equal", &reencoded, &true)?;
            same(
                "our acceptance of a shape that is not canonical",
                &canonical,
                &true,
            )?;
            same("ok", &accepted, &true)?;
            same("our second encoding", &signature.to_pulse_bytes(), &bytes)?;
            Ok(Verdict::Equal)
        }
        Err(_) if canonical => Err(fault("our decoder refused a canonical signature")),
        Err(_) if accepted => Ok(Verdict::Strict),
        Err(_) => Ok(Verdict::Equal),
    }
}

pub(super) fn signature(signed: &Signed) -> Result<Signature, Mismatch> {
    let z = slots(&signed.z)
        .try_into()
        .map_err(|_| fault("z: wrong number of polynomials"))?;
    let delta: Vec<_> = signed
        .delta
        .iter()
        .map(|raw| horizon_ring::Poly::from_array_unchecked(*raw))
        .collect();
    let delta = delta.into_boxed_slice().try_into();
    let delta = delta.map_err(|_| fault("delta: wrong number of polynomials"))?;
    let c = horizon_ring::NttPoly::from_array_unchecked(signed.c);
    Signature::new(c, z, delta).map_err(|error| fault(&error.to_string()))
}

/// The frames of the large cases, which the file names instead of holding: coefficients count up
/// from 1 in every polynomial. Which of them a case means is told from its digest.
fn build(case: &Fields<'_>) -> Result<Vec<u8>, Mismatch> {
    case.text("build")?;
    let counting = |len: usize| -> Vec<u8> {
        let words = [1, len as u64].into_iter().chain(1..=len as u64);
        words.flat_map(u64::to_le_bytes).collect()
    };
    let vector = |count: usize, len: usize| -> Vec<u8> {
        let polys = core::iter::repeat_n(counting(len), count).flatten();
        (count as u64)
            .to_le_bytes()
            .into_iter()
            .chain(polys)
            .collect()
    };
    let zero: Raw = [0; N];
    let known = [
        [counting(4094), vector(1, 4), vector(1, 4)],
        [counting(4095), vector(1, 4), vector(1, 4)],
        [counting(4), vector(1, 4094), vector(1, 4)],
        [counting(4), vector(1, 4093), vector(1, 4)],
        [counting(4), vector(2, 2000), vector(2, 2100)],
        [
            ser_poly(&zero),
            ser_vector([zero; COLS].iter()),
            ser_vector([zero; ROWS].iter()),
        ],
    ];
    let (len, hash) = (case.size("bytes_len")?, case.array("bytes_sha256")?);
    let framed = |parts: [Vec<u8>; 3]| -> Vec<u8> {
        let frame = |part: Vec<u8>| {
            let len = u32::try_from(part.len()).unwrap_or(u32::MAX);
            [&len.to_le_bytes()[..], &part].concat()
        };
        parts.map(frame).concat()
    };
    let mut built = known.into_iter().map(framed);
    built
        .find(|bytes| bytes.len() == len && sha256(bytes) == hash)
        .ok_or_else(|| fault("none of the known large frames has this digest"))
}

/// The three frames, when the bytes consist of exactly that.
fn frames(bytes: &[u8]) -> Option<[&[u8]; 3]> {
    let mut rest = bytes;
    let mut next = || {
        let (len, tail) = rest.split_first_chunk::<4>()?;
        let (frame, tail) = tail.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        rest = tail;
        Some(frame)
    };
    let frames = [next()?, next()?, next()?];
    rest.is_empty().then_some(frames)
}

fn count(frame: &[u8]) -> u64 {
    frame
        .first_chunk()
        .map_or(0, |word| u64::from_le_bytes(*word))
}

/// Whether a frame is the encoding of `len` polynomials of 256 values below `modulus`.
fn is_vector(frame: &[u8], len: usize, modulus: u64) -> bool {
    let (words, rest) = frame.as_chunks::<8>();
    let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
    let header = words.next() == Some(len as u64);
    let body: Vec<u64> = words.collect();
    header
        && rest.is_empty()
        && body.len() == len * (N + 2)
        && body.chunks(N + 2).all(|poly| {
            poly[..2] == [1, N as u64] && poly[2..].iter().all(|&value| value < modulus)
        })
}
