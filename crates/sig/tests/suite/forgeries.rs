//! ML-DSA, rule by rule: about 11,000 forged signatures for each parameter set.
//!
//! Every case goes to both libraries under the crate and to the plain verifier of `forge`, and all
//! three have to give the same verdict for the same reason. Afterwards the plain verifier is
//! weakened one rule at a time, to show that the cases would notice.

use horizon_sig::{
    error::{BadSignature, Error, Rejected},
    mldsa::{Attestation, Backend, ParameterSet, VerifyingKey, verify_set},
};
use horizon_testkit::rng::{SeededRng, rng};

use crate::forge::{Forger, N, Poly, Q, Rules, Verdict};

const CONTEXT: &[u8] = b"lux-warp-cross-chain-v1";
const MESSAGE: &[u8] = b"one rule at a time";

struct Forged {
    family: &'static str,
    signature: Vec<u8>,
    expected: Verdict,
}

/// Everything that a family of cases needs.
struct Workshop {
    forger: Forger,
    rng: SeededRng,
    mu: [u8; 64],
    cases: Vec<Forged>,
    /// Only every this-many-th coefficient gets its own case.
    stride: usize,
}

#[test]
fn each_rule_of_ml_dsa_44_is_enforced_alone() {
    run(ParameterSet::MlDsa44, 3);
}

#[test]
fn each_rule_of_ml_dsa_65_is_enforced_alone() {
    let counts = run(ParameterSet::MlDsa65, 1);
    assert!(counts.total >= 11_000, "only {} cases", counts.total);
    assert!(counts.valid >= 900, "only {} valid cases", counts.valid);
}

#[test]
fn each_rule_of_ml_dsa_87_is_enforced_alone() {
    run(ParameterSet::MlDsa87, 3);
}

struct Counts {
    total: usize,
    valid: usize,
}

fn run(set: ParameterSet, stride: usize) -> Counts {
    let mut rng = rng(0x6d6c_6473_6100 + stride as u64);
    let forger = Forger::new(set, &rng.bytes());
    let mu = forger.mu(CONTEXT, MESSAGE);
    let mut shop = Workshop {
        forger,
        rng,
        mu,
        cases: Vec::new(),
        stride,
    };
    shop.response_range();
    shop.hint_counts();
    shop.hint_order();
    shop.hint_tail();
    shop.hint_limits();
    shop.remainders();
    shop.commitment_bytes();
    shop.compare();
    shop.weaken();
    shop.sets();
    let valid = shop
        .cases
        .iter()
        .filter(|case| case.expected == Verdict::Valid)
        .count();
    Counts {
        total: shop.cases.len(),
        valid,
    }
}

impl Workshop {
    fn add(&mut self, family: &'static str, z: &[Poly], hint: &[u8], expected: Verdict) {
        let signature = self.forger.forge(&self.mu, z, hint);
        self.cases.push(Forged {
            family,
            signature,
            expected,
        });
    }

    /// Small coefficients: far from every limit.
    fn short_z(&mut self) -> Vec<Poly> {
        let l = self.forger.params.l;
        let mut poly = || core::array::from_fn(|_| i64::from(self.rng.next() as i16));
        (0..l).map(|_| poly()).collect()
    }

    fn random_ones(&mut self, count: usize) -> Vec<(usize, u8)> {
        let k = self.forger.params.k;
        let mut ones = Vec::new();
        while ones.len() < count {
            let one = (self.rng.index(k), self.rng.next() as u8);
            if !ones.contains(&one) {
                ones.push(one);
            }
        }
        ones
    }

    /// The bound on `z`, on both sides, for every coefficient on its own and all together.
    fn response_range(&mut self) {
        let params = self.forger.params;
        let bound = params.gamma1 - params.beta;
        let ones = self.random_ones(7);
        let hint = self.forger.pack_hint(&ones);
        let base = self.short_z();
        for index in (0..params.l * N).step_by(self.stride) {
            let mut with = |family, value, expected| {
                let mut z = base.clone();
                z[index / N][index % N] = value;
                self.add(family, &z, &hint, expected);
            };
            with("z at the bound", bound, Verdict::Range);
            with("z at minus the bound", -bound, Verdict::Range);
            if index % 7 == 0 {
                with("z below the bound", bound - 1, Verdict::Valid);
                with("z above minus the bound", 1 - bound, Verdict::Valid);
                with(
                    "largest z that can be encoded",
                    params.gamma1,
                    Verdict::Range,
                );
                with(
                    "smallest z that can be encoded",
                    1 - params.gamma1,
                    Verdict::Range,
                );
            }
        }
        for (value, expected) in [
            (bound - 1, Verdict::Valid),
            (1 - bound, Verdict::Valid),
            (bound, Verdict::Range),
            (-bound, Verdict::Range),
        ] {
            self.add("all of z", &vec![[value; N]; params.l], &hint, expected);
        }
    }

    /// Every permitted number of ones in eight distributions.
    fn hint_counts(&mut self) {
        let (k, omega) = (self.forger.params.k, self.forger.params.omega);
        let z = self.short_z();
        for count in 0..=omega {
            let byte = |index: usize| u8::try_from(index).expect("at most omega");
            let spread = |index: usize| byte(index) * 3;
            let shapes: [Vec<(usize, u8)>; 8] = [
                (0..count).map(|i| (0, byte(i))).collect(),
                (0..count).map(|i| (k - 1, byte(i))).collect(),
                (0..count).map(|i| (0, 255 - byte(i))).collect(),
                (0..count).map(|i| (k - 1, 255 - byte(i))).collect(),
                (0..count).map(|i| (i % k, spread(i))).collect(),
                (0..count).map(|i| (i % 2 * (k - 1), spread(i))).collect(),
                self.random_ones(count),
                self.random_ones(count),
            ];
            for ones in shapes {
                let hint = self.forger.pack_hint(&ones);
                self.add("number of hints", &z, &hint, Verdict::Valid);
            }
        }
    }

    /// Two positions of one polynomial swapped, or one of them repeated.
    fn hint_order(&mut self) {
        let (k, omega) = (self.forger.params.k, self.forger.params.omega);
        let z = self.short_z();
        for round in 0..36 {
            let ones = if round % 2 == 0 {
                (0..omega)
                    .map(|i| (round / 2 % k, u8::try_from(i * 3).unwrap()))
                    .collect()
            } else {
                self.random_ones(omega)
            };
            let hint = self.forger.pack_hint(&ones);
            for index in (1..omega).step_by(self.stride) {
                let starts_polynomial = hint[omega..]
                    .iter()
                    .any(|&limit| usize::from(limit) == index);
                if starts_polynomial {
                    continue;
                }
                let mut swapped = hint.clone();
                swapped.swap(index - 1, index);
                self.add("hint positions swapped", &z, &swapped, Verdict::Hint);
                let mut repeated = hint.clone();
                repeated[index] = repeated[index - 1];
                self.add("hint position repeated", &z, &repeated, Verdict::Hint);
            }
        }
    }

    /// A position after the last one that is used.
    fn hint_tail(&mut self) {
        let omega = self.forger.params.omega;
        let z = self.short_z();
        for count in (0..omega).step_by(self.stride) {
            let ones = self.random_ones(count);
            let hint = self.forger.pack_hint(&ones);
            let mut places = vec![count, omega - 1];
            places.extend((0..14).map(|_| count + self.rng.index(omega - count)));
            for place in places {
                let mut damaged = hint.clone();
                damaged[place] = 1 + u8::try_from(self.rng.index(255)).unwrap();
                self.add("unused hint position", &z, &damaged, Verdict::Hint);
            }
        }
    }

    /// Limits that go down, exceed the maximum, or point nowhere.
    fn hint_limits(&mut self) {
        let (k, omega) = (self.forger.params.k, self.forger.params.omega);
        let z = self.short_z();
        for count in 1..omega {
            for empty in 1..k - 1 {
                // All ones before the empty polynomial, one after it.
                let ones: Vec<_> = (0..count)
                    .map(|i| (i % empty, u8::try_from(i * 3).unwrap()))
                    .chain([(empty + 1, 255)])
                    .collect();
                let mut hint = self.forger.pack_hint(&ones);
                hint[omega + empty] -= 1;
                self.add("limit goes down", &z, &hint, Verdict::Hint);
            }
        }
        self.overlapping_limit();
        for (target, wrong) in (0..k).flat_map(|poly| {
            let omega = u8::try_from(omega).unwrap();
            [omega + 1, omega + 6, omega + 7, 255].map(|limit| (poly, limit))
        }) {
            for _ in 0..300 / self.stride / 3 {
                let count = self.rng.index(omega);
                let ones = self.random_ones(count);
                let mut hint = self.forger.pack_hint(&ones);
                hint[omega + target] = wrong;
                self.add("limit out of range", &z, &hint, Verdict::Hint);
            }
        }
    }

    /// `omega + 1` ones, the last of which is the byte of the first limit: increasing, so that no
    /// other rule refuses it.
    fn overlapping_limit(&mut self) {
        let (k, omega) = (self.forger.params.k, self.forger.params.omega);
        let z = self.short_z();
        let last = u8::try_from(omega).unwrap();
        let mut hint = vec![0; omega + k];
        for (index, position) in hint[..omega].iter_mut().enumerate() {
            *position = u8::try_from(index).unwrap();
        }
        // The first polynomial takes all but none; its limit doubles as position `omega`.
        hint[omega] = last;
        for limit in &mut hint[omega + 1..] {
            *limit = last + 1;
        }
        self.add("one hint too many", &z, &hint, Verdict::Hint);
    }

    /// Coefficients of `w'` in the corners of rounding, found by search, with and without a hint.
    fn remainders(&mut self) {
        let params = self.forger.params;
        let base = self.short_z();
        let product = self.forger.product(&base);
        let columns: Vec<_> = (0..params.l)
            .map(|index| self.forger.column(index))
            .collect();
        let mut found = [0; 8];
        for trial in 0..16_384 {
            let (column, shift) = (trial % params.l, self.rng.index(N));
            let delta = 1 + i64::try_from(self.rng.below(5000)).unwrap();
            let Some((row, at, corner)) =
                self.corner(&product, &columns[column], shift, delta, &found)
            else {
                continue;
            };
            found[corner] += 1;
            let mut z = base.clone();
            z[column][shift] += delta;
            for ones in [vec![], vec![(row, u8::try_from(at).unwrap())]] {
                let hint = self.forger.pack_hint(&ones);
                self.add("corner of rounding", &z, &hint, Verdict::Valid);
            }
        }
        assert!(
            found[..7].iter().all(|&count| count > 0),
            "corners found: {found:?}"
        );
    }

    /// The first coefficient in a wanted corner after adding `delta x^shift` times a column.
    fn corner(
        &self,
        product: &[Poly],
        column: &[Poly],
        shift: usize,
        delta: i64,
        found: &[usize; 8],
    ) -> Option<(usize, usize, usize)> {
        let gamma2 = self.forger.params.gamma2;
        for (row, (w, a)) in product.iter().zip(column).enumerate() {
            for (at, &w) in w.iter().enumerate() {
                // x^256 = -1.
                let term = if at >= shift {
                    a[at - shift]
                } else {
                    Q - a[N + at - shift]
                };
                let x = (w + delta * term) % Q;
                let (_, low) = self.forger.decompose(x);
                let corner = match low {
                    _ if x >= Q - 2 => 7,
                    0 => 0,
                    1 => 1,
                    -1 => 2,
                    _ if low == gamma2 => 3,
                    _ if low == gamma2 - 1 => 4,
                    _ if low == 1 - gamma2 => 5,
                    _ if low == 2 - gamma2 => 6,
                    _ => continue,
                };
                if found[corner] < 12 {
                    return Some((row, at, corner));
                }
            }
        }
        None
    }

    /// Every byte of `c_tilde` wrong on its own, also behind a leading zero byte.
    fn commitment_bytes(&mut self) {
        let len = self.forger.params.c_tilde_len;
        let ones = self.random_ones(11);
        let hint = self.forger.pack_hint(&ones);
        let with_zero = loop {
            let z = self.short_z();
            let signature = self.forger.forge(&self.mu, &z, &hint);
            if signature[0] == 0 {
                break signature;
            }
        };
        let ordinary = {
            let z = self.short_z();
            self.forger.forge(&self.mu, &z, &hint)
        };
        for (family, signature) in [
            ("byte of c_tilde", ordinary),
            ("byte of c_tilde after zero", with_zero),
        ] {
            for index in 0..len {
                let mut signature = signature.clone();
                signature[index] ^= 1 << self.rng.index(8);
                self.cases.push(Forged {
                    family,
                    signature,
                    expected: Verdict::Equation,
                });
            }
        }
    }

    /// Both libraries and the plain verifier agree with what the case was made for.
    fn compare(&self) {
        let key = VerifyingKey::from_bytes(self.forger.params.set, &self.forger.public_key)
            .expect("a key of zeros");
        for (index, case) in self.cases.iter().enumerate() {
            let plain = self
                .forger
                .verify(&self.mu, &case.signature, &Rules::STRICT);
            assert_eq!(
                plain, case.expected,
                "{index}, {}: plain verifier",
                case.family
            );
            for backend in Backend::ALL {
                let verdict = key.verify_with(backend, CONTEXT, MESSAGE, &case.signature);
                let verdict = match verdict {
                    Ok(_) => Verdict::Valid,
                    Err(Error::Rejected(Rejected::HintEncoding { .. })) => Verdict::Hint,
                    Err(Error::Rejected(Rejected::ResponseRange { .. })) => Verdict::Range,
                    Err(Error::Rejected(Rejected::Equation { .. })) => Verdict::Equation,
                    Err(error) => panic!("{index}, {}: {error}", case.family),
                };
                assert_eq!(
                    verdict, case.expected,
                    "{index}, {}: {backend:?}",
                    case.family
                );
            }
        }
    }

    /// Each rule weakened alone changes verdicts, so a library without it would be noticed.
    fn weaken(&self) {
        let strict = Rules::STRICT;
        let bound = self.forger.params.gamma1;
        let weakened = [
            (
                "no range check",
                Rules {
                    range_slack: bound,
                    ..strict
                },
            ),
            (
                "range one too loose",
                Rules {
                    range_slack: 1,
                    ..strict
                },
            ),
            (
                "range one too tight",
                Rules {
                    range_slack: -1,
                    ..strict
                },
            ),
            (
                "only the positive side",
                Rules {
                    range_sides: (true, false),
                    ..strict
                },
            ),
            (
                "only the negative side",
                Rules {
                    range_sides: (false, true),
                    ..strict
                },
            ),
            (
                "any order of hints",
                Rules {
                    hint_order: false,
                    ..strict
                },
            ),
            (
                "repeated hints",
                Rules {
                    hint_strict: false,
                    ..strict
                },
            ),
            (
                "anything in the tail",
                Rules {
                    hint_tail: false,
                    ..strict
                },
            ),
            (
                "limits may go down",
                Rules {
                    hint_limits_rise: false,
                    ..strict
                },
            ),
            (
                "limits above the maximum",
                Rules {
                    hint_limit_max: false,
                    ..strict
                },
            ),
            (
                "remainder zero goes up",
                Rules {
                    zero_remainder_goes_up: true,
                    ..strict
                },
            ),
            (
                "last byte not compared",
                Rules {
                    compared: self.forger.params.c_tilde_len - 1,
                    ..strict
                },
            ),
            (
                "compared as a string",
                Rules {
                    string_compare: true,
                    ..strict
                },
            ),
        ];
        for (name, rules) in weakened {
            let noticed = self.cases.iter().any(|case| {
                let verdict = self.forger.verify(&self.mu, &case.signature, &rules);
                (verdict == Verdict::Valid) != (case.expected == Verdict::Valid)
            });
            assert!(noticed, "nothing notices: {name}");
        }
    }

    /// In sets with good signatures, exactly the bad ones are named, each with its reason.
    fn sets(&mut self) {
        let set = self.forger.params.set;
        let others: Vec<VerifyingKey> = (0..4)
            .map(|_| {
                let forger = Forger::new(set, &self.rng.bytes());
                VerifyingKey::from_bytes(set, &forger.public_key).expect("a key of zeros")
            })
            .collect();
        let key = VerifyingKey::from_bytes(set, &self.forger.public_key).expect("a key of zeros");
        for case in self.cases.iter().step_by(101) {
            // The others' signatures are for another key, so they fail by the equation.
            let mut signers: Vec<_> = others
                .iter()
                .map(|key| Attestation {
                    key,
                    signature: &case.signature,
                })
                .collect();
            signers.insert(
                2,
                Attestation {
                    key: &key,
                    signature: &case.signature,
                },
            );
            let Err(Error::Rejected(Rejected::Signers(bad))) =
                verify_set(MESSAGE, CONTEXT, &signers)
            else {
                panic!("{}: a set with bad signatures was accepted", case.family);
            };
            let reason = match case.expected {
                Verdict::Valid => None,
                Verdict::Hint => Some(BadSignature::HintEncoding),
                Verdict::Range => Some(BadSignature::ResponseRange),
                Verdict::Equation => Some(BadSignature::Equation),
            };
            let found = bad.entries().iter().find(|entry| entry.index == 2);
            assert_eq!(found.map(|entry| entry.reason), reason, "{}", case.family);
            assert_eq!(bad.entries().len(), 4 + usize::from(reason.is_some()));
        }
    }
}
