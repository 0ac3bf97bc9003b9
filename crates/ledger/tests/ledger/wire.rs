//! Decoders: one encoding each, and no panic on anything.

use horizon_ledger::tx::{self, Transaction};
use horizon_ledger::{Block, Invalid, Refusal};
use horizon_testkit::SeededRng;
use horizon_testkit::mutate::{with_byte, wrong_lengths};

use crate::support::{Account, To, pair};

#[test]
fn transactions_have_one_length_and_unknown_kinds_are_refused() {
    let (mut a, b) = pair(1, 1, 31);
    let mut account = Account::new(&mut a.rng);
    let submit = account.submit(&mut a, &To::unordered(&b), "journal", b"hello");
    assert!(matches!(
        Transaction::decode(&submit),
        Ok(Transaction::Submit(_))
    ));
    for mutant in wrong_lengths(&submit, 200) {
        let refused = Transaction::decode(&mutant.bytes);
        assert!(
            matches!(refused, Err(Refusal::Malformed { .. })),
            "{}",
            mutant.name
        );
    }
    for mutant in wrong_lengths(&tx::retry(&[7; 32]), 10) {
        let refused = Transaction::decode(&mutant.bytes);
        assert!(
            matches!(refused, Err(Refusal::Malformed { .. })),
            "{}",
            mutant.name
        );
    }
    let malformed = |field| Err(Refusal::Malformed { field });
    for kind in [0, 2, 4, 8, 0x1f, 0x23, 0xff] {
        assert_eq!(Transaction::decode(&[1, kind, 0]), malformed("kind"));
    }
    assert_eq!(
        Transaction::decode(&with_byte(&submit, 0, 2)),
        malformed("version")
    );
    assert_eq!(Transaction::decode(&[1, 0x21]), malformed("envelope"));
    let long = vec![1; tx::TRANSACTION_LEN_MAX + 1];
    assert_eq!(Transaction::decode(&long), malformed("length"));
}

#[test]
fn blocks_have_one_encoding() {
    let (mut a, _) = pair(1, 1, 32);
    a.step();
    a.step();
    let block = a.tip();
    assert!(!block.transactions.is_empty());
    let bytes = block.encode();
    assert_eq!(bytes.len(), block.encoded_len());
    assert_eq!(Block::decode(&bytes).as_ref(), Ok(block));
    for mutant in wrong_lengths(&bytes, 100) {
        let refused = Block::decode(&mutant.bytes);
        assert!(
            matches!(refused, Err(Invalid::Malformed { .. })),
            "{}",
            mutant.name
        );
    }
    let huge = with_byte(&bytes, 81, 0xff);
    assert_eq!(
        Block::decode(&huge),
        Err(Invalid::Malformed { field: "count" })
    );
    assert_eq!(
        Block::decode(&vec![1; (1 << 20) + 1]),
        Err(Invalid::TooLarge)
    );
    // Whatever decodes encodes to the same bytes, and every field is in the digest.
    let mut rng = SeededRng::new(33);
    for _ in 0..5_000 {
        let mut changed = bytes.clone();
        changed[rng.index(bytes.len())] ^= 1 << rng.below(8);
        if let Ok(decoded) = Block::decode(&changed) {
            assert_eq!(decoded.encode(), changed);
            assert_ne!(decoded.digest(), block.digest(), "seed {}", rng.seed());
        }
    }
}

#[test]
fn no_changed_block_or_transaction_panics_or_executes() {
    let (mut a, b) = pair(1, 1, 34);
    let mut account = Account::new(&mut a.rng);
    for _ in 0..3 {
        let tx = account.submit(&mut a, &To::unordered(&b), "journal", b"hello");
        a.push(tx);
        a.step();
    }
    let mut rng = SeededRng::new(35);
    for at in 1..a.blocks.len() {
        let (parent, block) = (&a.blocks[at - 1], &a.blocks[at]);
        let state = if at == 1 {
            a.app.genesis_state()
        } else {
            a.executed[at - 2].state.clone()
        };
        assert!(a.replica.execute(parent, &state, block).is_ok());
        let bytes = block.encode();
        for _ in 0..300 {
            let mut changed = bytes.clone();
            for _ in 0..=rng.below(3) {
                let at = rng.index(changed.len());
                changed[at] = changed[at].wrapping_add(1 + rng.below(255) as u8);
            }
            let Ok(decoded) = Block::decode(&changed) else {
                continue;
            };
            // Only the time is free: nothing in these blocks depends on it.
            let free = Block {
                time_ms: block.time_ms,
                ..decoded.clone()
            } == *block
                && decoded.time_ms > parent.time_ms;
            let outcome = a.replica.execute(parent, &state, &decoded);
            assert_eq!(
                outcome.is_ok(),
                free || decoded == *block,
                "seed {}",
                rng.seed()
            );
            for tx in &decoded.transactions {
                let _ = a.app.check(tx);
            }
        }
    }
}
