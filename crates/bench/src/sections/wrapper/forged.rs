//! A verifying key whose secrets are known, and proofs that only these secrets make possible.

use horizon_groth16::artifact::{ARTIFACT_LEN, Artifact, Proof};
use horizon_groth16::inputs::input_count;
use horizon_groth16::key_image::PUBLIC_KEY_LEN;
use horizon_groth16::points::KeyTable;
use horizon_groth16::statement::{Member, Statement, public_inputs};
use horizon_groth16::vk::{KeyHead, KeyPoints, MuMode, Profile, SetupKind, VerifyingKey};
use horizon_groth16::{Fr, G1, G2};
use horizon_sig::mldsa::{ParameterSet, SigningKey};
use horizon_sig::traits::Verifier as _;
use horizon_testkit::SeededRng;

use super::CONTEXT;
use crate::failed::Failed;

/// Validators, a key for as many slots, and one proof for each message.
pub(in crate::sections) struct Wrapped {
    pub(super) signers: Vec<SigningKey>,
    pub(super) key: VerifyingKey,
    pub(super) table: KeyTable,
    pub(super) messages: Vec<Vec<u8>>,
    pub(super) wires: Vec<[u8; ARTIFACT_LEN]>,
    publics: Vec<[u8; PUBLIC_KEY_LEN]>,
}

impl core::fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Wrapped")
            .field("messages", &self.messages.len())
            .finish_non_exhaustive()
    }
}

impl Wrapped {
    pub(super) fn new(slots: usize, proofs: usize, rng: &mut SeededRng) -> Result<Self, Failed> {
        let (signers, publics) = validators(slots, rng)?;
        let secrets = Secrets::new(slots, rng);
        let head = KeyHead {
            profile: Profile::Roster,
            slots,
            mu_mode: MuMode::Outside,
            setup: SetupKind::Test,
            circuit: [7; 32],
        };
        let key = VerifyingKey::new(head, secrets.points())?;
        let members = members(&publics);
        let table = KeyTable::new(&key, [1; 32], &members)?;
        let messages: Vec<Vec<u8>> = (0..proofs).map(|_| rng.bytes::<256>().to_vec()).collect();
        let wires = messages
            .iter()
            .map(|message| {
                let statement = statement(message, slots);
                let inputs = public_inputs(slots, &members, &statement)?;
                let proof = secrets.forge(&inputs, rng)?;
                let inputs_hash = statement.inputs_hash;
                Ok(Artifact { proof, inputs_hash }.to_bytes())
            })
            .collect::<Result<_, Failed>>()?;
        Ok(Self {
            signers,
            key,
            table,
            messages,
            wires,
            publics,
        })
    }

    pub(super) fn members(&self) -> Vec<Member<'_>> {
        members(&self.publics)
    }

    pub(super) fn statement<'m>(&self, message: &'m [u8]) -> Statement<'m> {
        statement(message, self.signers.len())
    }
}

/// Signing keys and the bytes of their public halves.
pub(super) type Validators = (Vec<SigningKey>, Vec<[u8; PUBLIC_KEY_LEN]>);

pub(super) fn validators(count: usize, rng: &mut SeededRng) -> Result<Validators, Failed> {
    let signers = (0..count)
        .map(|_| SigningKey::generate(ParameterSet::MlDsa65, rng))
        .collect::<Result<Vec<_>, _>>()?;
    let publics = signers
        .iter()
        .map(|signer| signer.verifying_key().key_bytes().try_into())
        .collect::<Result<_, _>>()?;
    Ok((signers, publics))
}

pub(super) fn members(publics: &[[u8; PUBLIC_KEY_LEN]]) -> Vec<Member<'_>> {
    let member = |key| Member {
        key: Some(key),
        weight: 1,
    };
    publics.iter().map(member).collect()
}

pub(super) const fn statement(message: &[u8], signers: usize) -> Statement<'_> {
    Statement {
        message,
        context: CONTEXT,
        inputs_hash: [7; 32],
        weight_min: signers as u64,
    }
}

/// What a setup forgets.
struct Secrets {
    alpha: Fr,
    beta: Fr,
    gamma: Fr,
    delta: Fr,
    /// Each twice the one before, so that doubling makes all the points.
    inputs: Vec<Fr>,
}

impl Secrets {
    fn new(slots: usize, rng: &mut SeededRng) -> Self {
        let mut random = || Fr::random_nonzero(rng);
        Self {
            alpha: random(),
            beta: random(),
            gamma: random(),
            delta: random(),
            inputs: core::iter::successors(Some(random()), |x| Some(x.double()))
                .take(1 + input_count(slots))
                .collect(),
        }
    }

    fn points(&self) -> KeyPoints {
        let first = self.inputs.first().copied().unwrap_or(Fr::ONE);
        let base = G1::generator().mul(first);
        let inputs: Vec<G1> = core::iter::successors(Some(base), |point| Some(point.double()))
            .take(self.inputs.len())
            .collect();
        let g2 = |x| G2::generator().mul(x).to_affine();
        KeyPoints {
            alpha: G1::generator().mul(self.alpha).to_affine(),
            beta: g2(self.beta),
            gamma: g2(self.gamma),
            delta: g2(self.delta),
            inputs: G1::batch_to_affine(&inputs),
        }
    }

    /// Random A and B, and the C that solves the equation for them.
    fn forge(&self, inputs: &[Fr], rng: &mut SeededRng) -> Result<Proof, Failed> {
        let (a, b) = (Fr::random_nonzero(rng), Fr::random_nonzero(rng));
        let one = core::iter::once(&Fr::ONE);
        let terms = self.inputs.iter().zip(one.chain(inputs));
        let sum: Fr = terms.map(|(secret, input)| *secret * *input).sum();
        let inverse = self.delta.inverse();
        let inverse = inverse.ok_or_else(|| Failed("delta is zero".to_owned()))?;
        let c = (a * b - self.alpha * self.beta - sum * self.gamma) * inverse;
        let g1 = |x| G1::generator().mul(x).to_affine().to_bytes();
        let b = G2::generator().mul(b).to_affine().to_bytes();
        let bytes = [g1(a).as_slice(), b.as_slice(), g1(c).as_slice()].concat();
        Ok(Proof::from_bytes(bytes.as_slice().try_into()?)?)
    }
}
