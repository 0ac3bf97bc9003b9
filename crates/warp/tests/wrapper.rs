//! The Groth16 lane in Prism: accepted where policy says so, classical in every verdict, and
//! refused with a reason of its own for everything else.
//!
//! Proofs are forged with the secrets of a verifying key made for the test, so that the lane can be
//! tested without a circuit; the prover's own tests wrap genuine certificates.

#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test that cannot go on has failed"
)]

#[path = "support/common.rs"]
mod common;
#[path = "../../groth16/tests/support/forge.rs"]
mod support;
#[path = "support/world.rs"]
mod world;

use std::sync::LazyLock;

use horizon_groth16::statement::{Member, Statement};
use horizon_groth16::vk::{Accept, Profile, SetupKind, VerifyingKey};
use horizon_testkit::SeededRng;
use horizon_warp::attestation::groth16_inputs_hash;
use horizon_warp::policy::{Policy, SourceConfig, Tier};
use horizon_warp::prism::{Context, Outcome, Refusal, Wrapper, WrapperSetup};
use horizon_warp::registry::Registry;
use horizon_warp::transcript::CERTIFICATE_CONTEXT;
use horizon_warp::*;
use support::Forge;
use world::*;

const SLOTS: usize = 4;

/// Four validators of weight 25, three of four for a Pulse, and a wrapped envelope.
struct Scene {
    world: World,
    registry: Registry,
    wrapped: Draft,
    forge: Forge,
    key_id: [u8; 32],
}

static SCENE: LazyLock<Scene> = LazyLock::new(|| {
    let world = World::new(0x0077_4a99, &[25; 4], 3);
    let registry = world.registry();
    let forge = Forge::new(41, SLOTS);
    let key = forge.key(SLOTS, Profile::Roster);
    let mut wrapped = world.seal(b"transfer 5", &[0, 1, 3], 1);
    wrapped.attestation = wrap(&forge, &key, &world, &wrapped);
    Scene {
        key_id: *key.id(),
        world,
        registry,
        wrapped,
        forge,
    }
});

/// The artifact that a prover would make for this envelope.
fn wrap(forge: &Forge, key: &VerifyingKey, world: &World, draft: &Draft) -> Vec<u8> {
    let transcript = draft.transcript();
    let validators = world.record.validators().unwrap();
    let members: Vec<Member<'_>> = validators
        .as_slice()
        .iter()
        .map(|validator| Member {
            key: validator.mldsa_key.as_deref(),
            weight: validator.weight,
        })
        .collect();
    let statement = Statement {
        message: &transcript,
        context: CERTIFICATE_CONTEXT,
        inputs_hash: groth16_inputs_hash(
            &transcript,
            &validators.root(),
            Quorum::DEFAULT,
            key.id(),
        ),
        weight_min: Quorum::DEFAULT.weight_needed(validators.total_weight()),
    };
    let mut rng = SeededRng::new(42);
    let slots = key.head().slots;
    let artifact = forge.artifact(slots, &members, &statement, &mut rng);
    artifact.to_bytes().to_vec()
}

impl Scene {
    fn config(&self, tier: Tier) -> SourceConfig {
        SourceConfig {
            wrapper_key: Some(self.key_id),
            ..config(core::slice::from_ref(&self.world.record), tier)
        }
    }

    fn wrapper(&self) -> Wrapper {
        let key = self.forge.key(SLOTS, Profile::Roster);
        Wrapper::new([key], Accept::Ceremony)
    }

    fn refused(&self, config: SourceConfig, wrapper: Option<&Wrapper>, draft: &Draft) -> Refusal {
        let policy = Policy::new(&[config]).unwrap();
        let context = Context {
            wrapper,
            ..context()
        };
        verify_bytes(&draft.encode(), &self.registry, &policy, &context)
            .map(drop)
            .expect_err("must be refused")
    }
}

/// N48, F-26: Beam, Groth16 and Pulse together are post-quantum by the Pulse alone.
#[test]
fn n48_f26_a_wrapped_envelope_is_accepted_and_its_only_pq_root_is_the_pulse() {
    let scene = &*SCENE;
    let policy = Policy::new(&[scene.config(Tier::Wrapped)]).unwrap();
    let wrapper = scene.wrapper();
    let entry = scene.registry.get(&scene.world.record.key).unwrap();
    wrapper.prepare(&scene.key_id, entry).unwrap();
    for schedule in [prism::Schedule::Parallel, prism::Schedule::Sequential] {
        let context = Context {
            wrapper: Some(&wrapper),
            schedule,
            ..context()
        };
        let wire = scene.wrapped.encode();
        let verdict = verify_bytes(&wire, &scene.registry, &policy, &context).unwrap();
        assert_eq!(verdict.state(), State::PulseSealed);
        assert_eq!(verdict.pq_roots(), LaneSet::of([Lane::Pulse]));
        let lanes: Vec<_> = verdict
            .lanes()
            .iter()
            .map(|v| (v.lane, v.signed_weight, v.signer_count, v.wrapper_setup))
            .collect();
        assert_eq!(
            lanes,
            [
                (Lane::Beam, Some(75), 3, None),
                (Lane::Groth16, Some(67), 0, Some(WrapperSetup::Ceremony)),
                (Lane::Pulse, None, 3, None)
            ]
        );
    }
}

/// N50, A20: a wrapper never stands in for the certificates and never is post-quantum evidence.
#[test]
fn n50_a20_a_wrapper_replaces_no_certificates_and_is_no_pq_evidence() {
    let scene = &*SCENE;
    let wrapper = scene.wrapper();
    let refused = |tier, draft: &Draft| {
        let refusal = scene.refused(scene.config(tier), Some(&wrapper), draft);
        (refusal.reason(), refusal.lane())
    };
    let missing = (Reason::LaneMissing, Some(Lane::CertSet));
    assert_eq!(refused(Tier::Horizon, &scene.wrapped), missing);
    let alone = scene.wrapped.with(|draft| draft.pulse.clear());
    for tier in [Tier::Wrapped, Tier::Pulse, Tier::Horizon, Tier::Pq] {
        assert_eq!(refused(tier, &alone).0, Reason::PqEvidenceMissing);
    }
    let since = SourceConfig {
        pq_since: Some(HEIGHT),
        ..scene.config(Tier::Classical)
    };
    let refusal = scene.refused(since, Some(&wrapper), &alone);
    assert_eq!(refusal.reason(), Reason::PqEvidenceMissing);
}

#[test]
fn every_way_to_be_refused_has_its_reason() {
    let scene = &*SCENE;
    let wrapper = scene.wrapper();
    let wrapped = scene.config(Tier::Wrapped);
    let refused = |draft: &Draft| {
        let refusal = scene.refused(wrapped, Some(&wrapper), draft);
        (refusal.reason(), refusal.lane())
    };
    let lane = Some(Lane::Groth16);
    let changed =
        |byte: usize, mask: u8| scene.wrapped.with(|draft| draft.attestation[byte] ^= mask);
    assert_eq!(refused(&changed(223, 1)), (Reason::Groth16Inputs, lane));
    assert_eq!(refused(&changed(0, 0x80)), (Reason::Groth16Point, lane));
    assert_eq!(refused(&changed(0, 0x20)), (Reason::Groth16Invalid, lane));
    // A wrapper of another message: its hash is another, and with the right hash its proof is.
    let other = scene.world.seal(b"transfer 6", &[0, 1, 3], 2);
    let key = scene.forge.key(SLOTS, Profile::Roster);
    let foreign = wrap(&scene.forge, &key, &scene.world, &other);
    let replaced = scene
        .wrapped
        .with(|draft| draft.attestation.clone_from(&foreign));
    assert_eq!(refused(&replaced), (Reason::Groth16Inputs, lane));
    let mut mixed = foreign;
    mixed[192..].copy_from_slice(&scene.wrapped.attestation[192..]);
    let replaced = scene.wrapped.with(|draft| draft.attestation = mixed);
    assert_eq!(refused(&replaced), (Reason::Groth16Invalid, lane));
    // Another quorum is another statement.
    let quorum = SourceConfig {
        certset_quorum: (68, 100),
        ..wrapped
    };
    let refusal = scene.refused(quorum, Some(&wrapper), &scene.wrapped);
    assert_eq!(refusal.reason(), Reason::Groth16Inputs);
}

#[test]
fn without_a_pinned_and_loaded_key_the_lane_is_refused() {
    let scene = &*SCENE;
    let wrapper = scene.wrapper();
    let wrapped = scene.config(Tier::Wrapped);
    let unpinned = SourceConfig {
        wrapper_key: None,
        ..wrapped
    };
    let elsewhere = SourceConfig {
        wrapper_key: Some([1; 32]),
        ..wrapped
    };
    let cases = [
        (wrapped, None, Reason::Groth16Unsupported),
        (unpinned, Some(&wrapper), Reason::Groth16Unsupported),
        (elsewhere, Some(&wrapper), Reason::Groth16Key),
    ];
    for (config, wrapper, reason) in cases {
        let refusal = scene.refused(config, wrapper, &scene.wrapped);
        assert_eq!(refusal.reason(), reason);
    }
    // The lane is refused in every tier, since what is present is verified.
    let classical = scene.config(Tier::Classical);
    let refusal = scene.refused(classical, None, &scene.wrapped);
    assert_eq!(refusal.reason(), Reason::Groth16Unsupported);
    let bitmap = scene.forge.key(SLOTS, Profile::Quorum);
    let config = SourceConfig {
        wrapper_key: Some(*bitmap.id()),
        ..wrapped
    };
    let bitmap = Wrapper::new([bitmap], Accept::Ceremony);
    let refusal = scene.refused(config, Some(&bitmap), &scene.wrapped);
    assert_eq!(refusal.reason(), Reason::Groth16Key);
    assert_eq!(refusal.outcome(), Outcome::NotConfigured);
}

#[test]
fn a_development_key_counts_only_with_permission_and_every_verdict_says_so() {
    let scene = &*SCENE;
    for (setup, named) in [
        (SetupKind::Dev, WrapperSetup::Dev),
        (SetupKind::Test, WrapperSetup::Test),
    ] {
        let key = || {
            let head = Forge::head(SLOTS, Profile::Roster, setup);
            VerifyingKey::new(head, scene.forge.points.clone()).unwrap()
        };
        let config = SourceConfig {
            wrapper_key: Some(*key().id()),
            ..scene.config(Tier::Wrapped)
        };
        let mut draft = scene.wrapped.clone();
        draft.attestation = wrap(&scene.forge, &key(), &scene.world, &draft);
        let strict = Wrapper::new([key()], Accept::Ceremony);
        let refusal = scene.refused(config, Some(&strict), &draft);
        assert_eq!(refusal.reason(), Reason::Groth16Development);
        let permitted = Wrapper::new([key()], Accept::Development);
        let context = Context {
            wrapper: Some(&permitted),
            ..context()
        };
        let policy = Policy::new(&[config]).unwrap();
        let wire = draft.encode();
        let verdict = verify_bytes(&wire, &scene.registry, &policy, &context).unwrap();
        let lane = verdict.lanes().iter().find(|v| v.lane == Lane::Groth16);
        assert_eq!(lane.unwrap().wrapper_setup, Some(named));
    }
}

#[test]
fn a_key_with_fewer_slots_than_validators_is_refused() {
    let scene = &*SCENE;
    let forge = Forge::new(43, 3);
    let key = forge.key(3, Profile::Roster);
    let config = SourceConfig {
        wrapper_key: Some(*key.id()),
        ..scene.config(Tier::Wrapped)
    };
    let wrapper = Wrapper::new([key], Accept::Ceremony);
    let refusal = scene.refused(config, Some(&wrapper), &scene.wrapped);
    assert_eq!(refusal.reason(), Reason::Groth16Slots);
}
