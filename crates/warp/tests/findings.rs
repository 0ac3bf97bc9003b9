//! Attacks on certificates and subjects, each by the number of its requirement.

#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test that cannot go on has failed"
)]

#[path = "support/common.rs"]
mod common;
#[path = "support/world.rs"]
mod world;

use std::any::TypeId;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use common::*;
use horizon_pulsar::{GroupKey, Suite};
use horizon_sig::{bls, mldsa};
use horizon_warp::certificate::HorizonCertificate;
use horizon_warp::policy::{Policy, SourceConfig, Tier};
use horizon_warp::prism::{Outcome, Refusal};
use horizon_warp::registry::{Pin, Record, Registry};
use horizon_warp::*;
use world::*;

/// Five validators of weight 20, four points of five for a Pulse.
static WORLD: LazyLock<World> = LazyLock::new(|| World::new(0xf1d, &[20; 5], 4));
static REGISTRY: LazyLock<Registry> = LazyLock::new(|| WORLD.registry());
static SEALED: LazyLock<Draft> = LazyLock::new(|| WORLD.seal(b"transfer 5", &[0, 1, 2, 4], 1));

const PQ_TIERS: [Tier; 3] = [Tier::Pulse, Tier::Horizon, Tier::Pq];

fn refused(tier: Tier, draft: &Draft) -> Refusal {
    verify(
        &draft.envelope(),
        &REGISTRY,
        &WORLD.config(tier),
        &context(),
    )
    .expect_err("must be refused")
}

/// Q1, Q2: structure is no authority. Well-formed bytes that nobody signed pass the structural
/// checks and give no weight in any lane, under no tier.
#[test]
fn q1_q2_well_formed_bytes_that_nobody_signed_count_for_nothing() {
    let mut random = SplitMix(0x92);
    let good = &*SEALED;
    let signers: Vec<u32> = vec![0, 1, 2, 4];
    let set = SignerSet::from_indices(signers.iter().copied()).unwrap();
    for round in 0..8 {
        let unsigned_by_anyone = random.bytes(32);
        let mut scalar = random.bytes(32);
        scalar[0] = 1;
        // A point of the right group that belongs to no validator.
        let stranger = bls::SigningKey::from_bytes(&scalar).unwrap();
        let beam = stranger.sign_message(&unsigned_by_anyone).to_bytes();
        let certs: Vec<[u8; 3309]> = signers.iter().map(|_| array(&random.bytes(3309))).collect();
        let certs = CertSet::new(set.as_signers(), &certs).unwrap().encode();
        let salt = random.next();
        let frames = pulse(|frame, poly, j| {
            let word = salt.wrapping_mul(1 + (frame * 4096 + poly * 256 + j) as u64);
            word % pulse::HINT_MODULUS
        });
        let forged = good.with(|draft| {
            draft.beam = beam;
            draft.attestation.clone_from(&certs);
            draft.pulse.clone_from(&frames);
        });
        let certificate = HorizonCertificate::from_envelope(&forged.envelope()).encode();
        let certificate = HorizonCertificate::parse(&certificate).unwrap();
        certificate.check_structure().unwrap();
        for tier in [Tier::Classical, Tier::Pulse, Tier::Horizon, Tier::Pq] {
            let name = tier.name();
            assert_eq!(
                refused(tier, &forged).reason(),
                Reason::BeamInvalid,
                "{round} {name}"
            );
            let certs_left = forged.with(|draft| draft.beam = good.beam);
            let refusal = refused(tier, &certs_left);
            assert_eq!(
                (refusal.reason(), refusal.index()),
                (Reason::CertSetInvalid, Some(0))
            );
            let pulse_left = certs_left.with(|draft| {
                draft.attestation.clone_from(&good.attestation);
            });
            assert_eq!(
                refused(tier, &pulse_left).reason(),
                Reason::PulseInvalid,
                "{name}"
            );
        }
    }
}

/// Q4: a threshold of zero is no record, and one of one is below what a policy demands unless its
/// owner lowers the minimum by hand.
#[test]
fn q4_a_threshold_of_one_needs_a_policy_that_says_so() {
    let mut record = WORLD.record.clone();
    record.threshold = 0;
    assert_eq!(reason(record.check()), Reason::RecordThreshold);
    for (threshold, expected) in [
        (1, Err(Reason::CommitteeTooSmall)),
        (2, Err(Reason::CommitteeTooSmall)),
        (3, Ok(())),
    ] {
        record.threshold = threshold;
        let head = record.hash().unwrap();
        let policy = Policy::new(&[SourceConfig::new(NETWORK, CHAIN, head)]).unwrap();
        let registry = Registry::load(vec![record.clone()], &policy.pins()).unwrap();
        let envelope = SEALED.envelope();
        let verdict = verify(&envelope, &registry, &policy, &context());
        let verdict = verdict.map(drop).map_err(|refusal| refusal.reason());
        assert_eq!(verdict, expected, "{threshold}");
    }
}

/// Q10: zero is a value like any other, never "any" and never a default; each zeroed field has a
/// refusal of its own.
#[test]
fn q10_a_zeroed_field_is_never_a_wildcard() {
    type Change = fn(&mut Draft);
    let rows: [(&str, Change, Reason); 9] = [
        ("network", |d| d.network = 0, Reason::NetworkMismatch),
        ("chain", |d| d.chain = [0; 32], Reason::PolicyMissing),
        ("era", |d| d.lineage.key_era = 0, Reason::RecordUnknown),
        (
            "root",
            |d| d.lineage.nebula_root = [0; 32],
            Reason::CertSetInvalid,
        ),
        (
            "signers",
            |d| d.signers = SignerSet::new(),
            Reason::NoSignedWeight,
        ),
        ("beam", |d| d.beam = [0; 96], Reason::BeamMalformed),
        ("kind", |d| d.attestation[0] = 0, Reason::CertSetKind),
        ("scheme", |d| d.attestation[1] = 0, Reason::CertSetKind),
        ("pulse", |d| d.pulse = vec![0; 33_052], Reason::PulseRow),
    ];
    for (field, change, expected) in rows {
        let refusal = refused(Tier::Horizon, &SEALED.with(change));
        assert_eq!(refusal.reason(), expected, "{field}");
    }
    // A suite of zero bytes is no empty suite.
    let zeros = SEALED.message();
    let envelope = Envelope::with_lanes_unchecked(zeros, SEALED.lineage, &[0; 11], &[], &[]);
    assert_eq!(reason(envelope), Reason::SuiteSyntax);
}

/// Q19: who carries a message cannot lower what it needs. Two of five validators do not reach the
/// policy's quorum in any lane, and a record with a lower threshold is another record.
#[test]
fn q19_the_floor_is_the_policys_and_the_pinned_records() {
    let mut few = Draft::new(b"q19", &[0, 1]);
    let transcript = few.transcript();
    few.beam = WORLD.beam(&few.unsigned().encode(), &[0, 1]);
    few.attestation = WORLD.certificates(&transcript, &[0, 1]);
    few.pulse = WORLD.kernel.sign(19, &transcript);
    for tier in [Tier::Classical, Tier::Pulse, Tier::Horizon, Tier::Pq] {
        let refusal = refused(tier, &few);
        assert_eq!(refusal.reason(), Reason::InsufficientWeight);
        assert_eq!(refusal.outcome(), Outcome::NotEnoughEvidence);
        let enough = [0, 1, 2, 3];
        let beam = few.with(|draft| {
            draft.signers = SignerSet::from_indices(enough).unwrap();
            draft.beam = WORLD.beam(&draft.unsigned().encode(), &enough);
        });
        assert_eq!(refused(tier, &beam).reason(), Reason::CertSetWeight);
    }
    let mut lowered = WORLD.record.clone();
    lowered.threshold = 1;
    let pin = Pin {
        network_id: NETWORK,
        chain_id: CHAIN,
        head: WORLD.record.hash().unwrap(),
    };
    assert_eq!(
        reason(Registry::load(vec![lowered], &[pin])),
        Reason::ChainPin
    );
}

/// Q30: a classical aggregate in the place of post-quantum evidence.
#[test]
fn q30_a_classical_signature_is_no_post_quantum_lane() {
    let beam = SEALED.beam;
    let padded: [u8; 3309] = array(&[&beam[..], &[0; 3309 - 96]].concat());
    let set = SignerSet::from_indices([0, 1, 2, 4]).unwrap();
    let certs = CertSet::new(set.as_signers(), &[padded; 4])
        .unwrap()
        .encode();
    for tier in PQ_TIERS {
        let alone = SEALED.with(|draft| {
            draft.pulse.clear();
            draft.attestation.clear();
        });
        assert_eq!(refused(tier, &alone).class(), Class::ClassicalForbidden);
        let refusal = refused(
            tier,
            &SEALED.with(|draft| draft.attestation = beam.to_vec()),
        );
        assert_eq!(refusal.class(), Class::CertSet);
        let refusal = refused(
            tier,
            &SEALED.with(|draft| draft.attestation.clone_from(&certs)),
        );
        assert_eq!(
            (refusal.reason(), refusal.index()),
            (Reason::CertSetInvalid, Some(0))
        );
        let refusal = refused(tier, &SEALED.with(|draft| draft.pulse = beam.to_vec()));
        assert_eq!(refusal.class(), Class::PulseFrame);
    }
}

/// Q32: where both lattice lanes are required, one that is missing, corrupt or short of its quorum
/// refuses, whatever the other shows.
#[test]
fn q32_both_lattice_lanes_are_needed_where_both_are_required() {
    let transcript = SEALED.transcript();
    // Two of five points of another dealing.
    let short = Kernel::new(0x32, Suite::PulsarSha3, 2, 5).sign(1, &transcript);
    for tier in [Tier::Horizon, Tier::Pq] {
        let of = |change: &dyn Fn(&mut Draft)| {
            let refusal = refused(tier, &SEALED.with(change));
            (refusal.reason(), refusal.lane())
        };
        let certs = Some(Lane::CertSet);
        assert_eq!(of(&|d| d.attestation.clear()), (Reason::LaneMissing, certs));
        assert_eq!(
            of(&|d| d.attestation[100] ^= 1),
            (Reason::CertSetInvalid, certs)
        );
        let three = WORLD.certificates(&transcript, &[0, 1, 2]);
        let weight = of(&|d| d.attestation.clone_from(&three));
        assert_eq!(weight, (Reason::CertSetWeight, certs));
        let pulse = Some(Lane::Pulse);
        assert_eq!(of(&|d| d.pulse.clear()), (Reason::LaneMissing, pulse));
        assert_eq!(of(&|d| d.pulse[4 + 16] ^= 1), (Reason::PulseInvalid, pulse));
        let points = of(&|d| d.pulse.clone_from(&short));
        assert_eq!(points, (Reason::PulseInvalid, pulse));
    }
}

/// Q41: keys of different lanes are different types, and the bytes of one are no key of another.
#[test]
fn q41_keys_of_different_lanes_cannot_stand_for_each_other() {
    let types = BTreeSet::from([
        TypeId::of::<GroupKey>(),
        TypeId::of::<bls::VerifyingKey>(),
        TypeId::of::<mldsa::VerifyingKey>(),
        TypeId::of::<ValidatorSet>(),
        TypeId::of::<Suite>(),
        TypeId::of::<SuiteId>(),
    ]);
    assert_eq!(types.len(), 6);
    let load = |change: &dyn Fn(&mut Record)| {
        let mut record = WORLD.record.clone();
        change(&mut record);
        let policy = policy(std::slice::from_ref(&record), Tier::Horizon);
        let error = Registry::load(vec![record], &policy.pins()).unwrap_err();
        (error.reason(), error.lane())
    };
    let member = WORLD.record.members[0].clone();
    let mldsa_key = member.mldsa_key.unwrap().to_vec();
    let foreign = (Reason::RecordKey, Some(Lane::Pulse));
    assert_eq!(load(&|r| r.group_key.clone_from(&mldsa_key)), foreign);
    assert_eq!(load(&|r| r.group_key = member.bls_key.to_vec()), foreign);
    let group_key = &WORLD.record.group_key;
    let beam = load(&|r| {
        r.members[4].bls_key = [&[0xff], &group_key[..47]].concat()[..].try_into().unwrap()
    });
    assert_eq!(beam, (Reason::RecordKey, Some(Lane::Beam)));
    // One validator's certificate key is no other's.
    let mut twin = WORLD.record.clone();
    twin.members[1].mldsa_key = twin.members[0].mldsa_key.clone();
    assert_eq!(reason(twin.check()), Reason::ValidatorDuplicateKey);
}
