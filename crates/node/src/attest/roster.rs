//! The validator set with its keys decoded.

use horizon_hash::tuplehash::tuple_hash256;
use horizon_sig::mldsa::ParameterSet;
use horizon_sig::{bls, mldsa};
use horizon_warp::{Quorum, ValidatorSet};

use super::evidence::{AggregateError, Evidence, LaneEvidence, Missing, MissingReason};
use super::store::Held;
use super::{AttestConfig, AttestKeys};
use crate::gossip::{Attestation, Lanes, WantedAttestation};

/// Validators in canonical order.
pub(crate) struct Roster {
    seats: Vec<Seat>,
    total: u64,
}

/// One validator.
pub(super) struct Seat {
    pub(super) bls_bytes: [u8; 48],
    pub(super) bls: bls::VerifyingKey,
    pub(super) mldsa: Option<mldsa::VerifyingKey>,
    /// Digest of the ML-DSA key.
    fingerprint: [u8; 16],
    weight: u64,
}

impl Roster {
    pub(super) fn new(set: &ValidatorSet) -> Result<Self, AggregateError> {
        let seat = |validator: &horizon_warp::Validator| {
            let bls = bls::VerifyingKey::from_bytes(&validator.bls_key);
            let mldsa = validator.mldsa_key.as_ref();
            let decode =
                |key: &[u8; 1952]| mldsa::VerifyingKey::from_bytes(ParameterSet::MlDsa65, key);
            let mut fingerprint = [0; 16];
            if let Some(key) = mldsa {
                let custom = horizon_hash::domain::services::SIGNED;
                tuple_hash256(custom, &[b"key", &key[..]], &mut fingerprint);
            }
            Ok(Seat {
                bls_bytes: validator.bls_key,
                bls: bls.map_err(|_| AggregateError::Keys)?,
                mldsa: mldsa
                    .map(|key| decode(key))
                    .transpose()
                    .map_err(|_| AggregateError::Keys)?,
                fingerprint,
                weight: validator.weight,
            })
        };
        let seats = set.as_slice().iter().map(seat).collect::<Result<_, _>>()?;
        Ok(Self {
            seats,
            total: set.total_weight(),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    pub(super) fn seat(&self, position: u16) -> Option<&Seat> {
        self.seats.get(usize::from(position))
    }

    /// Whether these are the keys of their position.
    pub(super) fn check_own(&self, keys: &AttestKeys) -> Result<(), AggregateError> {
        let seat = self.seat(keys.position).ok_or(AggregateError::Keys)?;
        let own = keys.mldsa.as_ref().map(|key| key.verifying_key());
        let bytes =
            |key: &mldsa::VerifyingKey| horizon_sig::traits::Verifier::key_bytes(key).to_vec();
        let same = seat.bls == *keys.bls.verifying_key()
            && seat.mldsa.as_ref().map(bytes) == own.map(bytes);
        if same {
            Ok(())
        } else {
            Err(AggregateError::Keys)
        }
    }

    pub(super) fn has_certificate_key(&self, signer: u16) -> bool {
        self.seat(signer).is_some_and(|seat| seat.mldsa.is_some())
    }

    /// Which lanes are held, by position.
    pub(super) fn lanes(&self, held: &[Held]) -> Vec<Lanes> {
        let lanes = |seat: &Seat| {
            let (beam, certificate) = seat.held(held);
            Lanes {
                beam: beam.is_some(),
                certificate: certificate.is_some(),
            }
        };
        self.seats.iter().map(lanes).collect()
    }

    /// Whether nobody's signature is missing.
    pub(super) fn is_complete(&self, held: &[Lanes]) -> bool {
        let mut pairs = self.seats.iter().zip(held);
        pairs.all(|(seat, held)| held.beam && (held.certificate || seat.mldsa.is_none()))
    }

    /// Whether both lanes meet their quorum.
    pub(super) fn is_enough(&self, config: &AttestConfig, held: &[Lanes]) -> bool {
        self.reaches(config.beam_quorum, held, |lanes| lanes.beam)
            && self.reaches(config.certset_quorum, held, |lanes| lanes.certificate)
    }

    fn reaches(&self, quorum: Quorum, held: &[Lanes], has: impl Fn(&Lanes) -> bool) -> bool {
        let pairs = self.seats.iter().zip(held);
        let signed = pairs.filter(|(_, held)| has(held));
        let weight = signed.map(|(seat, _)| seat.weight);
        let weight = weight.fold(0, u64::saturating_add);
        quorum.check(weight, self.total).is_ok()
    }

    /// Whose signatures are worth asking for: all that are missing in a lane without a quorum.
    pub(super) fn wanted(&self, config: &AttestConfig, held: &[Lanes]) -> Vec<(u16, Lanes)> {
        let needs_beam = !self.reaches(config.beam_quorum, held, |lanes| lanes.beam);
        let needs_cert = !self.reaches(config.certset_quorum, held, |lanes| lanes.certificate);
        (0..)
            .zip(self.seats.iter().zip(held))
            .map(|(position, (seat, held))| {
                let lanes = Lanes {
                    beam: needs_beam && !held.beam,
                    certificate: needs_cert && !held.certificate && seat.mldsa.is_some(),
                };
                (position, lanes)
            })
            .filter(|(_, lanes)| !lanes.is_empty())
            .collect()
    }

    /// The signature asked for, if all of its lanes are held.
    pub(super) fn attestation(
        &self,
        wanted: &WantedAttestation,
        held: &[Held],
    ) -> Option<Attestation> {
        let (beam, certificate) = self.seat(wanted.signer)?.held(held);
        let lanes = wanted.lanes;
        let found = Attestation {
            id: wanted.id,
            signer: wanted.signer,
            beam: beam.filter(|_| lanes.beam).copied(),
            certificate: certificate
                .filter(|_| lanes.certificate)
                .map(|bytes| Box::new(*bytes)),
        };
        (!found.lanes().is_empty()).then_some(found)
    }

    /// A verified attestation as the store keeps it.
    pub(super) fn to_held(&self, item: &Attestation) -> Option<Held> {
        let seat = self.seat(item.signer)?;
        let certificate = item.certificate.clone();
        Some(Held {
            bls_key: seat.bls_bytes,
            beam: item.beam,
            certificate: certificate.map(|bytes| (bytes, seat.fingerprint)),
        })
    }

    /// Both lanes of a message.
    pub(super) fn evidence(
        &self,
        id: [u8; 32],
        config: &AttestConfig,
        held: Vec<Held>,
        reason: impl Fn(u16) -> MissingReason,
    ) -> Evidence {
        let beam = |seat: &Seat| seat.held(&held).0.copied();
        let certificate = |seat: &Seat| seat.held(&held).1.map(|bytes| Box::new(*bytes));
        Evidence {
            id,
            beam: self.lane(config.beam_quorum, beam, |_, at| reason(at)),
            certificates: self.lane(config.certset_quorum, certificate, |seat, at| {
                if seat.mldsa.is_some() {
                    reason(at)
                } else {
                    MissingReason::NoKey
                }
            }),
        }
    }

    fn lane<S>(
        &self,
        quorum: Quorum,
        find: impl Fn(&Seat) -> Option<S>,
        reason: impl Fn(&Seat, u16) -> MissingReason,
    ) -> LaneEvidence<S> {
        let mut lane = LaneEvidence {
            signatures: Vec::new(),
            weight: 0,
            needed: quorum.weight_needed(self.total),
            total: self.total,
            missing: Vec::new(),
            quorum,
        };
        for (signer, seat) in (0..).zip(&self.seats) {
            let weight = seat.weight;
            match find(seat) {
                Some(signature) => {
                    // A subset of weights whose total fits 64 bits.
                    lane.weight = lane.weight.saturating_add(weight);
                    lane.signatures.push((signer, weight, signature));
                }
                None => lane.missing.push(Missing {
                    signer,
                    weight,
                    reason: reason(seat, signer),
                }),
            }
        }
        lane
    }
}

impl Seat {
    /// Signatures of this validator under its current keys.
    fn held<'h>(&self, held: &'h [Held]) -> (Option<&'h [u8; 96]>, Option<&'h [u8; 3309]>) {
        let Some(found) = held.iter().find(|entry| entry.bls_key == self.bls_bytes) else {
            return (None, None);
        };
        let certificate = found.certificate.as_ref();
        let current =
            certificate.filter(|(_, key)| self.mldsa.is_some() && *key == self.fingerprint);
        (found.beam.as_ref(), current.map(|(bytes, _)| &**bytes))
    }
}
