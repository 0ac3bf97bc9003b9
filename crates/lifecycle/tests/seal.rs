//! Sealing: a known answer that other implementations opened, and everything that must be refused.

use horizon_lifecycle::seal::{
    self, Coins, DEALER, INFO_LEN_MAX, Info, OVERHEAD_LEN, PLAINTEXT_LEN_MAX, Purpose, SealingKey,
    SealingPublicKey,
};
use horizon_lifecycle::share_file::{FILE_LEN_MAX, SealedShare};
use horizon_lifecycle::{Error, Malformed, Misuse, Rejected};
use horizon_testkit::rng;

const INFO: Info = Info {
    ceremony: [7; 32],
    purpose: Purpose::Package,
    from: 1,
    to: 2,
};

fn key(seed: u64) -> SealingKey {
    SealingKey::generate(&mut rng(seed))
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex"))
        .collect()
}

/// `tests/data/seal.txt`: made once by this crate from fixed bytes, and opened by an independent
/// program: X25519, ML-KEM-768 and ChaCha20-Poly1305 of OpenSSL, Keccak written from its definition.
fn known(name: &str) -> Vec<u8> {
    let line = include_str!("data/seal.txt")
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    unhex(line.expect("a line of the file"))
}

#[test]
fn the_known_answer_is_reproduced_and_opened() {
    let secret: Vec<u8> = (0..96).collect();
    let key = SealingKey::from_bytes(&secret).expect("96 bytes");
    let coins = Coins::from_bytes([0xa1; 32], [0xb2; 32]);
    let info = INFO.to_bytes();
    assert_eq!(info.as_slice(), known("info"));
    assert_eq!(secret, known("secret"));
    let sealed = seal::seal(key.public(), &info, b"sealed to one member", &coins).expect("sealed");
    assert_eq!(sealed, known("sealed"));
    assert_eq!(seal::digest(&sealed).as_slice(), known("digest"));
    let opened = key.open(&info, &sealed).expect("opens");
    assert_eq!(opened.as_slice(), known("plaintext"));
}

#[test]
fn a_message_opens_for_its_recipient_and_for_whoever_has_the_coins() {
    let key = key(1);
    let mut rng = rng(2);
    let coins = Coins::generate(&mut rng);
    for len in [0, 1, 63, 64, 65, 48_208] {
        let plaintext = rng.vec(len);
        let info = INFO.to_bytes();
        let sealed = seal::seal(key.public(), &info, &plaintext, &coins).expect("sealed");
        assert_eq!(sealed.len(), len + OVERHEAD_LEN);
        assert_eq!(*key.open(&info, &sealed).expect("opens"), plaintext);
        let judged = seal::reopen(key.public(), &info, &sealed, &coins).expect("reopens");
        assert_eq!(*judged, plaintext);
    }
}

#[test]
fn every_altered_bit_of_every_field_is_refused() {
    let key = key(3);
    let coins = Coins::generate(&mut rng(4));
    let info = INFO.to_bytes();
    let sealed = seal::seal(key.public(), &info, b"0123456789", &coins).expect("sealed");
    for at in 0..sealed.len() {
        let mut altered = sealed.clone();
        altered[at] ^= 1 << (at % 8);
        let opened = key.open(&info, &altered).map(|_| ());
        // The top bit of a curve point is ignored by X25519 and still bound by the hash.
        assert_eq!(opened, Err(Error::Rejected(Rejected::Seal)), "byte {at}");
        let judged = seal::reopen(key.public(), &info, &altered, &coins).map(|_| ());
        let expected = if at < 1120 {
            Rejected::Coins
        } else {
            Rejected::Seal
        };
        assert_eq!(judged, Err(Error::Rejected(expected)), "byte {at}");
    }
    for len in 0..OVERHEAD_LEN {
        let cut = key.open(&info, &sealed[..len]).map(|_| ());
        let short = Malformed::Length {
            field: "sealed message",
            expected: OVERHEAD_LEN,
        };
        assert_eq!(cut, Err(Error::Malformed(short)), "length {len}");
    }
    for len in OVERHEAD_LEN..sealed.len() {
        let cut = key.open(&info, &sealed[..len]).map(|_| ());
        assert_eq!(cut, Err(Error::Rejected(Rejected::Seal)), "length {len}");
    }
    let longer = [sealed.as_slice(), &[0]].concat();
    assert_eq!(
        key.open(&info, &longer).map(|_| ()),
        Err(Error::Rejected(Rejected::Seal))
    );
}

#[test]
fn another_key_or_another_context_does_not_open() {
    let (key, other) = (key(5), key(6));
    let coins = Coins::generate(&mut rng(7));
    let sealed = seal::seal(key.public(), &INFO.to_bytes(), b"text", &coins).expect("sealed");
    let refused = Err(Error::Rejected(Rejected::Seal));
    assert_eq!(other.open(&INFO.to_bytes(), &sealed).map(|_| ()), refused);
    let contexts = [
        Info {
            ceremony: [8; 32],
            ..INFO
        },
        Info {
            purpose: Purpose::PairSeed,
            ..INFO
        },
        Info { from: 0, ..INFO },
        Info { to: 3, ..INFO },
    ];
    for info in contexts {
        assert_eq!(key.open(&info.to_bytes(), &sealed).map(|_| ()), refused);
    }
    // Half a key of each: both lanes are needed.
    for half in [0..32, 32..96] {
        let mut mixed = key.to_bytes();
        mixed[half.clone()].copy_from_slice(&other.to_bytes()[half]);
        let mixed = SealingKey::from_bytes(&*mixed).expect("96 bytes");
        assert_eq!(mixed.open(&INFO.to_bytes(), &sealed).map(|_| ()), refused);
    }
}

#[test]
fn points_of_small_order_are_refused_in_keys_and_in_messages() {
    let key = key(8);
    // RFC 7748 leaves the check to the protocol; these are all u of order 1, 2, 4 and 8 below 2^255.
    let small = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ];
    let coins = Coins::generate(&mut rng(9));
    let info = INFO.to_bytes();
    let sealed = seal::seal(key.public(), &info, b"text", &coins).expect("sealed");
    for point in small.map(unhex) {
        let mut public = key.public().to_bytes();
        public[..32].copy_from_slice(&point);
        let refused = Err(Error::Rejected(Rejected::SmallOrder));
        assert_eq!(SealingPublicKey::from_bytes(&public).map(|_| ()), refused);
        let mut altered = sealed.clone();
        altered[..32].copy_from_slice(&point);
        assert_eq!(key.open(&info, &altered).map(|_| ()), refused);
    }
}

#[test]
fn public_keys_are_checked_when_they_are_read() {
    let public = key(10).public().to_bytes();
    assert!(SealingPublicKey::from_bytes(&public).is_ok_and(|key| key.to_bytes() == public));
    for len in [0, 31, 32, public.len() - 1] {
        let refused = SealingPublicKey::from_bytes(&public[..len]).map(|_| ());
        assert!(matches!(
            refused,
            Err(Error::Malformed(Malformed::Length { .. }))
        ));
    }
    // The first twelve bits of a canonical key are below 3329.
    let mut high = public;
    (high[32], high[33]) = (0xff, 0xff);
    let refused = SealingPublicKey::from_bytes(&high).map(|_| ());
    assert_eq!(refused, Err(Error::Rejected(Rejected::KemKey)));
    let short = SealingKey::from_bytes(&[0; 95]).map(|_| ());
    assert!(matches!(
        short,
        Err(Error::Malformed(Malformed::Length { .. }))
    ));
}

#[test]
fn lengths_are_bounded_before_anything_is_computed() {
    let key = key(11);
    let coins = Coins::generate(&mut rng(12));
    let long = vec![0; PLAINTEXT_LEN_MAX + 1];
    let refused = seal::seal(key.public(), &INFO.to_bytes(), &long, &coins);
    let misuse = Misuse::Long {
        field: "plaintext",
        max: PLAINTEXT_LEN_MAX,
    };
    assert_eq!(refused, Err(Error::Misuse(misuse)));
    let info = [0; INFO_LEN_MAX + 1];
    let misuse = Misuse::Long {
        field: "info",
        max: INFO_LEN_MAX,
    };
    let refused = Err(Error::Misuse(misuse));
    assert_eq!(seal::seal(key.public(), &info, b"", &coins), refused);
    let long = vec![0; PLAINTEXT_LEN_MAX + OVERHEAD_LEN + 1];
    let refused = key.open(&INFO.to_bytes(), &long).map(|_| ());
    assert!(matches!(
        refused,
        Err(Error::Malformed(Malformed::Long { .. }))
    ));
}

const DEALT: Info = Info {
    ceremony: [7; 32],
    purpose: Purpose::DealtShare,
    from: DEALER,
    to: 2,
};

fn file(key: &SealingKey) -> SealedShare {
    SealedShare::seal(key.public(), DEALT, [9; 32], b"the share", &mut rng(13)).expect("sealed")
}

#[test]
fn a_share_file_opens_only_for_its_member_purpose_and_era() {
    let (key, other) = (key(14), key(15));
    let bytes = file(&key).to_bytes();
    let read = SealedShare::from_bytes(&bytes).expect("a share file");
    assert_eq!((*read.info(), *read.era_ctx()), (DEALT, [9; 32]));
    let opened = read.open(&key, Purpose::DealtShare, 2, &[9; 32]);
    assert_eq!(opened.expect("opens").as_slice(), b"the share");
    let refused = |field| Err(Error::Rejected(Rejected::Context { field }));
    let attempt =
        |purpose, position, era: [u8; 32]| read.open(&key, purpose, position, &era).map(|_| ());
    assert_eq!(attempt(Purpose::Package, 2, [9; 32]), refused("purpose"));
    assert_eq!(attempt(Purpose::DealtShare, 1, [9; 32]), refused("member"));
    assert_eq!(attempt(Purpose::DealtShare, 2, [8; 32]), refused("era"));
    let opened = read
        .open(&other, Purpose::DealtShare, 2, &[9; 32])
        .map(|_| ());
    assert_eq!(opened, Err(Error::Rejected(Rejected::Seal)));
}

#[test]
fn no_byte_of_a_share_file_can_change() {
    let key = key(16);
    let bytes = file(&key).to_bytes();
    for at in 0..bytes.len() {
        let mut altered = bytes.clone();
        altered[at] ^= 0x80;
        let opened = SealedShare::from_bytes(&altered).and_then(|read| {
            // As a member that believes the head: the seal alone must refuse.
            read.open(&key, read.info().purpose, read.info().to, read.era_ctx())
        });
        let expected = match at {
            0..4 => Error::Malformed(Malformed::Magic {
                field: "sealed share",
            }),
            4..6 => Error::Malformed(Malformed::Version {
                field: "sealed share",
            }),
            38 => Error::Malformed(Malformed::Purpose),
            75..79 => match opened {
                Err(Error::Malformed(length @ Malformed::Length { .. })) => length.into(),
                other => panic!("byte {at}: {:?}", other.map(|_| ())),
            },
            _ => Error::Rejected(Rejected::Seal),
        };
        assert_eq!(opened.map(|_| ()), Err(expected), "byte {at}");
    }
}

#[test]
fn truncated_extended_and_oversized_share_files_are_malformed() {
    let bytes = file(&key(17)).to_bytes();
    for len in 0..bytes.len() {
        let read = SealedShare::from_bytes(&bytes[..len]).map(|_| ());
        let wrong = matches!(read, Err(Error::Malformed(Malformed::Length { .. })));
        assert!(wrong, "length {len}: {read:?}");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    let read = SealedShare::from_bytes(&longer).map(|_| ());
    assert!(matches!(
        read,
        Err(Error::Malformed(Malformed::Length { .. }))
    ));
    let huge = vec![0; FILE_LEN_MAX + 1];
    let read = SealedShare::from_bytes(&huge).map(|_| ());
    assert!(matches!(
        read,
        Err(Error::Malformed(Malformed::Long { .. }))
    ));
}
