//! Which encoding rule of FIPS 204 a refused signature breaks.
//!
//! # Source
//! FIPS 204, Algorithm 21 (`HintBitUnpack`) and the norm check of Algorithm 8, line 13.

use super::ParameterSet;

/// A rule that can be checked without the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The hint is not what `HintBitPack` produces for any set of positions.
    Hint,
    /// A coefficient of `z` is too large in absolute value.
    Response,
}

/// The first broken rule in the order of Algorithm 8; `None` when the encoding is fine.
///
/// `signature` has the length of the parameter set; a shorter one counts as a broken hint.
pub(super) fn broken_rule(set: ParameterSet, signature: &[u8]) -> Option<Rule> {
    let layout = Layout::of(set);
    let z_len = layout.z_polys * N * layout.z_bits / 8;
    let Some((z, hint)) = signature
        .get(layout.c_tilde_len..)
        .and_then(|rest| rest.split_at_checked(z_len))
    else {
        return Some(Rule::Hint);
    };
    if !hint_is_canonical(hint, layout.omega, layout.hint_polys) {
        return Some(Rule::Hint);
    }
    (!response_is_short(z, layout.z_bits, layout.z_limit)).then_some(Rule::Response)
}

/// Shape of a signature and the bound on `z`.
struct Layout {
    /// `lambda / 4`, bytes.
    c_tilde_len: usize,
    /// `l`, polynomials in `z`.
    z_polys: usize,
    /// `1 + log2(gamma1)`, bits a coefficient.
    z_bits: usize,
    /// `gamma1 - beta`: absolute values have to stay below it.
    z_limit: u32,
    /// Most ones in the hint.
    omega: usize,
    /// `k`, polynomials in the hint.
    hint_polys: usize,
}

impl Layout {
    const fn of(set: ParameterSet) -> Self {
        match set {
            ParameterSet::MlDsa44 => Self {
                c_tilde_len: 32,
                z_polys: 4,
                z_bits: 18,
                z_limit: (1 << 17) - 78,
                omega: 80,
                hint_polys: 4,
            },
            ParameterSet::MlDsa65 => Self {
                c_tilde_len: 48,
                z_polys: 5,
                z_bits: 20,
                z_limit: (1 << 19) - 196,
                omega: 55,
                hint_polys: 6,
            },
            ParameterSet::MlDsa87 => Self {
                c_tilde_len: 64,
                z_polys: 7,
                z_bits: 20,
                z_limit: (1 << 19) - 120,
                omega: 75,
                hint_polys: 8,
            },
        }
    }
}

/// Positions strictly increasing within a polynomial, limits never going down and never above
/// `omega`, unused positions zero, nothing missing and nothing over.
fn hint_is_canonical(hint: &[u8], omega: usize, polys: usize) -> bool {
    let Some((positions, limits)) = hint.split_at_checked(omega) else {
        return false;
    };
    if limits.len() != polys {
        return false;
    }
    let mut start = 0;
    for &limit in limits {
        let end = usize::from(limit);
        let Some(range) = positions.get(start..end) else {
            return false;
        };
        if !range.is_sorted_by(|left, right| left < right) {
            return false;
        }
        start = end;
    }
    positions.iter().skip(start).all(|&position| position == 0)
}

/// Whether every coefficient `gamma1 - field` is below `limit` in absolute value.
fn response_is_short(z: &[u8], bits: usize, limit: u32) -> bool {
    let gamma1 = 1u32 << (bits - 1);
    let mask = (1u64 << bits) - 1;
    let mut window = 0u64;
    let mut available = 0;
    for &byte in z {
        window |= u64::from(byte) << available;
        available += 8;
        if available >= bits {
            let field = (window & mask) as u32;
            if gamma1.abs_diff(field) >= limit {
                return false;
            }
            window >>= bits;
            available -= bits;
        }
    }
    true
}

/// Coefficients of a polynomial.
const N: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_add_up_to_the_signature_lengths() {
        for set in ParameterSet::ALL {
            let layout = Layout::of(set);
            let z_len = layout.z_polys * N * layout.z_bits / 8;
            let len = layout.c_tilde_len + z_len + layout.omega + layout.hint_polys;
            assert_eq!(len, set.algorithm().signature_len());
        }
    }

    #[test]
    fn each_hint_rule_is_noticed_alone() {
        // omega = 4, two polynomials.
        let cases: [(&str, [u8; 6], bool); 9] = [
            ("empty", [0, 0, 0, 0, 0, 0], true),
            ("two and one", [3, 9, 7, 0, 2, 3], true),
            ("full", [0, 1, 2, 3, 0, 4], true),
            ("swapped", [9, 3, 7, 0, 2, 3], false),
            ("repeated", [3, 3, 7, 0, 2, 3], false),
            ("unused position", [3, 9, 7, 1, 2, 3], false),
            ("limit goes down", [3, 9, 7, 0, 2, 1], false),
            ("limit above omega", [3, 9, 7, 8, 2, 5], false),
            ("limit far above omega", [3, 9, 7, 8, 2, 255], false),
        ];
        for (name, hint, expected) in cases {
            assert_eq!(hint_is_canonical(&hint, 4, 2), expected, "{name}");
        }
    }

    #[test]
    fn response_bound_is_exact_on_both_sides() {
        let set = ParameterSet::MlDsa65;
        let layout = Layout::of(set);
        let field_of = |z: i32| (1i32 << 19) - z;
        for (z, short) in [
            (524_091, true),
            (-524_091, true),
            (524_092, false),
            (-524_092, false),
        ] {
            let field = u64::try_from(field_of(z)).unwrap() | (1u64 << 39);
            let bytes = field.to_le_bytes();
            let verdict = response_is_short(&bytes[..5], layout.z_bits, layout.z_limit);
            assert_eq!(verdict, short, "{z}");
        }
    }
}
