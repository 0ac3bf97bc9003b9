//! Prism: the one place where an envelope becomes a verdict.
//!
//! [`verify`] takes what was carried (an [`Envelope`]), what is known (a [`Registry`]), what is
//! demanded (a [`Policy`]) and where the verifier stands (a [`Context`]), and gives a
//! [`HorizonVerified`] or a [`Refusal`] with one stable reason. There is no way to skip a lane that
//! policy requires, no way to have a lane ignored that is present, and no other public path to a
//! verified envelope.
//!
//! # Order
//! The first failure in this order is the one reported, whatever finishes first:
//!
//! 1. network, policy of the source chain;
//! 2. registry record by exact key, its height, age and size;
//! 3. hash suite;
//! 4. lanes that policy requires and the envelope lacks;
//! 5. per lane, Beam, then certificates, then Pulse: decoding, signers, keys, weight;
//! 6. per lane in the same order: cryptography, in parallel.
//!
//! Everything that costs little comes before everything that costs much.
//!
//! # Source
//! Wire specification, "Verification order, v2"; the verification rule of the protocol description.

use alloc::vec::Vec;

use horizon_sig::cache::VerifiedCache;

use crate::classify::{LaneSet, State};
use crate::envelope::{Envelope, Lineage};
use crate::error::{Error, Lane, Reason};
use crate::message::UnsignedMessage;
use crate::policy::{Policy, SourcePolicy, Tier};
use crate::registry::{Entry, RecordKey, Registry};
use crate::suite::SuiteId;

mod lanes;
mod refusal;
mod wrapper;

use lanes::Lanes;

pub use refusal::{Outcome, Refusal};
pub use wrapper::{Wrapper, WrapperSetup};

/// Where the verifier stands. The crate has no clock: time and heights are the caller's to say.
#[derive(Clone, Copy, Debug)]
pub struct Context<'c> {
    /// The network whose messages this verifier takes.
    pub network_id: u32,
    /// Height of the source chain as the verifier knows it.
    pub source_height: u64,
    /// Seconds since 1970.
    pub time_s: u64,
    /// Era and generation under which a version 1 message is verified, since it names none. `None`
    /// refuses such messages.
    pub message_generation: Option<(u64, u64)>,
    /// Whether lanes run in parallel.
    pub schedule: Schedule,
    /// Remembers certificates that verified before, under the record's hash. Only the expensive
    /// pure function is remembered: weights, policy and registry are looked at every time.
    pub cache: Option<&'c VerifiedCache>,
    /// Verifying keys of the Groth16 lane. `None` refuses every envelope that carries it.
    pub wrapper: Option<&'c Wrapper>,
    /// Reads a monotonic clock in nanoseconds, for the verdict's timings. Has no influence on the
    /// verdict.
    pub clock: Option<fn() -> u64>,
}

impl Context<'_> {
    /// A context that refuses version 1 messages, runs lanes in parallel and takes no timings.
    #[must_use]
    pub const fn new(network_id: u32, source_height: u64, time_s: u64) -> Self {
        Self {
            network_id,
            source_height,
            time_s,
            message_generation: None,
            schedule: Schedule::Parallel,
            cache: None,
            wrapper: None,
            clock: None,
        }
    }
}

/// How the lanes' cryptography is scheduled. The verdict is the same either way.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Schedule {
    /// On the current rayon pool: the global one, or the caller's when called inside its `install`.
    #[default]
    Parallel,
    /// On the calling thread.
    Sequential,
}

/// What one lane proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneVerdict {
    /// The lane.
    pub lane: Lane,
    /// Weight of the validators that signed; for the Groth16 lane the least weight proven. The Pulse
    /// has none: its threshold is in points.
    pub signed_weight: Option<u64>,
    /// Number of validators that signed; for the Pulse the threshold in points; 0 for the Groth16
    /// lane, whose proof hides who signed.
    pub signer_count: u32,
    /// How many of the signatures were remembered from an earlier verification and not verified
    /// now. The duration of such a lane is no verification time.
    pub cached_count: u32,
    /// Duration of the lane's cryptography, nanoseconds, if the context has a clock.
    pub duration_ns: Option<u64>,
    /// For the Groth16 lane, how its verifying key was made. Under a `dev` or `test` key the lane
    /// proves nothing to anyone but the key's maker: show it wherever the verdict is shown.
    pub wrapper_setup: Option<WrapperSetup>,
}

/// Witness that an envelope satisfies the destination's policy. Only [`verify`] makes one.
///
/// ```compile_fail,E0451
/// fn forge<'a>(envelope: horizon_warp::Envelope<'a>) -> horizon_warp::prism::HorizonVerified<'a> {
///     horizon_warp::prism::HorizonVerified { envelope, ..unreachable!() }
/// }
/// ```
///
/// ```compile_fail,E0599
/// let forged = horizon_warp::prism::HorizonVerified::default();
/// ```
#[must_use = "a verdict that nobody looks at protects nobody"]
#[derive(Clone, Debug)]
pub struct HorizonVerified<'a> {
    envelope: Envelope<'a>,
    id: [u8; 32],
    tier: Tier,
    record_key: RecordKey,
    record_hash: [u8; 32],
    total_weight: u64,
    lanes: Vec<LaneVerdict>,
}

impl<'a> HorizonVerified<'a> {
    /// The message: the one thing in the envelope that every lane binds.
    #[must_use]
    pub const fn message(&self) -> &UnsignedMessage<'a> {
        self.envelope.message().unsigned()
    }

    /// The message's id, for the replay store.
    #[must_use]
    pub const fn id(&self) -> &[u8; 32] {
        &self.id
    }

    /// The tier whose requirements were met.
    #[must_use]
    pub const fn tier(&self) -> Tier {
        self.tier
    }

    /// The registry record under which the lanes verified.
    #[must_use]
    pub const fn record_key(&self) -> &RecordKey {
        &self.record_key
    }

    /// Hash of that record.
    #[must_use]
    pub const fn record_hash(&self) -> &[u8; 32] {
        &self.record_hash
    }

    /// The lineage, if a lane that binds it verified; the Beam does not.
    #[must_use]
    pub fn lineage(&self) -> Option<&Lineage> {
        let bound = !self.pq_roots().is_empty();
        bound.then_some(self.envelope.lineage())
    }

    /// What each verified lane proved, in reporting order.
    #[must_use]
    pub fn lanes(&self) -> &[LaneVerdict] {
        &self.lanes
    }

    /// Total weight of the source's validators.
    #[must_use]
    pub const fn total_weight(&self) -> u64 {
        self.total_weight
    }

    /// The lanes that verified.
    #[must_use]
    pub fn verified(&self) -> LaneSet {
        LaneSet::of(self.lanes.iter().map(|verdict| verdict.lane))
    }

    /// The verified lanes that are post-quantum.
    #[must_use]
    pub fn pq_roots(&self) -> LaneSet {
        self.verified().post_quantum()
    }

    /// What the verified lanes amount to.
    #[must_use]
    pub fn state(&self) -> State {
        State::of(self.verified())
    }
}

/// Decodes an envelope (or a version 1 message) and verifies it.
///
/// # Errors
/// As [`Envelope::parse`] and [`verify`].
pub fn verify_bytes<'a>(
    bytes: &'a [u8],
    registry: &Registry,
    policy: &Policy,
    context: &Context<'_>,
) -> Result<HorizonVerified<'a>, Refusal> {
    verify(&Envelope::parse(bytes)?, registry, policy, context)
}

/// Verifies an envelope under the destination's policy.
///
/// # Errors
/// One [`Refusal`]: the first failure in the order of the module documentation.
///
/// # Security
/// A verdict says nothing about replay: record [`HorizonVerified::id`] in the same atomic step as
/// the effect. A message without a destination in its payload is valid on every chain.
pub fn verify<'a>(
    envelope: &Envelope<'a>,
    registry: &Registry,
    policy: &Policy,
    context: &Context<'_>,
) -> Result<HorizonVerified<'a>, Refusal> {
    let unsigned = envelope.message().unsigned();
    if unsigned.network_id() != context.network_id {
        return Err(Error::rejected(Reason::NetworkMismatch).into());
    }
    let source = policy.source(context.network_id, unsigned.source_chain_id())?;
    let record_key = record_key(envelope, context)?;
    let entry = registry.get(&record_key)?;
    check_record(entry, source, context)?;
    check_suite(envelope, entry)?;
    let lanes = Lanes::present(envelope, source, context)?;
    let transcript = envelope.transcript();
    let jobs = lanes.prepare(entry, source, context)?;
    let lanes = jobs.run(&transcript, context)?;
    Ok(HorizonVerified {
        envelope: *envelope,
        id: unsigned.id(),
        tier: source.config().tier,
        record_key,
        record_hash: *entry.hash(),
        total_weight: entry.validators().total_weight(),
        lanes,
    })
}

/// The exact record the envelope names; for a version 1 message, the one the caller names.
fn record_key(envelope: &Envelope<'_>, context: &Context<'_>) -> Result<RecordKey, Error> {
    let lineage = envelope.lineage();
    let (key_era, generation) = if envelope.version() == 1 {
        context
            .message_generation
            .ok_or(Error::rejected(Reason::RecordUnknown))?
    } else {
        (lineage.key_era, lineage.generation)
    };
    let chain_id = *envelope.message().unsigned().source_chain_id();
    Ok(RecordKey {
        network_id: context.network_id,
        chain_id,
        key_era,
        generation,
    })
}

fn check_record(entry: &Entry, source: &SourcePolicy, context: &Context<'_>) -> Result<(), Error> {
    let config = source.config();
    entry.check_height(context.source_height, config.grace_heights)?;
    let record = entry.record();
    if context.time_s.saturating_sub(record.issued_at_s) > config.max_age_s {
        return Err(Error::rejected(Reason::RecordTooOld));
    }
    let few = usize::try_from(config.validators_min)
        .is_ok_and(|minimum| entry.validators().len() < minimum);
    let low = entry.group_key().is_some() && record.threshold < config.threshold_min;
    if few || low {
        return Err(Error::rejected(Reason::CommitteeTooSmall));
    }
    Ok(())
}

/// The envelope's suite is known and the record's. A version 1 message has none.
fn check_suite(envelope: &Envelope<'_>, entry: &Entry) -> Result<(), Error> {
    if envelope.version() == 1 {
        return Ok(());
    }
    if SuiteId::from_name(envelope.effective_suite())? != entry.record().suite {
        return Err(Error::rejected(Reason::SuiteDiffers));
    }
    Ok(())
}
