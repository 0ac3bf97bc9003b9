//! An independent implementation of SP 800-185 as oracle; chunking, cloning and misuse.

use horizon_hash::Error;
use horizon_hash::kmac::{Kmac256, kmac256};
use horizon_hash::lanes::XofPrefix;
use horizon_hash::parallelhash::parallel_hash256;
use horizon_hash::sponge::{
    Cshake256, Sha3_256, Shake128, Shake256, cshake256, sha3_256, shake128,
};
use horizon_hash::tuplehash::{TupleHash256, tuple_hash256};
use horizon_testkit::rng::{SeededRng, rng};

#[test]
fn sp_800_185_functions_agree_with_an_independent_crate_at_every_short_length() {
    let mut rng = rng(0x6f72_6163);
    for len in 0..420 {
        let (message, key) = (rng.vec(len), rng.vec((len * 7) % 260));
        // The oracle lacks the fall-back to SHAKE256 for an empty string, and pads a string that
        // ends at a block edge by a whole block. Known answers cover both.
        let custom = rng.vec(1 + len % 110);
        let key = if key.len() % 136 == 131 {
            &key[1..]
        } else {
            &key[..]
        };
        let mut out = vec![0u8; 1 + len % 200];
        let mut want = out.clone();

        cshake256(&custom, &[&message], &mut out);
        let mut oracle = sp800_185::CShake::new_cshake256(&[], &custom);
        oracle.update(&message);
        oracle.finalize(&mut want);
        assert_eq!(out, want, "cSHAKE256 {len}");

        kmac256(key, &custom, &[&message], &mut out);
        let mut oracle = sp800_185::KMac::new_kmac256(key, &custom);
        oracle.update(&message);
        oracle.finalize(&mut want);
        assert_eq!(out, want, "KMAC256 {len}");

        let (head, rest) = message.split_at(rng.index(len + 1));
        tuple_hash256(&custom, &[head, &[], rest], &mut out);
        let mut oracle = sp800_185::TupleHash::new_tuplehash256(&custom);
        oracle.update(&[head, &[], rest]);
        oracle.finalize(&mut want);
        assert_eq!(out, want, "TupleHash256 {len}");
    }
}

#[test]
fn the_long_message_hash_agrees_with_an_independent_crate() {
    let mut rng = rng(0x7068_6f72);
    for block_len in [1, 8, 64, 135, 136, 137, 272, 1000] {
        for len in [
            0,
            1,
            8,
            63,
            136,
            500,
            1088,
            2176,
            8 * block_len,
            9 * block_len + 3,
        ] {
            let message = rng.vec(len);
            let (mut out, mut want) = ([0u8; 64], [0u8; 64]);
            parallel_hash256(block_len, b"S", &[&message], &mut out).expect("a block length");
            let mut oracle = sp800_185::ParallelHash::new_parallelhash256(b"S", block_len);
            oracle.update(&message);
            oracle.finalize(&mut want);
            assert_eq!(out, want, "{block_len} {len}");
        }
    }
}

#[test]
fn messages_may_arrive_in_any_pieces() {
    let mut rng = rng(0x6368_756e);
    for _ in 0..100 {
        let len = rng.index(3000);
        let message = rng.vec(len);
        let mut sha3 = Sha3_256::new();
        in_pieces(&mut rng, &message, |piece| sha3.update(piece));
        assert_eq!(sha3.finalize(), sha3_256(&message));

        let mut want = [0u8; 500];
        shake128(&[&message], &mut want);
        let mut shake = Shake128::new();
        in_pieces(&mut rng, &message, |piece| shake.update(piece));
        let mut reader = shake.finalize();
        let mut got = [0u8; 500];
        let mut rest = &mut got[..];
        while !rest.is_empty() {
            let take = rng.index(200).min(rest.len());
            let (head, tail) = rest.split_at_mut(take);
            reader.read(head);
            rest = tail;
        }
        assert_eq!(got, want);

        kmac256(b"key", b"S", &[&message], &mut want);
        let mut mac = Kmac256::new(b"key", b"S");
        in_pieces(&mut rng, &message, |piece| mac.update(piece));
        mac.finalize_into(&mut got);
        assert_eq!(got, want);

        tuple_hash256(b"S", &[b"first", &message], &mut want);
        let mut tuple = TupleHash256::new(b"S");
        tuple.element(b"first");
        tuple.begin_element(message.len() as u64);
        in_pieces(&mut rng, &message, |piece| tuple.update(piece));
        tuple.finalize_into(&mut got).expect("the announced length");
        assert_eq!(got, want);
    }
}

#[test]
fn a_cloned_prefix_continues_like_the_whole_message() {
    let mut prefix = Cshake256::new(b"", b"S");
    prefix.update(&[1; 200]);
    let (mut a, mut b) = ([0u8; 64], [0u8; 64]);
    for tail in [&[2u8; 3][..], &[3; 300]] {
        let mut hash = prefix.clone();
        hash.update(tail);
        hash.finalize().read(&mut a);
        cshake256(b"S", &[&[1; 200], tail], &mut b);
        assert_eq!(a, b);
    }
}

#[test]
fn output_lengths_are_bound_where_the_standard_binds_them() {
    let (mut short, mut long) = ([0u8; 32], [0u8; 64]);
    kmac256(b"key", b"", &[b"m"], &mut short);
    kmac256(b"key", b"", &[b"m"], &mut long);
    assert_ne!(short, long[..32]);
    tuple_hash256(b"", &[b"m"], &mut short);
    tuple_hash256(b"", &[b"m"], &mut long);
    assert_ne!(short, long[..32]);
    cshake256(b"S", &[b"m"], &mut short);
    cshake256(b"S", &[b"m"], &mut long);
    assert_eq!(short, long[..32]);
}

#[test]
fn misuse_is_refused_with_its_own_error() {
    let mut out = [0u8; 32];
    assert_eq!(
        parallel_hash256(0, b"", &[b"m"], &mut out),
        Err(Error::BlockLength)
    );
    let prefix = XofPrefix::new(b"S");
    let none: [[u8; 3]; 0] = [];
    assert_eq!(
        prefix.lanes(&none).err(),
        Some(Error::LaneCount { count: 0 })
    );
    assert_eq!(
        prefix.lanes(&[[0u8; 3]; 9]).err(),
        Some(Error::LaneCount { count: 9 })
    );
    let mut lanes = prefix.lanes(&[[0u8; 3]; 2]).expect("two lanes");
    for len in [1, 136, 135, 3 * 136, 2 * 136 + 1] {
        assert_eq!(
            lanes.squeeze_blocks(&mut vec![0; len]),
            Err(Error::OutputLength)
        );
    }
    assert_eq!(
        prefix.fill(&[[0u8; 3]; 2], &mut [0; 3]),
        Err(Error::OutputLength)
    );
    assert_eq!(prefix.fill(&none, &mut []), Err(Error::OutputLength));
    for announced in [0u64, 4, 6] {
        let mut tuple = TupleHash256::new(b"");
        tuple.begin_element(announced);
        tuple.update(b"12345");
        assert_eq!(tuple.finalize_into(&mut out), Err(Error::ElementLength));
    }
    let mut tuple = TupleHash256::new(b"");
    tuple.begin_element(5);
    tuple.element(b"12345");
    assert_eq!(
        tuple.finalize_into(&mut out),
        Err(Error::ElementLength),
        "left open"
    );
}

#[test]
fn states_and_keys_do_not_show_in_debug_output() {
    let mut hash = Shake256::new();
    hash.update(b"secret");
    assert_eq!(format!("{hash:?}"), "Shake256 { .. }");
    assert_eq!(format!("{:?}", Kmac256::new(b"key", b"")), "Kmac256 { .. }");
    let stream = horizon_hash::blake2xb::Blake2Xb::new(b"key").expect("a short key");
    assert_eq!(format!("{stream:?}"), "Blake2Xb { .. }");
}

fn in_pieces(rng: &mut SeededRng, message: &[u8], mut update: impl FnMut(&[u8])) {
    let mut rest = message;
    while !rest.is_empty() {
        let (head, tail) = rest.split_at(rng.index(400).min(rest.len()));
        update(head);
        rest = tail;
    }
}

#[test]
fn endings_in_lanes_equal_endings_one_by_one() {
    use horizon_hash::suite::{HuHasher, Suite};
    let mut rng = rng(0x656e_6473);
    for suite in [Suite::PulsarSha3, Suite::PulsarBlake3] {
        // Prefixes that end inside a block, at its edges, and nowhere.
        for prefix_len in [0, 1, 100, 118, 119, 120, 135, 136, 137, 1_000] {
            let mut prefix = HuHasher::new(suite);
            prefix.update(&rng.vec(prefix_len));
            let bodies: Vec<[Vec<u8>; 2]> = (0..11)
                .map(|i| [rng.vec(i * 37 % 300), rng.vec(i % 3)])
                .collect();
            let parts: Vec<[&[u8]; 2]> = bodies.iter().map(|[a, b]| [&a[..], &b[..]]).collect();
            let endings: Vec<&[&[u8]]> = parts.iter().map(|parts| &parts[..]).collect();
            let batch = prefix.finalize_batch(&endings);
            for (ending, got) in endings.iter().zip(&batch) {
                let mut single = prefix.clone();
                ending.iter().for_each(|part| single.update(part));
                let mut want = [0; 32];
                single.finalize_into(&mut want);
                assert_eq!(*got, want, "{suite} after {prefix_len}");
            }
        }
    }
}
