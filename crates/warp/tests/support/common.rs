//! Helpers the integration tests share.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses some of these"
)]

use horizon_warp::envelope::Lineage;
use horizon_warp::{Beam, Error, Message, Reason, SignerSet, UnsignedMessage};

pub use serde_json::Value;

/// Bytes of a hex string.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| (byte as char).to_digit(16).expect("hex digit") as u8)
        .collect();
    assert!(digits.len().is_multiple_of(2), "odd number of hex digits");
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// Lower-case hex of bytes.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("length")
}

/// SHA-256 as hex.
pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    to_hex(&sha2::Sha256::digest(bytes))
}

/// A vector file's JSON.
pub fn vectors(path: &str) -> Value {
    let path = format!("{}/../../vectors/{path}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).expect("valid JSON")
}

pub fn cases(file: &Value) -> &[Value] {
    file["cases"].as_array().expect("cases")
}

/// The text of a field.
pub fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key]
        .as_str()
        .unwrap_or_else(|| panic!("field {key} in {case:.200}"))
}

/// The bytes of a hex field.
pub fn bytes(case: &Value, key: &str) -> Vec<u8> {
    hex(text(case, key))
}

/// A number given as a JSON number or a decimal string.
pub fn number(case: &Value, key: &str) -> u64 {
    match &case[key] {
        Value::String(digits) => digits.parse().expect("decimal"),
        other => other.as_u64().unwrap_or_else(|| panic!("number {key}")),
    }
}

pub fn reason<T: core::fmt::Debug>(result: Result<T, Error>) -> Reason {
    result.expect_err("must be refused").reason()
}

/// A seeded generator: the same seed gives the same bytes on every machine.
#[derive(Clone, Debug)]
pub struct SplitMix(pub u64);

impl SplitMix {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// One of the four published known answers of version 2.
pub struct Known {
    pub network: u32,
    pub chain: [u8; 32],
    pub payload: &'static [u8],
    pub signers: SignerSet,
    pub signature: [u8; 96],
    pub lineage: Lineage,
    pub suite: &'static [u8],
    pub pulse: Vec<u8>,
    pub attestation: Vec<u8>,
}

fn padded(head: &str) -> [u8; 32] {
    let mut out = [0; 32];
    let head = hex(head);
    out[..head.len()].copy_from_slice(&head);
    out
}

impl Known {
    pub fn k1() -> Self {
        Self {
            network: 1,
            chain: padded("a1a2a3a4"),
            payload: b"envelope-test-payload",
            signers: SignerSet::from_indices([0, 2, 4]).unwrap(),
            signature: [0xab; 96],
            lineage: Lineage {
                nebula_root: padded("deadbeef"),
                key_era: 7,
                generation: 11,
            },
            suite: b"Pulsar-SHA3",
            pulse: vec![0x42; 64],
            attestation: vec![0xc3; 192],
        }
    }

    pub fn k2() -> Self {
        Self {
            lineage: Lineage::default(),
            suite: b"",
            pulse: vec![],
            attestation: vec![],
            ..Self::k1()
        }
    }

    pub fn k3() -> Self {
        Self {
            network: 2,
            chain: padded("b0b0b0b0"),
            payload: b"pulse-only-payload",
            signers: SignerSet::from_indices([1, 3, 5, 7]).unwrap(),
            signature: [0x77; 96],
            lineage: Lineage {
                nebula_root: padded("deadbeef"),
                key_era: 99,
                generation: 1,
            },
            suite: b"Pulsar-SHA3",
            pulse: vec![0x33; 96],
            attestation: vec![],
        }
    }

    pub fn k4() -> Self {
        Self {
            payload: b"",
            signers: SignerSet::from_indices([0]).unwrap(),
            signature: [0x11; 96],
            lineage: Lineage::default(),
            suite: b"Pulsar-SHA3",
            pulse: vec![],
            attestation: vec![0xee; 128],
            ..Self::k1()
        }
    }

    pub fn message(&self) -> Message<'_> {
        let unsigned = UnsignedMessage::new(self.network, self.chain, self.payload).unwrap();
        Message::new(
            unsigned,
            Beam {
                signers: self.signers.as_signers(),
                signature: &self.signature,
            },
        )
    }

    pub fn envelope(&self) -> horizon_warp::Envelope<'_> {
        horizon_warp::Envelope::with_lanes_unchecked(
            self.message(),
            self.lineage,
            self.suite,
            &self.pulse,
            &self.attestation,
        )
        .unwrap()
    }
}

/// A canonical Pulse with these coefficients; it passes every decode guard and proves nothing.
pub fn pulse(coefficient: impl Fn(usize, usize, usize) -> u64) -> Vec<u8> {
    let mut out = Vec::new();
    for (frame, polys) in [(0, 1), (1, 7), (2, 8)] {
        let mut body = Vec::new();
        if frame > 0 {
            body.extend_from_slice(&(polys as u64).to_le_bytes());
        }
        for poly in 0..polys {
            body.extend_from_slice(&1_u64.to_le_bytes());
            body.extend_from_slice(&256_u64.to_le_bytes());
            for j in 0..256 {
                body.extend_from_slice(&coefficient(frame, poly, j).to_le_bytes());
            }
        }
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&body);
    }
    out
}

/// A structurally valid certificate set of `n` signers 0..n with filler signatures.
pub fn cert_set(n: u16) -> Vec<u8> {
    let signers = SignerSet::from_indices(0..u32::from(n)).unwrap();
    let signatures: Vec<[u8; 3309]> = (0..n).map(|i| [i as u8; 3309]).collect();
    horizon_warp::CertSet::new(signers.as_signers(), &signatures)
        .unwrap()
        .encode()
}
