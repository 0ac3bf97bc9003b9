//! Reading the vector files and comparing with them.

use horizon_hash::sponge::shake256;
use horizon_pulsar::{GroupKey, Signature, Suite};
use horizon_ring::{NttPoly, Poly, codec};
use horizon_testkit::vectors::{from_hex, to_hex, vector};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The cases of a vector file.
pub(crate) fn cases(name: &str) -> Vec<Value> {
    vector(name)["cases"].as_array().expect("cases").clone()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

pub(crate) fn hex(value: &Value) -> Vec<u8> {
    from_hex(text(value)).expect("hex")
}

pub(crate) fn key32(value: &Value) -> [u8; 32] {
    hex(value).try_into().expect("32 bytes")
}

/// A number, written as one or as a decimal string.
pub(crate) fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| text(value).parse().expect("a number"))
}

pub(crate) fn position(value: &Value) -> u16 {
    u16::try_from(number(value)).expect("a position")
}

pub(crate) fn positions(value: &Value) -> Vec<u16> {
    value
        .as_array()
        .expect("positions")
        .iter()
        .map(position)
        .collect()
}

pub(crate) fn suite(value: &Value) -> Suite {
    Suite::from_id(text(value).as_bytes()).expect("a suite")
}

/// 256 coefficients of 16 hex digits.
pub(crate) fn words(value: &Value) -> [u64; 256] {
    let bytes = hex(value);
    let (chunks, rest) = bytes.as_chunks::<8>();
    assert!(rest.is_empty() && chunks.len() == 256);
    core::array::from_fn(|i| u64::from_be_bytes(chunks[i]))
}

pub(crate) fn slots(value: &Value) -> Vec<NttPoly> {
    let list = value.as_array().expect("polynomials");
    list.iter()
        .map(|poly| NttPoly::from_array_unchecked(words(poly)))
        .collect()
}

pub(crate) fn polys(value: &Value) -> Vec<Poly> {
    let list = value.as_array().expect("polynomials");
    list.iter()
        .map(|poly| Poly::from_array_unchecked(words(poly)))
        .collect()
}

pub(crate) fn signature(case: &Value) -> Signature {
    let z: [NttPoly; 7] = slots(&case["z"]).try_into().expect("7 polynomials");
    let delta: Box<[Poly; 8]> = Box::new(polys(&case["delta"]).try_into().expect("8 polynomials"));
    Signature::new(NttPoly::from_array_unchecked(words(&case["c"])), z, delta).expect("canonical")
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

pub(crate) fn ser_slots(polys: &[NttPoly]) -> Vec<u8> {
    let mut out = Vec::new();
    codec::write_vector(polys.iter(), &mut out);
    out
}

pub(crate) fn ser_polys(polys: &[Poly]) -> Vec<u8> {
    let mut out = Vec::new();
    codec::write_vector(polys.iter(), &mut out);
    out
}

/// `SER` of a matrix given row-major.
pub(crate) fn ser_matrix(polys: &[NttPoly], cols: usize) -> Vec<u8> {
    let mut out = ((polys.len() / cols) as u64).to_le_bytes().to_vec();
    polys
        .chunks_exact(cols)
        .for_each(|row| out.extend(ser_slots(row)));
    out
}

/// Compares with a digest object of a vector file.
pub(crate) fn assert_digest(digest: &Value, ser: &[u8], what: &str) {
    assert_eq!(sha256(ser), text(&digest["wire_sha256"]), "{what}");
}

/// The stream SHAKE256(label), as polynomials and bytes.
pub(crate) struct Labelled {
    bytes: Vec<u8>,
    at: usize,
}

impl Labelled {
    /// `len` bytes of the stream.
    pub(crate) fn new(label: &str, len: usize) -> Self {
        let mut bytes = vec![0; len];
        shake256(&[label.as_bytes()], &mut bytes);
        Self { bytes, at: 0 }
    }

    pub(crate) fn fill(&mut self, out: &mut [u8]) {
        out.copy_from_slice(&self.bytes[self.at..self.at + out.len()]);
        self.at += out.len();
    }

    /// 256 words ANDed with `mask`, those at or above `modulus` skipped.
    pub(crate) fn words(&mut self, mask: u64, modulus: u64) -> [u64; 256] {
        core::array::from_fn(|_| {
            loop {
                let mut word = [0; 8];
                self.fill(&mut word);
                let value = u64::from_be_bytes(word) & mask;
                if value < modulus {
                    break value;
                }
            }
        })
    }

    pub(crate) fn slots(&mut self, count: usize) -> Vec<NttPoly> {
        let mask = (1 << 49) - 1;
        let mut next = || NttPoly::from_array_unchecked(self.words(mask, horizon_ring::Q));
        (0..count).map(|_| next()).collect()
    }

    pub(crate) fn polys(&mut self, count: usize, bits: u32) -> Vec<Poly> {
        let modulus = 1 << bits;
        let mut next = || Poly::from_array_unchecked(self.words(modulus - 1, modulus));
        (0..count).map(|_| next()).collect()
    }
}

pub(crate) fn a_ser(key: &GroupKey) -> &[u8] {
    &key.as_bytes()[..horizon_pulsar::params::A_LEN]
}

pub(crate) fn b_ser(key: &GroupKey) -> &[u8] {
    &key.as_bytes()[horizon_pulsar::params::A_LEN..]
}
