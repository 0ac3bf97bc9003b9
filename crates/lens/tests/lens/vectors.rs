//! RFC 9591's own vectors and the library's, through this crate's public interface; results checked
//! by verifiers that share no code with the library.

use alloc::collections::VecDeque;

use horizon_lens::dkg;
use horizon_lens::ed25519::Ed25519;
use horizon_lens::ristretto255::Ristretto255;
use horizon_lens::secp256k1::Secp256k1;
use horizon_lens::wire::Frame as _;
use horizon_lens::{
    Approval, CeremonyId, Committee, GroupKey, KeyShare, MemoryLedger, SessionId, Signature,
    Signer, SigningPackage, Suite, SuiteId, aggregate, dealer, verify,
};
use horizon_testkit::vectors::vector;
use serde_json::Value;

use crate::support::{Script, copy, hex, id, ids, sign};

on_every_suite!(
    rfc9591_signing_is_reproduced_from_its_randomness,
    dealer_reproduces_the_shares_of_the_rfc,
    published_key_generation_is_reproduced,
    results_pass_verifiers_that_know_nothing_of_frost,
);

fn cases<S: Suite>(function: &str) -> Vec<Value> {
    let name = match S::ID {
        SuiteId::Ed25519 => "ed25519",
        SuiteId::Secp256k1 => "secp256k1",
        _ => "ristretto255",
    };
    let file = vector(&format!("lens-rfc9591/{name}.json"));
    let cases = file["cases"].as_array().unwrap().iter();
    let chosen: Vec<_> = cases.filter(|c| c["fn"] == function).cloned().collect();
    assert!(!chosen.is_empty());
    chosen
}

/// What the suite's field draws to get this scalar.
fn draw<S: Suite>(scalar: &[u8]) -> Vec<u8> {
    match S::ID {
        SuiteId::Secp256k1 => scalar.to_vec(),
        _ => [scalar, &[0; 32]].concat(),
    }
}

pub(crate) fn header<S: Suite>(kind: u8) -> Vec<u8> {
    vec![0, 1, S::ID.to_byte(), kind]
}

pub(crate) fn share_frame<S: Suite>(min: u16, member: u16, share: &[u8], key: &[u8]) -> Vec<u8> {
    let mut frame = header::<S>(6);
    frame.extend(min.to_be_bytes());
    frame.extend(u32::from(member).to_be_bytes());
    frame.extend(share);
    frame.extend(key);
    frame
}

pub(crate) fn group_frame<S: Suite>(min: u16, key: &[u8], shares: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut frame = header::<S>(5);
    frame.extend(min.to_be_bytes());
    frame.extend(u16::try_from(shares.len()).unwrap().to_be_bytes());
    frame.extend(key);
    for (member, share) in shares {
        frame.extend(u32::from(*member).to_be_bytes());
        frame.extend(share);
    }
    frame
}

fn rfc9591_signing_is_reproduced_from_its_randomness<S: Suite>() {
    for case in cases::<S>("sign") {
        let message = hex(&case["message"]);
        let key = hex(&case["group_public_key"]);
        let min = u16::try_from(case["min_signers"].as_u64().unwrap()).unwrap();
        let mut parts: Vec<(u16, &Value)> = case["signers"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(number, part)| (number.parse().unwrap(), part))
            .collect();
        parts.sort_by_key(|(number, _)| *number);
        let shares: Vec<KeyShare<S>> = parts
            .iter()
            .map(|(n, _)| {
                let share = hex(&case["shares"][n.to_string()]);
                KeyShare::from_bytes(&share_frame::<S>(min, *n, &share, &key)).unwrap()
            })
            .collect();
        let verifying: Vec<_> = shares
            .iter()
            .map(|s| (s.identifier().get(), s.verifying_share()))
            .collect();
        let group = GroupKey::from_bytes(&group_frame::<S>(min, &key, &verifying)).unwrap();
        let session = SessionId([9; 32]);
        let (mut signers, mut ledgers, mut nonces, mut sent) = (vec![], vec![], vec![], vec![]);
        for (share, (_, part)) in shares.into_iter().zip(&parts) {
            let signer = Signer::new(share, group.clone()).unwrap();
            let mut ledger = MemoryLedger::new(1);
            let draws = ["hiding_nonce_randomness", "binding_nonce_randomness"];
            let mut rng = Script(draws.map(|name| hex(&part[name])).into());
            let (secret, public) = signer.commit(session, &mut ledger, &mut rng).unwrap();
            let pair = [
                hex(&part["hiding_nonce_commitment"]),
                hex(&part["binding_nonce_commitment"]),
            ];
            assert_eq!(public.to_bytes()[4 + 36..], pair.concat());
            signers.push(signer);
            ledgers.push(ledger);
            nonces.push(secret);
            sent.push(public);
        }
        let package = SigningPackage::new(&group, session, &message, &sent).unwrap();
        let set: Vec<_> = signers.iter().map(Signer::identifier).collect();
        let approval = Approval {
            message: &message,
            signers: &set,
        };
        let mut out = Vec::new();
        for (((signer, ledger), secret), (_, part)) in
            signers.iter().zip(&mut ledgers).zip(nonces).zip(&parts)
        {
            let share = signer.sign(secret, &package, &approval, ledger).unwrap();
            assert_eq!(share.to_bytes()[4 + 36..], hex(&part["signature_share"]));
            package.check_share(&group, &share).unwrap();
            out.push(share);
        }
        let signature = aggregate(&group, &package, &out).unwrap();
        assert_eq!(
            signature.to_raw(),
            hex(&case["signature"]),
            "{}",
            case["id"]
        );
        let verified = verify(group.verifying_key(), &message, &signature).unwrap();
        assert_eq!(verified.key().as_bytes(), key);
    }
}

fn dealer_reproduces_the_shares_of_the_rfc<S: Suite>() {
    let case = &cases::<S>("sign")[0];
    let mut draws = VecDeque::from([draw::<S>(&hex(&case["group_secret_key"]))]);
    for coefficient in case["share_polynomial_coefficients"].as_array().unwrap() {
        draws.push_back(draw::<S>(&hex(coefficient)));
    }
    let committee = Committee::numbered(2, 3).unwrap();
    let (group, dealt) = dealer::deal::<S, _>(&committee, &mut Script(draws)).unwrap();
    assert_eq!(
        group.verifying_key().as_bytes(),
        hex(&case["group_public_key"])
    );
    for share in dealt {
        let member = share.identifier().get();
        let share = share.into_key_share(&group).unwrap();
        let expected = hex(&case["shares"][member.to_string()]);
        assert_eq!(share.to_bytes()[4 + 6..][..32], expected);
    }
}

fn published_key_generation_is_reproduced<S: Suite>() {
    let case = &cases::<S>("dkg")[0];
    let members = &case["members"];
    let ceremony = CeremonyId([0; 32]);
    let committee = Committee::numbered(2, 3).unwrap();
    let package = |member: u16| {
        let facts = &members[member.to_string()];
        let mut frame = header::<S>(8);
        frame.extend(ceremony.0);
        frame.extend(u32::from(member).to_be_bytes());
        frame.extend(2u16.to_be_bytes());
        for point in facts["vss_commitments"].as_array().unwrap() {
            frame.extend(hex(point));
        }
        frame.extend(hex(&facts["proof_of_knowledge"]));
        dkg::Round1Package::<S>::from_bytes(&frame).unwrap()
    };
    for me in 1..=3u16 {
        let others: Vec<u16> = (1..=3).filter(|n| *n != me).collect();
        let facts = &members[me.to_string()];
        // The nonce of the proof of knowledge is not published; any does.
        let draws = [
            draw::<S>(&hex(&facts["signing_key"])),
            draw::<S>(&hex(&facts["coefficient"])),
            draw::<S>(&[1; 32]),
        ];
        let mut rng = Script(draws.into());
        let (state, own) = dkg::begin::<S, _>(ceremony, id(me), &committee, &mut rng).unwrap();
        let points = own.to_bytes().len() - S::SIGNATURE_LEN;
        assert_eq!(own.to_bytes()[..points], package(me).to_bytes()[..points]);
        let packages: Vec<_> = others.iter().map(|n| package(*n)).collect();
        let (state, echo) = state.receive(&packages).unwrap();
        let echoes: Vec<_> = others
            .iter()
            .map(|n| crate::support::patched(&echo, 4 + 32, &u32::from(*n).to_be_bytes()))
            .collect();
        let (state, sent) = state.receive(&echoes).unwrap();
        for secret in &sent {
            let theirs = &members[secret.to().get().to_string()]["signing_shares"];
            let bytes = secret.to_bytes();
            assert_eq!(bytes[4 + 40..], hex(&theirs[me.to_string()]));
        }
        let received = others.iter().map(|from| {
            let mut frame = header::<S>(10);
            frame.extend(ceremony.0);
            frame.extend(u32::from(*from).to_be_bytes());
            frame.extend(u32::from(me).to_be_bytes());
            frame.extend(hex(&facts["signing_shares"][from.to_string()]));
            dkg::SecretPackage::<S>::from_bytes(&frame).unwrap()
        });
        let signer = state.finish(&received.collect::<Vec<_>>()).unwrap();
        let key = hex(&case["group_public_key"]);
        assert_eq!(signer.group().verifying_key().as_bytes(), key);
        assert_eq!(
            signer.share().verifying_share(),
            hex(&facts["verifying_share"])
        );
        assert_eq!(
            signer.share().to_bytes()[4 + 6..][..32],
            hex(&facts["signing_share"])
        );
        for other in &others {
            let expected = hex(&members[other.to_string()]["verifying_share"]);
            assert_eq!(signer.group().verifying_share(id(*other)), Some(expected));
        }
        copy(signer.group());
    }
}

/// Verifies with other libraries, from the bytes alone.
pub(crate) fn independent_verify(
    suite: SuiteId,
    key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> bool {
    match suite {
        SuiteId::Ed25519 => {
            let key = ed25519_dalek::VerifyingKey::from_bytes(key.try_into().unwrap());
            let signature = ed25519_dalek::Signature::from_slice(signature).unwrap();
            key.is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
        }
        SuiteId::Secp256k1 => independent_secp256k1(key, message, signature),
        _ => independent_ristretto255(key, message, signature),
    }
}

/// RFC 9591 section 6.5: `H2` is RFC 9380's `hash_to_field` with SHA-256 and 48 bytes.
fn independent_secp256k1(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    use k256::elliptic_curve::group::GroupEncoding as _;
    use k256::elliptic_curve::{PrimeField as _, ops::Reduce as _};
    use k256::{ProjectivePoint, Scalar, U256};
    use sha2::{Digest as _, Sha256};

    let point = |bytes: &[u8]| {
        let encoded: [u8; 33] = bytes.try_into().unwrap();
        let encoded = k256::CompressedPoint::from(encoded);
        Option::<ProjectivePoint>::from(ProjectivePoint::from_bytes(&encoded)).unwrap()
    };
    let (r, z) = signature.split_at(33);
    let dst = b"FROST-secp256k1-SHA256-v1chal";
    let dst = [&dst[..], &[u8::try_from(dst.len()).unwrap()]].concat();
    let input = [r, key, message].concat();
    let first = Sha256::digest([&[0; 64], &input[..], &[0, 48, 0], &dst].concat());
    let one = Sha256::digest([&first[..], &[1], &dst].concat());
    let mixed: Vec<u8> = first.iter().zip(&one).map(|(a, b)| a ^ b).collect();
    let two = Sha256::digest([&mixed[..], &[2], &dst].concat());
    let wide = [&one[..], &two[..16]].concat();
    // 48 bytes, big-endian, modulo the order: high 16 bytes times 2^256 plus the low 32.
    let mut high = [0u8; 32];
    high[16..].copy_from_slice(&wide[..16]);
    let low = Scalar::reduce(U256::from_be_slice(&wide[16..]));
    let two_128 = Scalar::from(1u128 << 127) + Scalar::from(1u128 << 127);
    let c = Scalar::reduce(U256::from_be_slice(&high)) * two_128 * two_128 + low;
    let z: [u8; 32] = z.try_into().unwrap();
    let z = Option::<Scalar>::from(Scalar::from_repr(z.into())).unwrap();
    ProjectivePoint::GENERATOR * z == point(r) + point(key) * c
}

/// RFC 9591 section 6.2: the challenge is SHA-512 modulo the order.
fn independent_ristretto255(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    use curve25519_dalek::ristretto::CompressedRistretto;
    use curve25519_dalek::{RistrettoPoint, Scalar};
    use sha2::{Digest as _, Sha512};

    let (r, z) = signature.split_at(32);
    let context = b"FROST-RISTRETTO255-SHA512-v1chal";
    let wide = Sha512::digest([&context[..], r, key, message].concat());
    let c = Scalar::from_bytes_mod_order_wide(&wide.into());
    let z = Option::<Scalar>::from(Scalar::from_canonical_bytes(z.try_into().unwrap())).unwrap();
    let point = |bytes| {
        let point = CompressedRistretto::from_slice(bytes).unwrap();
        point.decompress().unwrap()
    };
    RistrettoPoint::mul_base(&z) == point(r) + point(key) * c
}

fn results_pass_verifiers_that_know_nothing_of_frost<S: Suite>() {
    for case in cases::<S>("sign") {
        let (key, message) = (hex(&case["group_public_key"]), hex(&case["message"]));
        let mut signature = hex(&case["signature"]);
        assert!(independent_verify(S::ID, &key, &message, &signature));
        assert!(!independent_verify(S::ID, &key, b"other", &signature));
        let last = if S::ID == SuiteId::Secp256k1 { 64 } else { 32 };
        signature[last] ^= 1;
        assert!(!independent_verify(S::ID, &key, &message, &signature));
    }
    let mut rng = horizon_testkit::rng(0x1e5);
    let (group, signers) = crate::support::deal::<S>(3, 5, &mut rng);
    for len in [0usize, 1, 31, 64, 1000] {
        let message = rng.vec(len);
        let chosen = [&signers[4], &signers[0], &signers[2]];
        let signature = sign(&chosen, &message, &mut rng).unwrap().to_raw();
        assert_eq!(signature.len(), S::SIGNATURE_LEN);
        let key = group.verifying_key().as_bytes();
        assert!(independent_verify(S::ID, key, &message, &signature));
    }
    assert_eq!(group.committee().members(), ids(&[1, 2, 3, 4, 5]));
}

#[test]
fn suites_with_equal_sizes_do_not_accept_each_other() {
    // L-13: the reference's signatures ignore the suite; here hash and curve differ and frames say
    // so.
    let mut rng = horizon_testkit::rng(5);
    let (_, signers) = crate::support::deal::<Ristretto255>(2, 2, &mut rng);
    let signature = sign(&[&signers[0], &signers[1]], b"m", &mut rng).unwrap();
    let refused = Signature::<Ed25519>::from_bytes(&signature.to_bytes()).unwrap_err();
    assert_eq!(refused, horizon_lens::Malformed::Suite.into());
    let refused = Signature::<Secp256k1>::from_bytes(&signature.to_bytes()).unwrap_err();
    assert_eq!(refused, horizon_lens::Malformed::Suite.into());
}
