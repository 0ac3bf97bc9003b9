//! The two computations of the service: signing and verifying.

use std::sync::Arc;

use horizon_ledger::Outgoing;
use horizon_sig::bls::{self, BatchItem};
use horizon_sig::traits::Verifier;
use horizon_warp::transcript::CERTIFICATE_CONTEXT;

use super::roster::Roster;
use super::store::{AttestStore, Held};
use super::{AttestKeys, OwnSigner};
use crate::gossip::{Attestation, Lanes};
use crate::service::{Fault, PeerFault, Stream};
use crate::signer::{self, Lane, Statement};

/// What a job found.
pub(crate) enum Done {
    /// Own signatures, guarded and stored.
    Signed(Vec<Attestation>),
    /// Others' signatures: stored ones, and faults.
    Verified {
        good: Vec<Attestation>,
        bad: Vec<PeerFault>,
    },
    /// A valid signature in the own name that was not made here.
    Foreign([u8; 32]),
    Guard(signer::Error),
    Store(String),
}

/// Signs messages of final blocks.
pub(super) struct SignJob {
    pub(super) signer: Arc<OwnSigner>,
    pub(super) roster: Arc<Roster>,
    pub(super) store: AttestStore,
    pub(super) messages: Vec<Arc<Outgoing>>,
    pub(super) rng: Stream,
}

/// Verifies signatures of others.
pub(super) struct VerifyJob {
    pub(super) roster: Arc<Roster>,
    pub(super) own: Option<Arc<OwnSigner>>,
    pub(super) store: AttestStore,
    pub(super) items: Vec<VerifyItem>,
    pub(super) rng: Stream,
}

/// One attestation and the message it is about.
pub(super) struct VerifyItem {
    pub(super) from: u16,
    pub(super) item: Attestation,
    pub(super) message: Arc<Outgoing>,
}

impl SignJob {
    pub(super) fn run(mut self) -> Done {
        let statements: Vec<Statement<'_>> = self
            .messages
            .iter()
            .map(|message| Statement {
                id: message.id,
                channel: message.channel,
                nonce: message.nonce,
                transcript: &message.transcript,
            })
            .collect();
        let OwnSigner { keys, guard } = &*self.signer;
        let lanes: &[Lane] = match keys.mldsa {
            Some(_) => &[Lane::Beam, Lane::CertSet],
            None => &[Lane::Beam],
        };
        if let Err(error) = guard.permit(lanes, &statements) {
            return Done::Guard(error);
        }
        let signed = self.messages.iter();
        let signed: Vec<Attestation> = signed
            .map(|message| keys.sign(message, &mut self.rng))
            .collect();
        match store_all(&self.store, &self.roster, &signed) {
            Ok(()) => Done::Signed(signed),
            Err(error) => Done::Store(error),
        }
    }
}

impl AttestKeys {
    /// Signs in every lane that there is a key for. A certificate that cannot be made is left out: others may
    /// reach the quorum without it.
    fn sign(&self, message: &Outgoing, rng: &mut Stream) -> Attestation {
        let certificate = self.mldsa.as_ref().and_then(|key| {
            let signature = key.sign_hedged(CERTIFICATE_CONTEXT, &message.transcript, rng);
            let signature: Box<[u8; 3309]> = signature.ok()?.into_boxed_slice().try_into().ok()?;
            Some(signature)
        });
        Attestation {
            id: message.id,
            signer: self.position,
            beam: Some(self.bls.sign_message(&message.unsigned).to_bytes()),
            certificate,
        }
    }
}

#[cfg(test)]
impl AttestKeys {
    /// A signature without guard or store.
    pub(super) fn sign_for_tests(&self, message: &Outgoing) -> Attestation {
        let mut rng = horizon_testkit::SeededRng::new(3);
        self.sign(message, &mut Stream::new(&mut rng))
    }
}

impl VerifyJob {
    pub(super) fn run(mut self) -> Done {
        let mut bad_lanes: Vec<Lanes> = self
            .items
            .iter()
            .map(|item| self.certificate(item))
            .collect();
        self.beams(&mut bad_lanes);
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for (VerifyItem { from, mut item, .. }, faults) in self.items.into_iter().zip(bad_lanes) {
            if !faults.is_empty() {
                let (signer, lanes) = (item.signer, faults);
                bad.push(PeerFault::new(from, Fault::Signature { signer, lanes }));
            }
            if faults.beam {
                item.beam = None;
            }
            if faults.certificate {
                item.certificate = None;
            }
            if !item.lanes().is_empty() {
                good.push(item);
            }
        }
        if let Some(own) = &self.own {
            match take_own(own, &mut good) {
                Ok(None) => {}
                Ok(Some(foreign)) => return Done::Foreign(foreign),
                Err(error) => return Done::Guard(error),
            }
        }
        match store_all(&self.store, &self.roster, &good) {
            Ok(()) => Done::Verified { good, bad },
            Err(error) => Done::Store(error),
        }
    }

    /// Checks the certificate of an item.
    fn certificate(&self, item: &VerifyItem) -> Lanes {
        let good = item.item.certificate.as_ref().is_none_or(|signature| {
            let seat = self.roster.seat(item.item.signer);
            let key = seat.and_then(|seat| seat.mldsa.as_ref());
            key.is_some_and(|key| {
                let message = &item.message.transcript;
                key.verify(CERTIFICATE_CONTEXT, message, &signature[..])
                    .is_ok()
            })
        });
        Lanes {
            beam: false,
            certificate: !good,
        }
    }

    /// Checks all Beam signatures together; when the batch fails, each bad one is found.
    fn beams(&mut self, faults: &mut [Lanes]) {
        let mut batch = Vec::new();
        let mut places = Vec::new();
        for (place, (entry, fault)) in self.items.iter().zip(faults.iter_mut()).enumerate() {
            let Some(bytes) = &entry.item.beam else {
                continue;
            };
            let signature = bls::Signature::from_bytes(bytes);
            let seat = self.roster.seat(entry.item.signer);
            let (Ok(signature), Some(seat)) = (signature, seat) else {
                fault.beam = true;
                continue;
            };
            places.push(place);
            batch.push(BatchItem {
                message: &entry.message.unsigned,
                key: seat.bls,
                signature,
            });
        }
        if batch.is_empty() || bls::batch_verify(&batch, &mut self.rng).is_ok() {
            return;
        }
        for (place, item) in places.into_iter().zip(&batch) {
            if item
                .key
                .verify_message(item.message, &item.signature)
                .is_err()
                && let Some(fault) = faults.get_mut(place)
            {
                fault.beam = true;
            }
        }
    }
}

/// Takes the own signatures out of what verified. One that the guard does not know was made elsewhere.
fn take_own(
    own: &OwnSigner,
    good: &mut Vec<Attestation>,
) -> Result<Option<[u8; 32]>, signer::Error> {
    let position = own.keys.position;
    for item in good.iter().filter(|item| item.signer == position) {
        let lanes = item.lanes();
        let foreign = lanes.beam && !own.guard.has_signed(Lane::Beam, &item.id)?
            || lanes.certificate && !own.guard.has_signed(Lane::CertSet, &item.id)?;
        if foreign {
            return Ok(Some(item.id));
        }
    }
    good.retain(|item| item.signer != position);
    Ok(None)
}

fn store_all(store: &AttestStore, roster: &Roster, items: &[Attestation]) -> Result<(), String> {
    let held = |item: &Attestation| roster.to_held(item).map(|held| (item.id, held));
    let held: Vec<([u8; 32], Held)> = items.iter().filter_map(held).collect();
    store.put(&held).map_err(|error| error.to_string())
}
