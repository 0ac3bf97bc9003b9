//! The two gossip channels: between the library's identities and our canonical positions, with
//! sizes checked on both sides.

use core::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use commonware_cryptography::ed25519::PublicKey;
use commonware_macros::select;
use commonware_p2p::{Blocker, Receiver, Recipients, Sender};
use commonware_runtime::{Handle, Metrics, Spawner};
use commonware_utils::channel::mpsc;
use tracing::{debug, warn};

use crate::{
    handle::{Channel, Inbound, Mesh, MeshInner, StatusCell, To},
    roster::Roster,
};

/// Starts both gossip channels of one validator.
///
/// The handles end when their channel does; nothing else may go on then.
pub fn start<E, B, S, R>(
    context: &E,
    roster: &Arc<Roster>,
    me: u16,
    blocker: &B,
    gossip: (S, R),
    ceremony: (S, R),
) -> (Mesh, Tasks)
where
    E: Spawner + Metrics,
    B: Blocker<PublicKey = PublicKey>,
    S: Sender<PublicKey = PublicKey>,
    R: Receiver<PublicKey = PublicKey>,
{
    let status = Arc::new(StatusCell::default());
    let open = |channel: Channel| {
        let (outbox, to_send) = mpsc::channel(channel.queue());
        let (received, inbox) = mpsc::channel(channel.queue());
        let task = Task {
            channel,
            roster: Arc::clone(roster),
            status: Arc::clone(&status),
            blocker: blocker.clone(),
            outbox: to_send,
            inbox: received,
        };
        (outbox, inbox, task)
    };
    let (gossip_out, gossip_in, gossip_task) = open(Channel::Gossip);
    let (ceremony_out, ceremony_in, ceremony_task) = open(Channel::Ceremony);
    let tasks = vec![
        ("gossip", gossip_task.start(context.child("gossip"), gossip)),
        (
            "ceremony",
            ceremony_task.start(context.child("ceremony"), ceremony),
        ),
    ];
    let mesh = Mesh::new(MeshInner {
        roster: Arc::clone(roster),
        me,
        outboxes: [gossip_out, ceremony_out],
        inboxes: Mutex::new([Some(gossip_in), Some(ceremony_in)]),
        status,
        #[cfg(feature = "sim")]
        tap: std::sync::OnceLock::new(),
    });
    (mesh, tasks)
}

/// Named tasks of which none may end before the process does.
pub type Tasks = Vec<(&'static str, Handle<()>)>;

/// What the handle asks of a channel.
#[derive(Debug)]
pub(crate) enum Outbound {
    Send { to: To, bytes: Bytes },
    Block(u16),
}

struct Task<B> {
    channel: Channel,
    roster: Arc<Roster>,
    status: Arc<StatusCell>,
    blocker: B,
    outbox: mpsc::Receiver<Outbound>,
    inbox: mpsc::Sender<Inbound>,
}

impl<B: Blocker<PublicKey = PublicKey>> Task<B> {
    fn start<E, S, R>(self, context: E, (sender, receiver): (S, R)) -> Handle<()>
    where
        E: Spawner,
        S: Sender<PublicKey = PublicKey>,
        R: Receiver<PublicKey = PublicKey>,
    {
        context.spawn(move |context| self.run(context, sender, receiver))
    }

    async fn run<E, S, R>(mut self, context: E, mut sender: S, mut receiver: R)
    where
        E: Spawner,
        S: Sender<PublicKey = PublicKey>,
        R: Receiver<PublicKey = PublicKey>,
    {
        let mut stopped = context.stopped();
        loop {
            select! {
                _ = &mut stopped => return,
                outbound = self.outbox.recv() => match outbound {
                    Some(outbound) => self.send(&mut sender, outbound),
                    None => return,
                },
                received = receiver.recv() => match received {
                    Ok((from, bytes)) => self.receive(&from, bytes.into()),
                    Err(error) => {
                        debug!(?error, "a gossip channel closed");
                        return;
                    }
                },
            }
        }
    }

    fn send<S: Sender<PublicKey = PublicKey>>(&mut self, sender: &mut S, outbound: Outbound) {
        match outbound {
            Outbound::Send { to, bytes } => {
                let recipients = match to {
                    To::All => Recipients::All,
                    To::One(position) => match self.roster.identity(position) {
                        Some(identity) => Recipients::One(identity.clone()),
                        None => return,
                    },
                };
                // The list of accepted recipients says nothing about delivery.
                let _ = sender.send(recipients, bytes, false);
            }
            Outbound::Block(position) => {
                if let Some(identity) = self.roster.identity(position) {
                    warn!(position, "blocking a validator that broke the gossip rules");
                    let _ = self.blocker.block(identity.clone());
                }
            }
        }
    }

    fn receive(&mut self, from: &PublicKey, bytes: Bytes) {
        self.status.received.fetch_add(1, Ordering::Relaxed);
        let Some(position) = self.roster.position(from) else {
            self.status.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        };
        if bytes.len() > self.channel.max_bytes() {
            self.status.oversize.fetch_add(1, Ordering::Relaxed);
            warn!(position, len = bytes.len(), "oversized gossip");
            let _ = self.blocker.block(from.clone());
            return;
        }
        let inbound = Inbound {
            from: position,
            bytes,
        };
        if self.inbox.try_send(inbound).is_err() {
            self.status.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
