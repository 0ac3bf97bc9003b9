//! A verifying key whose secrets the tests know, and the proofs that one can forge with them: the
//! verifier is tested against proofs of any statement, without a circuit.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    reason = "helpers of tests, of which each binary uses some"
)]

use horizon_groth16::artifact::{Artifact, Proof};
use horizon_groth16::inputs::input_count;
use horizon_groth16::key_image::PUBLIC_KEY_LEN;
use horizon_groth16::statement::{Member, Statement, public_inputs};
use horizon_groth16::vk::{KeyHead, KeyPoints, MuMode, Profile, SetupKind, VerifyingKey};
use horizon_groth16::{Fr, G1, G2};
use horizon_testkit::SeededRng;

pub const CONTEXT: &[u8] = b"lux-warp-cross-chain-v1";

pub struct Forge {
    alpha: Fr,
    beta: Fr,
    gamma: Fr,
    delta: Fr,
    inputs: Vec<Fr>,
    pub points: KeyPoints,
}

impl Forge {
    pub fn new(seed: u64, slots: usize) -> Self {
        let mut rng = SeededRng::new(seed);
        let mut random = || Fr::random_nonzero(&mut rng);
        let (alpha, beta, gamma, delta) = (random(), random(), random(), random());
        // Each input's secret is twice the one before, so that doubling makes all the points.
        let first = random();
        let double = |x: &Fr| Some(x.double());
        let count = 1 + input_count(slots);
        let inputs: Vec<Fr> = core::iter::successors(Some(first), double)
            .take(count)
            .collect();
        let base = G1::generator().mul(first);
        let double = |point: &G1| Some(point.double());
        let g1: Vec<G1> = core::iter::successors(Some(base), double)
            .take(count)
            .collect();
        let g2 = |x| G2::generator().mul(x).to_affine();
        let points = KeyPoints {
            alpha: G1::generator().mul(alpha).to_affine(),
            beta: g2(beta),
            gamma: g2(gamma),
            delta: g2(delta),
            inputs: G1::batch_to_affine(&g1),
        };
        Self {
            alpha,
            beta,
            gamma,
            delta,
            inputs,
            points,
        }
    }

    pub fn head(slots: usize, profile: Profile, setup: SetupKind) -> KeyHead {
        KeyHead {
            profile,
            slots,
            mu_mode: MuMode::Outside,
            setup,
            circuit: [7; 32],
        }
    }

    pub fn key(&self, slots: usize, profile: Profile) -> VerifyingKey {
        let head = Self::head(slots, profile, SetupKind::Mpc([9; 32]));
        VerifyingKey::new(head, self.points.clone()).unwrap()
    }

    /// A proof that satisfies the equation for these inputs, moved by `error` in the exponent of C.
    pub fn proof(&self, inputs: &[Fr], error: Fr, rng: &mut SeededRng) -> Proof {
        let (a, b) = (Fr::random_nonzero(rng), Fr::random_nonzero(rng));
        let sum: Fr = self.inputs[1..]
            .iter()
            .zip(inputs)
            .map(|(x, y)| *x * *y)
            .sum();
        let inputs = self.inputs[0] + sum;
        let c = (a * b - self.alpha * self.beta - inputs * self.gamma)
            * self.delta.inverse().unwrap()
            + error;
        let mut bytes = [0; 192];
        bytes[..48].copy_from_slice(&G1::generator().mul(a).to_affine().to_bytes());
        bytes[48..144].copy_from_slice(&G2::generator().mul(b).to_affine().to_bytes());
        bytes[144..].copy_from_slice(&G1::generator().mul(c).to_affine().to_bytes());
        Proof::from_bytes(&bytes).unwrap()
    }

    pub fn artifact(
        &self,
        slots: usize,
        members: &[Member<'_>],
        statement: &Statement<'_>,
        rng: &mut SeededRng,
    ) -> Artifact {
        let inputs = public_inputs(slots, members, statement).unwrap();
        Artifact {
            proof: self.proof(&inputs, Fr::ZERO, rng),
            inputs_hash: statement.inputs_hash,
        }
    }
}

pub fn public_key(rng: &mut SeededRng) -> [u8; PUBLIC_KEY_LEN] {
    // Every string is the encoding of a key.
    rng.bytes()
}

pub fn statement(message: &[u8]) -> Statement<'_> {
    Statement {
        message,
        context: CONTEXT,
        inputs_hash: core::array::from_fn(|i| 0xc0 + i as u8),
        weight_min: 67,
    }
}
