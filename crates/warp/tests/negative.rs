//! Everything the decoders must refuse, by the numbers of the specification, asserting the reason.

#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test that cannot go on has failed"
)]

#[path = "support/common.rs"]
mod common;

use common::*;
use horizon_warp::certificate::HorizonCertificate;
use horizon_warp::payload::*;
use horizon_warp::pulse::PulseFrames;
use horizon_warp::request::{SignatureRequest, SignatureResponse};
use horizon_warp::rlp;
use horizon_warp::*;

fn parse(bytes: &[u8]) -> Reason {
    reason(Envelope::parse(bytes))
}

/// An envelope of K2 with one field replaced by raw bytes.
fn k2_with(field: usize, raw: &[u8]) -> Vec<u8> {
    let known = Known::k2();
    let mut fields = vec![
        known.message().encode(),
        hex(&format!("a0{}", "00".repeat(32))),
    ];
    fields.extend(vec![vec![0x80]; 5]);
    fields[field] = raw.to_vec();
    wrap(&fields.concat())
}

/// `02 ||` list of the body.
fn wrap(body: &[u8]) -> Vec<u8> {
    let mut out = vec![2];
    rlp::put_list_header(&mut out, body.len());
    out.extend_from_slice(body);
    out
}

/// A version 1 message from raw fields.
fn message_of(network: &[u8], chain: &[u8], payload: &[u8], tail: &[&[u8]]) -> Vec<u8> {
    let list = |body: &[u8]| {
        let mut out = Vec::new();
        rlp::put_list_header(&mut out, body.len());
        out.extend_from_slice(body);
        out
    };
    let unsigned = list(&[network, chain, payload].concat());
    list(&[&unsigned[..], &tail.concat()].concat())
}

fn chain_field() -> Vec<u8> {
    hex(&format!("a0{}", "a1".repeat(32)))
}

fn signature_list(signers: &[u8], signature_len: usize) -> Vec<u8> {
    let mut body = signers.to_vec();
    rlp::put_bytes(&mut body, &vec![0xab; signature_len]);
    let mut out = Vec::new();
    rlp::put_list_header(&mut out, body.len());
    out.extend(body);
    out
}

#[test]
fn q3_n1_empty_bytes_are_empty_to_every_parser() {
    let reasons = [
        parse(&[]),
        reason(Envelope::parse_v2(&[])),
        reason(Message::parse(&[])),
        reason(UnsignedMessage::parse(&[])),
        reason(AddressedCall::parse(&[])),
        reason(HashPayload::parse(&[])),
        reason(L1ValidatorRegistration::parse(&[])),
        reason(RegisterL1Validator::parse(&[])),
        reason(ChainToL1Conversion::parse(&[])),
        reason(L1ValidatorWeight::parse(&[])),
        reason(AtomicSwap::parse(&[])),
        reason(MultiHopRoute::parse(&[])),
        reason(AssetLock::parse(&[])),
        reason(Teleport::parse_rlp(&[])),
        reason(Teleport::parse_fixed(&[])),
        reason(Routed::parse(&[])),
        reason(SignatureRequest::parse(&[])),
        reason(SignatureResponse::parse(&[])),
        reason(HorizonCertificate::parse(&[])),
        reason(CertSet::parse(&[])),
        reason(Record::parse(&[])),
    ];
    for (at, reason) in reasons.into_iter().enumerate() {
        assert_eq!(reason, Reason::EmptyInput, "parser {at}");
    }
    // The Pulse's own first guard.
    assert_eq!(reason(PulseFrames::parse(&[])), Reason::PulseEmpty);
}

#[test]
fn n2_to_n5_lead_bytes() {
    assert_eq!(parse(&[2]), Reason::RlpTruncated);
    assert_eq!(parse(&[2, 0xff]), Reason::RlpTruncated);
    let k1 = Known::k1().envelope().encode();
    for version in (0..=0xff).filter(|version| *version != 2) {
        let mut bytes = k1.clone();
        bytes[0] = version;
        assert_eq!(reason(Envelope::parse_v2(&bytes)), Reason::UnknownVersion);
        if version < 0xc0 {
            assert_eq!(parse(&bytes), Reason::UnknownVersion);
        }
    }
    assert_eq!(parse(&[5, 0, 0]), Reason::UnknownVersion);
}

#[test]
fn n6_version_2_bytes_are_no_version_1_message() {
    let k1 = Known::k1().envelope().encode();
    assert_eq!(Message::parse(&k1).unwrap_err().class(), Class::Rlp);
}

#[test]
fn n7_to_n9_trailing_bytes_and_field_counts() {
    let mut k1 = Known::k1().envelope().encode();
    k1.push(0);
    assert_eq!(parse(&k1), Reason::RlpTrailingBytes);
    assert_eq!(Envelope::parse(&k1).unwrap_err().offset(), Some(473));
    let k2 = Known::k2().envelope().encode();
    let body = &k2[3..];
    assert_eq!(
        Envelope::parse(&wrap(body)).unwrap(),
        Known::k2().envelope()
    );
    assert_eq!(
        parse(&wrap(&[body, &[0x80]].concat())),
        Reason::RlpFieldCount
    );
    assert_eq!(parse(&wrap(&body[..body.len() - 1])), Reason::RlpFieldCount);
}

#[test]
fn n10_signature_types_other_than_zero() {
    let signature = signature_list(&[0x15], 96);
    let chain = chain_field();
    let of = |kind: &[u8]| {
        reason(Message::parse(&message_of(
            &[1],
            &chain,
            &[0x80],
            &[kind, &signature],
        )))
    };
    assert_eq!(of(&[0x00]), Reason::RlpIntegerLeadingZero);
    assert_eq!(of(&[0x01]), Reason::UnknownSignatureType);
    assert_eq!(of(&[0x7f]), Reason::UnknownSignatureType);
    assert_eq!(of(&[0x81, 0x02]), Reason::RlpByteAsString);
    assert_eq!(of(&[0x82, 1, 0]), Reason::RlpIntegerTooLong);
    assert_eq!(of(&[0xc0]), Reason::RlpWrongKind);
}

#[test]
fn n11_to_n13_fixed_fields_and_network_ids() {
    let signature = signature_list(&[0x15], 96);
    let good = chain_field();
    let of = |network: &[u8], chain: &[u8], signature: &[u8]| {
        reason(Message::parse(&message_of(
            network,
            chain,
            &[0x80],
            &[&[0x80], signature],
        )))
    };
    for len in [31_usize, 33] {
        let mut chain = Vec::new();
        rlp::put_bytes(&mut chain, &vec![0xa1; len]);
        assert_eq!(of(&[1], &chain, &signature), Reason::RlpFixedLength);
    }
    for len in [95, 97] {
        assert_eq!(
            of(&[1], &good, &signature_list(&[0x15], len)),
            Reason::RlpFixedLength
        );
    }
    assert_eq!(
        of(&hex("850100000000"), &good, &signature),
        Reason::RlpIntegerTooLong
    );
    assert_eq!(
        of(&hex("820001"), &good, &signature),
        Reason::RlpIntegerLeadingZero
    );
    assert_eq!(of(&hex("8101"), &good, &signature), Reason::RlpByteAsString);
}

#[test]
fn n14_n15_eras_and_payload_headers() {
    for field in [2, 3] {
        assert_eq!(
            parse(&k2_with(field, &hex("89010000000000000000"))),
            Reason::RlpIntegerTooLong
        );
        assert_eq!(parse(&k2_with(field, &[0])), Reason::RlpIntegerLeadingZero);
        assert_eq!(parse(&k2_with(field, &[0xc0])), Reason::RlpWrongKind);
    }
    assert_eq!(
        parse(&k2_with(1, &hex(&format!("9f{}", "00".repeat(31))))),
        Reason::RlpFixedLength
    );
    let signature = signature_list(&[0x15], 96);
    let chain = chain_field();
    for (payload, expected) in [
        (hex("b80a00000000000000000000"), Reason::RlpLongFormForShort),
        (
            hex(&format!("b90037{}", "00".repeat(55))),
            Reason::RlpLengthLeadingZero,
        ),
        (hex("bfffffffffffffffff"), Reason::RlpTruncated),
    ] {
        let bytes = message_of(&[1], &chain, &payload, &[&[0x80], &signature]);
        assert_eq!(reason(Message::parse(&bytes)), expected);
    }
}

#[test]
fn n16_a_declared_terabyte_in_twenty_bytes_is_refused_before_anything_else() {
    let mut bytes = hex("02fd010000000000");
    bytes.resize(20, 0);
    assert_eq!(parse(&bytes), Reason::RlpTruncated);
    assert_eq!(reason(Message::parse(&bytes[1..])), Reason::RlpTruncated);
}

#[test]
fn n17_n18_sizes_over_the_wire_cap() {
    let mut bytes = vec![0; 1_048_577];
    bytes[0] = 2;
    assert_eq!(parse(&bytes), Reason::EnvelopeTooLarge);
    bytes.truncate(1_048_576);
    assert_ne!(parse(&bytes), Reason::EnvelopeTooLarge);
    let signature = {
        let mut body = Vec::new();
        rlp::put_bytes(&mut body, &vec![1; 2 << 20]);
        rlp::put_bytes(&mut body, &[0xab; 96]);
        let mut out = Vec::new();
        rlp::put_list_header(&mut out, body.len());
        out.extend(body);
        out
    };
    let bytes = message_of(&[1], &chain_field(), &[0x80], &[&[0x80], &signature]);
    assert_eq!(reason(Message::parse(&bytes)), Reason::MessageTooLarge);
    assert_eq!(parse(&bytes), Reason::MessageTooLarge);
}

/// F-23: one encoding per signer set, and a cap on it.
#[test]
fn n19_n21_f23_padded_and_oversized_bit_sets() {
    let of = |signers: &[u8]| {
        let signature = signature_list(signers, 96);
        message_of(&[1], &chain_field(), &[0x80], &[&[0x80], &signature])
    };
    assert_eq!(
        reason(Message::parse(&of(&hex("821500")))),
        Reason::NonCanonicalSigners
    );
    assert_eq!(
        reason(Message::parse(&of(&[0x00]))),
        Reason::NonCanonicalSigners
    );
    let mut long = Vec::new();
    rlp::put_bytes(&mut long, &[1; 8192]);
    assert!(Message::parse(&of(&long)).is_ok());
    long.clear();
    rlp::put_bytes(&mut long, &[1; 8193]);
    assert_eq!(reason(Message::parse(&of(&long))), Reason::SignersTooLarge);
}

#[test]
fn the_suite_field_has_64_printable_bytes_at_most() {
    let of = |suite: &[u8]| {
        let mut raw = Vec::new();
        rlp::put_bytes(&mut raw, suite);
        k2_with(4, &raw)
    };
    assert!(Envelope::parse(&of(&[b'~'; 64])).is_ok());
    let long = Envelope::parse(&of(&[b'~'; 65])).unwrap_err();
    assert_eq!(long.reason(), Reason::SuiteSyntax);
    let bytes = of(b"Pulsar SHA3");
    let error = Envelope::parse(&bytes).unwrap_err();
    assert_eq!(error.reason(), Reason::SuiteSyntax);
    assert_eq!(bytes[error.offset().unwrap()], b' ');
}

/// F-38: the total counts, not the lanes alone.
#[test]
fn f38_an_envelope_that_would_not_fit_the_wire_cannot_be_built() {
    let known = Known::k2();
    let lanes = vec![0; 1_048_576];
    let build = |pulse: &[u8], attestation: &[u8]| {
        Envelope::with_lanes_unchecked(known.message(), known.lineage, b"", pulse, attestation)
            .map(|envelope| envelope.encode().len())
    };
    let overhead = build(&lanes[..100_000], &[]).unwrap() - 100_000;
    let fit = 1_048_576 - overhead;
    assert_eq!(build(&lanes[..fit], &[]), Ok(1_048_576));
    assert_eq!(
        reason(build(&lanes[..fit + 1], &[])),
        Reason::EnvelopeTooLarge
    );
    assert_eq!(reason(build(&lanes, &[0])), Reason::LanesTooLarge);
}

/// F-31: the wire cap bounds how many raw certificates travel with a Pulse.
#[test]
fn f31_at_most_306_certificates_travel_with_a_pulse() {
    let known = Known::k2();
    let pulse = pulse(|_, _, _| 0);
    for (count, fits) in [(306, true), (307, false)] {
        let certs = cert_set(count);
        let built = Envelope::new(known.message(), known.lineage, b"", &pulse, &certs);
        assert_eq!(built.is_ok(), fits, "{count}");
    }
}

#[test]
fn q5_an_envelope_with_malformed_lanes_cannot_be_built() {
    let known = Known::k2();
    let good = pulse(|_, _, _| 0);
    let certs = cert_set(2);
    let build = |suite, pulse: &[u8], attestation: &[u8]| {
        Envelope::new(known.message(), known.lineage, suite, pulse, attestation).map(drop)
    };
    assert_eq!(build(b"Pulsar-SHA3", &good, &certs), Ok(()));
    assert_eq!(build(b"", &[], &[0; 224]), Ok(()));
    assert_eq!(reason(build(b"a b", &[], &[])), Reason::SuiteSyntax);
    assert_eq!(
        reason(build(b"", &good[..33_051], &[])),
        Reason::PulseTruncated
    );
    assert_eq!(
        reason(build(b"", &[], &certs[..certs.len() - 1])),
        Reason::CertSetLength
    );
}

fn frames(c: &[u8], z: &[u8], d: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for frame in [c, z, d] {
        out.extend_from_slice(&(frame.len() as u32).to_le_bytes());
        out.extend_from_slice(frame);
    }
    out
}

fn poly(levels: u64, coefficients: u64) -> Vec<u8> {
    let mut out = levels.to_le_bytes().to_vec();
    for _ in 0..levels {
        out.extend(coefficients.to_le_bytes());
        out.resize(out.len() + 8 * coefficients as usize, 0);
    }
    out
}

fn vector(polys: u64) -> Vec<u8> {
    let mut out = polys.to_le_bytes().to_vec();
    (0..polys).for_each(|_| out.extend(poly(1, 256)));
    out
}

fn header(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// F-06: the walk is iterative and believes no count, so nothing here can exhaust a stack.
#[test]
fn q39_n33_to_n37_f06_pulse_guards_refuse_declared_sizes() {
    let of = |bytes: &[u8]| reason(PulseFrames::parse_structure(bytes));
    assert_eq!(of(&vec![0; 65_537]), Reason::PulseTooLarge);
    assert_eq!(
        of(&frames(&vec![0; 32_769], &[], &[])),
        Reason::PulseLaneTooLarge
    );
    assert_eq!(of(&[0, 0, 0]), Reason::PulseTruncated);
    assert_eq!(of(&[0xff, 0xff, 0xff, 0xff]), Reason::PulseTruncated);
    assert_eq!(of(&frames(&[], &[], &[])), Reason::PulseRow);
    for count in [4097, u64::from(u32::MAX), 1 << 63, u64::MAX] {
        assert_eq!(of(&frames(&header(&[count]), &[], &[])), Reason::PulseCount);
        assert_eq!(
            of(&frames(&header(&[1, count]), &[], &[])),
            Reason::PulseCount
        );
        assert_eq!(
            of(&frames(&poly(1, 256), &header(&[count]), &[])),
            Reason::PulseCount
        );
    }
    assert_eq!(of(&frames(&header(&[4096]), &[], &[])), Reason::PulseRow);
    assert_eq!(of(&frames(&header(&[1, 4096]), &[], &[])), Reason::PulseRow);
    // The published crash input: the third polynomial of D declares 2^24 levels of 2^32
    // coefficients.
    let mut d = header(&[8]);
    d.extend(poly(1, 256));
    d.extend(poly(1, 256));
    d.extend(header(&[1 << 24, 1 << 32]));
    d.resize(16_520, 0);
    assert_eq!(
        of(&frames(&poly(1, 256), &vector(7), &d)),
        Reason::PulseCount
    );
}

#[test]
fn n38_one_byte_short_or_long_in_every_lane() {
    let (c, z, d) = (poly(1, 256), vector(7), vector(8));
    let good = frames(&c, &z, &d);
    assert_eq!(good.len(), 33_052);
    PulseFrames::parse(&good).unwrap();
    let of = |bytes: &[u8]| reason(PulseFrames::parse(bytes));
    let long = |frame: &[u8]| [frame, &[0]].concat();
    assert_eq!(of(&frames(&c[..2063], &z, &d)), Reason::PulseRow);
    assert_eq!(of(&frames(&c, &z[..14_455], &d)), Reason::PulseRow);
    assert_eq!(of(&frames(&c, &z, &d[..16_519])), Reason::PulseRow);
    assert_eq!(of(&frames(&long(&c), &z, &d)), Reason::PulseLaneTrailing);
    assert_eq!(of(&frames(&c, &long(&z), &d)), Reason::PulseLaneTrailing);
    assert_eq!(of(&frames(&c, &z, &long(&d))), Reason::PulseLaneTrailing);
    assert_eq!(of(&long(&good)), Reason::PulseTrailing);
    assert_eq!(of(&good[..33_051]), Reason::PulseTruncated);
}

/// F-05 and F-28: one shape, one range per coefficient, by real frame sizes.
#[test]
fn n39_to_n41_f05_f28_other_shapes_and_unreduced_coefficients() {
    let of = |bytes: &[u8]| reason(PulseFrames::parse(bytes));
    let smallest = frames(&header(&[0]), &header(&[0]), &header(&[0]));
    assert_eq!(smallest.len(), 36);
    PulseFrames::parse_structure(&smallest).unwrap();
    assert_eq!(of(&smallest), Reason::PulseShape);
    let (c, z, d) = (poly(1, 256), vector(7), vector(8));
    for shape in [
        frames(&c, &vector(6), &d),
        frames(&c, &vector(8), &d),
        frames(&c, &z, &vector(7)),
        frames(&c, &z, &vector(9)),
        frames(&poly(2, 256), &z, &d),
        frames(&poly(0, 0), &z, &d),
        frames(&poly(1, 255), &z, &d),
        frames(&poly(1, 257), &z, &d),
        // The right length with other counts inside.
        frames(&[poly(2, 127), vec![0; 0]].concat(), &z, &d),
    ] {
        assert_eq!(of(&shape), Reason::PulseShape);
    }
    for (frame, at, bound) in [
        (0, 4 + 16, pulse::MODULUS),
        (1, 4 + 2064 + 4 + 8 + 16, pulse::MODULUS),
        (2, 33_052 - 8, pulse::HINT_MODULUS),
    ] {
        let mut bytes = frames(&c, &z, &d);
        bytes[at..at + 8].copy_from_slice(&(bound - 1).to_le_bytes());
        PulseFrames::parse(&bytes).unwrap();
        bytes[at..at + 8].copy_from_slice(&bound.to_le_bytes());
        let error = PulseFrames::parse(&bytes).unwrap_err();
        assert_eq!(
            (error.reason(), error.offset()),
            (Reason::PulseRange, Some(at)),
            "{frame}"
        );
        bytes[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(of(&bytes), Reason::PulseRange);
    }
}

/// The codec half of N47; Q20, Q31.
#[test]
fn q20_q31_n47_certificate_sets_with_wrong_headers() {
    let good = cert_set(9);
    CertSet::parse(&good).unwrap();
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        reason(CertSet::parse(&bytes))
    };
    assert_eq!(with(0, 0), Reason::CertSetKind);
    assert_eq!(with(0, 2), Reason::CertSetKind);
    // Q31: no other parameter set, and no other scheme, is a certificate.
    for scheme in (0..=0xff).filter(|scheme| *scheme != 3) {
        assert_eq!(with(1, scheme), Reason::CertSetKind);
    }
    assert_eq!(with(3, 0), Reason::CertSetEmpty);
    assert_eq!(with(5, 0), Reason::CertSetEmpty);
    assert_eq!(with(3, 8), Reason::CertSetLength);
    assert_eq!(with(3, 10), Reason::CertSetLength);
    assert_eq!(with(5, 1), Reason::CertSetLength);
    assert_eq!(with(5, 3), Reason::CertSetLength);
    assert_eq!(with(4, 0xff), Reason::CertSetSigners);
    assert_eq!(with(6, 0xfe), Reason::CertSetCount);
    assert_eq!(with(7, 0x03), Reason::CertSetCount);
    // Q20: a header that claims 65,535 signers is compared with the bytes there are.
    let mut claimed = good.clone();
    claimed[2..4].fill(0xff);
    assert_eq!(reason(CertSet::parse(&claimed)), Reason::CertSetLength);
    // Nine bits in nine positions but a zero byte at the end.
    let mut padded = good.clone();
    padded[5] = 3;
    padded.insert(8, 0);
    assert_eq!(reason(CertSet::parse(&padded)), Reason::CertSetSigners);
    for len in 0..good.len() {
        let error = CertSet::parse(&good[..len]).unwrap_err();
        assert!(
            matches!(error.reason(), Reason::CertSetLength | Reason::EmptyInput),
            "{len}"
        );
    }
    assert_eq!(
        reason(CertSet::parse(&[&good[..], &[0]].concat())),
        Reason::CertSetLength
    );
    for len in [223, 225] {
        assert_eq!(
            Attestation::parse(&vec![0; len]).unwrap_err().class(),
            Class::CertSet
        );
    }
    let artifact = [7; 224];
    assert_eq!(Attestation::parse(&artifact).unwrap().lane(), Lane::Groth16);
    // A13: a set that names nobody.
    assert_eq!(
        reason(CertSet::parse(&hex("010300010001 00"))),
        Reason::CertSetLength
    );
    let mut none = cert_set(1);
    none[6] = 0;
    assert_eq!(reason(CertSet::parse(&none)), Reason::CertSetSigners);
}

fn certificate() -> HorizonCertificate<'static> {
    let unsigned = UnsignedMessage::new(1, [7; 32], b"x").unwrap();
    HorizonCertificate {
        source_chain_id: [7; 32],
        lineage: Lineage::default(),
        suite: b"Pulsar-SHA3",
        beam: &[0xab; 96],
        attestation: &[],
        pulse: &[],
        unsigned: unsigned.encode().into(),
    }
}

/// F-14 and F-25: the chain is tied to the message, and every refusal is of one class.
#[test]
fn n54_n55_f14_f25_horizon_certificates() {
    let good = certificate();
    good.check_structure().unwrap();
    let wire = good.encode();
    assert_eq!(HorizonCertificate::parse(&wire).unwrap(), good);
    for len in 1..wire.len() {
        assert_eq!(
            reason(HorizonCertificate::parse(&wire[..len])),
            Reason::HorizonTruncated
        );
    }
    let long = [&wire[..], &[0]].concat();
    assert_eq!(
        reason(HorizonCertificate::parse(&long)),
        Reason::HorizonTrailing
    );
    let mut v2 = wire.clone();
    v2[21] = b'2';
    assert_eq!(
        reason(HorizonCertificate::parse(&v2)),
        Reason::HorizonPrefix
    );
    // Length fields: suite at 102, Beam after it.
    let beam_at = 106 + 11;
    for (at, len, expected) in [
        (102, 65_u32, Reason::HorizonTooLarge),
        (102, u32::MAX, Reason::HorizonTooLarge),
        (beam_at, 95, Reason::HorizonBeam),
        (beam_at, 97, Reason::HorizonTooLarge),
        (beam_at, u32::MAX, Reason::HorizonTooLarge),
        (
            wire.len() - 4 - good.unsigned.len(),
            262_145,
            Reason::HorizonTooLarge,
        ),
        (
            wire.len() - 8 - good.unsigned.len(),
            65_537,
            Reason::HorizonTooLarge,
        ),
    ] {
        let mut bytes = wire.clone();
        bytes[at..at + 4].copy_from_slice(&len.to_be_bytes());
        assert_eq!(
            reason(HorizonCertificate::parse(&bytes)),
            expected,
            "{at} {len}"
        );
    }
    assert_eq!(
        reason(HorizonCertificate::parse(&vec![0; 1_048_833])),
        Reason::HorizonTooLarge
    );
    let of = |certificate: HorizonCertificate<'_>| reason(certificate.check_structure());
    let other = UnsignedMessage::new(1, [8; 32], b"x").unwrap();
    assert_eq!(
        of(HorizonCertificate {
            source_chain_id: [0; 32],
            ..good.clone()
        }),
        Reason::HorizonChain
    );
    assert_eq!(
        of(HorizonCertificate {
            unsigned: other.encode().into(),
            ..good.clone()
        }),
        Reason::HorizonChain
    );
    assert_eq!(
        of(HorizonCertificate {
            unsigned: vec![].into(),
            ..good.clone()
        }),
        Reason::HorizonUnsigned
    );
    assert_eq!(
        of(HorizonCertificate {
            beam: &[],
            ..good.clone()
        }),
        Reason::HorizonNoLanes
    );
    for suite in [&b""[..], b"x"] {
        assert_eq!(
            of(HorizonCertificate {
                suite,
                ..good.clone()
            }),
            Reason::HorizonSuite
        );
    }
    assert_eq!(
        of(HorizonCertificate {
            pulse: &[1; 36],
            ..good.clone()
        }),
        Reason::HorizonLane
    );
    assert_eq!(
        of(HorizonCertificate {
            attestation: &[1; 36],
            ..good
        }),
        Reason::HorizonLane
    );
}

fn swap() -> AtomicSwap<'static> {
    AtomicSwap {
        operation: Operation::Swap,
        swap_id: [1; 32],
        source_chain: [2; 32],
        destination_chain: [3; 32],
        sender: &[4; 20],
        recipient: &[5; 20],
        asset: [6; 32],
        amount: [7; 32],
        minimum_receive: [0; 32],
        deadline_s: 1,
        nonce: 0,
        data: b"route",
    }
}

/// F-11: every field is bounded, nothing trails, and the fields are validated.
#[test]
fn n57_f11_swap_payloads() {
    let wire = swap().encode().unwrap();
    let of = |bytes: &[u8]| reason(AtomicSwap::parse(bytes));
    let with = |at: usize, value: u8| {
        let mut bytes = wire.clone();
        bytes[at] = value;
        of(&bytes)
    };
    for len in 1..wire.len() {
        assert_eq!(of(&wire[..len]), Reason::PayloadTruncated, "{len}");
    }
    assert_eq!(of(&[&wire[..], &[0]].concat()), Reason::PayloadTrailing);
    assert_eq!(with(0, 2), Reason::PayloadVersion);
    assert_eq!(with(1, 6), Reason::PayloadOperation);
    let mut short = vec![0; 222];
    (short[0], short[101]) = (1, 100);
    assert_eq!(of(&short), Reason::PayloadTruncated);
    for len in [262_145_u32, u32::MAX] {
        let mut bytes = wire.clone();
        bytes[98..102].copy_from_slice(&len.to_be_bytes());
        assert_eq!(of(&bytes), Reason::PayloadTooLarge);
    }
    let mut zero = wire.clone();
    zero[178..210].fill(0);
    assert_eq!(of(&zero), Reason::PayloadZeroField);
    for swap in [
        AtomicSwap {
            amount: [0; 32],
            ..swap()
        },
        AtomicSwap {
            sender: &[],
            ..swap()
        },
        AtomicSwap {
            recipient: &[],
            ..swap()
        },
    ] {
        assert_eq!(swap.encode().unwrap_err().class(), Class::Payload);
    }
    assert_eq!(
        reason(MultiHopRoute::parse(&[0, 0, 1, 1])),
        Reason::PayloadTooLarge
    );
    assert_eq!(
        reason(MultiHopRoute::parse(&[0, 0, 1, 0])),
        Reason::PayloadTruncated
    );
    assert_eq!(
        reason(MultiHopRoute::parse(&[0, 0, 0, 0, 0])),
        Reason::PayloadTrailing
    );
}

/// F-33: our own payload names its destination, channel and number.
#[test]
fn f33_routed_payloads_round_trip_and_are_strict() {
    let routed = Routed {
        destination_network: 2,
        destination_chain: [3; 32],
        channel: [4; 32],
        nonce: 0,
        expiry_height: EXPIRY_NEVER,
        sender: b"alice",
        recipient: b"bob",
        body: b"hello",
    };
    let wire = routed.encode().unwrap();
    assert_eq!(wire.len(), 96 + 5 + 3 + 5);
    assert_eq!(Routed::parse(&wire).unwrap(), routed);
    for len in 1..wire.len() {
        assert_eq!(
            reason(Routed::parse(&wire[..len])),
            Reason::PayloadTruncated
        );
    }
    assert_eq!(
        reason(Routed::parse(&[&wire[..], &[0]].concat())),
        Reason::PayloadTrailing
    );
    for at in 0..4 {
        let mut bytes = wire.clone();
        bytes[at] ^= 1;
        assert_eq!(reason(Routed::parse(&bytes)), Reason::PayloadVersion);
    }
    for (at, value, expected) in [
        (88, 0_u16, Reason::PayloadTruncated),
        (88, 257, Reason::PayloadTooLarge),
        (88, u16::MAX, Reason::PayloadTooLarge),
    ] {
        let mut bytes = wire.clone();
        bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
        assert_eq!(Routed::parse(&bytes).unwrap_err().class(), Class::Payload);
        if value > 0 {
            assert_eq!(reason(Routed::parse(&bytes)), expected);
        }
    }
    let empty = Routed {
        sender: b"",
        ..routed
    };
    assert_eq!(reason(empty.encode()), Reason::PayloadEmptyField);
    let long = [1; 257];
    assert_eq!(
        reason(
            Routed {
                recipient: &long,
                ..routed
            }
            .encode()
        ),
        Reason::PayloadTooLarge
    );
    // It is no other payload, and no other payload is one.
    assert!(AddressedCall::parse(&wire).is_err());
    let call = AddressedCall {
        source_address: b"x",
        payload: b"y",
    }
    .encode()
    .unwrap();
    assert_eq!(reason(Routed::parse(&call)), Reason::PayloadTruncated);
}

/// F-16 and F-18: the code's framing, without its 32-bit wrap.
#[test]
fn n58_f16_f18_signature_requests() {
    let of = |bytes: &[u8]| reason(SignatureRequest::parse(bytes));
    assert_eq!(of(&hex("fffffffc00000000")), Reason::RequestTooLarge);
    assert_eq!(of(&hex("0000000161")), Reason::RequestTruncated);
    assert_eq!(of(&hex("00000000 00000000 00")), Reason::RequestTrailing);
    assert_eq!(of(&hex("00000000 00010001")), Reason::RequestTooLarge);
    assert_eq!(of(&hex("00040001 00")), Reason::RequestTooLarge);
    let signature = [0xab; 96];
    let wire = SignatureResponse {
        signature: &signature,
    }
    .encode();
    assert_eq!(wire.len(), 100);
    assert_eq!(
        SignatureResponse::parse(&wire).unwrap().signature,
        &signature
    );
    let of = |bytes: &[u8]| reason(SignatureResponse::parse(bytes));
    assert_eq!(of(&signature), Reason::ResponseLength);
    assert_eq!(of(&wire[..99]), Reason::RequestTruncated);
    assert_eq!(of(&[&wire[..], &[0]].concat()), Reason::RequestTrailing);
    let long = vec![0; 262_145];
    let request = SignatureRequest {
        message: &long,
        justification: &[],
    };
    assert_eq!(reason(request.encode()), Reason::RequestTooLarge);
}

#[test]
fn payload_fields_have_their_exact_lengths() {
    let list = |fields: &[&[u8]]| {
        let body: Vec<u8> = fields.concat();
        let mut out = Vec::new();
        rlp::put_list_header(&mut out, body.len());
        out.extend(body);
        out
    };
    let string = |len: usize| {
        let mut out = Vec::new();
        rlp::put_bytes(&mut out, &vec![0x44; len]);
        out
    };
    let register = |chain: usize, node: usize, weight: &[u8], key: usize| {
        reason(RegisterL1Validator::parse(&list(&[
            &string(chain),
            &string(node),
            weight,
            &string(key),
            &[1],
        ])))
    };
    assert_eq!(register(31, 20, &[1], 48), Reason::PayloadLength);
    assert_eq!(register(32, 21, &[1], 48), Reason::PayloadLength);
    assert_eq!(register(32, 0, &[1], 48), Reason::PayloadEmptyField);
    assert_eq!(register(32, 20, &[0x80], 48), Reason::PayloadZeroField);
    assert_eq!(register(32, 20, &[1], 96), Reason::PayloadLength);
    assert_eq!(
        reason(HashPayload::parse(&list(&[&string(31)]))),
        Reason::PayloadLength
    );
    assert_eq!(
        reason(AddressedCall::parse(&list(&[&[0x80], &[1]]))),
        Reason::PayloadEmptyField
    );
    assert_eq!(
        reason(L1ValidatorWeight::parse(&list(&[&string(33), &[1], &[1]]))),
        Reason::PayloadLength
    );
    assert_eq!(
        reason(L1ValidatorRegistration::parse(&list(&[&[2], &[1]]))),
        Reason::RlpBoolean
    );
}

/// Transcripts differ in every bound field and in nothing else. F-17: concatenation, with the
/// suite.
#[test]
fn f17_the_transcript_binds_every_field_of_the_subject_and_nothing_else() {
    let base = Known::k1();
    let variants = [
        Known {
            lineage: Lineage {
                nebula_root: [9; 32],
                ..base.lineage
            },
            ..Known::k1()
        },
        Known {
            lineage: Lineage {
                key_era: 8,
                ..base.lineage
            },
            ..Known::k1()
        },
        Known {
            lineage: Lineage {
                generation: 12,
                ..base.lineage
            },
            ..Known::k1()
        },
        Known {
            suite: b"Pulsar-BLAKE3",
            ..Known::k1()
        },
        Known {
            chain: [3; 32],
            ..Known::k1()
        },
        Known {
            network: 2,
            ..Known::k1()
        },
        Known {
            payload: b"envelope-test-payloae",
            ..Known::k1()
        },
    ];
    let mut seen = vec![base.envelope().transcript()];
    for variant in &variants {
        let transcript = variant.envelope().transcript();
        assert!(!seen.contains(&transcript));
        seen.push(transcript);
    }
    for variant in [
        Known {
            signature: [1; 96],
            ..Known::k1()
        },
        Known {
            signers: SignerSet::from_indices([7]).unwrap(),
            ..Known::k1()
        },
        Known {
            pulse: vec![],
            ..Known::k1()
        },
        Known {
            attestation: vec![1],
            ..Known::k1()
        },
    ] {
        assert_eq!(
            variant.envelope().transcript(),
            base.envelope().transcript()
        );
        assert_eq!(variant.envelope().id(), base.envelope().id());
    }
}

/// Every truncation of a full envelope is refused, with one of two reasons.
#[test]
fn every_truncation_is_refused() {
    let known = Known::k1();
    let pulse = pulse(|_, _, j| j as u64);
    let certs = cert_set(21);
    let envelope =
        Envelope::new(known.message(), known.lineage, known.suite, &pulse, &certs).unwrap();
    let wire = envelope.encode();
    for len in 0..wire.len() {
        let expected = if len == 0 {
            Reason::EmptyInput
        } else {
            Reason::RlpTruncated
        };
        assert_eq!(parse(&wire[..len]), expected, "{len}");
    }
    let v1 = known.message().encode();
    for len in 1..v1.len() {
        assert_eq!(parse(&v1[..len]), Reason::RlpTruncated);
    }
}

/// Whatever a changed byte gives, it is a refusal or another canonical envelope, never the same
/// one.
#[test]
fn every_changed_byte_gives_a_refusal_or_another_envelope() {
    for known in [Known::k1(), Known::k2(), Known::k3(), Known::k4()] {
        let envelope = known.envelope();
        let wire = envelope.encode();
        for at in 0..wire.len() {
            for bit in 0..8 {
                let mut bytes = wire.clone();
                bytes[at] ^= 1 << bit;
                if let Ok(other) = Envelope::parse(&bytes) {
                    assert_ne!(other, envelope);
                    assert_eq!(
                        other.encode(),
                        bytes,
                        "accepted bytes re-encode identically"
                    );
                }
            }
        }
    }
}

/// Every length header of an envelope at other values is refused.
#[test]
fn every_length_header_is_exact() {
    let known = Known::k1();
    let pulse = pulse(|_, _, _| 1);
    let wire = Envelope::new(known.message(), known.lineage, known.suite, &pulse, &[])
        .unwrap()
        .encode();
    // Outer list, message list, unsigned list, signature list, root, suite, Pulse: offset and size
    // of the length.
    let outer = (2, 2);
    let message = (5, 1);
    let unsigned = (7, 1);
    let find = |needle: &[u8]| {
        wire.windows(needle.len())
            .position(|w| w == needle)
            .unwrap()
    };
    let pulse_header = (find(&[0xb9, 0x81, 0x1c]) + 1, 2);
    let signature = (find(&hex("f86315b860")) + 1, 1);
    for (at, size) in [outer, message, unsigned, signature, pulse_header] {
        let value = wire[at..at + size]
            .iter()
            .fold(0_u64, |v, b| v << 8 | u64::from(*b));
        let max = (1_u64 << (8 * size)) - 1;
        for other in [0, 1, 55, 56, value - 1, value + 1, max] {
            if other == value {
                continue;
            }
            let mut bytes = wire.clone();
            bytes[at..at + size].copy_from_slice(&other.to_be_bytes()[8 - size..]);
            let error = Envelope::parse(&bytes).unwrap_err();
            assert_eq!(
                error.class(),
                Class::Rlp,
                "{at}: {value} to {other}: {error}"
            );
        }
    }
}

/// A million structured and random inputs: no panic, and whatever is accepted encodes back to the
/// same bytes.
#[test]
fn q27_a_million_inputs_never_panic_and_accepted_ones_are_canonical() {
    let seed = 0x0057_4152_5032_u64;
    let mut rng = SplitMix(seed);
    let k1 = Known::k1().envelope().encode();
    let v1 = Known::k3().message().encode();
    let swap = swap().encode().unwrap();
    let certificate = certificate().encode();
    let small_pulse = frames(&poly(1, 4), &header(&[1, 1, 1, 5]), &header(&[0]));
    let certs = cert_set(1);
    let seeds = [
        &k1,
        &v1,
        &swap,
        &certificate,
        &small_pulse,
        &certs[..40].to_vec(),
    ];
    let mut accepted = 0_u32;
    for round in 0..1_000_000_u32 {
        let mut bytes = if round % 8 == 0 {
            let len = rng.below(80);
            rng.bytes(len)
        } else {
            seeds[rng.below(seeds.len())].clone()
        };
        for _ in 0..rng.below(4) {
            let at = rng.below(bytes.len());
            match rng.below(5) {
                0 if !bytes.is_empty() => bytes[at] = rng.next() as u8,
                1 if !bytes.is_empty() => bytes[at] ^= 1 << rng.below(8),
                2 => bytes.truncate(at),
                3 => bytes.insert(at, [0x80, 0xff, 0xb8, 0xf8, 0][rng.below(5)]),
                _ if !bytes.is_empty() => drop(bytes.remove(at)),
                _ => {}
            }
        }
        accepted += exercise(&bytes, seed, round);
    }
    assert!(accepted > 1000, "seed {seed}: only {accepted} accepted");
}

/// Every decoder over the same bytes; says how many accepted.
fn exercise(bytes: &[u8], seed: u64, round: u32) -> u32 {
    let mut accepted = 0;
    let mut check = |again: Vec<u8>| {
        assert_eq!(again, bytes, "seed {seed} round {round}");
        accepted += 1;
    };
    if let Ok(envelope) = Envelope::parse(bytes) {
        if envelope.version() == 2 {
            check(envelope.encode());
        } else {
            check(envelope.message().encode());
        }
        let _ = (envelope.id(), envelope.transcript());
    }
    if let Ok(message) = UnsignedMessage::parse(bytes) {
        check(message.encode());
    }
    if let Ok(swap) = AtomicSwap::parse(bytes) {
        check(swap.encode().unwrap());
    }
    if let Ok(certificate) = HorizonCertificate::parse(bytes) {
        check(certificate.encode());
        let _ = certificate.check_structure();
    }
    if let Ok(set) = CertSet::parse(bytes) {
        check(set.encode());
    }
    if let Ok(request) = SignatureRequest::parse(bytes) {
        check(request.encode().unwrap());
    }
    if let Ok(call) = AddressedCall::parse(bytes) {
        check(call.encode().unwrap());
    }
    if let Ok(conversion) = ChainToL1Conversion::parse(bytes) {
        check(conversion.encode());
    }
    if let Ok(routed) = Routed::parse(bytes) {
        check(routed.encode().unwrap());
    }
    let _ = (
        PulseFrames::parse(bytes),
        Teleport::parse_rlp(bytes),
        Teleport::parse_fixed(bytes),
        RegisterL1Validator::parse(bytes),
        Record::parse(bytes),
        MultiHopRoute::parse(bytes),
    );
    accepted
}
