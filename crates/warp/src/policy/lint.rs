//! Looks for configurations that are valid and unwise.
//!
//! Each rule stands for a failure that has happened in the field: one hot key, a threshold of zero,
//! one operator behind several keys, two names for one root, a registry nobody updated.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::{SourceConfig, Tier};
use crate::error::Lane;
use crate::quorum::Quorum;
use crate::registry::Record;
use crate::suite::SuiteId;
use crate::validators::ValidatorSet;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Think again.
    Warn,
    /// Do not run with this.
    Refuse,
}

impl Severity {
    /// Stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Refuse => "refuse",
        }
    }
}

/// One finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The source chain's network.
    pub network_id: u32,
    /// The source chain.
    pub chain_id: [u8; 32],
    /// Which rule found it.
    pub rule: Rule,
}

macro_rules! rules {
    ($( $variant:ident $severity:ident $code:literal $text:literal $hint:literal )*) => {
        /// The rules, each with a stable code.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $( #[doc = $text] $variant, )*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )* ];

            const fn row(self) -> (Severity, &'static str, &'static str, &'static str) {
                match self {
                    $( Self::$variant => (Severity::$severity, $code, $text, $hint), )*
                }
            }
        }
    };
}

rules! {
    SingleValidator Refuse "single-validator"
        "The validator set has one member"
        "Add validators run by others"
    SoleSigner Refuse "sole-signer"
        "One validator alone reaches a quorum"
        "Spread the weight or raise the quorum"
    QuorumZero Refuse "quorum-zero"
        "A quorum is zero"
        "Choose a fraction above two thirds"
    QuorumOverOne Refuse "quorum-over-one"
        "A quorum is above one and can never be met"
        "Choose a fraction of at most one"
    QuorumHalf Refuse "quorum-half"
        "A quorum is one half or less: two disjoint sets can both reach it"
        "Choose a fraction above two thirds"
    QuorumTwoThirds Warn "quorum-two-thirds"
        "A quorum is two thirds or less: two quorums may share a third or less"
        "Choose a fraction above two thirds"
    SameRootTwice Refuse "same-root-twice"
        "One root stands under two names: a key, node or group key occurs twice"
        "Give every validator and chain keys of its own"
    NoPqRoot Warn "no-pq-root"
        "The tier has no post-quantum root"
        "Use horizon, pq or pulse"
    SinglePqRoot Warn "single-pq-root"
        "The tier has one post-quantum root"
        "Use horizon or pq"
    OperatorCanAct Refuse "operator-can-act"
        "One operator alone reaches a quorum or the Pulse threshold"
        "Spread weight and points over operators"
    OperatorCanBlock Warn "operator-can-block"
        "One operator alone can withhold a quorum"
        "Spread weight over operators"
    OperatorUndeclared Warn "operator-undeclared"
        "A validator does not say who runs it"
        "Declare operators in the record"
    SmallCommittee Warn "small-committee"
        "Fewer than four validators"
        "Add validators: three or fewer tolerate no fault"
    SmallThreshold Warn "small-threshold"
        "The Pulse needs fewer than three points, or fewer than four exist"
        "Raise threshold and points"
    ThresholdWeight Warn "threshold-weight"
        "Members with two thirds of the weight or less can make a Pulse"
        "Raise the threshold or deal points by weight"
    CertSetUnreachable Refuse "certset-unreachable"
        "The validators with an ML-DSA key cannot reach the tier's certificate quorum"
        "Give every validator an ML-DSA key"
    PulseUnavailable Refuse "pulse-unavailable"
        "The tier requires a Pulse and the record has no group key"
        "Run key generation, or use another tier"
    Groth16Unavailable Refuse "groth16-unavailable"
        "The tier requires a Groth16 proof and no verifying key is pinned"
        "Pin the wrapper key, or use horizon"
    LegacySuite Warn "legacy-suite"
        "The suite is not for production"
        "Use Pulsar-SHA3 from the next era on"
    StaleRegistry Refuse "stale-registry"
        "The newest record is older than the policy allows"
        "Update the registry from a trusted source"
    AgingRegistry Warn "aging-registry"
        "The newest record has used up half of its allowed age"
        "Plan the next refresh"
    NoAgeLimit Refuse "no-age-limit"
        "The maximum age is zero or over a year"
        "Choose less than the source's unbonding period"
    NoRecord Refuse "no-record"
        "The registry has no record of this source, or its head is not the pinned one"
        "Load the source's records and pin their head"
    BelowMinimum Refuse "below-minimum"
        "The newest record is below the policy's own minimum of validators or threshold"
        "Lower the minimum on purpose, or have the source grow"
    NoMinimum Warn "no-minimum"
        "The policy accepts fewer than four validators or a threshold below three"
        "Raise validators_min and threshold_min"
}

impl Rule {
    /// How serious the rule's findings are.
    #[must_use]
    pub const fn severity(self) -> Severity {
        self.row().0
    }

    /// The stable code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        self.row().1
    }

    /// One static sentence without a full stop.
    #[must_use]
    pub const fn text(self) -> &'static str {
        self.row().2
    }

    /// What to do.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        self.row().3
    }
}

/// Examines policies and the records they rely on. `now_s` is the caller's clock, seconds since
/// 1970.
///
/// Findings are sorted by source and rule; each rule occurs at most once per source.
#[must_use]
pub fn lint(sources: &[SourceConfig], records: &[Record], now_s: u64) -> Vec<Finding> {
    let mut findings = BTreeSet::new();
    let shared = shared_group_keys(records);
    for source in sources {
        let mut rules = BTreeSet::new();
        check_config(source, &mut rules);
        let of_source = |record: &&Record| {
            record.key.network_id == source.network_id && record.key.chain_id == source.chain_id
        };
        let newest = records
            .iter()
            .filter(of_source)
            .max_by_key(|record| (record.key.key_era, record.key.generation));
        let pinned = |record: &&Record| record.hash() == Ok(source.registry_head);
        match newest {
            Some(record) => {
                if !pinned(&record) {
                    rules.insert(Rule::NoRecord);
                }
                check_record(source, record, now_s, &mut rules);
                if shared.contains(record.group_key.as_slice()) {
                    rules.insert(Rule::SameRootTwice);
                }
            }
            None => {
                rules.insert(Rule::NoRecord);
            }
        }
        findings.extend(rules.into_iter().map(|rule| Finding {
            network_id: source.network_id,
            chain_id: source.chain_id,
            rule,
        }));
    }
    findings.into_iter().collect()
}

/// Rules about the policy alone.
fn check_config(source: &SourceConfig, rules: &mut BTreeSet<Rule>) {
    for (numerator, denominator) in [source.beam_quorum, source.certset_quorum] {
        let (n, d) = (u128::from(numerator), u128::from(denominator));
        let rule = if n == 0 || d == 0 {
            Rule::QuorumZero
        } else if n > d {
            Rule::QuorumOverOne
        } else if n.saturating_mul(2) <= d {
            Rule::QuorumHalf
        } else if n.saturating_mul(3) <= d.saturating_mul(2) {
            Rule::QuorumTwoThirds
        } else {
            continue;
        };
        rules.insert(rule);
    }
    match source.tier.required().post_quantum().iter().count() {
        0 => rules.insert(Rule::NoPqRoot),
        1 => rules.insert(Rule::SinglePqRoot),
        _ => false,
    };
    if source.tier == Tier::Wrapped && source.wrapper_key.is_none() {
        rules.insert(Rule::Groth16Unavailable);
    }
    if source.max_age_s == 0 || source.max_age_s > 366 * 86_400 {
        rules.insert(Rule::NoAgeLimit);
    }
    if source.validators_min < 4 || source.threshold_min < 3 {
        rules.insert(Rule::NoMinimum);
    }
}

/// Rules about the newest record under the policy.
fn check_record(source: &SourceConfig, record: &Record, now_s: u64, rules: &mut BTreeSet<Rule>) {
    let count = u32::try_from(record.members.len()).unwrap_or(u32::MAX);
    if count == 1 {
        rules.insert(Rule::SingleValidator);
    }
    if count < 4 {
        rules.insert(Rule::SmallCommittee);
    }
    let has_pulse = !record.group_key.is_empty();
    let low_threshold = has_pulse && record.threshold < source.threshold_min;
    if count < source.validators_min || low_threshold {
        rules.insert(Rule::BelowMinimum);
    }
    if has_pulse && (record.threshold < 3 || record.points_total() < 4) {
        rules.insert(Rule::SmallThreshold);
    }
    if source.tier.required().contains(Lane::Pulse) && !has_pulse {
        rules.insert(Rule::PulseUnavailable);
    }
    if record.suite != SuiteId::DEFAULT && has_pulse {
        rules.insert(Rule::LegacySuite);
    }
    let age_s = now_s.saturating_sub(record.issued_at_s);
    if age_s > source.max_age_s {
        rules.insert(Rule::StaleRegistry);
    } else if age_s > source.max_age_s / 2 {
        rules.insert(Rule::AgingRegistry);
    }
    let mut nodes = BTreeSet::new();
    if !record
        .members
        .iter()
        .all(|member| nodes.insert(member.node_id))
    {
        rules.insert(Rule::SameRootTwice);
    }
    match record.validators() {
        Ok(validators) => check_weights(source, record, &validators, rules),
        // Two validators with one key, or weights of zero: the record would not load either.
        Err(_) => {
            rules.insert(Rule::SameRootTwice);
        }
    }
}

/// Rules about who holds how much.
fn check_weights(
    source: &SourceConfig,
    record: &Record,
    validators: &ValidatorSet,
    rules: &mut BTreeSet<Rule>,
) {
    let total = validators.total_weight();
    let quorums = [source.beam_quorum, source.certset_quorum];
    let needed: Vec<u64> = quorums
        .into_iter()
        .filter_map(|(n, d)| Quorum::new(n, d).ok())
        .map(|quorum| quorum.weight_needed(total))
        .collect();
    let reaches = |weight: u64| needed.iter().any(|needed| weight >= *needed);
    let blocks = |weight: u64| {
        needed
            .iter()
            .any(|needed| total.saturating_sub(weight) < *needed)
    };
    if validators
        .as_slice()
        .iter()
        .any(|validator| reaches(validator.weight))
    {
        rules.insert(Rule::SoleSigner);
    }
    let mut operators: BTreeMap<&str, (u64, u32)> = BTreeMap::new();
    for member in &record.members {
        if member.operator.is_empty() {
            rules.insert(Rule::OperatorUndeclared);
            continue;
        }
        let (weight, points) = operators.entry(&member.operator).or_default();
        *weight = weight.saturating_add(member.weight);
        *points = points.saturating_add(member.points);
    }
    for (weight, points) in operators.into_values() {
        if reaches(weight) || (record.threshold > 0 && points >= record.threshold) {
            rules.insert(Rule::OperatorCanAct);
        } else if blocks(weight) {
            rules.insert(Rule::OperatorCanBlock);
        }
    }
    if source.tier.required().contains(Lane::CertSet) {
        let with_key = validators
            .as_slice()
            .iter()
            .filter(|v| v.mldsa_key.is_some());
        let weight = with_key.fold(0_u64, |sum, v| sum.saturating_add(v.weight));
        let quorum = Quorum::new(source.certset_quorum.0, source.certset_quorum.1);
        if quorum.is_ok_and(|quorum| quorum.check(weight, total).is_err()) {
            rules.insert(Rule::CertSetUnreachable);
        }
    }
    if let Some(least) = least_weight_of_threshold(record)
        && least.saturating_mul(3) <= u128::from(total).saturating_mul(2)
    {
        rules.insert(Rule::ThresholdWeight);
    }
}

/// The least weight of any members whose points reach the threshold; `None` without a Pulse.
///
/// Table over points, at most 1,024 by the record's own limit: entry `p` is the least weight with
/// `p` points or more.
fn least_weight_of_threshold(record: &Record) -> Option<u128> {
    let threshold = usize::try_from(record.threshold)
        .ok()
        .filter(|threshold| *threshold > 0)?;
    let mut least: Vec<Option<u128>> = alloc::vec![None; threshold.saturating_add(1)];
    *least.first_mut()? = Some(0);
    for member in record.members.iter().filter(|member| member.points > 0) {
        let points = usize::try_from(member.points).ok()?;
        let before = least.clone();
        for (have, weight) in before.into_iter().enumerate() {
            let Some(weight) = weight else { continue };
            let reached = have.saturating_add(points).min(threshold);
            let weight = weight.saturating_add(u128::from(member.weight));
            if let Some(slot) = least.get_mut(reached) {
                *slot = Some(slot.map_or(weight, |old| old.min(weight)));
            }
        }
    }
    least.last().copied().flatten()
}

/// Group keys that stand in records of two chains or two eras.
fn shared_group_keys(records: &[Record]) -> BTreeSet<&[u8]> {
    let mut owners: BTreeMap<&[u8], (u32, [u8; 32], u64)> = BTreeMap::new();
    let mut shared = BTreeSet::new();
    for record in records.iter().filter(|record| !record.group_key.is_empty()) {
        let era = (
            record.key.network_id,
            record.key.chain_id,
            record.key.key_era,
        );
        if *owners.entry(&record.group_key).or_insert(era) != era {
            shared.insert(record.group_key.as_slice());
        }
    }
    shared
}
