//! SampleInBall as rows against a plain reading of the standard.

use horizon_testkit::rng;

use super::support::{Dense, built, failing_labels};
use crate::prove::{
    ball::{Ball, sample_in_ball},
    gadgets::Bit,
    r1cs::{Builder, Part, Rule, System},
    slot::Shape,
    witness,
};

/// FIPS 204, Algorithm 29, on given sign bits and stream; `None` if the stream is too short.
pub(crate) fn reference(signs: u64, stream: &[u8]) -> Option<Vec<i64>> {
    let mut c = vec![0; 256];
    let mut at = 0;
    for i in 207..256 {
        let j = loop {
            let byte = usize::from(*stream.get(at)?);
            at += 1;
            if byte <= i {
                break byte;
            }
        };
        c[i] = c[j];
        c[j] = if signs >> (i - 207) & 1 == 1 { -1 } else { 1 };
    }
    Some(c)
}

fn indicators(b: &mut Builder, c: &[i64], sign: i64) -> Vec<Bit> {
    c.iter()
        .map(|&c| b.boolean(Rule::ChallengeBit, c == sign))
        .collect()
}

fn synthesize(b: &mut Builder, shape: &Shape, signs: u64, stream: &[u8], c: &[i64], on: bool) {
    let bytes: Vec<u8> = signs.to_le_bytes().iter().chain(stream).copied().collect();
    b.part(Part::BallHash);
    let bits: Vec<Bit> = (0..8 * bytes.len())
        .map(|index| b.boolean(Rule::MuBit, bytes[index / 8] >> (index % 8) & 1 == 1))
        .collect();
    b.part(Part::Slot);
    let switch = b.boolean(Rule::SwitchBit, on);
    b.part(Part::Transforms);
    let (plus, minus) = (indicators(b, c, 1), indicators(b, c, -1));
    b.part(Part::Ball);
    let ball = Ball {
        stream: &bits,
        switch,
        plus: &plus,
        minus: &minus,
    };
    sample_in_ball(b, shape, &ball);
}

pub(crate) fn rows(signs: u64, stream: &[u8], c: &[i64]) -> (System, Dense) {
    let shape = Shape::ml_dsa_65();
    let (system, dense, ()) = built(Vec::new(), |b| {
        synthesize(b, &shape, signs, stream, c, true)
    });
    (system, dense)
}

fn accepts(signs: u64, stream: &[u8]) {
    let c = reference(signs, stream).expect("long enough");
    let symbols: Vec<usize> = stream.iter().map(|&byte| byte.into()).collect();
    assert_eq!(
        witness::sample_in_ball(256, 49, signs, &symbols),
        Some(c.clone())
    );
    let (system, dense) = rows(signs, stream, &c);
    assert_eq!(failing_labels(&system, &dense), [], "{signs:#x} {stream:?}");
}

#[test]
fn random_streams_give_the_challenge_of_the_standard() {
    let mut rng = rng(51);
    for _ in 0..20 {
        accepts(rng.next(), &rng.bytes::<128>());
    }
}

/// 79 rejections are the most that 128 bytes allow.
#[test]
fn many_rejections_are_allowed_until_the_stream_ends() {
    let mut rng = rng(52);
    for rejections in [1, 40, 78, 79] {
        let mut stream: Vec<u8> = (0..128 - rejections)
            .map(|_| rng.below(208) as u8)
            .collect();
        for _ in 0..rejections {
            // Anywhere before the last byte that is needed.
            let place = rng.index(stream.len().min(48));
            stream.insert(place, 255);
        }
        accepts(rng.next(), &stream);
    }
    let mut late = vec![255; 79];
    late.extend([0; 49]);
    accepts(rng.next(), &late);
}

#[test]
fn a_stream_that_ends_too_early_fails_one_row() {
    let mut stream = vec![255; 80];
    stream.extend([0; 48]);
    assert_eq!(reference(5, &stream), None);
    let (system, dense) = rows(5, &stream, &[0; 256]);
    let failing = failing_labels(&system, &dense);
    assert!(
        failing.iter().any(|label| label.rule == Rule::AllFound),
        "{failing:?}"
    );
    assert!(
        failing.iter().all(|label| label.part == Part::Ball),
        "{failing:?}"
    );
}

#[test]
fn repeated_positions_move_the_earlier_entries() {
    let mut rng = rng(53);
    for byte in [0, 1, 100, 206, 207] {
        accepts(rng.next(), &[byte; 128]);
    }
    // Every step takes the place that the step before filled.
    let chain: Vec<u8> = (0..128).map(|step| 206 + (step as u8).min(49)).collect();
    accepts(rng.next(), &chain);
    for _ in 0..5 {
        let stream: Vec<u8> = (0..128).map(|_| rng.below(4) as u8 * 69).collect();
        accepts(rng.next(), &stream);
    }
}

/// The limit must stay at 255 after the last acceptance; otherwise a zero byte there would make a
/// valid signature unprovable.
#[test]
fn bytes_after_the_last_acceptance_do_not_matter() {
    let mut rng = rng(54);
    for tail in [0, 1, 254, 255] {
        let mut stream: Vec<u8> = (0..49).map(|_| rng.below(208) as u8).collect();
        stream.resize(128, tail);
        accepts(rng.next(), &stream);
    }
    let mut stream: Vec<u8> = (0..49).map(|_| rng.below(208) as u8).collect();
    stream.extend((0..79).map(|index| if index % 2 == 0 { 0 } else { 255 }));
    accepts(rng.next(), &stream);
}

#[test]
fn acceptance_at_exactly_the_limit_and_rejection_just_above_it() {
    let at_limit: Vec<u8> = (0..128).map(|step| (207 + step.min(48)) as u8).collect();
    accepts(u64::MAX, &at_limit);
    let mut above = vec![208];
    above.extend((0..127).map(|step: usize| (207 + step.min(48)) as u8));
    accepts(0, &above);
}

#[test]
fn every_other_challenge_is_refused_by_the_vector_rows_alone() {
    let mut rng = rng(55);
    let (signs, stream) = (rng.next(), rng.bytes::<128>());
    let c = reference(signs, &stream).unwrap();
    for _ in 0..10 {
        let mut wrong = c.clone();
        let place = rng.index(256);
        wrong[place] = (wrong[place] + 2 + rng.below(2) as i64) % 3 - 1;
        if wrong == c {
            continue;
        }
        let (system, dense) = rows(signs, &stream, &wrong);
        let rules: Vec<Rule> = failing_labels(&system, &dense)
            .iter()
            .map(|label| label.rule)
            .collect();
        assert_eq!(rules, [Rule::Vector], "position {place}");
    }
}

#[test]
fn a_slot_that_is_off_has_no_challenge() {
    let mut rng = rng(56);
    let (signs, stream) = (rng.next(), rng.bytes::<128>());
    let shape = Shape::ml_dsa_65();
    let c = reference(signs, &stream).unwrap();
    for (c, good) in [(vec![0; 256], true), (c, false)] {
        let (system, dense, ()) = built(Vec::new(), |b| {
            synthesize(b, &shape, signs, &stream, &c, false)
        });
        assert_eq!(system.failing_rows(&dense).is_empty(), good);
    }
}
