//! What a genesis is refused for.

use horizon_ledger::genesis::{self, GenesisSpec};
use horizon_ledger::{App, Genesis, GenesisError};
use horizon_testkit::SeededRng;
use horizon_warp::error::Reason;

use crate::support::Dealt;

fn good() -> (Dealt, Dealt, GenesisSpec) {
    let mut rng = SeededRng::new(1);
    let a = Dealt::new(1, 4, 3, &mut rng);
    let b = Dealt::new(2, 1, 1, &mut rng);
    let spec = a.spec(&[&b.record]);
    (a, b, spec)
}

#[test]
fn a_genesis_survives_its_file_and_its_hash_binds_every_field() {
    let (_, _, spec) = good();
    let genesis = Genesis::new(spec.clone()).unwrap();
    let text = spec.to_json().unwrap();
    let again = Genesis::from_json(&text).unwrap();
    assert_eq!(again.spec(), &spec);
    assert_eq!(again.hash(), genesis.hash());
    let changes: [&dyn Fn(&mut GenesisSpec); 12] = [
        &|s| s.name.push('x'),
        &|s| s.time_ms += 1,
        &|s| s.validators[0].name.push('x'),
        &|s| s.validators[1].address.set_port(9),
        &|s| s.validators[2].consensus_key[0] ^= 1,
        &|s| s.validators[3].sealing_x25519[0] ^= 0x80,
        &|s| s.validators[3].sealing_mlkem768[7] ^= 0x80,
        &|s| s.record.members[0].weight += 0,
        &|s| s.group_id += 1,
        &|s| s.pulse.window += 1,
        &|s| s.block.interval_ms += 1,
        &|s| s.sources[0].policy.max_age_s += 1,
    ];
    for (at, change) in changes.iter().enumerate() {
        let mut other = spec.clone();
        change(&mut other);
        let hash = *Genesis::new(other).unwrap().hash();
        assert_eq!(hash != *genesis.hash(), at != 7, "change {at}");
    }
    // The genesis block names the genesis.
    let app = App::new(genesis.clone()).unwrap();
    assert_eq!(app.genesis_block().parent, *genesis.hash());
}

#[test]
fn a_genesis_is_refused_with_the_reason_that_applies() {
    let (_, b, spec) = good();
    let refused = |change: &dyn Fn(&mut GenesisSpec)| {
        let mut other = spec.clone();
        change(&mut other);
        Genesis::new(other).unwrap_err()
    };
    let field = |field| GenesisError::Field { field };
    assert_eq!(refused(&|s| s.name.clear()), field("name"));
    assert_eq!(refused(&|s| s.validators.clear()), field("validators"));
    assert_eq!(
        refused(&|s| s.block.bytes_max = 1),
        field("block.bytes_max")
    );
    assert_eq!(
        refused(&|s| s.block.interval_ms = 0),
        field("block.interval_ms")
    );
    assert_eq!(refused(&|s| s.pulse.count = 65), field("pulse.count"));
    assert_eq!(
        refused(&|s| s.pulse.live_batches = 0),
        field("pulse.live_batches")
    );
    let chain = |field| GenesisError::ChainId { field };
    assert_eq!(refused(&|s| s.chain_id = [0; 32]), chain("chain_id"));
    let own = refused(&|s| {
        s.sources[0].policy.network_id = s.network_id;
        s.sources[0].policy.chain_id = s.chain_id;
    });
    assert_eq!(own, chain("source.chain_id"));
    let mismatch = |field| GenesisError::RecordMismatch { field };
    assert_eq!(refused(&|s| s.network_id = 9), mismatch("network_id"));
    assert_eq!(refused(&|s| s.chain_id = [9; 32]), mismatch("chain_id"));
    assert_eq!(
        refused(&|s| s.sources[0].anchors.clear()),
        mismatch("source.anchors")
    );
    assert_eq!(
        refused(&|s| drop(s.validators.pop())),
        mismatch("validators")
    );
    assert_eq!(
        refused(&|s| s.record.valid_until = Some(9)),
        mismatch("validity")
    );
    let duplicate = |field, index| GenesisError::Duplicate { field, index };
    let same: [(&str, &dyn Fn(&mut GenesisSpec)); 6] = [
        ("name", &|s| {
            s.validators[2].name = s.validators[1].name.clone()
        }),
        ("identity", &|s| {
            s.validators[2].identity = s.validators[0].identity
        }),
        ("address", &|s| {
            s.validators[2].address = s.validators[0].address
        }),
        ("consensus_key", &|s| {
            s.validators[2].consensus_key = s.validators[0].consensus_key.clone();
        }),
        ("sealing_x25519", &|s| {
            s.validators[2].sealing_x25519 = s.validators[0].sealing_x25519;
        }),
        ("sealing_mlkem768", &|s| {
            s.validators[2].sealing_mlkem768 = s.validators[0].sealing_mlkem768.clone();
        }),
    ];
    for (name, change) in same {
        assert_eq!(refused(change), duplicate(name, 2));
    }
    // One key for votes and certificates.
    let shared = refused(&|s| {
        s.validators[1].consensus_key = s.record.members[3].mldsa_key.clone().unwrap();
    });
    assert_eq!(shared, duplicate("consensus_key", 1));
    let member = |field, index| GenesisError::Member { field, index };
    assert_eq!(
        refused(&|s| s.validators[1].identity = [0xff; 32]),
        member("identity", 1)
    );
    assert_eq!(
        refused(&|s| s.validators[0].address.set_port(0)),
        member("address", 0)
    );
    assert_eq!(
        refused(&|s| s.record.members[2].mldsa_key = None),
        member("mldsa_key", 2)
    );
    let reason = |error: GenesisError| match error {
        GenesisError::Registry(error) | GenesisError::Policy(error) => error.reason(),
        other => panic!("{other:?}"),
    };
    let twice = refused(&|s| s.record.members[1] = s.record.members[0].clone());
    assert_eq!(reason(twice), Reason::ValidatorDuplicateKey);
    let weightless = refused(&|s| s.record.members[0].weight = 0);
    assert_eq!(reason(weightless), Reason::ValidatorWeightZero);
    let threshold = refused(&|s| s.record.threshold = 5);
    assert_eq!(reason(threshold), Reason::RecordThreshold);
    let unproven = refused(&|s| {
        s.record.members[1].possession = s.record.members[0].possession;
    });
    assert_eq!(reason(unproven), Reason::RecordPossession);
    let pin = refused(&|s| s.sources[0].policy.registry_head = [7; 32]);
    assert_eq!(reason(pin), Reason::ChainPin);
    let twice = refused(&|s| s.sources.push(s.sources[0].clone()));
    assert_eq!(reason(twice), Reason::PolicyDuplicate);
    let quorum = refused(&|s| s.sources[0].policy.beam_quorum = (0, 1));
    assert_eq!(reason(quorum), Reason::QuorumParameters);
    // A group key that serves two chains.
    let shared = refused(&|s| {
        s.sources[0].anchors[0].group_key = s.record.group_key.clone();
        s.sources[0].policy.registry_head = s.sources[0].anchors[0].hash().unwrap();
    });
    assert_eq!(reason(shared), Reason::ChainGroupKey);
    drop(b);
}

#[test]
fn the_threshold_is_tied_to_weight() {
    let (_, _, spec) = good();
    let with = |weights: [u64; 4], points: [u32; 4], threshold| {
        let mut spec = spec.clone();
        for ((member, weight), points) in spec.record.members.iter_mut().zip(weights).zip(points) {
            member.weight = weight;
            member.points = points;
        }
        spec.record.threshold = threshold;
        spec
    };
    let rule = |weights, points, threshold| {
        let spec = with(weights, points, threshold);
        let (least, total) = genesis::lightest_signing_weight(&spec.record).unwrap();
        (least, total, Genesis::new(spec).map(drop))
    };
    let refused = |lightest, total| Err(GenesisError::Threshold { lightest, total });
    // Three of four equal members hold 75 in 100.
    assert_eq!(rule([1; 4], [1; 4], 3), (3, 4, Ok(())));
    assert_eq!(rule([1; 4], [1; 4], 2), (2, 4, refused(2, 4)));
    // Exactly two thirds is not enough.
    assert_eq!(rule([2, 2, 2, 3], [1; 4], 3), (6, 9, refused(6, 9)));
    // A heavy member breaks the rule with one point each, and keeps it with its own number.
    assert_eq!(rule([5, 1, 1, 1], [1; 4], 3), (3, 8, refused(3, 8)));
    assert_eq!(rule([5, 1, 1, 1], [5, 1, 1, 1], 6), (6, 8, Ok(())));
    // The lightest set is not always made of the lightest members.
    assert_eq!(rule([10, 10, 19, 1], [2, 2, 4, 1], 4).0, 19);
    let error = Genesis::new(with([1; 4], [1, 0, 1, 1], 3)).unwrap_err();
    assert_eq!(
        error,
        GenesisError::Member {
            field: "points",
            index: 1
        }
    );
}

#[test]
fn members_with_several_points_make_a_committee() {
    let (_, _, mut spec) = good();
    for (member, (weight, points)) in
        spec.record
            .members
            .iter_mut()
            .zip([(5, 5), (1, 1), (1, 1), (1, 1)])
    {
        member.weight = weight;
        member.points = points;
    }
    spec.record.threshold = 6;
    let genesis = Genesis::new(spec).unwrap();
    let committee = genesis.committee();
    assert_eq!(committee.points(0), [1, 2, 3, 4, 5]);
    assert_eq!(committee.points(3), [8]);
    assert_eq!((committee.n(), committee.t()), (4, 6));
    assert!(committee.signing_set(&[0, 1]).is_ok());
    assert!(committee.signing_set(&[1, 2, 3]).is_err());
}

#[test]
fn files_with_unknown_keys_or_another_format_are_refused() {
    let (_, _, spec) = good();
    let text = spec.to_json().unwrap();
    let refused = |from: &str, to: &str| {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        GenesisSpec::from_json(&changed).unwrap_err()
    };
    assert_eq!(
        refused("\"name\"", "\"nom\": 1, \"name\""),
        GenesisError::Json
    );
    assert_eq!(
        refused("horizon-genesis-v1", "horizon-genesis-v2"),
        GenesisError::Format
    );
    let field = |field| GenesisError::Field { field };
    assert_eq!(
        refused("\"time_ms\": \"", "\"time_ms\": \"0"),
        field("time_ms")
    );
    assert_eq!(
        refused("127.0.0.1:1000", "localhost"),
        field("validator.address")
    );
    assert_eq!(GenesisSpec::from_json(""), Err(GenesisError::Json));
    assert_eq!(
        GenesisSpec::from_json(&text[..text.len() / 2]),
        Err(GenesisError::Json)
    );
}
