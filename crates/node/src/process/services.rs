//! The services of one validator behind one face: who gets which message.

use core::fmt;
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use horizon_consensus::{Channel, FinalBlock};
use horizon_ledger::{Genesis, Outgoing, Store};
use horizon_pulsar::committee::SignerShare;
use horizon_pulsar::dealer::MemberShare;
use horizon_sig::bls;
use horizon_sig::mldsa::SigningKey;
use rand_core::CryptoRng;

use super::{Failure, INTERNAL, IO};
use crate::attest::{AttestConfig, AttestKeys, AttestStore, Attester};
use crate::gossip::{self, Gossip};
use crate::pulse::{MemberKeys, PulseConfig, PulseMember, PulseService, PulseStart};
use crate::service::{Action, Fault, JobResult, PeerFault, Service, Unsafe};
use crate::signer::Guard;

/// What the services of a validator are made of. Nothing in it depends on the runtime: a simulation
/// passes its own storage and randomness.
pub struct Parts {
    /// The genesis.
    pub genesis: Genesis,
    /// Canonical position.
    pub position: u16,
    /// Key of the Beam.
    pub beam: bls::SigningKey,
    /// Key of certificates and signing transactions.
    pub certset: Arc<SigningKey>,
    /// Share of the group key; `None` for a validator that signs no Pulse.
    pub share: Option<MemberShare>,
    /// The operator's word that the session record may be older than the ledger.
    pub accepts_older_records: bool,
    /// Numbers of the signing service.
    pub pulse: PulseConfig,
    /// The signing guard.
    pub guard: Guard,
    /// Collected signatures.
    pub attestations: AttestStore,
    /// The ledger on disk.
    pub store: Arc<Store>,
    /// Randomness of the attestation service.
    pub attest_rng: Box<dyn CryptoRng + Send>,
    /// Randomness of the signing service: nonces.
    pub pulse_rng: Box<dyn CryptoRng + Send>,
}

/// The services, shared with the HTTP interface, which only reads.
#[derive(Clone)]
pub struct Services {
    attester: Arc<Mutex<Attester>>,
    pulse: Arc<Mutex<PulseService>>,
    store: Arc<Store>,
    /// What opening them asked for, until [`Services::start`] takes it.
    begun: Arc<Mutex<Vec<Action>>>,
}

impl Services {
    /// Starts the services at the tip of the ledger.
    ///
    /// # Errors
    /// [`Failure`]: keys that do not belong together, a store that fails, records that are older
    /// than the ledger (exit code 7).
    pub fn open(parts: Parts, now: Duration) -> Result<Self, Failure> {
        let internal = |error: &dyn fmt::Display| Failure::new(INTERNAL, error.to_string());
        let genesis = &parts.genesis;
        let keys = AttestKeys {
            position: parts.position,
            bls: parts.beam,
            mldsa: Some(Arc::clone(&parts.certset)),
        };
        let attester = Attester::new(
            AttestConfig::new(),
            genesis.validators(),
            Some((keys, parts.guard.clone())),
            parts.attestations,
            parts.attest_rng,
        )
        .map_err(|error| Failure::new(IO, format!("attestations: {error}")))?;

        let share = parts
            .share
            .map(|share| SignerShare::from_dealt(genesis.committee(), &share))
            .transpose()
            .map_err(|error| internal(&error))?;
        let (_, state) = parts.store.tip();
        let open = state.pulse().open_subjects();
        let open = open
            .filter_map(|subject| parts.store.message_of_subject(&subject.id).transpose())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| Failure::new(IO, format!("ledger.redb: {error}")))?;
        let start = PulseStart {
            committee: genesis.committee().clone(),
            key: Arc::clone(genesis.committee_key()),
            keys: MemberKeys::new(genesis.member_keys()),
            member: share.map(|share| PulseMember {
                share,
                signing_key: parts.certset,
                guard: parts.guard,
                accepts_older_records: parts.accepts_older_records,
            }),
            ledger: state.pulse(),
            open,
            rng: parts.pulse_rng,
        };
        let (pulse, begun) = PulseService::start(parts.pulse, start, millis(now))?;
        Ok(Self {
            attester: Arc::new(Mutex::new(attester)),
            pulse: Arc::new(Mutex::new(pulse)),
            store: parts.store,
            begun: Arc::new(Mutex::new(begun)),
        })
    }

    /// The attestation service.
    pub fn attester(&self) -> MutexGuard<'_, Attester> {
        self.attester.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The signing service.
    pub fn pulse(&self) -> MutexGuard<'_, PulseService> {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What starting the services asks for: announcements, and signatures over the newest outgoing
    /// messages of the ledger that may still need them.
    pub fn start(&mut self, now: Duration) -> Vec<Action> {
        let begun = &mut *self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let mut actions = core::mem::take(begun);
        match self.newest_outgoing() {
            Ok(messages) => actions.extend(self.attester().on_outgoing(&messages, millis(now))),
            Err(error) => actions.push(Action::Halt(Unsafe::Store(error.to_string()))),
        }
        actions
    }

    /// Takes a final block. Repeats are free of effect.
    pub fn on_final(&mut self, block: &FinalBlock, now: Duration) -> Vec<Action> {
        let mut actions = self.attester().on_final(block.effects(), millis(now));
        actions.extend(self.pulse().on_final(block.effects(), millis(now)));
        actions
    }

    /// Lets time pass.
    pub fn on_tick(&mut self, now: Duration) -> Vec<Action> {
        let mut actions = self.attester().on_tick(millis(now));
        actions.extend(self.pulse().on_tick(millis(now)));
        actions
    }

    /// Takes the result of a job.
    pub fn on_job(&mut self, result: JobResult, now: Duration) -> Vec<Action> {
        match result.service() {
            Service::Attest => self.attester().on_job(result, millis(now)),
            Service::Pulse => self.pulse().on_job(result, millis(now)),
        }
    }

    /// Takes a message of a peer.
    ///
    /// # Errors
    /// [`PeerFault`].
    pub fn on_gossip(
        &mut self,
        from: u16,
        channel: Channel,
        bytes: &Bytes,
        now: Duration,
    ) -> Result<Vec<Action>, PeerFault> {
        let fault = |fault| PeerFault { peer: from, fault };
        let message =
            Gossip::decode(bytes).map_err(|malformed| fault(Fault::Malformed(malformed)))?;
        let wanted = match message.channel() {
            gossip::Channel::Gossip => Channel::Gossip,
            gossip::Channel::Ceremony => Channel::Ceremony,
        };
        if wanted != channel {
            return Err(fault(Fault::WrongChannel));
        }
        match message {
            Gossip::Attestations(_)
            | Gossip::AttestationRequest(_)
            | Gossip::AttestationRefusal(_) => {
                self.attester().on_gossip(from, message, millis(now))
            }
            Gossip::NonceMatrix(_)
            | Gossip::MatrixRequest(_)
            | Gossip::Partial(_)
            | Gossip::PartialRequest(_)
            | Gossip::Pulse(_)
            | Gossip::PulseRequest(_) => self.pulse().on_gossip(from, message, millis(now)),
            Gossip::Transaction(_) | Gossip::Boot(_) => Ok(Vec::new()),
        }
    }

    fn newest_outgoing(&self) -> Result<Vec<Outgoing>, horizon_ledger::Error> {
        let (_, state) = self.store.tip();
        let count = state.outgoing_count();
        let mut messages = Vec::new();
        let mut from = count.saturating_sub(RESUMED);
        while from < count {
            let page = self.store.outgoing(from..count)?;
            let Some(last) = page.last() else { break };
            from = last.sequence.saturating_add(1);
            messages.extend(page);
        }
        Ok(messages)
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services").finish_non_exhaustive()
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Outgoing messages that are looked at again after a restart.
const RESUMED: u64 = 4_096;
