//! Messages of a demo and when they reached each stage, as seen from outside.
//!
//! Times come from the event streams of one validator per network and from the relayer's queue. A
//! poll beside them makes sure that nothing is missed when a stream ends.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use horizon_node::api::EventId;
use horizon_node::api::types::{
    DeliveryState, EventKind, Id, Message, QueueEntry, QueueFilter, QueueState,
};
use horizon_node::client::Client;
use horizon_warp::payload::EXPIRY_NEVER;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::board::Board;
use super::stage::Stage;
use crate::cmd::send::{Letter, submit};
use crate::exit::{Code, Failure};

/// A message of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowId(usize);

/// What is known of a message.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Index of the source network.
    pub(super) from: usize,
    /// Number in the channel.
    pub(super) nonce: u64,
    pub(super) id: Option<Id>,
    pub(super) sent: Instant,
    pub(super) times: Times,
}

/// When a message reached each stage.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// In a final block of the source.
    pub(super) fin: Option<Instant>,
    /// Beam and certificates have the quorum.
    pub(super) quorum: Option<Instant>,
    /// The Pulse exists.
    pub(super) pulse: Option<Instant>,
    /// The relayer has the envelope.
    pub(super) built: Option<Instant>,
    /// The destination has the envelope.
    pub(super) submitted: Option<Instant>,
    /// Acted in a final block of the destination.
    pub(super) delivered: Option<Instant>,
    /// The source knows.
    pub(super) acknowledged: Option<Instant>,
}

enum Sighting {
    Message(usize, Box<Message>, Instant),
    Event(EventKind, Id, Instant),
    Queue(Vec<QueueEntry>, Instant),
}

pub(super) struct Tracker {
    rows: Vec<Row>,
    by_id: HashMap<Id, usize>,
    channel: Id,
    /// Messages sent from each network on the demo's channel.
    sent: [u64; 2],
    /// What was seen of messages whose id is not known yet.
    early: Vec<(EventKind, Id, Instant)>,
    sightings: mpsc::Receiver<Sighting>,
    _watchers: JoinSet<()>,
}

impl Tracker {
    pub(super) fn new(stage: &Stage) -> Self {
        let (sender, sightings) = mpsc::channel(SIGHTINGS_MAX);
        let mut watchers = JoinSet::new();
        for network in 0..2 {
            let client = stage.nodes[network][0].clone();
            watchers.spawn(watch_node(network, client.clone(), sender.clone()));
            watchers.spawn(poll_node(network, client, sender.clone()));
        }
        watchers.spawn(watch_relayer(stage.relayer.clone(), sender));
        let mut channel = [0; 32];
        channel[31] = 0xd0;
        Self {
            rows: Vec::new(),
            by_id: HashMap::new(),
            channel,
            sent: [0; 2],
            early: Vec::new(),
            sightings,
            _watchers: watchers,
        }
    }

    pub(super) fn row(&self, row: RowId) -> &Row {
        &self.rows[row.0]
    }

    pub(super) fn rows(&self) -> Vec<RowId> {
        (0..self.rows.len()).map(RowId).collect()
    }

    /// Sends one message and returns once a validator took it.
    pub(super) async fn send(&mut self, stage: &Stage, from: usize) -> Result<RowId, Failure> {
        let (client, to) = (&stage.nodes[from][0], &stage.layout.networks[1 - from]);
        let nonce = self.sent[from];
        let body = format!("message {nonce} of {}", stage.layout.networks[from].name);
        let letter = Letter {
            network: to.network_id,
            chain: to.chain_id(),
            channel: self.channel,
            expiry_height: EXPIRY_NEVER,
            recipient: "journal",
            body: body.as_bytes(),
        };
        let sent = Instant::now();
        submit(client, &stage.account, &letter, Some(nonce)).await?;
        self.sent[from] += 1;
        self.rows.push(Row {
            from,
            nonce,
            id: None,
            sent,
            times: Times::default(),
        });
        Ok(RowId(self.rows.len() - 1))
    }

    /// Sends `count` messages from each network.
    pub(super) async fn send_both_ways(
        &mut self,
        stage: &mut Stage,
        count: u32,
    ) -> Result<Vec<RowId>, Failure> {
        let mut rows = Vec::new();
        for _ in 0..count {
            for from in 0..2 {
                rows.push(self.send(stage, from).await?);
            }
        }
        Ok(rows)
    }

    /// Waits until the messages acted and their sources know.
    pub(super) async fn await_acknowledged(
        &mut self,
        stage: &mut Stage,
        rows: &[RowId],
    ) -> Result<(), Failure> {
        self.wait(stage, rows, "acknowledged", |row| {
            row.times.acknowledged.is_some()
        })
        .await
    }

    /// Waits until the messages acted.
    pub(super) async fn await_delivered(
        &mut self,
        stage: &mut Stage,
        rows: &[RowId],
    ) -> Result<(), Failure> {
        self.wait(stage, rows, "delivered", |row| {
            row.times.delivered.is_some()
        })
        .await
    }

    /// Waits until the messages have their ids.
    pub(super) async fn await_final(
        &mut self,
        stage: &mut Stage,
        rows: &[RowId],
    ) -> Result<(), Failure> {
        self.wait(stage, rows, "final", |row| row.id.is_some())
            .await
    }

    async fn wait(
        &mut self,
        stage: &mut Stage,
        rows: &[RowId],
        what: &str,
        done: impl Fn(&Row) -> bool,
    ) -> Result<(), Failure> {
        // A thousand messages take longer than one.
        let more = Duration::from_millis(500) * u32::try_from(rows.len()).unwrap_or(u32::MAX);
        let deadline = Instant::now() + stage.patience + more;
        let mut board = Board::new(stage, self, rows);
        loop {
            stage.alive()?;
            self.take_sightings().await;
            board.show(self, stage);
            let open: Vec<&Row> = rows
                .iter()
                .map(|row| self.row(*row))
                .filter(|row| !done(row))
                .collect();
            let Some(first) = open.first() else {
                board.finish();
                return Ok(());
            };
            if Instant::now() > deadline {
                board.finish();
                let id = first
                    .id
                    .map(|id| crate::output::id(&id))
                    .unwrap_or_default();
                let text = format!(
                    "{} messages not {what} in time; for the first: horizon explain {id} --devnet {}",
                    open.len(),
                    stage.root.display()
                );
                return Err(Failure::new(Code::Insufficient, text));
            }
        }
    }

    /// Takes what was seen in the next tenth of a second.
    async fn take_sightings(&mut self) {
        let until = tokio::time::Instant::now() + Duration::from_millis(100);
        while let Ok(Some(sighting)) = tokio::time::timeout_at(until, self.sightings.recv()).await {
            match sighting {
                Sighting::Message(network, message, at) => self.saw_message(network, &message, at),
                Sighting::Event(kind, id, at) => self.saw_event(kind, id, at),
                Sighting::Queue(entries, at) => {
                    for entry in entries {
                        self.saw_entry(&entry, at);
                    }
                }
            }
        }
    }

    fn saw_message(&mut self, network: usize, message: &Message, at: Instant) {
        let ours = message.channel == self.channel && !message.is_ack;
        let found = self
            .rows
            .iter()
            .position(|row| ours && (row.from, row.nonce) == (network, message.nonce));
        let Some(index) = found else {
            return;
        };
        self.by_id.insert(message.id, index);
        let row = &mut self.rows[index];
        row.id = Some(message.id);
        first(&mut row.times.fin, at);
        if message.acknowledgement.is_some() {
            first(&mut row.times.acknowledged, at);
        }
        let early = core::mem::take(&mut self.early);
        for (kind, id, at) in early {
            self.saw_event(kind, id, at);
        }
    }

    fn saw_event(&mut self, kind: EventKind, id: Id, at: Instant) {
        let Some(index) = self.by_id.get(&id) else {
            if self.early.len() < SIGHTINGS_MAX {
                self.early.push((kind, id, at));
            }
            return;
        };
        let times = &mut self.rows[*index].times;
        match kind {
            EventKind::Message => first(&mut times.fin, at),
            EventKind::Quorum => first(&mut times.quorum, at),
            EventKind::Pulse => first(&mut times.pulse, at),
            EventKind::Delivery => first(&mut times.delivered, at),
            EventKind::Acknowledged => first(&mut times.acknowledged, at),
            EventKind::Block | EventKind::Evidence | EventKind::Gap => {}
        }
    }

    fn saw_entry(&mut self, entry: &QueueEntry, at: Instant) {
        let Some(index) = self.by_id.get(&entry.id) else {
            return;
        };
        let times = &mut self.rows[*index].times;
        if entry.state >= QueueState::Built && entry.state < QueueState::Dead {
            first(&mut times.built, at);
        }
        if entry.state >= QueueState::Submitted && entry.state < QueueState::Dead {
            first(&mut times.submitted, at);
        }
    }
}

fn first(time: &mut Option<Instant>, at: Instant) {
    *time = Some(time.map_or(at, |before| before.min(at)));
}

/// Follows the events of one node.
async fn watch_node(network: usize, client: Client, sender: mpsc::Sender<Sighting>) {
    let mut resume: Option<EventId> = None;
    loop {
        if let Ok(mut events) = client.events(resume).await {
            while let Some(Ok((position, event))) = events.next().await {
                let at = Instant::now();
                resume = Some(position);
                let Some(id) = event.id else {
                    continue;
                };
                if event.kind == EventKind::Message
                    && let Ok(message) = client.message(&id).await
                {
                    let sighting = Sighting::Message(network, Box::new(message), at);
                    if sender.send(sighting).await.is_err() {
                        return;
                    }
                }
                if sender
                    .send(Sighting::Event(event.kind, id, at))
                    .await
                    .is_err()
                {
                    return;
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Reads what one node has sent and received, for whatever the events did not tell.
async fn poll_node(network: usize, client: Client, sender: mpsc::Sender<Sighting>) {
    let mut open: Option<u64> = None;
    let mut inbox: Option<u64> = None;
    loop {
        tokio::time::sleep(Duration::from_millis(400)).await;
        if let Ok(page) = client.messages(open, 256).await {
            let at = Instant::now();
            let mut settled = true;
            for message in page.messages {
                // Read on from the first message whose acknowledgement is still open.
                settled = settled && (message.is_ack || message.acknowledgement.is_some());
                if settled {
                    open = Some(message.sequence);
                }
                let sighting = Sighting::Message(network, Box::new(message), at);
                if sender.send(sighting).await.is_err() {
                    return;
                }
            }
        }
        if let Ok(page) = client.deliveries(inbox, 256).await {
            let at = Instant::now();
            for delivery in page.deliveries {
                inbox = delivery.sequence.or(inbox);
                let acted = delivery.state == DeliveryState::Executed;
                let sighting = Sighting::Event(EventKind::Delivery, delivery.id, at);
                if acted && sender.send(sighting).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn watch_relayer(client: Client, sender: mpsc::Sender<Sighting>) {
    let filter = QueueFilter {
        limit: Some(1_000),
        ..QueueFilter::default()
    };
    loop {
        if let Ok(page) = client.queue(&filter).await
            && sender
                .send(Sighting::Queue(page.entries, Instant::now()))
                .await
                .is_err()
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// Most sightings that wait.
const SIGHTINGS_MAX: usize = 4_096;
