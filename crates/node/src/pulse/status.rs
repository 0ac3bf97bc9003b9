//! Figures of the signing service.

use horizon_pulsar::committee::State;

/// Counters since the start, and gauges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PulseStatus {
    /// Gauge: boot counter of this member; 0 for a node without a share.
    pub boot: u32,
    /// Gauge: whether the BatchVoid of this boot is final, so that the member takes part.
    pub is_current: bool,
    /// Gauge: height of the last block taken.
    pub height: u64,
    /// Gauge: indices of this member's batches by state, as of the last step of the member.
    pub states: Vec<(State, u64)>,
    /// Gauge: subjects without a Pulse.
    pub open_subjects: u64,
    /// Gauge: attempts under way.
    pub attempts: u64,
    /// Gauge: steps that wait for the member.
    pub queue: u64,
    /// Gauge: bytes of matrices that wait.
    pub matrix_bytes: u64,
    /// What happened.
    pub counts: PulseCounts,
}

/// Counters since the start, by ledger rule where there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PulseCounts {
    /// L1: batches opened.
    pub batches_opened: u64,
    /// L2: batches with all commitments.
    pub batches_committed: u64,
    /// Batches with all announcements.
    pub batches_ready: u64,
    /// L3: batches void because a member missed a deadline.
    pub batches_late: u64,
    /// L7, L6, L8: batches void for another reason.
    pub batches_void: u64,
    /// L4: indices assigned.
    pub assigned: u64,
    /// L5: subjects closed.
    pub closed: u64,
    /// L6: attempts whose partials had to be posted.
    pub posting: u64,
    /// L6: attempts failed by a silent member.
    pub failed_silent: u64,
    /// L6: attempts failed with all partials posted.
    pub failed_sets: u64,
    /// L7: boots of members.
    pub boots: u64,
    /// Own answers.
    pub answered: u64,
    /// Matrices sent, taken, and asked for.
    pub matrices_sent: u64,
    /// Matrices taken.
    pub matrices_taken: u64,
    /// Matrices asked for again.
    pub matrices_requested: u64,
    /// Matrices dropped for lack of room; they are asked for again.
    pub matrices_dropped: u64,
    /// Partials of others that verified.
    pub partials_taken: u64,
    /// Partials asked for again.
    pub partials_requested: u64,
    /// Pulses combined here.
    pub combined: u64,
    /// Combinations that did not verify.
    pub combinations_failed: u64,
    /// Pulses of others that verified.
    pub pulses_taken: u64,
    /// Sums that were not of full rank: an alarm.
    pub rank_deficient: u64,
    /// Transactions handed to the mempool, repeats included.
    pub submitted: u64,
    /// Steps that came too late.
    pub late: u64,
}

/// All states, in the order of their life.
pub(super) const STATES: [State; super::lane::STATES] = [
    State::Planned,
    State::Reserved,
    State::Committed,
    State::Revealed,
    State::Ready,
    State::Assigned,
    State::Answered,
    State::Void,
    State::Done,
    State::Failed,
];
