//! Makes ML-DSA signatures that break exactly one rule, and judges them with a plain verifier.
//!
//! With the public key `rho || 0...0` (`t1 = 0`) the verification equation does not contain the
//! challenge: `w' = A z`. Anybody can then choose `z` and the hint and compute the matching
//! `c_tilde`, so that everything is right except for the rule under test.
//!
//! # Source
//! FIPS 204, written from the text for clarity, not speed: Algorithms 8, 20-22, 28, 30, 32, 35-42.

use horizon_hash::sponge::{Shake128, shake256};
use horizon_sig::mldsa::ParameterSet;

pub(crate) const N: usize = 256;
pub(crate) const Q: i64 = 8_380_417;

/// Coefficients in `0..Q`, or signed where a function says so.
pub(crate) type Poly = [i64; N];

#[derive(Clone, Copy)]
pub(crate) struct Params {
    pub(crate) set: ParameterSet,
    pub(crate) k: usize,
    pub(crate) l: usize,
    pub(crate) gamma1: i64,
    pub(crate) gamma2: i64,
    pub(crate) beta: i64,
    pub(crate) omega: usize,
    pub(crate) c_tilde_len: usize,
}

impl Params {
    pub(crate) fn of(set: ParameterSet) -> Self {
        let (gamma1_44, gamma2_44) = (1 << 17, (Q - 1) / 88);
        let (gamma1, gamma2) = (1 << 19, (Q - 1) / 32);
        match set {
            ParameterSet::MlDsa44 => Self {
                set,
                k: 4,
                l: 4,
                gamma1: gamma1_44,
                gamma2: gamma2_44,
                beta: 78,
                omega: 80,
                c_tilde_len: 32,
            },
            ParameterSet::MlDsa65 => Self {
                set,
                k: 6,
                l: 5,
                gamma1,
                gamma2,
                beta: 196,
                omega: 55,
                c_tilde_len: 48,
            },
            ParameterSet::MlDsa87 => Self {
                set,
                k: 8,
                l: 7,
                gamma1,
                gamma2,
                beta: 120,
                omega: 75,
                c_tilde_len: 64,
            },
        }
    }

    fn z_bits(&self) -> usize {
        1 + self.gamma1.ilog2() as usize
    }

    fn w1_bits(&self) -> usize {
        if self.set == ParameterSet::MlDsa44 {
            6
        } else {
            4
        }
    }

    fn z_len(&self) -> usize {
        self.l * N * self.z_bits() / 8
    }
}

/// The rules of a verifier, each of which can be weakened to see which cases notice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Added to the bound on `z`; a large value drops the check.
    pub(crate) range_slack: i64,
    /// Check only `z >= bound`, or only `z <= -bound`.
    pub(crate) range_sides: (bool, bool),
    pub(crate) hint_order: bool,
    pub(crate) hint_strict: bool,
    pub(crate) hint_tail: bool,
    pub(crate) hint_limits_rise: bool,
    pub(crate) hint_limit_max: bool,
    pub(crate) zero_remainder_goes_up: bool,
    /// Bytes of `c_tilde` compared.
    pub(crate) compared: usize,
    /// Compare like a C string: stop at the first zero byte.
    pub(crate) string_compare: bool,
}

impl Rules {
    pub(crate) const STRICT: Self = Self {
        range_slack: 0,
        range_sides: (true, true),
        hint_order: true,
        hint_strict: true,
        hint_tail: true,
        hint_limits_rise: true,
        hint_limit_max: true,
        zero_remainder_goes_up: false,
        compared: usize::MAX,
        string_compare: false,
    };
}

/// A forger for one public key with `t1 = 0`.
pub(crate) struct Forger {
    pub(crate) params: Params,
    pub(crate) public_key: Vec<u8>,
    /// `A` in the transformed domain, row by row.
    matrix: Vec<Poly>,
    zetas: Vec<i64>,
    tr: [u8; 64],
}

impl Forger {
    pub(crate) fn new(set: ParameterSet, rho: &[u8; 32]) -> Self {
        let params = Params::of(set);
        let mut public_key = rho.to_vec();
        public_key.resize(set.algorithm().verifying_key_len(), 0);
        let mut tr = [0; 64];
        shake256(&[&public_key], &mut tr);
        let matrix = (0..params.k * params.l)
            .map(|index| rejection_sample(rho, index % params.l, index / params.l))
            .collect();
        Self {
            params,
            public_key,
            matrix,
            zetas: zetas(),
            tr,
        }
    }

    pub(crate) fn mu(&self, context: &[u8], message: &[u8]) -> [u8; 64] {
        let mut mu = [0; 64];
        let head = [0, u8::try_from(context.len()).expect("short context")];
        shake256(&[&self.tr, &head, context, message], &mut mu);
        mu
    }

    /// `A z`, coefficients in `0..Q`; `z` is signed.
    pub(crate) fn product(&self, z: &[Poly]) -> Vec<Poly> {
        let transformed: Vec<Poly> = z.iter().map(|poly| self.ntt(poly)).collect();
        self.matrix
            .chunks(self.params.l)
            .map(|row| {
                let mut sum = [0; N];
                for (a, z) in row.iter().zip(&transformed) {
                    for ((sum, a), z) in sum.iter_mut().zip(a).zip(z) {
                        *sum = (*sum + a * z) % Q;
                    }
                }
                self.inverse_ntt(&sum)
            })
            .collect()
    }

    /// A column of `A` in the coefficient domain.
    pub(crate) fn column(&self, index: usize) -> Vec<Poly> {
        self.matrix
            .chunks(self.params.l)
            .map(|row| self.inverse_ntt(&row[index]))
            .collect()
    }

    /// The signature for any `z` and any hint bytes whose `c_tilde` is right for a verifier that
    /// reads the hint without checking it.
    pub(crate) fn forge(&self, mu: &[u8; 64], z: &[Poly], hint: &[u8]) -> Vec<u8> {
        let w = self.product(z);
        let ones = self.read_hint(hint);
        let mut signature = self.commitment_hash(mu, &w, &ones, &Rules::STRICT);
        signature.extend(self.pack_z(z));
        signature.extend_from_slice(hint);
        signature
    }

    /// Verification, with rules that can be weakened.
    pub(crate) fn verify(&self, mu: &[u8; 64], signature: &[u8], rules: &Rules) -> Verdict {
        let params = &self.params;
        let (c_tilde, rest) = signature.split_at(params.c_tilde_len);
        let (z_bytes, hint) = rest.split_at(params.z_len());
        if !self.hint_is_good(hint, rules) {
            return Verdict::Hint;
        }
        let z = self.unpack_z(z_bytes);
        let bound = params.gamma1 - params.beta + rules.range_slack;
        let (above, below) = rules.range_sides;
        if z.iter()
            .flatten()
            .any(|&c| (above && c >= bound) || (below && c <= -bound))
        {
            return Verdict::Range;
        }
        let w = self.product(&z);
        let expected = self.commitment_hash(mu, &w, &self.read_hint(hint), rules);
        let len = if rules.string_compare {
            expected
                .iter()
                .position(|&byte| byte == 0)
                .unwrap_or(expected.len())
        } else {
            expected.len().min(rules.compared)
        };
        if expected[..len] == c_tilde[..len] {
            Verdict::Valid
        } else {
            Verdict::Equation
        }
    }

    fn hint_is_good(&self, hint: &[u8], rules: &Rules) -> bool {
        let (positions, limits) = hint.split_at(self.params.omega);
        let mut start = 0;
        for &limit in limits {
            let end = usize::from(limit);
            if rules.hint_limits_rise && end < start {
                return false;
            }
            if end > self.params.omega && (rules.hint_limit_max || end > hint.len()) {
                return false;
            }
            for index in start + 1..end {
                let (left, right) = (hint[index - 1], hint[index]);
                if (rules.hint_order && left > right) || (rules.hint_strict && left == right) {
                    return false;
                }
            }
            start = end;
        }
        !rules.hint_tail || positions.iter().skip(start).all(|&position| position == 0)
    }

    /// Polynomial and position of every one, read without any check.
    pub(crate) fn read_hint(&self, hint: &[u8]) -> Vec<(usize, u8)> {
        let mut ones = Vec::new();
        let mut start = 0;
        for (poly, &limit) in hint[self.params.omega..].iter().enumerate() {
            let end = usize::from(limit);
            ones.extend((start..end.min(hint.len())).map(|index| (poly, hint[index])));
            start = end;
        }
        ones
    }

    /// The canonical hint bytes of a set of ones, at most `omega`, in any order.
    pub(crate) fn pack_hint(&self, ones: &[(usize, u8)]) -> Vec<u8> {
        let mut sorted = ones.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert!(sorted.len() <= self.params.omega);
        let mut hint = vec![0; self.params.omega + self.params.k];
        for (index, &(_, position)) in sorted.iter().enumerate() {
            hint[index] = position;
        }
        for poly in 0..self.params.k {
            let count = sorted.iter().filter(|(owner, _)| *owner <= poly).count();
            hint[self.params.omega + poly] = u8::try_from(count).expect("at most omega");
        }
        hint
    }

    fn commitment_hash(
        &self,
        mu: &[u8; 64],
        w: &[Poly],
        ones: &[(usize, u8)],
        rules: &Rules,
    ) -> Vec<u8> {
        let mut w1 = BitWriter::default();
        for (row, poly) in w.iter().enumerate() {
            let mut hinted = [false; N];
            for (_, position) in ones.iter().filter(|(owner, _)| *owner == row) {
                hinted[usize::from(*position)] = true;
            }
            for (&x, hinted) in poly.iter().zip(hinted) {
                w1.push(self.use_hint(x, hinted, rules), self.params.w1_bits());
            }
        }
        let mut hash = vec![0; self.params.c_tilde_len];
        shake256(&[mu, &w1.bytes], &mut hash);
        hash
    }

    /// High and low part of `x` in `0..Q`.
    pub(crate) fn decompose(&self, x: i64) -> (i64, i64) {
        let step = 2 * self.params.gamma2;
        let mut low = x % step;
        if low > self.params.gamma2 {
            low -= step;
        }
        if x - low == Q - 1 {
            (0, low - 1)
        } else {
            ((x - low) / step, low)
        }
    }

    fn use_hint(&self, x: i64, hinted: bool, rules: &Rules) -> i64 {
        let count = (Q - 1) / (2 * self.params.gamma2);
        let (high, low) = self.decompose(x);
        let up = low > 0 || (low == 0 && rules.zero_remainder_goes_up);
        match (hinted, up) {
            (false, _) => high,
            (true, true) => (high + 1) % count,
            (true, false) => (high + count - 1) % count,
        }
    }

    fn pack_z(&self, z: &[Poly]) -> Vec<u8> {
        let mut writer = BitWriter::default();
        for &coefficient in z.iter().flatten() {
            writer.push(self.params.gamma1 - coefficient, self.params.z_bits());
        }
        writer.bytes
    }

    fn unpack_z(&self, bytes: &[u8]) -> Vec<Poly> {
        let bits = self.params.z_bits();
        (0..self.params.l)
            .map(|poly| {
                core::array::from_fn(|index| {
                    let start = (poly * N + index) * bits;
                    let field: i64 = (0..bits)
                        .map(|bit| (start + bit, bit))
                        .map(|(at, bit)| i64::from(bytes[at / 8] >> (at % 8) & 1) << bit)
                        .sum();
                    self.params.gamma1 - field
                })
            })
            .collect()
    }

    fn ntt(&self, poly: &Poly) -> Poly {
        let mut a = poly.map(|coefficient| coefficient.rem_euclid(Q));
        let (mut block, mut len) = (1, N / 2);
        while len > 0 {
            for start in (0..N).step_by(2 * len) {
                let zeta = self.zetas[block];
                block += 1;
                for index in start..start + len {
                    let term = zeta * a[index + len] % Q;
                    a[index + len] = (a[index] + Q - term) % Q;
                    a[index] = (a[index] + term) % Q;
                }
            }
            len /= 2;
        }
        a
    }

    fn inverse_ntt(&self, poly: &Poly) -> Poly {
        let mut a = *poly;
        let (mut block, mut len) = (N, 1);
        while len < N {
            for start in (0..N).step_by(2 * len) {
                block -= 1;
                let zeta = Q - self.zetas[block];
                for index in start..start + len {
                    let (left, right) = (a[index], a[index + len]);
                    a[index] = (left + right) % Q;
                    a[index + len] = zeta * (left + Q - right) % Q;
                }
            }
            len *= 2;
        }
        // 256^-1 modulo Q.
        a.map(|coefficient| coefficient * 8_347_681 % Q)
    }
}

/// What a verifier says, in the order in which it checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Valid,
    Hint,
    Range,
    Equation,
}

#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    len: usize,
}

impl BitWriter {
    fn push(&mut self, value: i64, bits: usize) {
        for bit in 0..bits {
            if self.len.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.last_mut().expect("just pushed");
            *last |= u8::try_from(value >> bit & 1).expect("one bit") << (self.len % 8);
            self.len += 1;
        }
    }
}

fn rejection_sample(rho: &[u8; 32], column: usize, row: usize) -> Poly {
    let index = |value: usize| u8::try_from(value).expect("small matrix");
    let mut xof = Shake128::new();
    xof.update(rho);
    xof.update(&[index(column), index(row)]);
    let mut reader = xof.finalize();
    core::array::from_fn(|_| {
        loop {
            let mut bytes = [0; 3];
            reader.read(&mut bytes);
            let [low, middle, high] = bytes.map(i64::from);
            let candidate = (high & 0x7f) << 16 | middle << 8 | low;
            if candidate < Q {
                return candidate;
            }
        }
    })
}

/// Powers of 1753 in bit-reversed order of their exponents.
fn zetas() -> Vec<i64> {
    (0..=255u8)
        .map(|index| (0..index.reverse_bits()).fold(1, |power, _| power * 1753 % Q))
        .collect()
}
