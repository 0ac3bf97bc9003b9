//! What each fuzz target does with its bytes. The workspace's tests run the same functions over the
//! committed corpus and over malformed variants of valid encodings.
//!
//! A decoder must return, never panic, and whatever it accepts must encode to the same bytes again.

#[path = "frames.rs"]
pub mod frames;

use horizon_cli::local;
use horizon_cli::vectors::Runner;
use horizon_hash::suite::Suite;
use horizon_pulsar::committee::Committee;
use horizon_pulsar::committee::message::{NonceMatrix, Transaction};
use horizon_pulsar::dealer::MemberShare;
use horizon_pulsar::hazmat::interop;
use horizon_pulsar::{GroupKey, Signature};
use horizon_ring::matrix::Matrix;
use horizon_ring::pack::{PACKED_BYTES, pack49, unpack49};
use horizon_ring::{NttPoly, Poly, codec, modulus};

/// One target.
pub struct Target {
    /// Its name: that of its binary and of its corpus folder.
    pub name: &'static str,
    /// Decodes bytes; true when they were accepted.
    pub body: fn(&[u8]) -> bool,
}

/// Every target there is.
pub fn all() -> impl Iterator<Item = &'static Target> {
    TARGETS.iter().chain(frames::TARGETS)
}

/// The targets of this file.
pub const TARGETS: &[Target] = &[
    Target {
        name: "poly",
        body: poly,
    },
    Target {
        name: "vector",
        body: vector,
    },
    Target {
        name: "matrix",
        body: matrix,
    },
    Target {
        name: "packed_poly",
        body: packed_poly,
    },
    Target {
        name: "group_key",
        body: group_key,
    },
    Target {
        name: "signature",
        body: signature,
    },
    Target {
        name: "pulse",
        body: pulse,
    },
    Target {
        name: "interop_share",
        body: interop_share,
    },
    Target {
        name: "member_share",
        body: member_share,
    },
    Target {
        name: "round1",
        body: round1,
    },
    Target {
        name: "round2",
        body: round2,
    },
    Target {
        name: "transaction",
        body: transaction,
    },
    Target {
        name: "nonce_matrix",
        body: nonce_matrix,
    },
    Target {
        name: "vector_file",
        body: vector_file,
    },
];

/// A polynomial in the structure encoding, values below q.
pub fn poly(data: &[u8]) -> bool {
    let Ok(poly) = codec::read_poly::<NttPoly>(data, modulus::Q - 1, "poly") else {
        return false;
    };
    let mut again = Vec::new();
    codec::write_poly(&poly, &mut again);
    assert_eq!(again, data);
    true
}

/// A vector of seven polynomials.
pub fn vector(data: &[u8]) -> bool {
    let mut polys: Vec<Poly> = vec![Poly::ZERO; 7];
    if codec::read_vector(data, modulus::Q - 1, "vector", polys.iter_mut()).is_err() {
        return false;
    }
    let mut again = Vec::new();
    codec::write_vector(polys.iter(), &mut again);
    assert_eq!(again, data);
    true
}

/// A matrix of two by three polynomials.
pub fn matrix(data: &[u8]) -> bool {
    let decoded: Result<Matrix<NttPoly>, _> =
        codec::read_matrix(data, (2, 3), modulus::Q - 1, "matrix");
    let Ok(matrix) = decoded else { return false };
    let mut again = Vec::new();
    codec::write_matrix(&matrix, &mut again);
    assert_eq!(again, data);
    true
}

/// A polynomial packed at 49 bits per value.
pub fn packed_poly(data: &[u8]) -> bool {
    let Ok(bytes) = <&[u8; PACKED_BYTES]>::try_from(data) else {
        return false;
    };
    let Ok(poly) = unpack49::<NttPoly>(bytes, "packed") else {
        return false;
    };
    let mut again = [0; PACKED_BYTES];
    pack49(&poly, &mut again);
    assert_eq!(again, *bytes);
    true
}

/// A group key, framed and raw.
pub fn group_key(data: &[u8]) -> bool {
    let raw = GroupKey::from_raw(data);
    if let Ok(key) = &raw {
        assert_eq!(key.as_bytes(), data);
    }
    let framed = GroupKey::from_framed(data);
    if let Ok(key) = &framed {
        assert_eq!(key.to_framed(), data);
    }
    raw.is_ok() || framed.is_ok()
}

/// A framed signature.
pub fn signature(data: &[u8]) -> bool {
    let Ok(signature) = Signature::from_framed(data) else {
        return false;
    };
    assert_eq!(signature.to_framed(), data);
    true
}

/// A signature as envelopes carry it.
pub fn pulse(data: &[u8]) -> bool {
    let Ok(signature) = Signature::from_pulse_bytes(data) else {
        return false;
    };
    assert_eq!(signature.to_pulse_bytes(), data);
    true
}

/// A share of the reference's protocol.
pub fn interop_share(data: &[u8]) -> bool {
    let Ok(share) = interop::Share::from_bytes(data) else {
        return false;
    };
    assert_eq!(*share.to_bytes(), data);
    true
}

/// A share that the dealer made for committee mode.
pub fn member_share(data: &[u8]) -> bool {
    let Ok(share) = MemberShare::from_bytes(data) else {
        return false;
    };
    assert_eq!(*share.to_bytes(), data);
    true
}

/// A first-round message of the reference's protocol.
pub fn round1(data: &[u8]) -> bool {
    let Ok(message) = interop::Round1Message::from_bytes(data) else {
        return false;
    };
    assert_eq!(message.to_bytes(), data);
    true
}

/// A second-round message of the reference's protocol.
pub fn round2(data: &[u8]) -> bool {
    let Ok(partial) = interop::Partial::from_bytes(data) else {
        return false;
    };
    assert_eq!(partial.to_bytes(), data);
    true
}

/// A ledger transaction of committee mode.
pub fn transaction(data: &[u8]) -> bool {
    let Some(committee) = committee() else {
        return false;
    };
    match Transaction::decode(data, &committee) {
        Err(_) => false,
        Ok(Transaction::BatchCommit(tx)) => same_bytes(tx.bytes(), data),
        Ok(Transaction::BatchHave(tx)) => same_bytes(tx.bytes(), data),
        Ok(Transaction::BatchVoid(tx)) => same_bytes(tx.bytes(), data),
        Ok(Transaction::PartialPost(tx)) => same_bytes(tx.bytes(), data),
        Ok(Transaction::PulseCert(tx)) => same_bytes(tx.bytes(), data),
        Ok(_) => true,
    }
}

/// A nonce matrix of committee mode.
pub fn nonce_matrix(data: &[u8]) -> bool {
    let Some(committee) = committee() else {
        return false;
    };
    let Ok(matrix) = NonceMatrix::decode(data, &committee) else {
        return false;
    };
    same_bytes(matrix.bytes(), data)
}

/// A file of test vectors.
pub fn vector_file(data: &[u8]) -> bool {
    Runner::default().run_bytes(data).is_ok()
}

fn same_bytes(again: &[u8], data: &[u8]) -> bool {
    assert_eq!(again, data);
    true
}

/// The committee that transactions of the corpus belong to: three of three.
pub fn committee() -> Option<Committee> {
    Committee::new(local::committee_params_for(
        [9; 32],
        Suite::PulsarSha3,
        3,
        3,
    ))
    .ok()
}
