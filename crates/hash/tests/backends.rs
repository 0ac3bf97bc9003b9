//! Every backend operation against the portable code, at block edges and at random.

use horizon_hash::backend::{self, BLAKE2XB_CHUNK, Kind, LANES, LaneState};
use horizon_hash::blake2xb::Blake2Xb;
use horizon_hash::kmac::{KmacJob, kmac256, kmac256_batch_with};
use horizon_hash::lanes::XofPrefix;
use horizon_hash::parallelhash::parallel_hash256_with;
use horizon_hash::sponge::cshake256;
use horizon_testkit::rng::{SeededRng, rng};

/// Lengths around the edges of 136- and 168-byte blocks.
const EDGES: [usize; 16] = [
    0, 1, 7, 8, 127, 128, 135, 136, 137, 167, 168, 169, 271, 272, 273, 1000,
];

#[test]
fn the_active_backend_is_available_and_portable_always_is() {
    let available: Vec<Kind> = Kind::available().collect();
    assert_eq!(available[0], Kind::Portable);
    assert!(available.iter().all(|kind| kind.is_available()));
    let fastest = available[available.len() - 1];
    if cfg!(horizon_backend = "portable") {
        assert_eq!(Kind::active(), Kind::Portable);
    } else if cfg!(not(any(
        horizon_backend = "avx2",
        horizon_backend = "avx512"
    ))) {
        assert_eq!(Kind::active(), fastest);
    }
}

#[test]
fn one_state_permutes_and_absorbs_alike() {
    let mut rng = rng(0x6f6e_6531);
    for kind in Kind::available() {
        for trial in 0..64 {
            let mut a = random_state(&mut rng);
            let mut b = a;
            match trial % 3 {
                0 => {
                    backend::permute(Kind::Portable, &mut a);
                    backend::permute(kind, &mut b);
                }
                rate => {
                    let rate = [136, 168][rate - 1];
                    let len = rng.index(9) * rate + rng.index(rate);
                    let data = rng.vec(len);
                    backend::absorb(Kind::Portable, &mut a, rate, &data);
                    backend::absorb(kind, &mut b, rate, &data);
                }
            }
            assert_eq!(a, b, "{kind:?}");
        }
    }
}

#[test]
fn every_lane_absorbs_like_a_single_state() {
    let mut rng = rng(0x616c_6c38);
    for kind in Kind::available() {
        for lanes in 1..=LANES {
            for blocks in [0, 1, 2, 5] {
                let start = random_state(&mut rng);
                let data: [Vec<u8>; LANES] = core::array::from_fn(|_| rng.vec(136 * blocks + 5));
                let mut state = LaneState::broadcast(&start);
                let slices = data.each_ref().map(Vec::as_slice);
                backend::absorb_lanes(kind, &mut state, lanes, &slices);
                let first = data.iter().take(lanes).enumerate();
                first.for_each(|(lane, bytes)| {
                    assert_eq!(lane_bytes(&state, lane), absorbed(start, bytes), "{kind:?}");
                });

                let mut same = LaneState::broadcast(&start);
                backend::absorb_lanes(kind, &mut same, lanes, &[slices[0]; LANES]);
                for lane in 0..lanes {
                    assert_eq!(
                        lane_bytes(&same, lane),
                        absorbed(start, slices[0]),
                        "{kind:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn lane_streams_equal_single_streams() {
    let mut rng = rng(0x7371_7a38);
    let prefix = XofPrefix::new(b"lane test");
    for kind in Kind::available() {
        for lanes in 1..=LANES {
            let inputs: Vec<[u8; 69]> = (0..lanes).map(|_| rng.bytes()).collect();
            let mut streams = prefix
                .lanes_with(kind, &inputs)
                .expect("one to eight lanes");
            assert_eq!(streams.lane_count(), lanes);
            let mut got = vec![Vec::new(); lanes];
            for blocks in [1, 0, 3, 2] {
                let mut out = vec![0u8; lanes * blocks * 136];
                streams.squeeze_blocks(&mut out).expect("whole blocks");
                for (stream, part) in got.iter_mut().zip(out.chunks((blocks * 136).max(1))) {
                    stream.extend_from_slice(part);
                }
            }
            for (input, stream) in inputs.iter().zip(got) {
                let mut want = vec![0u8; 6 * 136];
                prefix.reader(&[&input[..5], &input[5..]]).read(&mut want);
                assert_eq!(stream, want, "{kind:?} {lanes}");
                cshake256(b"lane test", &[input], &mut want);
                assert_eq!(stream, want, "{kind:?} {lanes}");
            }
        }
    }
}

#[test]
fn lane_inputs_of_the_extreme_lengths_are_padded_right() {
    fn check<const L: usize>(rng: &mut SeededRng) {
        let inputs: [[u8; L]; 5] = core::array::from_fn(|_| rng.bytes());
        for custom in [b"".as_slice(), b"custom"] {
            let mut out = vec![0u8; 5 * 300];
            XofPrefix::new(custom)
                .fill(&inputs, &mut out)
                .expect("an even split");
            for (input, stream) in inputs.iter().zip(out.chunks(300)) {
                let mut want = [0u8; 300];
                cshake256(custom, &[input], &mut want);
                assert_eq!(stream, want, "{L}");
            }
        }
    }
    let mut rng = rng(0x7061_6473);
    check::<0>(&mut rng);
    check::<1>(&mut rng);
    check::<134>(&mut rng);
    check::<135>(&mut rng);
}

#[test]
fn filling_many_streams_equals_single_streams() {
    let mut rng = rng(0x6669_6c6c);
    let prefix = XofPrefix::new(b"fill");
    for count in [1, 7, 8, 9, 17] {
        for len in EDGES {
            let inputs: Vec<[u8; 34]> = (0..count).map(|_| rng.bytes()).collect();
            let mut out = vec![0u8; count * len];
            prefix.fill(&inputs, &mut out).expect("an even split");
            for (i, input) in inputs.iter().enumerate() {
                let mut want = vec![0u8; len];
                prefix.reader(&[input]).read(&mut want);
                assert_eq!(out[i * len..][..len], want, "{count} {len}");
            }
        }
    }
}

#[test]
fn keyed_stream_blocks_agree_also_where_the_counter_wraps() {
    let mut rng = rng(0x6232_7862);
    for kind in Kind::available() {
        for first in [0, 1, 16, 0x7fff_fff8, u32::MAX - 20, u32::MAX - 7] {
            let root = core::array::from_fn(|_| rng.next());
            let (mut a, mut b) = ([0u8; BLAKE2XB_CHUNK], [1u8; BLAKE2XB_CHUNK]);
            backend::blake2xb_blocks(Kind::Portable, &root, first, &mut a);
            backend::blake2xb_blocks(kind, &root, first, &mut b);
            assert_eq!(a, b, "{kind:?} {first:#x}");
        }
        for len in [0, 1, 63, 64] {
            let key = rng.vec(len);
            let mut want = vec![0u8; 5000];
            Blake2Xb::with_backend(Kind::Portable, &key)
                .expect("a short key")
                .read(&mut want);
            let mut got = Vec::new();
            let mut reader = Blake2Xb::with_backend(kind, &key).expect("a short key");
            while got.len() < want.len() {
                let piece = rng.index(2500).min(want.len() - got.len());
                got.resize(got.len() + piece, 0);
                let start = got.len() - piece;
                reader.read(&mut got[start..]);
            }
            assert_eq!(got, want, "{kind:?} {len}");
        }
    }
    let mut seeded = [0u8; 100];
    Blake2Xb::from_seed(&[9; 32]).read(&mut seeded);
    let mut keyed = [0u8; 100];
    Blake2Xb::new(&[9; 32])
        .expect("a short key")
        .read(&mut keyed);
    assert_eq!(seeded, keyed);
}

#[test]
fn batched_macs_equal_single_macs_for_equal_and_for_ragged_lengths() {
    let mut rng = rng(0x6b6d_6163);
    for kind in Kind::available() {
        for count in [1, 2, 4, 5, 8, 9, 19] {
            for ragged in [false, true] {
                let len = EDGES[rng.index(EDGES.len())];
                let messages: Vec<Vec<u8>> = (0..count)
                    .map(|_| {
                        let len = if ragged {
                            EDGES[rng.index(EDGES.len())]
                        } else {
                            len
                        };
                        rng.vec(len)
                    })
                    .collect();
                let keys: Vec<Vec<u8>> = (0..count)
                    .map(|_| {
                        let len = if ragged {
                            EDGES[rng.index(EDGES.len())]
                        } else {
                            32
                        };
                        rng.vec(len)
                    })
                    .collect();
                let cut: Vec<[&[u8]; 3]> = messages
                    .iter()
                    .map(|message| {
                        let (head, rest) = message.split_at(rng.index(message.len() + 1));
                        [head, &[], rest]
                    })
                    .collect();
                let jobs: Vec<KmacJob<'_>> = keys
                    .iter()
                    .zip(&cut)
                    .map(|(key, parts)| KmacJob { key, parts })
                    .collect();
                let tags = kmac256_batch_with(kind, b"batch", &jobs);
                for ((key, message), tag) in keys.iter().zip(&messages).zip(tags) {
                    let mut want = [0u8; 32];
                    kmac256(key, b"batch", &[message], &mut want);
                    assert_eq!(tag, want, "{kind:?} {count} {ragged}");
                }
            }
        }
    }
}

#[test]
fn one_message_under_many_keys_shares_its_blocks() {
    let mut rng = rng(0x7368_6172);
    let message = rng.vec(10_000);
    let parts: [&[u8]; 2] = [&message[..8], &message[8..]];
    let keys: Vec<[u8; 32]> = (0..20).map(|_| rng.bytes()).collect();
    let jobs: Vec<_> = keys
        .iter()
        .map(|key| KmacJob { key, parts: &parts })
        .collect();
    for kind in Kind::available() {
        for (key, tag) in keys.iter().zip(kmac256_batch_with(kind, b"S", &jobs)) {
            let mut want = [0u8; 32];
            kmac256(key, b"S", &[&message], &mut want);
            assert_eq!(tag, want, "{kind:?}");
        }
    }
}

#[test]
fn the_long_message_hash_agrees_on_every_backend_and_however_the_message_is_cut() {
    let mut rng = rng(0x7068_6173);
    for block_len in [1, 8, 135, 136, 137, 1000, 8192] {
        for blocks in [0, 1, 2, 7, 8, 9, 16, 17] {
            for extra in [0, 1, block_len / 2] {
                let message = rng.vec(block_len * blocks + extra);
                let (head, rest) = message.split_at(rng.index(message.len() + 1));
                let mut want = [0u8; 64];
                let whole: [&[u8]; 1] = [&message];
                parallel_hash256_with(Kind::Portable, block_len, b"S", &whole, &mut want)
                    .expect("a block length");
                for kind in Kind::available() {
                    let mut out = [0u8; 64];
                    parallel_hash256_with(kind, block_len, b"S", &[head, &[], rest], &mut out)
                        .expect("a block length");
                    assert_eq!(out, want, "{kind:?} {block_len} {blocks} {extra}");
                }
            }
        }
    }
}

/// One state absorbing whole blocks, by the portable code.
fn absorbed(mut state: [u64; 25], data: &[u8]) -> [u8; 200] {
    backend::absorb(Kind::Portable, &mut state, 136, data);
    lane_bytes(&LaneState::broadcast(&state), 0)
}

fn lane_bytes(state: &LaneState, lane: usize) -> [u8; 200] {
    let mut out = [0u8; 200];
    state.copy_lane(lane, &mut out);
    out
}

fn random_state(rng: &mut SeededRng) -> [u64; 25] {
    core::array::from_fn(|_| rng.next())
}
