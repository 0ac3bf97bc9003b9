//! What a set of verified lanes proves, and what an envelope's shape merely looks like.
//!
//! | Verified lanes | State | Post-quantum roots |
//! |---|---|---|
//! | Beam | Beam-final | none |
//! | Beam + Groth16 | Beam-final | none |
//! | Beam + CertSet | PQ-attested | ML-DSA |
//! | Beam + Pulse | Pulse-sealed | Pulse |
//! | Beam + Groth16 + Pulse | Pulse-sealed | Pulse |
//! | Beam + CertSet + Pulse | Horizon-final | ML-DSA, Pulse |
//!
//! A Groth16 proof about ML-DSA signatures is a classical proof of a post-quantum check and never
//! counts as post-quantum evidence, alone or with the Beam. States are labels of the verified set,
//! not steps of a chain.
//!
//! # Source
//! Wire specification, section "Honesty rules".

use crate::envelope::Envelope;
use crate::error::Lane;
use crate::limits::GROTH16_LEN;

/// A set of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct LaneSet(u8);

impl LaneSet {
    /// No lane.
    pub const EMPTY: Self = Self(0);

    /// The set of these lanes.
    #[must_use]
    pub fn of(lanes: impl IntoIterator<Item = Lane>) -> Self {
        lanes.into_iter().fold(Self::EMPTY, Self::with)
    }

    /// This set and one more lane.
    #[must_use]
    pub const fn with(self, lane: Lane) -> Self {
        Self(self.0 | 1 << lane as u8)
    }

    /// Whether the lane is in the set.
    #[must_use]
    pub const fn contains(self, lane: Lane) -> bool {
        self.0 >> lane as u8 & 1 == 1
    }

    /// Whether no lane is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The lanes, in reporting order.
    pub fn iter(self) -> impl Iterator<Item = Lane> {
        Lane::ALL
            .into_iter()
            .filter(move |lane| self.contains(*lane))
    }

    /// The lanes that are post-quantum evidence once verified.
    #[must_use]
    pub fn post_quantum(self) -> Self {
        Self::of(self.iter().filter(|lane| lane.is_post_quantum()))
    }
}

impl core::fmt::Debug for LaneSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// What a set of verified lanes amounts to.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// No lane verified.
    Observed,
    /// Classical evidence only.
    BeamFinal,
    /// Certificates verified, no Pulse.
    PqAttested,
    /// Pulse verified, no certificates.
    PulseSealed,
    /// Certificates and Pulse verified, with or without the Beam as the tier demands.
    HorizonFinal,
}

impl State {
    /// The state of a set of verified lanes.
    ///
    /// Without the Beam the post-quantum states keep their names: they say what was proven by the
    /// lanes themselves.
    #[must_use]
    pub const fn of(verified: LaneSet) -> Self {
        match (
            verified.contains(Lane::CertSet),
            verified.contains(Lane::Pulse),
        ) {
            (true, true) => Self::HorizonFinal,
            (true, false) => Self::PqAttested,
            (false, true) => Self::PulseSealed,
            (false, false) if verified.contains(Lane::Beam) => Self::BeamFinal,
            (false, false) => Self::Observed,
        }
    }

    /// Stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::BeamFinal => "beam-final",
            Self::PqAttested => "pq-attested",
            Self::PulseSealed => "pulse-sealed",
            Self::HorizonFinal => "horizon-final",
        }
    }
}

/// What an envelope looks like. Nothing here is verified.
///
/// # Security
/// Shape is not evidence: two bytes in the attestation field look like a certificate set. Never
/// decide trust by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Lanes whose fields are not empty. The Beam is always carried; it is listed when a signer bit
    /// is set.
    pub lanes: LaneSet,
}

impl Shape {
    /// The shape of an envelope; a 224-byte attestation counts as Groth16.
    #[must_use]
    pub fn of(envelope: &Envelope<'_>) -> Self {
        let mut lanes = LaneSet::EMPTY;
        if !envelope.message().beam().signers.is_empty() {
            lanes = lanes.with(Lane::Beam);
        }
        match envelope.attestation() {
            Some(bytes) if bytes.len() == GROTH16_LEN => lanes = lanes.with(Lane::Groth16),
            Some(_) => lanes = lanes.with(Lane::CertSet),
            None => {}
        }
        if envelope.pulse().is_some() {
            lanes = lanes.with(Lane::Pulse);
        }
        Self { lanes }
    }

    /// What the reference calls final by shape: both lane fields are filled, with whatever.
    #[must_use]
    pub const fn is_horizon_shaped(&self) -> bool {
        let attested = self.lanes.contains(Lane::CertSet) || self.lanes.contains(Lane::Groth16);
        attested && self.lanes.contains(Lane::Pulse)
    }
}

/// Whether a proof system of this name is post-quantum. Unknown names are not.
///
/// # Source
/// The reference's table; names are compared after trimming spaces and lower-casing.
#[must_use]
pub fn is_pq_root_of_trust(proof_system: &str) -> bool {
    let name = proof_system.trim();
    ["stark-rescue", "stark-poseidon", "lattice-zk", "none", ""]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f39_every_row_of_the_table_has_its_state_and_roots() {
        use Lane::{Beam, CertSet, Groth16, Pulse};
        let rows: &[(&[Lane], State, &[Lane])] = &[
            (&[], State::Observed, &[]),
            (&[Beam], State::BeamFinal, &[]),
            (&[Beam, Groth16], State::BeamFinal, &[]),
            (&[Groth16], State::Observed, &[]),
            (&[Beam, CertSet], State::PqAttested, &[CertSet]),
            (&[Beam, Pulse], State::PulseSealed, &[Pulse]),
            (&[Beam, Groth16, Pulse], State::PulseSealed, &[Pulse]),
            (
                &[Beam, CertSet, Pulse],
                State::HorizonFinal,
                &[CertSet, Pulse],
            ),
            (&[CertSet, Pulse], State::HorizonFinal, &[CertSet, Pulse]),
        ];
        for (lanes, state, roots) in rows {
            let set = LaneSet::of(lanes.iter().copied());
            assert_eq!(State::of(set), *state, "{set:?}");
            assert_eq!(
                set.post_quantum(),
                LaneSet::of(roots.iter().copied()),
                "{set:?}"
            );
        }
    }

    /// N56: names of proof systems.
    #[test]
    fn n56_unknown_proof_systems_are_not_post_quantum() {
        for name in ["Groth16", "plonk-bls12-381", "unknown", "snark-pairing"] {
            assert!(!is_pq_root_of_trust(name), "{name}");
        }
        for name in [" STARK-Rescue ", "none", "", "lattice-zk"] {
            assert!(is_pq_root_of_trust(name), "{name}");
        }
    }
}
