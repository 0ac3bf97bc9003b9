//! What the services of a validator have in common: what they want done, work that may run elsewhere, and faults.
//!
//! A service never waits. Calls return [`Action`]s; long computations come back as [`Job`]s, which the process
//! may run in a pool (a simulator runs them at once) and whose results it hands back with `on_job`.

use core::convert::Infallible;
use core::fmt;

use bytes::Bytes;
use horizon_hash::sponge::cshake256;
use horizon_pulsar::committee;
use rand_core::{CryptoRng, TryCryptoRng, TryRng};
use zeroize::{Zeroize, Zeroizing};

use crate::gossip::{Lanes, Malformed};
use crate::signer;

/// What a service wants done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Action {
    /// Put this transaction into the mempools, here and at the peers.
    Submit(Bytes),
    /// Send an encoded [`Gossip`](crate::gossip::Gossip) message to the validator at this canonical position.
    Send {
        /// Canonical position.
        to: u16,
        /// The message; its first byte gives the channel.
        bytes: Bytes,
    },
    /// Send an encoded message to all other validators.
    Broadcast(Bytes),
    /// Run this, anywhere, and hand the result back.
    Run(Job),
    /// A peer's fault that was found after its message was taken.
    Blame(PeerFault),
    /// Stop the process at once.
    Halt(Unsafe),
}

/// A computation that takes long enough to be run off the receive path. It holds everything it needs.
pub struct Job {
    service: Service,
    run: Box<dyn FnOnce() -> Outcome + Send>,
}

/// What a [`Job`] found; only its service can open it.
pub struct JobResult {
    outcome: Outcome,
}

/// Whose job it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Beam and certificate signatures.
    Attest,
    /// The signing committee.
    Pulse,
}

/// A fault of one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerFault {
    /// Canonical position of the peer that sent the message.
    pub peer: u16,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a peer's message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It is not a message.
    Malformed(Malformed),
    /// It came on the other channel, or is for another service.
    WrongChannel,
    /// It names a validator that does not exist.
    UnknownSigner {
        /// The position named.
        signer: u16,
    },
    /// A validator without an ML-DSA key is said to have signed a certificate.
    NoKey {
        /// The validator.
        signer: u16,
    },
    /// A signature does not verify. The sender of the message is at fault: it must check what it passes on.
    Signature {
        /// Whose signature it should be.
        signer: u16,
        /// In which lanes.
        lanes: Lanes,
    },
    /// More requests than are answered.
    Flood,
    /// A fault in the signing protocol.
    Committee(committee::Error),
    /// A Pulse that does not verify.
    Pulse,
}

/// Why the process must stop at once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsafe {
    /// The signing guard refused, or failed.
    Guard(signer::Error),
    /// The signing committee's state machine refused for ever.
    Committee(committee::UnsafeState),
    /// Somebody else signs with this validator's keys: a valid signature of ours that the guard does not know.
    ForeignAttestation {
        /// The message that was signed.
        id: [u8; 32],
    },
    /// The session record is older than what the ledger has seen of this member: it was restored from a copy.
    OlderRecords {
        /// Boot counter in the record.
        stored: u32,
        /// Boot counter on the ledger.
        ledger: u32,
    },
    /// The session record of the committee cannot be read or written.
    Records,
    /// The signing committee cannot start: its parts do not belong together.
    Start(committee::Error),
    /// The store of collected signatures failed.
    Store(String),
}

/// What a job brings back.
pub(crate) enum Outcome {
    Attest(crate::attest::Done),
    Pulse(crate::pulse::Done),
}

impl Job {
    pub(crate) fn attest(run: impl FnOnce() -> crate::attest::Done + Send + 'static) -> Self {
        Self {
            service: Service::Attest,
            run: Box::new(|| Outcome::Attest(run())),
        }
    }

    pub(crate) fn pulse(run: impl FnOnce() -> crate::pulse::Done + Send + 'static) -> Self {
        Self {
            service: Service::Pulse,
            run: Box::new(|| Outcome::Pulse(run())),
        }
    }

    /// Whose `on_job` takes the result.
    #[must_use]
    pub const fn service(&self) -> Service {
        self.service
    }

    /// Does the work. Blocks: milliseconds, and tens of them for a batch of nonces of a large committee.
    #[must_use]
    pub fn run(self) -> JobResult {
        JobResult {
            outcome: (self.run)(),
        }
    }
}

impl JobResult {
    /// Whose `on_job` takes it.
    #[must_use]
    pub const fn service(&self) -> Service {
        match self.outcome {
            Outcome::Attest(_) => Service::Attest,
            Outcome::Pulse(_) => Service::Pulse,
        }
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        self.outcome
    }
}

impl PeerFault {
    pub(crate) const fn new(peer: u16, fault: Fault) -> Self {
        Self { peer, fault }
    }
}

impl Fault {
    /// Whether an honest peer never does this, so that the link should be closed. The others come from
    /// reordering and restarts.
    #[must_use]
    pub const fn is_grave(&self) -> bool {
        match self {
            Self::Malformed(_)
            | Self::WrongChannel
            | Self::UnknownSigner { .. }
            | Self::NoKey { .. }
            | Self::Signature { .. }
            | Self::Pulse => true,
            Self::Flood => false,
            Self::Committee(error) => matches!(
                error,
                committee::Error::Malformed(_)
                    | committee::Error::Rejected(committee::Rejected::SenderSignature)
                    | committee::Error::Peer {
                        fault: committee::PeerFault::MatrixDigest,
                        ..
                    }
            ),
        }
    }

    /// A short name for metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::WrongChannel => "wrong_channel",
            Self::UnknownSigner { .. } => "unknown_signer",
            Self::NoKey { .. } => "no_key",
            Self::Signature { .. } => "signature",
            Self::Flood => "flood",
            Self::Committee(_) => "committee",
            Self::Pulse => "pulse",
        }
    }
}

impl Unsafe {
    /// The exit code of the process: 7 where going on could sign twice, 6 where a disk failed.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Guard(signer::Error::Write(_) | signer::Error::Stopped)
            | Self::Records
            | Self::Store(_) => 6,
            Self::Start(_) => 5,
            Self::Guard(_)
            | Self::Committee(_)
            | Self::ForeignAttestation { .. }
            | Self::OlderRecords { .. } => 7,
        }
    }
}

impl fmt::Display for PeerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "validator {}: {}", self.peer, self.fault)
    }
}

impl core::error::Error for PeerFault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => write!(f, "malformed message: {malformed}"),
            Self::WrongChannel => f.write_str("a message on the wrong channel"),
            Self::UnknownSigner { signer } => write!(f, "names validator {signer}, which is none"),
            Self::NoKey { signer } => write!(f, "validator {signer} has no ML-DSA key"),
            Self::Signature { signer, .. } => {
                write!(f, "a signature of validator {signer} does not verify")
            }
            Self::Flood => f.write_str("more requests than are answered"),
            Self::Committee(error) => write!(f, "{error}"),
            Self::Pulse => f.write_str("a Pulse does not verify"),
        }
    }
}

impl fmt::Display for Unsafe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guard(error) => write!(f, "{error}"),
            Self::Committee(state) => write!(f, "signing stopped: {state}"),
            Self::ForeignAttestation { .. } => f.write_str(
                "a signature of this validator exists that its signing guard does not know: \
                 a second copy is running, or the directory is an old copy",
            ),
            Self::OlderRecords { stored, ledger } => write!(
                f,
                "the session record knows boot {stored}, the ledger has boot {ledger} of this member: \
                 the directory is an old copy",
            ),
            Self::Start(error) => write!(f, "the signing committee cannot start: {error}"),
            Self::Records => f.write_str("the session record cannot be read or written"),
            Self::Store(why) => write!(f, "the store of signatures failed: {why}"),
        }
    }
}

impl core::error::Error for Unsafe {}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for JobResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobResult")
            .field("service", &self.service())
            .finish_non_exhaustive()
    }
}

/// Randomness for one job: a stream from 64 fresh bytes.
pub(crate) struct Stream {
    seed: Zeroizing<[u8; 64]>,
    block: u64,
}

impl Stream {
    /// A new stream, seeded from `rng`.
    pub(crate) fn new(rng: &mut dyn CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; 64]);
        rng.fill_bytes(&mut seed[..]);
        Self { seed, block: 0 }
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        let custom = horizon_hash::domain::services::STREAM;
        let mut number = self.block.to_be_bytes();
        cshake256(custom, &[&self.seed[..], &number], out);
        number.zeroize();
        self.block = self.block.wrapping_add(1);
        Ok(())
    }
}

impl TryCryptoRng for Stream {}

/// When to ask again: doubling from a first delay up to a cap, with up to a quarter of jitter on top.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    /// First delay, milliseconds.
    pub(crate) first_ms: u64,
    /// Largest delay before jitter, milliseconds.
    pub(crate) cap_ms: u64,
}

impl Backoff {
    /// The delay before try number `tries` (0: the first).
    pub(crate) fn delay_ms(self, tries: u32, rng: &mut dyn CryptoRng) -> u64 {
        let factor = 1_u64.checked_shl(tries.min(32)).unwrap_or(u64::MAX);
        let delay = self.first_ms.saturating_mul(factor).min(self.cap_ms);
        let mut bytes = [0; 8];
        rng.fill_bytes(&mut bytes);
        let quarter = (delay / 4).max(1);
        delay.saturating_add(u64::from_le_bytes(bytes) % quarter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_one_generator_differ_and_repeat_with_the_seed() {
        let draw = |seed| {
            let mut rng = horizon_testkit::SeededRng::new(seed);
            let mut streams = [Stream::new(&mut rng), Stream::new(&mut rng)];
            let mut out = [[0; 40]; 4];
            for (index, out) in out.iter_mut().enumerate() {
                let Ok(()) = streams[index / 2].try_fill_bytes(out);
            }
            out
        };
        let first = draw(1);
        assert_eq!(first, draw(1));
        assert_ne!(first, draw(2));
        for (index, out) in first.iter().enumerate() {
            assert!(first[..index].iter().all(|other| other != out));
        }
    }

    #[test]
    fn the_delay_doubles_up_to_its_cap() {
        let mut rng = horizon_testkit::rng(1);
        let backoff = Backoff {
            first_ms: 400,
            cap_ms: 10_000,
        };
        for (tries, base) in [
            (0, 400),
            (1, 800),
            (4, 6_400),
            (5, 10_000),
            (u32::MAX, 10_000),
        ] {
            let delay = backoff.delay_ms(tries, &mut rng);
            assert!((base..base + base / 4).contains(&delay), "{tries}: {delay}");
        }
    }
}
