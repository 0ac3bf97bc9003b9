//! Lens against the standard, against misuse, against bad bytes and against bad parties, on all
//! three suites.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

extern crate alloc;

/// Runs generic tests once per suite, as `<suite>::<test>`.
macro_rules! on_every_suite {
    ($($name:ident),* $(,)?) => {
        mod ed25519 {
            $(#[test] fn $name() { super::$name::<horizon_lens::ed25519::Ed25519>(); })*
        }
        mod secp256k1 {
            $(#[test] fn $name() { super::$name::<horizon_lens::secp256k1::Secp256k1>(); })*
        }
        mod ristretto255 {
            $(#[test] fn $name() { super::$name::<horizon_lens::ristretto255::Ristretto255>(); })*
        }
    };
}

mod bytes;
mod ceremonies;
mod properties;
mod reference;
mod sessions;
mod signing;
mod support;
mod vectors;
