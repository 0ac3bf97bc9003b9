//! From bytes, policy and registry to a verdict or one precise reason.

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

use std::sync::LazyLock;

use common::*;
use horizon_pulsar::Suite;
use horizon_warp::policy::{Policy, SourceConfig, Tier};
use horizon_warp::prism::{Context, Outcome, Refusal};
use horizon_warp::registry::{Pin, Record, Registry};
use horizon_warp::*;
use world::*;

/// Five validators of weight 20, four of five for a Pulse, and one sealed envelope.
struct Scene {
    world: World,
    registry: Registry,
    sealed: Draft,
}

static SCENE: LazyLock<Scene> = LazyLock::new(|| {
    let world = World::new(0x005c_e4e1, &[20; 5], 4);
    let registry = world.registry();
    let sealed = world.seal(b"transfer 5", &[0, 1, 2, 4], 1);
    Scene {
        world,
        registry,
        sealed,
    }
});

impl Scene {
    fn verify(&self, tier: Tier, draft: &Draft) -> Result<State, Refusal> {
        let policy = self.world.config(tier);
        let wire = draft.encode();
        let parallel = verify_bytes(&wire, &self.registry, &policy, &context());
        let sequential = verify_bytes(&wire, &self.registry, &policy, &sequential());
        let state = |result: Result<HorizonVerified<'_>, Refusal>| result.map(|v| v.state());
        let (parallel, sequential) = (state(parallel), state(sequential));
        assert_eq!(
            parallel, sequential,
            "the schedule must not change the verdict"
        );
        parallel
    }

    fn refused(&self, tier: Tier, change: impl FnOnce(&mut Draft)) -> Refusal {
        self.verify(tier, &self.sealed.with(change))
            .expect_err("must be refused")
    }

    fn reason(&self, tier: Tier, change: impl FnOnce(&mut Draft)) -> Reason {
        self.refused(tier, change).reason()
    }
}

#[test]
fn a_sealed_envelope_gives_a_full_verdict() {
    let scene = &*SCENE;
    let policy = scene.world.config(Tier::Horizon);
    let wire = scene.sealed.encode();
    let verdict = verify_bytes(&wire, &scene.registry, &policy, &context()).unwrap();
    assert_eq!(verdict.state(), State::HorizonFinal);
    assert_eq!(verdict.tier(), Tier::Horizon);
    assert_eq!(
        verdict.pq_roots(),
        LaneSet::of([Lane::CertSet, Lane::Pulse])
    );
    assert_eq!(verdict.message().payload(), b"transfer 5");
    assert_eq!(verdict.id(), &scene.sealed.unsigned().id());
    assert_eq!(verdict.record_key(), &scene.world.record.key);
    assert_eq!(verdict.record_hash(), &scene.world.record.hash().unwrap());
    assert_eq!(verdict.lineage(), Some(&scene.sealed.lineage));
    assert_eq!(verdict.total_weight(), 100);
    let lanes: Vec<_> = verdict
        .lanes()
        .iter()
        .map(|v| (v.lane, v.signed_weight, v.signer_count))
        .collect();
    assert_eq!(
        lanes,
        [
            (Lane::Beam, Some(80), 4),
            (Lane::CertSet, Some(80), 4),
            (Lane::Pulse, None, 4)
        ]
    );
    assert!(
        verdict
            .lanes()
            .iter()
            .all(|verdict| verdict.duration_ns.is_none())
    );
}

#[test]
fn a_clock_gives_timings_and_changes_nothing_else() {
    fn clock() -> u64 {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NOW: AtomicU64 = AtomicU64::new(0);
        NOW.fetch_add(5, Ordering::Relaxed)
    }
    let scene = &*SCENE;
    let policy = scene.world.config(Tier::Horizon);
    let wire = scene.sealed.encode();
    let context = Context {
        clock: Some(clock),
        ..sequential()
    };
    let verdict = verify_bytes(&wire, &scene.registry, &policy, &context).unwrap();
    assert!(
        verdict
            .lanes()
            .iter()
            .all(|verdict| verdict.duration_ns == Some(5))
    );
}

/// Every tier accepts exactly the envelopes that carry its lanes.
#[test]
fn f04_q3_q5_tiers_require_their_lanes_and_verify_all_that_are_present() {
    let scene = &*SCENE;
    let full = scene.sealed.clone();
    let no_pulse = full.with(|draft| draft.pulse.clear());
    let no_certs = full.with(|draft| draft.attestation.clear());
    let beam_only = no_pulse.with(|draft| draft.attestation.clear());
    let no_beam = full.with(|draft| (draft.beam, draft.signers) = ([0; 96], SignerSet::new()));
    let rows = [
        (Tier::Classical, &full, Ok(State::HorizonFinal)),
        (Tier::Classical, &beam_only, Ok(State::BeamFinal)),
        (Tier::Classical, &no_beam, Err(Reason::NoSignedWeight)),
        (Tier::Pulse, &full, Ok(State::HorizonFinal)),
        (Tier::Pulse, &no_certs, Ok(State::PulseSealed)),
        (Tier::Pulse, &no_pulse, Err(Reason::LaneMissing)),
        (Tier::Pulse, &beam_only, Err(Reason::PqEvidenceMissing)),
        (Tier::Horizon, &full, Ok(State::HorizonFinal)),
        (Tier::Horizon, &no_certs, Err(Reason::LaneMissing)),
        (Tier::Horizon, &no_pulse, Err(Reason::LaneMissing)),
        (Tier::Horizon, &beam_only, Err(Reason::PqEvidenceMissing)),
        (Tier::Horizon, &no_beam, Err(Reason::NoSignedWeight)),
        (Tier::Pq, &full, Ok(State::HorizonFinal)),
        (Tier::Pq, &no_beam, Ok(State::HorizonFinal)),
        (Tier::Pq, &no_certs, Err(Reason::LaneMissing)),
        (Tier::Pq, &no_pulse, Err(Reason::LaneMissing)),
        (Tier::Pq, &beam_only, Err(Reason::PqEvidenceMissing)),
        (Tier::Wrapped, &full, Err(Reason::LaneMissing)),
    ];
    for (tier, draft, expected) in rows {
        let verdict = scene
            .verify(tier, draft)
            .map_err(|refusal| refusal.reason());
        assert_eq!(verdict, expected, "{}", tier.name());
    }
    // A classical verdict says so, and says nothing about the lineage.
    let policy = scene.world.config(Tier::Classical);
    let wire = beam_only.encode();
    let verdict = verify_bytes(&wire, &scene.registry, &policy, &context()).unwrap();
    assert_eq!(
        (verdict.pq_roots(), verdict.lineage()),
        (LaneSet::EMPTY, None)
    );
}

/// F-08, F-22, N52, Q5, Q29, Q30, Q32: no lane is ignored, required or not; failing one is never
/// made up by another.
#[test]
fn q29_f40_n52_f08_f22_a_bad_lane_refuses_under_every_tier_that_would_pass_without_it() {
    let scene = &*SCENE;
    let other = scene.world.seal(b"transfer 6", &[0, 1, 2, 4], 2);
    for tier in [Tier::Classical, Tier::Pulse, Tier::Horizon, Tier::Pq] {
        let beam = scene.refused(tier, |draft| draft.beam = other.beam);
        assert_eq!(
            (beam.reason(), beam.lane()),
            (Reason::BeamInvalid, Some(Lane::Beam))
        );
        let certs = scene.refused(tier, |draft| {
            draft.attestation.clone_from(&other.attestation)
        });
        assert_eq!(
            (certs.reason(), certs.lane()),
            (Reason::CertSetInvalid, Some(Lane::CertSet))
        );
        assert_eq!(certs.index(), Some(0));
        let pulse = scene.refused(tier, |draft| draft.pulse.clone_from(&other.pulse));
        assert_eq!(
            (pulse.reason(), pulse.lane()),
            (Reason::PulseInvalid, Some(Lane::Pulse))
        );
        // The first in lane order is reported, whichever finishes first.
        let all = scene.refused(tier, |draft| {
            draft.beam = other.beam;
            draft.attestation.clone_from(&other.attestation);
            draft.pulse.clone_from(&other.pulse);
        });
        assert_eq!(all.reason(), Reason::BeamInvalid);
        let late = scene.refused(tier, |draft| {
            draft.attestation.clone_from(&other.attestation);
            draft.pulse.clone_from(&other.pulse);
        });
        assert_eq!(late.reason(), Reason::CertSetInvalid);
    }
}

/// F-26, N48, N50: a Groth16 lane is recognised, has its own reason, and never is post-quantum
/// evidence.
#[test]
fn q22_n48_n50_f26_a_groth16_artifact_is_refused_with_its_own_reason() {
    let scene = &*SCENE;
    for tier in [Tier::Classical, Tier::Pulse, Tier::Wrapped] {
        let refusal = scene.refused(tier, |draft| draft.attestation = vec![7; 224]);
        assert_eq!(
            (refusal.reason(), refusal.lane()),
            (Reason::Groth16Unsupported, Some(Lane::Groth16))
        );
    }
    // Q22: known from its header, before any signature is looked at.
    let early = scene.refused(Tier::Pulse, |draft| {
        draft.payload.push(0);
        draft.attestation = vec![7; 224];
    });
    assert_eq!(early.reason(), Reason::Groth16Unsupported);
    let alone = |draft: &mut Draft| {
        draft.attestation = vec![7; 224];
        draft.pulse.clear();
    };
    for tier in [Tier::Pulse, Tier::Horizon, Tier::Pq, Tier::Wrapped] {
        assert_eq!(
            scene.reason(tier, alone),
            Reason::PqEvidenceMissing,
            "{}",
            tier.name()
        );
    }
    assert_eq!(
        scene.reason(Tier::Horizon, |draft| draft.attestation = vec![7; 224]),
        Reason::LaneMissing
    );
    let junk = scene.refused(Tier::Horizon, |draft| draft.attestation = hex("dead"));
    assert_eq!(junk.class(), Class::CertSet);
}

/// N49, N53, Q68, F-13: stripped lanes do not weaken what the destination demands.
#[test]
fn q68_n49_n53_f13_a_source_marked_post_quantum_refuses_stripped_envelopes() {
    let scene = &*SCENE;
    let stripped = scene.sealed.with(|draft| {
        draft.pulse.clear();
        draft.attestation.clear();
    });
    let wire = stripped.encode();
    let config = config(std::slice::from_ref(&scene.world.record), Tier::Classical);
    for (since, height, accepted) in [
        (None, 100, true),
        (Some(101), 100, true),
        (Some(100), 100, false),
        (Some(0), 0, false),
    ] {
        let policy = Policy::new(&[SourceConfig {
            pq_since: since,
            ..config
        }])
        .unwrap();
        let context = Context {
            source_height: height,
            ..context()
        };
        let verdict = verify_bytes(&wire, &scene.registry, &policy, &context);
        if accepted {
            assert_eq!(verdict.unwrap().state(), State::BeamFinal);
        } else {
            let refusal = verdict.unwrap_err();
            assert_eq!(refusal.class(), Class::ClassicalForbidden);
            assert_eq!(refusal.outcome(), Outcome::NotEnoughEvidence);
        }
    }
}

#[test]
fn f37_n20_to_n23_n26_signers_weights_and_networks() {
    let scene = &*SCENE;
    let tier = Tier::Horizon;
    let set = |indices: &[u32]| SignerSet::from_indices(indices.iter().copied()).unwrap();
    assert_eq!(
        scene.reason(tier, |d| d.signers = SignerSet::new()),
        Reason::NoSignedWeight
    );
    let beyond = scene.refused(tier, |d| d.signers = set(&[0, 1, 2, 4, 5]));
    assert_eq!(
        (beyond.reason(), beyond.lane(), beyond.index()),
        (Reason::SignerWithoutValidator, Some(Lane::Beam), Some(5))
    );
    assert_eq!(
        scene.reason(tier, |d| d.signers = set(&[0, 1, 2])),
        Reason::InsufficientWeight
    );
    assert_eq!(
        scene.reason(tier, |d| d.signers = set(&[0, 1, 2, 3])),
        Reason::BeamInvalid
    );
    assert_eq!(
        scene.reason(tier, |d| d.signers = set(&[0, 1, 2, 3, 4])),
        Reason::BeamInvalid
    );
    // F-37: the network is compared on every path, the post-quantum one included.
    for tier in [Tier::Classical, Tier::Pq] {
        assert_eq!(
            scene.reason(tier, |d| d.network += 1),
            Reason::NetworkMismatch
        );
    }
    let context = Context {
        network_id: NETWORK + 1,
        ..context()
    };
    let policy = scene.world.config(tier);
    let refusal = verify(&scene.sealed.envelope(), &scene.registry, &policy, &context).unwrap_err();
    assert_eq!(refusal.reason(), Reason::NetworkMismatch);
}

/// Q11, Q26: another chain, era, generation, root or suite.
#[test]
fn q11_q40_n30_to_n32_n43_other_subjects_are_refused() {
    let scene = &*SCENE;
    let tier = Tier::Horizon;
    assert_eq!(
        scene.reason(tier, |d| d.chain[0] ^= 1),
        Reason::PolicyMissing
    );
    assert_eq!(
        scene.reason(tier, |d| d.lineage.key_era += 1),
        Reason::RecordUnknown
    );
    assert_eq!(
        scene.reason(tier, |d| d.lineage.key_era = 0),
        Reason::RecordUnknown
    );
    assert_eq!(
        scene.reason(tier, |d| d.lineage.generation += 1),
        Reason::RecordUnknown
    );
    assert_eq!(
        scene.reason(tier, |d| d.lineage.nebula_root[31] ^= 1),
        Reason::CertSetInvalid
    );
    assert_eq!(
        scene.reason(Tier::Pulse, |d| {
            d.lineage.nebula_root[31] ^= 1;
            d.attestation.clear();
        }),
        Reason::PulseInvalid
    );
    assert_eq!(
        scene.reason(tier, |d| d.suite = b"Pulsar-BLAKE3".to_vec()),
        Reason::SuiteDiffers
    );
    assert_eq!(
        scene.reason(tier, |d| d.suite = b"Corona-SHA3".to_vec()),
        Reason::SuiteUnknown
    );
    // Empty stands for the default, so nothing that is signed changes.
    assert_eq!(
        scene.verify(tier, &scene.sealed.with(|d| d.suite.clear())),
        Ok(State::HorizonFinal)
    );
    assert_eq!(
        scene.reason(tier, |d| d.payload.push(0)),
        Reason::BeamInvalid
    );
}

/// F-07, F-36: the suite selects the hash functions that run, not only the label.
#[test]
fn f07_f36_n31_a_relabelled_suite_does_not_verify_even_if_the_registry_follows() {
    let scene = &*SCENE;
    let mut record = scene.world.record.clone();
    record.suite = SuiteId::PulsarBlake3;
    let policy = policy(std::slice::from_ref(&record), Tier::Pulse);
    let registry = Registry::load(vec![record], &policy.pins()).unwrap();
    let relabelled = scene.sealed.with(|draft| {
        draft.suite = b"Pulsar-BLAKE3".to_vec();
        draft.attestation.clear();
    });
    let refusal = verify(&relabelled.envelope(), &registry, &policy, &context()).unwrap_err();
    assert_eq!(refusal.reason(), Reason::PulseInvalid);
    // The other suite works when it is really used.
    let world = World::with_suite(3, &[1; 4], 3, Suite::PulsarBlake3);
    let sealed = world.seal(b"x", &[0, 1, 2, 3], 1);
    let verdict = verify(
        &sealed.envelope(),
        &world.registry(),
        &world.config(Tier::Horizon),
        &context(),
    )
    .map(|verdict| verdict.state());
    assert_eq!(verdict, Ok(State::HorizonFinal));
}

/// N32: an era or generation that the registry knows, but that did not sign.
#[test]
fn q26_n32_another_known_generation_is_refused_by_the_lanes_that_bind_it() {
    let scene = &*SCENE;
    let (records, registry, policy) = refreshed(&scene.world, 0, Tier::Horizon, 0);
    assert_eq!(records.len(), 2);
    let moved = scene.sealed.with(|draft| draft.lineage.generation = 1);
    let refusal = verify(&moved.envelope(), &registry, &policy, &context()).unwrap_err();
    // The Beam does not bind the generation, so it passes; certificates and Pulse do.
    assert_eq!(
        (refusal.reason(), refusal.index()),
        (Reason::CertSetInvalid, Some(0))
    );
    let moved = moved.with(|draft| draft.attestation.clear());
    let (_, registry, policy) = refreshed(&scene.world, 0, Tier::Pulse, 0);
    let refusal = verify(&moved.envelope(), &registry, &policy, &context()).unwrap_err();
    assert_eq!(refusal.reason(), Reason::PulseInvalid);
}

/// The world's record and a refresh of it that becomes valid at `height`.
fn refreshed(
    world: &World,
    height: u64,
    tier: Tier,
    grace: u64,
) -> (Vec<Record>, Registry, Policy) {
    let mut next = world.record.clone();
    next.key.generation += 1;
    next.previous = world.record.hash().unwrap();
    next.valid_from = height;
    let records = vec![world.record.clone(), next];
    let config = SourceConfig {
        grace_heights: grace,
        ..config(&records, tier)
    };
    let policy = Policy::new(&[config]).unwrap();
    let registry = Registry::load(records.clone(), &policy.pins()).unwrap();
    (records, registry, policy)
}

/// A01: a retired generation verifies within its grace and no longer; a new attestation has the
/// same id.
#[test]
fn a01_a_retired_generation_verifies_within_its_grace_only() {
    let scene = &*SCENE;
    let (records, registry, policy) = refreshed(&scene.world, 100, Tier::Horizon, 50);
    let at = |height, draft: &Draft| {
        let context = Context {
            source_height: height,
            ..context()
        };
        verify(&draft.envelope(), &registry, &policy, &context).map(|verdict| *verdict.id())
    };
    let old = &scene.sealed;
    let id = at(149, old).unwrap();
    at(150, old).unwrap();
    let refusal = at(151, old).unwrap_err();
    assert_eq!(
        (refusal.reason(), refusal.class()),
        (Reason::EraRetired, Class::Resolver)
    );
    assert!(refusal.hint().contains("attested again"));
    // The same message, attested under the new generation.
    let mut again = old.with(|draft| draft.lineage.generation = records[1].key.generation);
    let transcript = again.transcript();
    again.attestation = scene.world.certificates(&transcript, &[0, 1, 2, 4]);
    again.pulse = scene.world.kernel.sign(9, &transcript);
    assert_eq!(at(152, &again), Ok(id));
    let early = at(99, &again).unwrap_err();
    assert_eq!(early.reason(), Reason::RecordNotYetValid);
}

/// F-24, A02: the set is the one of the named record, never the latest.
#[test]
fn a02_f24_signers_are_read_in_the_named_set_not_in_the_latest() {
    let world = World::new(0xa02, &[20; 5], 4);
    let sealed = world.seal(b"a02", &[1, 2, 3, 4], 1);
    let mut smaller = world.record.clone();
    smaller.key.generation = 1;
    smaller.previous = world.record.hash().unwrap();
    smaller.members.remove(0);
    let records = vec![world.record, smaller];
    let policy = Policy::new(&[SourceConfig {
        grace_heights: 1000,
        ..config(&records, Tier::Classical)
    }])
    .unwrap();
    let registry = Registry::load(records, &policy.pins()).unwrap();
    let beam = sealed.with(|draft| {
        draft.attestation.clear();
        draft.pulse.clear();
    });
    let verdict = verify(&beam.envelope(), &registry, &policy, &context()).unwrap();
    assert_eq!(verdict.lanes()[0].signed_weight, Some(80));
    let moved = beam.with(|draft| draft.lineage.generation = 1);
    let refusal = verify(&moved.envelope(), &registry, &policy, &context()).unwrap_err();
    assert_eq!(
        (refusal.reason(), refusal.index()),
        (Reason::SignerWithoutValidator, Some(4))
    );
    // For version 1 messages the caller names the set; without a name they are refused.
    let message = beam.message().encode();
    for (generation, expected) in [
        (None, Err(Reason::RecordUnknown)),
        (Some((ERA, 0)), Ok(State::BeamFinal)),
        (Some((ERA, 1)), Err(Reason::SignerWithoutValidator)),
        (Some((0, 0)), Err(Reason::RecordUnknown)),
    ] {
        let context = Context {
            message_generation: generation,
            ..context()
        };
        let verdict = verify_bytes(&message, &registry, &policy, &context);
        assert_eq!(verdict.map(|v| v.state()).map_err(|r| r.reason()), expected);
    }
}

/// A03: zero is a number like any other.
#[test]
fn a03_era_generation_height_index_and_payload_zero_are_delivered() {
    let mut world = World::new(0xa03, &[1; 4], 3);
    world.record.key.key_era = 0;
    let registry = world.registry();
    let policy = world.config(Tier::Horizon);
    let mut draft = Draft::new(b"", &[0, 1, 3]);
    draft.lineage = Lineage::default();
    draft.beam = world.beam(&draft.unsigned().encode(), &[0, 1, 3]);
    let transcript = draft.transcript();
    // Replies arrive as 3, 1, 0; the set is in ascending order whatever the order of arrival.
    draft.attestation = world.certificates(&transcript, &[3, 1, 0]);
    draft.pulse = world.kernel.sign(1, &transcript);
    let context = Context {
        source_height: 0,
        ..context()
    };
    let verdict = verify(&draft.envelope(), &registry, &policy, &context).unwrap();
    assert_eq!(verdict.state(), State::HorizonFinal);
    let order: Vec<u32> = CertSet::parse(&draft.attestation)
        .unwrap()
        .iter()
        .map(|(index, _)| index)
        .collect();
    assert_eq!(order, [0, 1, 3]);
}

/// A08: a validator without an ML-DSA key counts in the total and cannot sign certificates.
#[test]
fn a08_a_signer_without_a_certificate_key_is_named() {
    let mut world = World::new(0xa08, &[25; 4], 3);
    world.record.members[3].mldsa_key = None;
    let registry = world.registry();
    let policy = world.config(Tier::Horizon);
    let good = world.seal(b"a08", &[0, 1, 2], 1);
    let verdict = verify(&good.envelope(), &registry, &policy, &context()).unwrap();
    assert_eq!(verdict.lanes()[1].signed_weight, Some(75));
    let bad = good.with(|draft| {
        draft.attestation = world.certificates(&draft.transcript(), &[0, 1, 3]);
    });
    let refusal = verify(&bad.envelope(), &registry, &policy, &context()).unwrap_err();
    assert_eq!(
        (refusal.reason(), refusal.index()),
        (Reason::CertSetKeyMissing, Some(3))
    );
}

/// A19: edge signatures are refused, and the validator is named.
#[test]
fn a19_n47_a_bad_certificate_names_its_validator() {
    let scene = &*SCENE;
    let certs = scene.sealed.attestation.clone();
    let start = 6 + 1 + 3309;
    let hints = start + 3309 - 61;
    let second = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut changed = certs.clone();
        change(&mut changed);
        scene.refused(Tier::Horizon, |draft| draft.attestation = changed)
    };
    let repeated = |certs: &mut Vec<u8>| {
        certs[hints..hints + 55].fill(0);
        (certs[hints], certs[hints + 1]) = (9, 9);
        certs[hints + 55..hints + 61].fill(2);
    };
    let too_many = |certs: &mut Vec<u8>| certs[hints + 60] = 56;
    let at_bound = |certs: &mut Vec<u8>| {
        // First response coefficient: gamma1 - z = 196, so z is exactly at the bound it must stay
        // below.
        let at = start + 48;
        (certs[at], certs[at + 1]) = (196, 0);
        certs[at + 2] &= 0xf0;
    };
    let flipped = |certs: &mut Vec<u8>| certs[start + 7] ^= 1;
    for change in [
        &repeated as &dyn Fn(&mut Vec<u8>),
        &too_many,
        &at_bound,
        &flipped,
    ] {
        let refusal = second(change);
        assert_eq!(
            (refusal.reason(), refusal.index()),
            (Reason::CertSetInvalid, Some(1))
        );
    }
    // The header fixed up around one signature more or one byte less.
    assert_eq!(
        second(&|certs| certs.truncate(certs.len() - 1)).reason(),
        Reason::CertSetLength
    );
    assert_eq!(
        second(&|certs| certs.push(0)).reason(),
        Reason::CertSetLength
    );
    let unordered = |certs: &mut Vec<u8>| {
        let first = certs[7..start].to_vec();
        certs.copy_within(start..start + 3309, 7);
        certs[start..start + 3309].copy_from_slice(&first);
    };
    assert_eq!(second(&unordered).index(), Some(0));
    let short = scene.refused(Tier::Horizon, |draft| {
        draft.attestation = scene.world.certificates(&draft.transcript(), &[0, 1, 2]);
    });
    assert_eq!(short.reason(), Reason::CertSetWeight);
    let beyond = second(&|certs| certs[6] = 0b0010_0111);
    assert_eq!(
        (beyond.reason(), beyond.index()),
        (Reason::CertSetSignerIndex, Some(5))
    );
}

/// N46: certificates under another context or over another message.
#[test]
fn n46_certificates_bind_context_and_transcript() {
    let scene = &*SCENE;
    let transcript = scene.sealed.transcript();
    let unsigned = scene.sealed.unsigned().encode();
    for (context, message) in [
        (&b""[..], &transcript),
        (b"lux-validator-identity-v1", &transcript),
        (b"lux-warp-cross-chain-v1", &unsigned),
    ] {
        let key = &scene.world.secrets[0].mldsa;
        let signature = key.sign_deterministic(context, message).unwrap();
        let refusal = scene.refused(Tier::Horizon, |draft| {
            draft.attestation[7..7 + 3309].copy_from_slice(&signature);
        });
        assert_eq!(
            (refusal.reason(), refusal.index()),
            (Reason::CertSetInvalid, Some(0))
        );
    }
}

/// N45: a Pulse over a message of another kind under the same key.
#[test]
fn q21_n45_a_pulse_over_another_kind_of_message_is_refused() {
    let scene = &*SCENE;
    let mut bundle = scene.sealed.transcript();
    bundle[..23].copy_from_slice(b"QUASAR-PULSAR-BUNDLE-v1");
    let pulse = scene.world.kernel.sign(5, &bundle);
    let refusal = scene.refused(Tier::Horizon, |draft| draft.pulse = pulse);
    assert_eq!(refusal.reason(), Reason::PulseInvalid);
}

/// N25: signatures that are no points of the group.
#[test]
fn q1_n25_beams_that_are_no_group_elements() {
    let scene = &*SCENE;
    let mut infinity = [0; 96];
    infinity[0] = 0xc0;
    let mut above_p = [0xff; 96];
    above_p[0] = 0x9f;
    let mut uncompressed = scene.sealed.beam;
    uncompressed[0] &= 0x7f;
    for beam in [
        [0; 96],
        infinity,
        above_p,
        uncompressed,
        outside_subgroup(),
        [0xab; 96],
    ] {
        let refusal = scene.refused(Tier::Horizon, |draft| draft.beam = beam);
        assert_eq!(
            (refusal.reason(), refusal.class()),
            (Reason::BeamMalformed, Class::SigParse)
        );
    }
    // The negated signature is a point, and the wrong one.
    let mut negated = scene.sealed.beam;
    negated[0] ^= 0x20;
    assert_eq!(
        scene.reason(Tier::Horizon, |draft| draft.beam = negated),
        Reason::BeamInvalid
    );
}

/// A point of the curve outside the prime-order subgroup.
fn outside_subgroup() -> [u8; 96] {
    (0_u8..=255)
        .find_map(|x| {
            let mut bytes = [0; 96];
            (bytes[0], bytes[95]) = (0x80, x);
            let point = blst::min_pk::Signature::from_bytes(&bytes).ok()?;
            point.validate(true).is_err().then_some(bytes)
        })
        .expect("most curve points are outside the subgroup")
}

/// N28: the other ciphersuite's tag.
#[test]
fn n28_a_beam_under_the_other_domain_tag_is_refused() {
    let scene = &*SCENE;
    let message = scene.sealed.unsigned().encode();
    let tag = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";
    let signatures: Vec<_> = [0, 1, 2, 4_usize]
        .into_iter()
        .map(|index| {
            let scalar = scene.world.secrets[index].bls.to_bytes();
            blst::min_pk::SecretKey::from_bytes(&scalar[..])
                .unwrap()
                .sign(&message, tag, &[])
        })
        .collect();
    let refs: Vec<_> = signatures.iter().collect();
    let sum = blst::min_pk::AggregateSignature::aggregate(&refs, true).unwrap();
    let refusal = scene.refused(Tier::Horizon, |draft| {
        draft.beam = sum.to_signature().to_bytes()
    });
    assert_eq!(refusal.reason(), Reason::BeamInvalid);
}

/// F-01, N27: positions by another encoding of the keys name other validators.
#[test]
fn n27_f01_signers_in_the_order_of_uncompressed_keys_are_refused() {
    let world = World::new(0x27, &[1; 9], 6);
    let uncompressed = |index: u32| {
        let key = world.secrets[index as usize].bls.verifying_key().to_bytes();
        blst::min_pk::PublicKey::from_bytes(&key)
            .unwrap()
            .serialize()
    };
    let mut other: Vec<u32> = (0..9).collect();
    other.sort_by_key(|index| uncompressed(*index));
    assert_ne!(other, (0..9).collect::<Vec<_>>(), "the two orders differ");
    // Seven signers, named once by each order.
    let signers: Vec<u32> = other[..7].to_vec();
    let message = world.unsigned(b"order").encode();
    let mut draft = Draft::new(b"order", &signers);
    draft.beam = world.beam(&message, &signers);
    let policy = world.config(Tier::Classical);
    let registry = world.registry();
    assert!(verify(&draft.envelope(), &registry, &policy, &context()).is_ok());
    let misnamed = draft.with(|draft| {
        draft.signers = SignerSet::from_indices(0..7).unwrap();
    });
    let refusal = verify(&misnamed.envelope(), &registry, &policy, &context()).unwrap_err();
    assert_eq!(refusal.reason(), Reason::BeamInvalid);
}

/// F-02: aggregates of 9 and 21 validators name the right signers, byte by byte.
#[test]
fn f02_aggregates_of_9_and_21_validators_verify() {
    for n in [9_u32, 21] {
        let world = World::new(u64::from(n), &vec![1; n as usize], n as u16);
        let signers: Vec<u32> = (0..n).filter(|index| index % 5 != 1).collect();
        let mut draft = Draft::new(b"many", &signers);
        draft.beam = world.beam(&draft.unsigned().encode(), &signers);
        let policy = world.config(Tier::Classical);
        let verdict = verify(&draft.envelope(), &world.registry(), &policy, &context()).unwrap();
        assert_eq!(verdict.lanes()[0].signer_count, signers.len() as u32);
    }
}

/// F-03, N29: a rogue key has no proof of possession.
#[test]
fn n29_f03_a_rogue_key_does_not_enter_the_registry() {
    let world = World::new(0x29, &[1; 4], 3);
    let load = |record: Record| {
        let policy = policy(std::slice::from_ref(&record), Tier::Horizon);
        Registry::load(vec![record], &policy.pins())
            .map(drop)
            .unwrap_err()
    };
    // The rogue key: a key of one's own minus another's. Its owner cannot prove to know the secret.
    let point = |index: usize| {
        let key = world.secrets[index].bls.verifying_key().to_bytes();
        blst::min_pk::PublicKey::from_bytes(&key).unwrap()
    };
    let negative = {
        let mut bytes = point(0).compress();
        bytes[0] ^= 0x20;
        blst::min_pk::PublicKey::from_bytes(&bytes).unwrap()
    };
    let own = point(3);
    let rogue = blst::min_pk::AggregatePublicKey::aggregate(&[&own, &negative], false).unwrap();
    let mut record = world.record.clone();
    record.members[3].bls_key = rogue.to_public_key().compress();
    record.members.sort_by_key(|member| member.bls_key);
    let error = load(record.clone());
    assert_eq!(
        (error.reason(), error.lane()),
        (Reason::RecordPossession, Some(Lane::Beam))
    );
    let index = error.index().unwrap() as usize;
    assert_eq!(
        record.members[index].bls_key,
        rogue.to_public_key().compress()
    );
    // A proof by somebody else, or a signature over the key under the message tag, is no proof.
    let mut record = world.record.clone();
    record.members[1].possession = record.members[2].possession;
    assert_eq!(load(record).index(), Some(1));
    let mut record = world.record.clone();
    let own_key = record.members[1].bls_key;
    record.members[1].possession = world.secrets[1].bls.sign_message(&own_key).to_bytes();
    assert_eq!(load(record).reason(), Reason::RecordPossession);
    // Keys that are no group elements.
    let mut infinity = [0; 48];
    infinity[0] = 0xc0;
    let mut record = world.record.clone();
    record.members[0].bls_key = infinity;
    record.members.sort_by_key(|member| member.bls_key);
    assert_eq!(load(record).reason(), Reason::RecordKey);
    let mut record = world.record.clone();
    record.group_key.pop();
    assert_eq!(
        (load(record.clone()).reason(), load(record).lane()),
        (Reason::RecordKey, Some(Lane::Pulse))
    );
}

/// N44, F-08: a lane with no key to verify it is refused, not ignored.
#[test]
fn n44_a_pulse_without_a_group_key_in_the_record_is_refused() {
    let scene = &*SCENE;
    let mut record = scene.world.record.clone();
    record.group_key.clear();
    record.threshold = 0;
    record
        .members
        .iter_mut()
        .for_each(|member| member.points = 0);
    let policy = policy(std::slice::from_ref(&record), Tier::Classical);
    let registry = Registry::load(vec![record], &policy.pins()).unwrap();
    let refusal = verify(&scene.sealed.envelope(), &registry, &policy, &context()).unwrap_err();
    assert_eq!(
        (refusal.reason(), refusal.lane(), refusal.outcome()),
        (
            Reason::LaneUnverifiable,
            Some(Lane::Pulse),
            Outcome::NotConfigured
        )
    );
}

/// The field's incidents of trusted defaults: an empty policy or registry refuses everything.
#[test]
fn default_policy_and_default_registry_refuse_everything() {
    let scene = &*SCENE;
    let envelope = scene.sealed.envelope();
    let policy = scene.world.config(Tier::Classical);
    let no_policy = verify(&envelope, &scene.registry, &Policy::default(), &context());
    assert_eq!(no_policy.unwrap_err().reason(), Reason::PolicyMissing);
    let no_registry = verify(&envelope, &Registry::default(), &policy, &context());
    assert_eq!(no_registry.unwrap_err().reason(), Reason::RecordUnknown);
    let blank = Draft::new(b"", &[]).with(|draft| {
        draft.network = 0;
        draft.chain = [0; 32];
        draft.lineage = Lineage::default();
    });
    let context = Context::new(0, 0, 0);
    let refusal = verify(
        &blank.envelope(),
        &Registry::default(),
        &Policy::default(),
        &context,
    );
    assert_eq!(refusal.unwrap_err().reason(), Reason::PolicyMissing);
}

#[test]
fn age_window_and_minimums_of_the_policy_hold() {
    let scene = &*SCENE;
    let envelope = scene.sealed.envelope();
    let base = config(std::slice::from_ref(&scene.world.record), Tier::Horizon);
    let check = |config: SourceConfig, context: Context<'_>| {
        let policy = Policy::new(&[config]).unwrap();
        verify(&envelope, &scene.registry, &policy, &context)
            .map(drop)
            .map_err(|r| r.reason())
    };
    let aged = |age| Context {
        time_s: ISSUED_S + age,
        ..context()
    };
    let hour = SourceConfig {
        max_age_s: 3600,
        ..base
    };
    assert_eq!(check(hour, aged(3600)), Ok(()));
    assert_eq!(check(hour, aged(3601)), Err(Reason::RecordTooOld));
    let five = SourceConfig {
        validators_min: 5,
        threshold_min: 4,
        ..base
    };
    assert_eq!(check(five, context()), Ok(()));
    let six = SourceConfig {
        validators_min: 6,
        ..base
    };
    assert_eq!(check(six, context()), Err(Reason::CommitteeTooSmall));
    let high = SourceConfig {
        threshold_min: 5,
        ..base
    };
    assert_eq!(check(high, context()), Err(Reason::CommitteeTooSmall));
    let quorum = SourceConfig {
        beam_quorum: (81, 100),
        ..base
    };
    assert_eq!(check(quorum, context()), Err(Reason::InsufficientWeight));
    let quorum = SourceConfig {
        certset_quorum: (81, 100),
        ..base
    };
    assert_eq!(check(quorum, context()), Err(Reason::CertSetWeight));
    let mut windowed = scene.world.record.clone();
    (windowed.valid_from, windowed.valid_until) = (50, Some(120));
    let policy = policy(std::slice::from_ref(&windowed), Tier::Horizon);
    let registry = Registry::load(vec![windowed], &policy.pins()).unwrap();
    for (height, expected) in [
        (49, Err(Reason::RecordNotYetValid)),
        (50, Ok(())),
        (120, Ok(())),
        (121, Err(Reason::RecordExpired)),
    ] {
        let context = Context {
            source_height: height,
            ..context()
        };
        let verdict = verify(&envelope, &registry, &policy, &context);
        assert_eq!(verdict.map(drop).map_err(|r| r.reason()), expected);
    }
}

#[test]
fn retired_and_revoked_generations_are_refused() {
    let scene = &*SCENE;
    let envelope = scene.sealed.envelope();
    let policy = scene.world.config(Tier::Horizon);
    let key = scene.world.record.key;
    let mut registry = scene.world.registry();
    let check = |registry: &Registry| {
        verify(&envelope, registry, &policy, &context())
            .map(drop)
            .map_err(|r| r.reason())
    };
    registry.retire(&key, 100).unwrap();
    assert_eq!(check(&registry), Ok(()));
    registry.retire(&key, 99).unwrap();
    assert_eq!(check(&registry), Err(Reason::EraRetired));
    assert_eq!(
        reason(registry.retire(&key, 200)),
        Reason::RetirementConflict
    );
    registry.revoke(&key).unwrap();
    assert_eq!(check(&registry), Err(Reason::RecordRevoked));
    let unknown = RecordKey {
        generation: 9,
        ..key
    };
    assert_eq!(
        reason(registry.revoke(&unknown)),
        Reason::RetirementConflict
    );
    assert_eq!(
        reason(registry.retire(&unknown, 1)),
        Reason::RetirementConflict
    );
}

/// K1 to K4, Q71: chains of records.
#[test]
fn chains_of_records_follow_their_rules() {
    let world = World::new(0xc4a1, &[1; 4], 3);
    let first = world.record.clone();
    let next = |change: &dyn Fn(&mut Record)| {
        let mut record = first.clone();
        record.key.generation = 1;
        record.previous = first.hash().unwrap();
        change(&mut record);
        let pin = Pin {
            network_id: NETWORK,
            chain_id: CHAIN,
            head: record.hash().unwrap(),
        };
        Registry::load(vec![first.clone(), record], &[pin])
            .map(|r| r.len())
            .map_err(|e| e.reason())
    };
    let other_key = Kernel::new(1, Suite::PulsarSha3, 3, 4).key().to_framed();
    let new_era = |record: &mut Record| {
        record.key.key_era += 1;
        record.key.generation = 0;
    };
    assert_eq!(next(&|_| {}), Ok(2));
    assert_eq!(next(&|r| r.previous[0] ^= 1), Err(Reason::ChainPrevious));
    assert_eq!(next(&|r| r.key.generation = 2), Err(Reason::ChainStep));
    assert_eq!(next(&|r| r.key.generation = 0), Err(Reason::ChainStep));
    assert_eq!(next(&|r| r.key.key_era += 1), Err(Reason::ChainStep));
    assert_eq!(
        next(&|r| r.group_key.clone_from(&other_key)),
        Err(Reason::ChainGroupKey)
    );
    assert_eq!(
        next(&|r| r.suite = SuiteId::PulsarBlake3),
        Err(Reason::ChainSuite)
    );
    assert_eq!(next(&new_era), Err(Reason::ChainGroupKey));
    assert_eq!(
        next(&|r| {
            new_era(r);
            r.group_key.clone_from(&other_key);
            r.suite = SuiteId::PulsarBlake3;
        }),
        Ok(2)
    );
    let pin = |record: &Record| Pin {
        network_id: record.key.network_id,
        chain_id: record.key.chain_id,
        head: record.hash().unwrap(),
    };
    let load = |records: Vec<Record>, pins: &[Pin]| {
        Registry::load(records, pins)
            .map(|r| r.len())
            .map_err(|e| e.reason())
    };
    // Fail closed: no pin, no records, another head, a chain that starts in the middle.
    assert_eq!(load(vec![first.clone()], &[]), Err(Reason::ChainUnpinned));
    assert_eq!(load(vec![], &[pin(&first)]), Err(Reason::ChainUnpinned));
    assert_eq!(
        load(
            vec![first.clone()],
            &[Pin {
                head: [1; 32],
                ..pin(&first)
            }]
        ),
        Err(Reason::ChainPin)
    );
    let mut late = first.clone();
    late.previous = [1; 32];
    assert_eq!(
        load(vec![late.clone()], &[pin(&late)]),
        Err(Reason::ChainFirst)
    );
    let mut early = first.clone();
    (early.key.generation, early.previous) = (1, first.hash().unwrap());
    let mut shifted = first.clone();
    shifted.valid_from = 5;
    early.previous = shifted.hash().unwrap();
    assert_eq!(
        load(vec![shifted, early.clone()], &[pin(&early)]),
        Err(Reason::ChainWindow)
    );
    // K3: two chains never share a group key.
    let mut twin = first.clone();
    twin.key.chain_id = [9; 32];
    let pins = [pin(&first), pin(&twin)];
    assert_eq!(
        load(vec![first.clone(), twin], &pins),
        Err(Reason::ChainGroupKey)
    );
    // Appending follows the same rules, with the hash from a trusted source.
    let mut registry = world.registry();
    let mut appended = first.clone();
    (appended.key.generation, appended.previous) = (1, first.hash().unwrap());
    appended.valid_from = 10;
    let hash = appended.hash().unwrap();
    assert_eq!(
        reason(registry.append(appended.clone(), &[0; 32])),
        Reason::ChainPin
    );
    registry.append(appended.clone(), &hash).unwrap();
    assert_eq!(registry.get(&first.key).unwrap().retired_at(), Some(10));
    assert_eq!(
        reason(registry.append(appended, &hash)),
        Reason::ChainPrevious
    );
    assert_eq!(
        reason(Registry::default().append(first.clone(), &first.hash().unwrap())),
        Reason::ChainUnpinned
    );
}

#[test]
fn records_round_trip_as_bytes_and_as_json() {
    let world = World::new(0x4ec, &[1, 2, 3, 4], 3);
    let mut record = world.record;
    record.members[2].mldsa_key = None;
    record.valid_until = Some(u64::MAX);
    let bytes = record.encode().unwrap();
    assert_eq!(Record::parse(&bytes).unwrap(), record);
    let text = registry::records_to_json(std::slice::from_ref(&record)).unwrap();
    assert_eq!(
        registry::records_from_json(&text).unwrap(),
        [record.clone()]
    );
    let sample = text.replacen("\"threshold\"", "\"treshold\"", 1);
    assert_eq!(
        reason(registry::records_from_json(&sample)),
        Reason::RecordJson
    );
    assert_eq!(
        reason(registry::records_from_json("{}")),
        Reason::RecordJson
    );
    let upper = text.replacen("0xc4c4", "0xC4c4", 1);
    assert_eq!(
        reason(registry::records_from_json(&upper)),
        Reason::RecordField
    );
    // Cut and grown, and every byte of the head changed.
    let head = 26 + 4 + 32 + 16;
    for len in (1..head + 40).chain(bytes.len() - 40..bytes.len()) {
        assert_eq!(
            reason(Record::parse(&bytes[..len])),
            Reason::RecordTruncated,
            "{len}"
        );
    }
    let long = [&bytes[..], &[0]].concat();
    assert_eq!(reason(Record::parse(&long)), Reason::RecordTrailing);
    for at in (0..head + 16).chain(bytes.len() - 2300..bytes.len()) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x80;
        if let Ok(other) = Record::parse(&changed) {
            assert_ne!(other, record);
            assert_eq!(other.encode().unwrap(), changed);
        }
    }
    // A member count that cannot fit what remains.
    let count_at = bytes.len() - record.members.iter().map(encoded_len).sum::<usize>() - 4;
    for (count, expected) in [
        (5_u32, Reason::RecordTruncated),
        (3, Reason::RecordTrailing),
        (0, Reason::RecordTrailing),
        (65_536, Reason::RecordTruncated),
        (65_537, Reason::RecordTooLarge),
        (u32::MAX, Reason::RecordTooLarge),
    ] {
        let mut changed = bytes.clone();
        changed[count_at..count_at + 4].copy_from_slice(&count.to_be_bytes());
        assert_eq!(reason(Record::parse(&changed)), expected, "{count}");
    }
}

fn encoded_len(member: &registry::Member) -> usize {
    178 + member.operator.len() + member.mldsa_key.as_ref().map_or(0, |key| key.len())
}

#[test]
fn q4_q25_q31_records_of_bad_structure_are_refused() {
    let world = World::new(0xbad, &[1; 4], 3);
    let check = |change: &dyn Fn(&mut Record)| {
        let mut record = world.record.clone();
        change(&mut record);
        let error = record.check().unwrap_err();
        assert_eq!(record.encode().unwrap_err(), error);
        error.reason()
    };
    assert_eq!(check(&|r| r.threshold = 0), Reason::RecordThreshold);
    assert_eq!(check(&|r| r.threshold = 5), Reason::RecordThreshold);
    assert_eq!(
        check(&|r| r.members[0].points = 2000),
        Reason::RecordThreshold
    );
    assert_eq!(check(&|r| r.group_key.clear()), Reason::RecordThreshold);
    assert_eq!(check(&|r| r.members.swap(0, 1)), Reason::RecordOrder);
    assert_eq!(
        check(&|r| r.members[1] = r.members[0].clone()),
        Reason::ValidatorDuplicateKey
    );
    assert_eq!(
        check(&|r| r.members[1].weight = 0),
        Reason::ValidatorWeightZero
    );
    assert_eq!(
        check(&|r| r.members[1].weight = u64::MAX),
        Reason::ValidatorWeightOverflow
    );
    assert_eq!(
        check(&|r| r.members[1].operator = "é".into()),
        Reason::RecordField
    );
    assert_eq!(
        check(&|r| r.members[1].operator = "x".repeat(65)),
        Reason::RecordField
    );
    assert_eq!(
        check(&|r| (r.valid_from, r.valid_until) = (2, Some(1))),
        Reason::RecordField
    );
    assert_eq!(
        check(&|r| {
            r.members.clear();
            r.group_key.clear();
            r.threshold = 0;
        }),
        Reason::ValidatorSetEmpty
    );
}

/// N42, Q6, Q9: no byte of an accepted envelope can change.
#[test]
fn every_changed_byte_of_an_accepted_envelope_is_refused() {
    // Three validators and no Beam keep each verification short; the Beam's bytes follow below.
    let world = World::new(0x42, &[1; 3], 2);
    let registry = world.registry();
    let sealed = world.seal(b"mutate me", &[0, 1, 2], 1);
    let blank = sealed.with(|draft| (draft.beam, draft.signers) = ([0; 96], SignerSet::new()));
    let policy = world.config(Tier::Pq);
    let wire = blank.encode();
    assert!(verify_bytes(&wire, &registry, &policy, &sequential()).is_ok());
    let mut state = 0x42_u64;
    let mut changed = wire.clone();
    for at in 0..wire.len() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        changed[at] ^= 1 << (state >> 61);
        let verdict = verify_bytes(&changed, &registry, &policy, &sequential());
        assert!(verdict.is_err(), "byte {at} of {}", wire.len());
        changed[at] = wire[at];
    }
    let policy = world.config(Tier::Classical);
    let beam = sealed.with(|draft| {
        draft.pulse.clear();
        draft.attestation.clear();
    });
    let wire = beam.encode();
    let head = beam.message().encoded_len() + 3;
    assert!(verify_bytes(&wire, &registry, &policy, &sequential()).is_ok());
    for at in 0..head {
        for bit in 0..8 {
            let mut changed = wire.clone();
            changed[at] ^= 1 << bit;
            assert!(
                verify_bytes(&changed, &registry, &policy, &sequential()).is_err(),
                "{at}"
            );
        }
    }
}

/// Q7, Q11: swapping lanes between two accepted envelopes of the same source.
#[test]
fn lanes_of_two_envelopes_cannot_be_swapped() {
    let scene = &*SCENE;
    let other = scene.world.seal(b"another", &[0, 1, 2, 4], 3);
    let tier = Tier::Horizon;
    assert!(scene.verify(tier, &other).is_ok());
    let mixed = scene.refused(tier, |d| d.payload.clone_from(&other.payload));
    assert_eq!(mixed.reason(), Reason::BeamInvalid);
    let mixed = scene.refused(tier, |d| {
        d.payload.clone_from(&other.payload);
        d.beam = other.beam;
    });
    assert_eq!(mixed.reason(), Reason::CertSetInvalid);
    let mixed = scene.refused(tier, |d| {
        d.payload.clone_from(&other.payload);
        d.beam = other.beam;
        d.attestation.clone_from(&other.attestation);
    });
    assert_eq!(mixed.reason(), Reason::PulseInvalid);
}

/// Malformed lanes are refused before any cryptography, with the lane and the offset inside it.
#[test]
fn malformed_lanes_name_lane_and_offset() {
    let scene = &*SCENE;
    let refusal = scene.refused(Tier::Horizon, |draft| draft.pulse[4 + 16 + 7] = 0xff);
    assert_eq!(
        (refusal.reason(), refusal.lane(), refusal.offset()),
        (Reason::PulseRange, Some(Lane::Pulse), Some(20))
    );
    assert!(refusal.to_string().contains("lane pulse"));
    let refusal = scene.refused(Tier::Horizon, |draft| draft.attestation[0] = 9);
    assert_eq!(
        (refusal.reason(), refusal.lane(), refusal.offset()),
        (Reason::CertSetKind, Some(Lane::CertSet), Some(0))
    );
}

/// Q65, Q28: one certificate under two indices is one bad certificate, whoever sends it.
#[test]
fn q28_q65_a_certificate_under_another_index_is_refused() {
    let scene = &*SCENE;
    let transcript = scene.sealed.transcript();
    let own = scene.world.certificate(&transcript, 0);
    let signers = SignerSet::from_indices(0..4).unwrap();
    let set = CertSet::new(signers.as_signers(), &[own; 4])
        .unwrap()
        .encode();
    let refusal = scene.refused(Tier::Horizon, |draft| draft.attestation = set);
    assert_eq!(
        (refusal.reason(), refusal.index()),
        (Reason::CertSetInvalid, Some(1))
    );
}

/// Q69, Q70, Q78: one certificate, a Beam of a subset, a bit beyond the set.
#[test]
fn q69_q70_q78_partial_evidence_is_refused() {
    let scene = &*SCENE;
    let transcript = scene.sealed.transcript();
    let one = scene.world.certificates(&transcript, &[2]);
    let refusal = scene.refused(Tier::Horizon, |draft| draft.attestation = one);
    assert_eq!(
        (refusal.reason(), refusal.outcome()),
        (Reason::CertSetWeight, Outcome::NotEnoughEvidence)
    );
    let subset = scene
        .world
        .beam(&scene.sealed.unsigned().encode(), &[0, 1, 2]);
    assert_eq!(
        scene.reason(Tier::Horizon, |d| d.beam = subset),
        Reason::BeamInvalid
    );
    let set = SignerSet::from_indices([0, 1, 2, 4, 4095]).unwrap();
    let refusal = scene.refused(Tier::Horizon, |draft| draft.signers = set);
    assert_eq!(refusal.index(), Some(4095));
}

/// Q67: former members who kept their shares can make a Pulse for a later generation of the era.
/// Beam and certificates are the current set's, so such a Pulse alone opens nothing.
#[test]
fn q67_former_members_cannot_pass_for_a_later_generation() {
    let old = World::new(0x67, &[1; 4], 3);
    let new = World::new(0x6767, &[1; 4], 3);
    let mut next = old.record.clone();
    next.key.generation = 1;
    next.previous = old.record.hash().unwrap();
    next.members = new.record.members.clone();
    let records = vec![old.record.clone(), next];
    for tier in [Tier::Pulse, Tier::Horizon, Tier::Pq] {
        let policy = policy(&records, tier);
        let registry = Registry::load(records.clone(), &policy.pins()).unwrap();
        let mut forged = Draft::new(b"q67", &[0, 1, 2]);
        forged.lineage.generation = 1;
        let (unsigned, transcript) = (forged.unsigned().encode(), forged.transcript());
        forged.pulse = old.kernel.sign(1, &transcript);
        forged.beam = old.beam(&unsigned, &[0, 1, 2]);
        forged.attestation = old.certificates(&transcript, &[0, 1, 2]);
        let refusal = verify(&forged.envelope(), &registry, &policy, &context()).unwrap_err();
        assert_eq!(refusal.reason(), Reason::BeamInvalid);
        // With the current set's Beam and certificates it is the current set that speaks.
        let current = forged.with(|draft| {
            draft.beam = new.beam(&unsigned, &[0, 1, 2]);
            draft.attestation = new.certificates(&transcript, &[0, 1, 2]);
        });
        assert!(verify(&current.envelope(), &registry, &policy, &context()).is_ok());
    }
}

/// Q71: a gap, a fork, and two competing new eras.
#[test]
fn q71_gaps_forks_and_competing_eras_are_refused() {
    let world = World::new(0x71, &[1; 4], 3);
    let era = |seed: u64| {
        let mut record = world.record.clone();
        record.key.key_era += 1;
        record.previous = world.record.hash().unwrap();
        record.group_key = Kernel::new(seed, Suite::PulsarSha3, 3, 4).key().to_framed();
        record
    };
    let (first, second) = (era(1), era(2));
    let mut registry = world.registry();
    registry
        .append(first.clone(), &first.hash().unwrap())
        .unwrap();
    let fork = registry.append(second.clone(), &second.hash().unwrap());
    assert_eq!(reason(fork), Reason::ChainPrevious);
    let mut gap = first.clone();
    gap.key.generation = 2;
    gap.previous = first.hash().unwrap();
    assert_eq!(
        reason(registry.append(gap.clone(), &gap.hash().unwrap())),
        Reason::ChainStep
    );
    // Going back to an older era's key is a reuse, not a new era.
    let mut back = world.record.clone();
    back.key.key_era += 2;
    back.previous = first.hash().unwrap();
    assert_eq!(
        reason(registry.append(back.clone(), &back.hash().unwrap())),
        Reason::ChainGroupKey
    );
    assert_eq!(registry.len(), 2);
}

/// The cache remembers good certificates of one record and nothing else: no bad one, no weight, no
/// other record.
#[test]
fn a_cache_changes_timings_and_no_verdict() {
    use horizon_sig::cache::{Limits, VerifiedCache};
    let scene = &*SCENE;
    let cache = VerifiedCache::new(Limits::default(), &mut horizon_testkit::rng(1)).unwrap();
    let policy = scene.world.config(Tier::Horizon);
    let (mut fresh, mut cached) = (0, 0);
    for schedule in [context().schedule, sequential().schedule] {
        let context = Context {
            cache: Some(&cache),
            schedule,
            ..context()
        };
        for _ in 0..2 {
            let envelope = scene.sealed.envelope();
            let verdict = verify(&envelope, &scene.registry, &policy, &context).unwrap();
            let lane = verdict.lanes()[1];
            cached += lane.cached_count;
            fresh += lane.signer_count - lane.cached_count;
        }
        let bad = scene.sealed.with(|draft| draft.attestation[100] ^= 1);
        for _ in 0..2 {
            let envelope = bad.envelope();
            let refusal = verify(&envelope, &scene.registry, &policy, &context).unwrap_err();
            assert_eq!(
                (refusal.reason(), refusal.index()),
                (Reason::CertSetInvalid, Some(0))
            );
        }
        // Remembered certificates of too little weight are still too little.
        let few = scene.sealed.with(|draft| {
            draft.attestation = scene.world.certificates(&draft.transcript(), &[0, 1, 2]);
        });
        let refusal = verify(&few.envelope(), &scene.registry, &policy, &context).unwrap_err();
        assert_eq!(refusal.reason(), Reason::CertSetWeight);
    }
    assert_eq!((fresh, cached), (4, 12));
    assert_eq!(cache.stats().entries, 4, "only good certificates are held");
}
