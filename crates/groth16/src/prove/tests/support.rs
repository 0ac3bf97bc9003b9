//! What the tests of the circuit share.

use std::sync::LazyLock;

use crate::{
    fr::Fr,
    inputs::{h_limbs, mu_limbs},
    key_image::KeyPolys,
    prove::{
        circuit::{Assignment, Circuit, FailingRow},
        r1cs::{Assigned, Builder, Label, System},
        slot::{Shape, SlotWitness},
        witness::{Signature, signed_slot},
    },
};

/// A system and a value for each of its variables, any of which a test may change.
#[derive(Clone, Debug)]
pub(crate) struct Dense(pub(crate) Vec<Fr>);

impl Assigned for Dense {
    fn small(&self, _: u32) -> Option<i64> {
        None
    }

    fn element(&self, var: u32) -> Fr {
        self.0[var as usize]
    }
}

/// Rows and values of one run of `make`.
pub(crate) fn built<T>(
    public: Vec<Fr>,
    make: impl FnOnce(&mut Builder) -> T,
) -> (System, Dense, T) {
    let mut builder = Builder::both(public);
    let out = make(&mut builder);
    let (system, public, values) = builder.into_parts();
    let mut dense = vec![Fr::ONE];
    dense.extend(public);
    dense.extend((0..values.bits.len()).map(|index| Fr::from(values.bits.get(index))));
    dense.extend(values.ints.iter().map(|&value| Fr::from_i64(value)));
    dense.extend(&values.fields);
    (system, Dense(dense), out)
}

/// Labels of the failing rows, each once, in order.
pub(crate) fn failing_labels(system: &System, dense: &Dense) -> Vec<Label> {
    let rows = system.failing_rows(dense);
    let mut labels: Vec<Label> = rows.into_iter().map(|row| system.labels[row]).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

/// The circuit of one slot, built once for all tests.
pub(crate) fn one_slot() -> &'static Circuit {
    static CIRCUIT: LazyLock<Circuit> = LazyLock::new(|| Circuit::new(1).expect("one slot"));
    &CIRCUIT
}

/// A slot with everything that belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) key: KeyPolys,
    pub(crate) witness: SlotWitness,
}

impl Slot {
    /// From an encoded key and signature; the signature is not verified.
    pub(crate) fn decode(key: &[u8], mu: [u8; 64], signature: &[u8]) -> Self {
        let key = KeyPolys::expand(key.try_into().expect("a key of this size"));
        let signature = Signature::decode(signature).expect("canonical");
        let challenge = signature.challenge().expect("short stream");
        let witness = signed_slot(&key, &signature, challenge, mu, 1);
        Self { key, witness }
    }

    /// An assignment for these slots with the given threshold.
    pub(crate) fn assign(slots: &[Self], weight_min: u64) -> Assignment {
        let mut public = h_limbs(&[7; 32]).to_vec();
        public.push(Fr::from_u64(weight_min));
        for slot in slots {
            public.push(Fr::from_u64(slot.witness.weight));
            public.extend(mu_limbs(&slot.witness.mu));
            public.extend_from_slice(slot.key.image().elements());
        }
        let witnesses: Vec<SlotWitness> = slots.iter().map(|slot| slot.witness.clone()).collect();
        Assignment::new(&Shape::ml_dsa_65(), public, &witnesses)
    }

    /// Labels of the rows that fail for this slot alone, each once, in order.
    pub(crate) fn failing(&self) -> Vec<Label> {
        let assignment = Self::assign(core::slice::from_ref(self), 1);
        labels(&one_slot().failing_rows(&assignment))
    }
}

/// Labels of failing rows, each once, in order.
pub(crate) fn labels(failing: &[FailingRow]) -> Vec<Label> {
    let mut labels: Vec<Label> = failing.iter().map(|row| row.label).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}
