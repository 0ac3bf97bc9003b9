//! What the HTTP interface shows of a validator.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::stream::BoxStream;
use getrandom::SysRng;
use getrandom::rand_core::{Rng as _, UnwrapErr};
use horizon_consensus::chain::SubmitError;
use horizon_consensus::evidence::{self as proofs, Evidence as Proof};
use horizon_consensus::handle::To;
use horizon_consensus::{Channel, FinalBlock, Handle};
use horizon_ledger::mempool::PoolRefusal;
use horizon_ledger::{
    Delivery as Delivered, Genesis, Outgoing, Refusal, Status as LedgerStatus, Store, tx,
};
use horizon_warp::payload::Routed;
use horizon_warp::{Record, UnsignedMessage};

use super::router::{Peers, since_epoch};
use super::services::Services;
use crate::api::types::{
    Account, Acknowledgement, Aggregate, Attestations, Block, BlockTransaction, Check, Delivery,
    DeliveryPage, DeliveryState, Event, EventKind, Evidence, EvidencePage, Have, Id, Lineage,
    Message, MessagePage, PolicyView, Pulse, PulseStatus, Readiness, RecordView, RegistryView,
    RetryRequest, RetryResult, SourceView, Status, SubmitState, SubmittedEnvelope,
    SubmittedMessage,
};
use crate::api::{Answer, ApiError, Backend, Code, EventId, EventLog};
use crate::gossip::Gossip;
use crate::metrics::Families;

mod lanes;

/// What a backend is made of.
pub struct Parts {
    /// The engine.
    pub handle: Handle,
    /// Who was heard.
    pub peers: Peers,
    /// The services.
    pub services: Services,
    /// Blocks behind the network at which a node is not ready.
    pub ready_lag: u64,
    /// Whether this validator signs Pulses.
    pub has_share: bool,
    /// Where proofs of conflicting votes are.
    pub evidence: PathBuf,
    /// The metrics of the runtime.
    pub encode: Box<dyn Fn() -> String + Send + Sync>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

/// The node behind the interface.
pub struct NodeBackend {
    parts: Parts,
    events: EventLog,
    evidence_count: AtomicU64,
    pulses: AtomicU64,
    /// Outgoing messages that lack a quorum or a Pulse, for the events.
    open: Mutex<BTreeMap<Id, Unproven>>,
}

/// How often [`NodeBackend::observe`] is called.
pub(super) const PROGRESS_EVERY: Duration = Duration::from_millis(20);
/// Messages whose progress is told; of more than these only the pages tell.
const OPEN_MAX: usize = 4_096;

/// What an outgoing message has.
struct Unproven {
    subject: [u8; 32],
    has_quorum: bool,
    has_pulse: bool,
}

impl NodeBackend {
    /// A backend over a running node.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let mut run = [0; 8];
        UnwrapErr(SysRng).fill_bytes(&mut run);
        let written = std::fs::read_dir(&parts.evidence)
            .map_or(0, |files| u64::try_from(files.count()).unwrap_or(u64::MAX));
        Self {
            parts,
            events: EventLog::new(u64::from_be_bytes(run), EVENTS),
            evidence_count: AtomicU64::new(written),
            pulses: AtomicU64::new(0),
            open: Mutex::new(BTreeMap::new()),
        }
    }

    /// Tells readers of events what a final block did.
    pub fn on_final(&self, block: &FinalBlock) {
        let height = block.block().height;
        let effects = block.effects();
        self.events
            .push(EventKind::Block, height, Some(*block.digest()));
        for message in &effects.outgoing {
            self.events
                .push(EventKind::Message, height, Some(message.id));
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if open.len() < OPEN_MAX {
                let unproven = Unproven {
                    subject: message.subject,
                    has_quorum: false,
                    has_pulse: false,
                };
                open.insert(message.id, unproven);
            }
        }
        for delivery in &effects.deliveries {
            self.events
                .push(EventKind::Delivery, height, Some(delivery.id));
        }
        for word in &effects.acknowledged {
            self.events
                .push(EventKind::Acknowledged, height, Some(word.id));
        }
        let closed = u64::try_from(effects.closed.len()).unwrap_or(u64::MAX);
        self.pulses.fetch_add(closed, Ordering::Relaxed);
    }

    /// Tells readers of events which messages got their quorum or their Pulse. Call it every
    /// [`PROGRESS_EVERY`].
    pub(super) fn observe(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_empty() {
            return;
        }
        let height = self.height();
        for (id, unproven) in &mut *open {
            if !unproven.has_quorum && self.parts.services.attester().has_quorum(id) {
                unproven.has_quorum = true;
                self.events.push(EventKind::Quorum, height, Some(*id));
            }
            if !unproven.has_pulse && self.has_pulse(&unproven.subject) {
                unproven.has_pulse = true;
                self.events.push(EventKind::Pulse, height, Some(*id));
            }
        }
        open.retain(|_, unproven| !(unproven.has_quorum && unproven.has_pulse));
    }

    fn has_pulse(&self, subject: &[u8; 32]) -> bool {
        let made = self.parts.services.pulse().pulse(subject).is_some();
        // A subject that the ledger does not have open any more is closed.
        made || self.store().tip().1.pulse().open_subject(subject).is_none()
    }

    /// A proof of conflicting votes was written.
    pub fn on_evidence(&self) {
        self.evidence_count.fetch_add(1, Ordering::Relaxed);
        self.events.push(EventKind::Evidence, self.height(), None);
    }

    fn store(&self) -> &Arc<Store> {
        self.parts.handle.chain().store()
    }

    fn genesis(&self) -> &Genesis {
        self.parts.handle.chain().app().genesis()
    }

    fn height(&self) -> u64 {
        self.parts.handle.chain().height()
    }

    fn connected(&self) -> usize {
        self.parts.peers.connected(since_epoch(SystemTime::now()))
    }

    /// Puts a transaction into the pool here and offers it to the peers.
    fn submit(&self, bytes: &[u8]) -> Result<(), ApiError> {
        match self.parts.handle.submit(bytes) {
            Ok(()) => {}
            Err(error) if error.is_known() => {}
            Err(error) => return Err(refused(error)),
        }
        let message = Gossip::Transaction(Bytes::copy_from_slice(bytes)).encode();
        // Best effort: this node proposes it itself when its turn comes.
        let _ = self.parts.handle.gossip(Channel::Gossip, To::All, message);
        Ok(())
    }

    fn outgoing(&self, id: &Id) -> Result<Outgoing, ApiError> {
        let found = self.store().message(id).map_err(internal)?;
        found.ok_or_else(|| Code::MessageUnknown.into())
    }

    fn show_message(&self, message: &Outgoing) -> Result<Message, ApiError> {
        let block = self.store().block(message.height).map_err(internal)?;
        let receipt = self.store().receipt(&message.id).map_err(internal)?;
        Ok(Message {
            id: message.id,
            sequence: message.sequence,
            height: message.height,
            time_ms: block.map_or(0, |block| block.time_ms),
            destination_network: message.destination_network,
            destination_chain: message.destination_chain,
            channel: message.channel,
            nonce: message.nonce,
            expiry_height: message.expiry_height,
            is_ack: message.is_ack,
            unsigned: message.unsigned.clone(),
            lineage: Lineage::from(message.lineage),
            suite: self.genesis().suite().name().to_owned(),
            acknowledgement: receipt.map(|receipt| Acknowledgement {
                executed: receipt.status == LedgerStatus::Executed,
                height: receipt.height,
            }),
        })
    }

    fn page(&self, from: u64, limit: usize) -> Result<MessagePage, ApiError> {
        let (_, state) = self.store().tip();
        let total = state.outgoing_count();
        let end = from
            .saturating_add(u64::try_from(limit).unwrap_or(u64::MAX))
            .min(total);
        let found = if from < end {
            self.store().outgoing(from..end).map_err(internal)?
        } else {
            Vec::new()
        };
        Ok(MessagePage {
            messages: found
                .iter()
                .map(|message| self.show_message(message))
                .collect::<Result<_, _>>()?,
            total,
            height: state.height(),
        })
    }

    fn inbox(&self, from: u64, limit: usize) -> Result<DeliveryPage, ApiError> {
        let (_, state) = self.store().tip();
        let total = state.delivery_count();
        let end = from
            .saturating_add(u64::try_from(limit).unwrap_or(u64::MAX))
            .min(total);
        let found = if from < end {
            self.store().deliveries(from..end).map_err(internal)?
        } else {
            Vec::new()
        };
        Ok(DeliveryPage {
            deliveries: found.iter().map(show_delivery).collect(),
            total,
            height: state.height(),
        })
    }

    fn show_inbox(&self, id: &Id) -> Result<Delivery, ApiError> {
        if let Some(found) = self.store().delivery(id).map_err(internal)? {
            return Ok(show_delivery(&found));
        }
        if !self.parts.handle.chain().is_waiting(id) {
            return Err(Code::DeliveryUnknown.into());
        }
        Ok(Delivery {
            id: *id,
            state: DeliveryState::Pending,
            sequence: None,
            height: None,
            source_network: 0,
            source_chain: [0; 32],
            channel: [0; 32],
            nonce: 0,
            recipient: String::new(),
            attempts: 0,
            reason: None,
        })
    }

    fn take_envelope(&self, envelope: &[u8]) -> Result<SubmittedEnvelope, ApiError> {
        let bytes = tx::deliver(envelope);
        let chain = self.parts.handle.chain();
        let id = chain
            .app()
            .check(&bytes)
            .map_err(|refusal| refusal_error(&refusal))?
            .message_id;
        let id = id.ok_or_else(|| ApiError::new(Code::TransactionMalformed))?;
        let answer = |state| Ok(SubmittedEnvelope { id, state });
        if self.store().delivery(&id).map_err(internal)?.is_some() {
            return answer(SubmitState::Delivered);
        }
        if chain.is_waiting(&id) {
            return answer(SubmitState::Pending);
        }
        match self.submit(&bytes) {
            Ok(()) => answer(SubmitState::Accepted),
            // It became final between the look and the submission.
            Err(_) if self.store().delivery(&id).map_err(internal)?.is_some() => {
                answer(SubmitState::Delivered)
            }
            Err(error) => Err(error),
        }
    }

    fn try_again(&self, request: &RetryRequest) -> Result<RetryResult, ApiError> {
        let id = request.id.ok_or_else(|| ApiError::new(Code::BadBody))?;
        if request.route.is_some() || request.reason.is_some() {
            return Err(Code::BadBody.into());
        }
        if self.store().delivery(&id).map_err(internal)?.is_none() {
            return Err(Code::DeliveryUnknown.into());
        }
        self.submit(&tx::retry(&id))?;
        Ok(RetryResult { retried: 1 })
    }

    fn show_status(&self) -> Status {
        let handle = &self.parts.handle;
        let status = handle.status();
        let (block, state) = self.store().tip();
        let spec = self.genesis().spec();
        let (waiting, _) = handle.chain().waiting();
        let unacknowledged = spec
            .sources
            .iter()
            .map(|source| state.waiting_count(source.policy.network_id, &source.policy.chain_id));
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: spec.name.clone(),
            network_id: spec.network_id,
            chain_id: spec.chain_id,
            genesis: *self.genesis().hash(),
            position: Some(handle.me().into()),
            height: block.height,
            consensus_height: status.finalized.max(block.height),
            view: status.view,
            time_ms: block.time_ms,
            peers: count(self.connected()),
            validators: count(handle.roster().len()),
            outgoing: state.outgoing_count(),
            unacknowledged: unacknowledged.sum(),
            delivered: state.delivery_count(),
            mempool_transactions: waiting.try_into().unwrap_or(u64::MAX),
            evidence: self.evidence_count.load(Ordering::Relaxed),
            pulse: self.pulse_status(),
        }
    }

    fn pulse_status(&self) -> PulseStatus {
        let status = self.parts.services.pulse().status();
        let (_, state) = self.store().tip();
        // What the ledger has, not what this member holds: a member that missed the windows of the first
        // batches takes part in none, while the committee is ready without it.
        let ready = state.pulse().ready_indices();
        let word = match (self.parts.has_share, ready) {
            (false, _) => "absent",
            (true, 0) => "preparing",
            (true, _) => "ready",
        };
        let penalties = (0_u32..).zip(state.pulse().penalties());
        PulseStatus {
            state: word.to_owned(),
            ready,
            waiting: status.open_subjects,
            closed: self.pulses.load(Ordering::Relaxed),
            excluded: penalties
                .filter(|(_, penalty)| **penalty > 0)
                .map(|(position, _)| position)
                .collect(),
        }
    }

    fn show_registry(&self) -> Result<RegistryView, ApiError> {
        let genesis = self.genesis();
        let views = |records: &[Record]| {
            records
                .iter()
                .map(RecordView::of)
                .collect::<Result<Vec<_>, _>>()
                .map_err(ApiError::from)
        };
        Ok(RegistryView {
            network_id: genesis.network_id(),
            chain_id: *genesis.chain_id(),
            records: views(core::slice::from_ref(genesis.record()))?,
            sources: genesis
                .spec()
                .sources
                .iter()
                .map(|source| {
                    Ok(SourceView {
                        policy: PolicyView::from(&source.policy),
                        records: views(&source.anchors)?,
                        source_height: 0,
                    })
                })
                .collect::<Result<_, ApiError>>()?,
        })
    }

    fn show_evidence(&self) -> Result<EvidencePage, ApiError> {
        let files = std::fs::read_dir(&self.parts.evidence).map_err(internal)?;
        let mut found = Vec::new();
        for file in files.flatten().take(EVIDENCE_READ) {
            let Ok(bytes) = std::fs::read(file.path()) else {
                continue;
            };
            let Ok(proof) = Proof::from_json(&bytes) else {
                continue;
            };
            found.push(self.show_proof(&proof, bytes));
        }
        found.sort_by_key(|proof| core::cmp::Reverse(proof.height));
        found.truncate(EVIDENCE_SHOWN);
        Ok(EvidencePage {
            evidence: found,
            total: self.evidence_count.load(Ordering::Relaxed),
        })
    }

    fn show_proof(&self, proof: &Proof, bytes: Vec<u8>) -> Evidence {
        let offence: Option<proofs::Offence> = proof.check(self.parts.handle.roster()).ok();
        let mut id = [0; 32];
        horizon_hash::sponge::shake256(&[&bytes], &mut id);
        Evidence {
            id,
            kind: "conflicting-votes".to_owned(),
            position: offence.map(|offence| offence.validator.into()),
            height: offence.map_or(0, |offence| offence.view),
            bytes,
        }
    }

    fn show_block(&self, height: u64) -> Result<Block, ApiError> {
        let block = self.store().block(height).map_err(internal)?;
        let block = block.ok_or_else(|| ApiError::new(Code::BlockUnknown))?;
        Ok(Block {
            height: block.height,
            digest: block.digest(),
            parent: block.parent,
            time_ms: block.time_ms,
            nebula_root: block.nebula_root,
            transactions: block
                .transactions
                .iter()
                .map(|bytes| BlockTransaction {
                    hash: tx::digest(bytes),
                    kind: bytes.get(1).copied().unwrap_or(0),
                    len: bytes.len().try_into().unwrap_or(u64::MAX),
                })
                .collect(),
        })
    }

    fn checks(&self) -> Vec<Check> {
        let status = self.parts.handle.status();
        let lag = status.finalized.saturating_sub(status.processed);
        let connected = self.connected();
        let roster = self.parts.handle.roster();
        let needed = roster
            .len()
            .saturating_sub(roster.max_faults())
            .saturating_sub(1);
        let check = |name: &str, ok: bool, reason: &str, message: String| Check {
            name: name.to_owned(),
            ok,
            reason: (!ok).then(|| reason.to_owned()),
            message,
        };
        let halted = status.fatal.is_some();
        // Peers announce the heights of their ledgers: a node that hears no finality at all still
        // learns here that it is behind.
        let now = since_epoch(SystemTime::now());
        let mut heights: Vec<u64> = self
            .parts
            .peers
            .heights(now)
            .into_iter()
            .map(|(_, height)| height)
            .collect();
        heights.sort_unstable_by_key(|height| core::cmp::Reverse(*height));
        let vouched = heights.get(roster.max_faults()).copied().unwrap_or(0);
        let lag = lag.max(vouched.saturating_sub(status.processed));
        vec![
            check(
                "ledger",
                lag <= self.parts.ready_lag && !halted,
                if halted { "halted" } else { "behind" },
                match &status.fatal {
                    Some(fatal) => fatal.to_string(),
                    None => format!(
                        "{lag} blocks behind the network at height {}",
                        status.processed
                    ),
                },
            ),
            check(
                "peers",
                connected >= needed,
                "no-quorum",
                format!(
                    "{connected} of {} other validators are connected, {needed} are needed",
                    roster.len().saturating_sub(1)
                ),
            ),
        ]
    }

    fn families(&self) -> Families {
        let status = self.parts.handle.status();
        let (waiting, waiting_bytes) = self.parts.handle.chain().waiting();
        let (_, state) = self.store().tip();
        let counts = self.parts.services.attester().counts();
        let mut out = Families::default();
        out.gauge(
            "horizon_ledger_height",
            "Height of the ledger on disk",
            status.processed,
        );
        out.gauge(
            "horizon_consensus_height",
            "Newest final height",
            status.finalized,
        );
        out.gauge("horizon_consensus_view", "Newest decided view", status.view);
        out.gauge(
            "horizon_processed_lag_blocks",
            "Final blocks that are not applied yet",
            status.finalized.saturating_sub(status.processed),
        );
        out.gauge("horizon_peers", "Validators heard lately", self.connected());
        let ready = self.checks().iter().all(|check| check.ok);
        out.gauge("horizon_ready", "Whether /readyz says yes", u8::from(ready));
        out.gauge(
            "horizon_mempool_transactions",
            "Waiting transactions",
            waiting,
        );
        out.gauge(
            "horizon_mempool_bytes",
            "Bytes of waiting transactions",
            waiting_bytes,
        );
        out.counter(
            "horizon_outgoing_messages",
            "Messages sent",
            state.outgoing_count(),
        );
        out.counter(
            "horizon_deliveries",
            "Messages delivered",
            state.delivery_count(),
        );
        out.counter(
            "horizon_pulses",
            "Pulses seen since the start",
            self.pulses.load(Ordering::Relaxed),
        );
        out.counter(
            "horizon_evidence_files",
            "Proofs of conflicting votes",
            self.evidence_count.load(Ordering::Relaxed),
        );
        out.counter(
            "horizon_gossip_received",
            "Gossip messages received",
            status.received,
        );
        out.counter(
            "horizon_gossip_dropped",
            "Gossip messages dropped",
            status.dropped,
        );
        out.counter(
            "horizon_gossip_oversize",
            "Gossip messages above their limit",
            status.oversize,
        );
        out.counter("horizon_attest_signed", "Messages signed", counts.signed);
        out.counter(
            "horizon_attest_verified",
            "Signatures of others verified",
            counts.verified,
        );
        out.counter(
            "horizon_attest_rejected",
            "Signatures of others refused",
            counts.rejected,
        );
        out.counter(
            "horizon_attest_requested",
            "Signatures asked for",
            counts.requested,
        );
        out.gauge(
            "horizon_attest_waiting",
            "Messages without a quorum of signatures",
            counts.waiting,
        );
        pulse_families(&mut out, &self.parts.services.pulse().status());
        let now = since_epoch(SystemTime::now());
        out.labelled(
            "horizon_peer_height",
            "Ledger height announced by a validator",
            "position",
            self.parts.peers.heights(now),
        );
        out
    }
}

impl Backend for NodeBackend {
    fn status(&self) -> Answer<'_, Status> {
        async { Ok(self.show_status()) }.boxed()
    }

    fn messages(&self, from: u64, limit: usize) -> Answer<'_, MessagePage> {
        async move { self.page(from, limit) }.boxed()
    }

    fn message(&self, id: Id) -> Answer<'_, Message> {
        async move { self.show_message(&self.outgoing(&id)?) }.boxed()
    }

    fn attestations(&self, id: Id, have: Have) -> Answer<'_, Attestations> {
        async move { self.show_attestations(&id, &have) }.boxed()
    }

    fn aggregate(&self, id: Id) -> Answer<'_, Aggregate> {
        async move { self.show_aggregate(&id) }.boxed()
    }

    fn pulse(&self, id: Id) -> Answer<'_, Pulse> {
        async move { self.show_pulse(&id) }.boxed()
    }

    fn envelope(&self, id: Id) -> Answer<'_, Bytes> {
        async move { self.build_envelope(&id) }.boxed()
    }

    fn submit_message(&self, transaction: Bytes) -> Answer<'_, SubmittedMessage> {
        async move {
            if transaction.get(1) != Some(&tx::KIND_SUBMIT) {
                return Err(Code::TransactionMalformed.into());
            }
            self.submit(&transaction)?;
            Ok(SubmittedMessage {
                transaction: tx::digest(&transaction),
            })
        }
        .boxed()
    }

    fn submit_envelope(&self, envelope: Bytes) -> Answer<'_, SubmittedEnvelope> {
        async move { self.take_envelope(&envelope) }.boxed()
    }

    fn delivery(&self, id: Id) -> Answer<'_, Delivery> {
        async move { self.show_inbox(&id) }.boxed()
    }

    fn deliveries(&self, from: u64, limit: usize) -> Answer<'_, DeliveryPage> {
        async move { self.inbox(from, limit) }.boxed()
    }

    fn retry(&self, request: RetryRequest) -> Answer<'_, RetryResult> {
        async move { self.try_again(&request) }.boxed()
    }

    fn account(&self, id: Id) -> Answer<'_, Account> {
        async move {
            let (_, state) = self.store().tip();
            Ok(Account {
                id,
                next_sequence: state.account_sequence(&id),
            })
        }
        .boxed()
    }

    fn registry(&self) -> Answer<'_, RegistryView> {
        async { self.show_registry() }.boxed()
    }

    fn evidence(&self) -> Answer<'_, EvidencePage> {
        async { self.show_evidence() }.boxed()
    }

    fn block(&self, height: u64) -> Answer<'_, Block> {
        async move { self.show_block(height) }.boxed()
    }

    fn events(&self, resume: Option<EventId>) -> BoxStream<'static, (EventId, Event)> {
        self.events.follow(resume)
    }

    fn readiness(&self) -> Readiness {
        let checks = self.checks();
        Readiness {
            ready: checks.iter().all(|check| check.ok),
            checks,
        }
    }

    fn metrics(&self) -> String {
        self.families().finish(&(self.parts.encode)())
    }
}

impl fmt::Debug for NodeBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeBackend").finish_non_exhaustive()
    }
}

fn pulse_families(out: &mut Families, status: &crate::pulse::PulseStatus) {
    let counts = &status.counts;
    out.gauge(
        "horizon_pulse_boot",
        "Boot counter of this member",
        status.boot,
    );
    out.gauge(
        "horizon_pulse_current",
        "Whether this boot takes part",
        u8::from(status.is_current),
    );
    out.labelled(
        "horizon_pulse_indices",
        "Indices of this member's batches by state",
        "state",
        status
            .states
            .iter()
            .map(|(state, count)| (format!("{state:?}").to_lowercase(), *count)),
    );
    for (name, help, value) in [
        (
            "open_subjects",
            "Messages without a Pulse",
            status.open_subjects,
        ),
        ("attempts", "Attempts under way", status.attempts),
        ("queue", "Steps that wait for the member", status.queue),
        (
            "matrix_bytes",
            "Bytes of matrices that wait",
            status.matrix_bytes,
        ),
    ] {
        out.gauge(&format!("horizon_pulse_{name}"), help, value);
    }
    for (name, help, value) in [
        (
            "batches_opened",
            "L1: batches opened",
            counts.batches_opened,
        ),
        (
            "batches_committed",
            "L2: batches with all commitments",
            counts.batches_committed,
        ),
        (
            "batches_ready",
            "Batches with all announcements",
            counts.batches_ready,
        ),
        (
            "batches_late",
            "L3: batches void after a missed deadline",
            counts.batches_late,
        ),
        (
            "batches_void",
            "L6, L7, L8: batches void otherwise",
            counts.batches_void,
        ),
        ("assigned", "L4: indices assigned", counts.assigned),
        ("closed", "L5: subjects closed", counts.closed),
        (
            "posting",
            "L6: attempts with posted partials",
            counts.posting,
        ),
        (
            "failed_silent",
            "L6: attempts failed by a silent member",
            counts.failed_silent,
        ),
        (
            "failed_sets",
            "L6: attempts failed with all partials posted",
            counts.failed_sets,
        ),
        ("boots", "L7: boots of members", counts.boots),
        ("answered", "Own answers", counts.answered),
        ("matrices_sent", "Matrices sent", counts.matrices_sent),
        ("matrices_taken", "Matrices taken", counts.matrices_taken),
        (
            "matrices_requested",
            "Matrices asked for again",
            counts.matrices_requested,
        ),
        (
            "matrices_dropped",
            "Matrices dropped for lack of room",
            counts.matrices_dropped,
        ),
        (
            "partials_taken",
            "Partials of others that verified",
            counts.partials_taken,
        ),
        (
            "partials_requested",
            "Partials asked for again",
            counts.partials_requested,
        ),
        ("combined", "Pulses combined here", counts.combined),
        (
            "combinations_failed",
            "Combinations that did not verify",
            counts.combinations_failed,
        ),
        (
            "pulses_taken",
            "Pulses of others that verified",
            counts.pulses_taken,
        ),
        (
            "rank_deficient",
            "Sums that were not of full rank",
            counts.rank_deficient,
        ),
        (
            "submitted",
            "Transactions handed to the pool",
            counts.submitted,
        ),
        ("late", "Steps that came too late", counts.late),
    ] {
        out.counter(&format!("horizon_pulse_{name}"), help, value);
    }
}

fn show_delivery(delivery: &Delivered) -> Delivery {
    Delivery {
        id: delivery.id,
        state: if delivery.status == LedgerStatus::Executed {
            DeliveryState::Executed
        } else {
            DeliveryState::Failed
        },
        sequence: Some(delivery.sequence),
        height: Some(delivery.height),
        source_network: delivery.source_network,
        source_chain: delivery.source_chain,
        channel: delivery.channel,
        nonce: delivery.nonce,
        recipient: recipient(&delivery.unsigned).unwrap_or_default(),
        attempts: if delivery.is_retry { 2 } else { 1 },
        reason: (delivery.status != LedgerStatus::Executed)
            .then(|| delivery.status.name().to_owned()),
    }
}

fn recipient(unsigned: &[u8]) -> Option<String> {
    let message = UnsignedMessage::parse(unsigned).ok()?;
    let routed = Routed::parse(message.payload()).ok()?;
    Some(String::from_utf8_lossy(routed.recipient).into_owned())
}

fn refused(error: SubmitError) -> ApiError {
    match error {
        SubmitError::Refused(refusal) | SubmitError::Pool(PoolRefusal::Refused(refusal)) => {
            refusal_error(&refusal)
        }
        SubmitError::Pool(_) => Code::MempoolFull.into(),
    }
}

/// The interface's words for a refusal of the ledger.
fn refusal_error(refusal: &Refusal) -> ApiError {
    let code = match refusal {
        Refusal::Malformed { field } => {
            return ApiError::new(Code::TransactionMalformed).with("field", field);
        }
        Refusal::Prism(refusal) => return ApiError::from(*refusal),
        Refusal::Signature => Code::TransactionSignature,
        Refusal::SequenceUsed => Code::AccountSequence,
        Refusal::Payload { field } => {
            return ApiError::new(Code::WrongDestination).with("field", field);
        }
        Refusal::Gap { next } => return ApiError::new(Code::ChannelGap).with("next", next),
        Refusal::WindowAhead { base } => {
            return ApiError::new(Code::NonceWindow).with("base", base);
        }
        Refusal::AlreadyExecuted => Code::AlreadyExecuted,
        Refusal::NothingToRetry => Code::NothingToRetry,
        Refusal::Expired => Code::MessageExpired,
        Refusal::StillFails(failure) => {
            let status = LedgerStatus::Failed(*failure);
            return ApiError::new(Code::HandlerFailed).with("failure", status.name());
        }
        other => {
            return ApiError::refused(other.code(), format!("{other}"), other.is_retryable());
        }
    };
    code.into()
}

fn internal(error: impl fmt::Display) -> ApiError {
    tracing::error!(%error, "a question of the interface failed");
    Code::Internal.into()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Events that readers can resume from.
const EVENTS: usize = 4_096;
/// Proofs shown at once.
const EVIDENCE_SHOWN: usize = 100;
/// Proof files read for one answer.
const EVIDENCE_READ: usize = 1_000;
