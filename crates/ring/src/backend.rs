//! Whole operations on raw words, in three implementations that give the same residues.
//!
//! Dispatch happens once per operation here. The typed modules of this crate call these functions
//! with [`Kind::active`]; tests and benches pass every [`Kind::available`]. A kind this machine
//! cannot run falls back to portable, so that any value of the enum is safe to pass.
//!
//! Words are only bounded by contract: a value above the stated bound gives a wrong result, never
//! undefined behaviour and never a panic.
//!
//! # Security
//! Constant time in all values, except [`parse_words`] (which values are accepted shows, as does
//! their number), [`all_at_most`], [`unpack49`] and [`zero_pivots`] (verdicts on public data).

#![allow(
    unsafe_code,
    reason = "entering and using vector instructions; nowhere else in this crate"
)]

use crate::ntt::{Scale, Unscale};
use crate::pack::PACKED_BYTES;
use crate::sample::{SMALL_BYTES, WIDE_BYTES};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

/// An implementation of the operations of this module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// Plain Rust.
    Portable,
    /// 256-bit vectors, double-precision multiply-add.
    Avx2,
    /// 512-bit vectors, 52-bit integer multiply-add.
    Avx512,
}

/// A set of the 256 slots; bit `i % 64` of word `i / 64` stands for slot `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SlotSet(pub [u64; 4]);

/// One product of a dot product: two operands of 256 words below 9q.
pub type Term<'a> = (&'a [u64; 256], &'a [u64; 256]);

/// Byte order of the words of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// Most significant byte first: the reference's uniform sampler.
    Big,
    /// Least significant byte first: committee mode.
    Little,
}

impl Kind {
    /// The fastest kind of this machine, or the one forced by `--cfg horizon_backend`.
    #[inline]
    #[must_use]
    pub fn active() -> Self {
        if cfg!(horizon_backend = "portable") {
            return Self::Portable;
        }
        if !cfg!(horizon_backend = "avx2") && Self::Avx512.is_available() {
            return Self::Avx512;
        }
        if !cfg!(horizon_backend = "avx512") && Self::Avx2.is_available() {
            return Self::Avx2;
        }
        Self::Portable
    }

    /// All kinds this machine can run, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        [Self::Portable, Self::Avx2, Self::Avx512]
            .into_iter()
            .filter(|kind| kind.is_available())
    }

    /// A short lower-case name for reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// True if this machine can run it.
    #[inline]
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            Self::Avx2 => detect::avx2(),
            Self::Avx512 => detect::avx512(),
        }
    }
}

macro_rules! dispatch {
    ($kind:expr, $module:ident :: $name:ident ( $($argument:expr),* $(,)? )) => {
        match $kind {
            // SAFETY: the features the functions of `avx512` are compiled for were just detected.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 if detect::avx512() => unsafe { avx512::$module::$name($($argument),*) },
            // SAFETY: as above, for `avx2`.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 if detect::avx2() => unsafe { avx2::$module::$name($($argument),*) },
            _ => portable::$module::$name($($argument),*),
        }
    };
}

/// Forward transform, canonical output times `scale`. Input words below 1.99q.
#[inline]
pub fn forward(kind: Kind, input: &[u64; 256], scale: Scale, out: &mut [u64; 256]) {
    dispatch!(kind, ntt::forward(input, scale, out))
}

/// Forward transform, output times `scale`, only bounded by 9q. Input words below 1.99q.
#[inline]
pub fn forward_lazy(kind: Kind, input: &[u64; 256], scale: Scale, out: &mut [u64; 256]) {
    dispatch!(kind, ntt::forward_lazy(input, scale, out))
}

/// Inverse transform, canonical output with `unscale` removed. Input words canonical (q allowed).
#[inline]
pub fn inverse(kind: Kind, input: &[u64; 256], unscale: Unscale, out: &mut [u64; 256]) {
    dispatch!(kind, ntt::inverse(input, unscale, out))
}

/// out = sum of a·b·2^-52 modulo q, canonical, over at most [`crate::dot::MAX_TERMS`] terms.
#[inline]
pub fn dot(kind: Kind, terms: &[Term<'_>], out: &mut [u64; 256]) {
    dispatch!(kind, dot::dot(terms, out))
}

/// Sum of the squares of the centred values of v << shift, which must be canonical.
#[inline]
#[must_use]
pub fn norm_sq(kind: Kind, values: &[u64; 256], shift: u32) -> u128 {
    dispatch!(kind, dot::norm_sq(values, shift))
}

/// acc += values, as raw 64-bit words.
#[inline]
pub fn add_raw(kind: Kind, acc: &mut [u64; 256], values: &[u64; 256]) {
    dispatch!(kind, dot::add_raw(acc, values))
}

/// True if every word is at most `max` < 2^63.
#[inline]
#[must_use]
pub fn all_at_most(kind: Kind, values: &[u64; 256], max: u64) -> bool {
    dispatch!(kind, dot::all_at_most(values, max))
}

/// Canonical form of any words.
#[inline]
pub fn reduce(kind: Kind, values: &[u64; 256], out: &mut [u64; 256]) {
    dispatch!(kind, dot::reduce(values, out))
}

/// a += b, both canonical, and so is the result.
#[inline]
pub fn add(kind: Kind, a: &mut [u64; 256], b: &[u64; 256]) {
    dispatch!(kind, dot::add(a, b))
}

/// a -= b, both canonical, and so is the result.
#[inline]
pub fn sub(kind: Kind, a: &mut [u64; 256], b: &[u64; 256]) {
    dispatch!(kind, dot::sub(a, b))
}

/// a *= k, for k < q and words below 2^52; the result is canonical.
#[inline]
pub fn scale(kind: Kind, a: &mut [u64; 256], k: u64) {
    dispatch!(kind, dot::scale(a, k))
}

/// The slots in which elimination of a row-major 8×8 matrix without exchanges meets a zero pivot.
#[inline]
#[must_use]
pub fn zero_pivots(kind: Kind, entries: &[&[u64; 256]; 64]) -> SlotSet {
    dispatch!(kind, rank::zero_pivots(entries))
}

/// Packs 256 values below 2^49 into 49 bits each.
#[inline]
pub fn pack49(kind: Kind, values: &[u64; 256], out: &mut [u8; PACKED_BYTES]) {
    dispatch!(kind, pack::pack49(values, out))
}

/// Unpacks 256 values; false if one is not below q (`out` then holds it).
#[inline]
#[must_use]
pub fn unpack49(kind: Kind, bytes: &[u8; PACKED_BYTES], out: &mut [u64; 256]) -> bool {
    dispatch!(kind, pack::unpack49(bytes, out))
}

/// Appends the words of `bytes` whose low 49 bits are below q to `out[filled..]`; returns the new
/// count.
///
/// Stops at 256. Reads whole 8-byte words only.
#[inline]
#[must_use]
pub fn parse_words(
    kind: Kind,
    order: ByteOrder,
    bytes: &[u8],
    out: &mut [u64; 256],
    filled: usize,
) -> usize {
    dispatch!(kind, sample::parse_words(order, bytes, out, filled))
}

/// 256 samples of the small width from nine byte planes, in [0, q].
#[inline]
pub fn sample_small(kind: Kind, bytes: &[u8; SMALL_BYTES], out: &mut [u64; 256]) {
    dispatch!(kind, sample::sample_small(bytes, out))
}

/// 256 samples of the wide width from twenty units of nine byte planes, in [0, q].
#[inline]
pub fn sample_wide(kind: Kind, bytes: &[u8; WIDE_BYTES], out: &mut [u64; 256]) {
    dispatch!(kind, sample::sample_wide(bytes, out))
}

#[cfg(all(
    not(target_arch = "x86_64"),
    any(horizon_backend = "avx2", horizon_backend = "avx512")
))]
compile_error!("horizon_backend names an instruction set this target does not have");

/// What the processor can do, asked once.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod detect {
    cpufeatures::new!(avx2_fma, "avx2", "fma");
    cpufeatures::new!(
        avx512_all,
        "avx512f",
        "avx512bw",
        "avx512dq",
        "avx512vl",
        "avx512ifma",
        "avx512vbmi"
    );

    #[inline]
    pub(super) fn avx2() -> bool {
        avx2_fma::get()
    }

    #[inline]
    pub(super) fn avx512() -> bool {
        avx512_all::get()
    }
}

/// No vector backend on this target.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod detect {
    pub(super) const fn avx2() -> bool {
        false
    }

    pub(super) const fn avx512() -> bool {
        false
    }
}
