//! What the ledger remembers about members, and how it ranks them (rule L1).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::committee::context::{Committee, SigningSet, plan_hash};
use crate::committee::error::Error;

/// Penalties, suspicion, and sets that were tried in vain.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    /// Grows with every missed deadline that is the member's own fault, shrinks with time. By position.
    pub(super) penalty: Vec<u32>,
    /// Number of failed sets with this member since it last took part in a success. By position.
    pub(super) suspicion: Vec<u32>,
    /// How often a set was tried in vain since the last success: a commitment was missing, members did not get
    /// each other's nonces in time, or the partials were complete and did not verify. Lost messages and members
    /// that restart do that, too, so whatever was tried is tried again after the others.
    pub(super) vain: BTreeMap<SigningSet, u32>,
}

impl Standing {
    pub(super) fn new(members: u16) -> Self {
        let zero = alloc::vec![0; usize::from(members)];
        Self {
            penalty: zero.clone(),
            suspicion: zero,
            vain: BTreeMap::new(),
        }
    }

    /// Adds the penalty of a missed deadline.
    pub(super) fn punish(&mut self, member: u16) {
        if let Some(penalty) = self.penalty.get_mut(usize::from(member)) {
            *penalty = penalty.saturating_add(PENALTY);
        }
    }

    /// Time passes: every penalty shrinks by one.
    pub(super) fn decay(&mut self) {
        self.penalty
            .iter_mut()
            .for_each(|penalty| *penalty = penalty.saturating_sub(1));
    }

    /// The largest penalty of a member of the set.
    pub(super) fn worst_penalty(&self, set: &SigningSet) -> u32 {
        let penalties = set.ids().iter();
        let penalties = penalties.filter_map(|member| self.penalty.get(usize::from(*member)));
        penalties.copied().max().unwrap_or(0)
    }

    /// A batch or an attempt of the set came to nothing.
    pub(super) fn in_vain(&mut self, set: &SigningSet) {
        if self.vain.len() >= VAIN_SETS_MAX && !self.vain.contains_key(set) {
            self.vain.clear();
        }
        let times = self.vain.entry(set.clone()).or_default();
        *times = times.saturating_add(1);
    }

    /// The set came to nothing, and who is at fault cannot be told: members lack nonces of others, or a complete
    /// set of partials did not verify.
    pub(super) fn failure(&mut self, set: &SigningSet) {
        self.in_vain(set);
        self.update(set, |suspicion| suspicion.saturating_add(1));
    }

    /// A set signed.
    pub(super) fn success(&mut self, set: &SigningSet) {
        self.vain.clear();
        self.update(set, |_| 0);
    }

    /// Whether a set was not tried in vain since the last success.
    pub(super) fn has_hope(&self, set: &SigningSet) -> bool {
        !self.vain.contains_key(set)
    }

    /// The signing set of batch `batch`: members by penalty, suspicion and hash, the shortest prefix that
    /// holds `t` points. A set that was tried in vain, is in `failed` (once for each open subject that it failed
    /// for) or in `live` is avoided by ranking anew, up to 64 times; if there is no other, the one of which
    /// that is true least often is taken, `live` counting least.
    ///
    /// Every other batch may leave the penalties aside for a set that was tried in vain less often: when no set
    /// of members without penalty gets anywhere, one of these spoils, and a member that only missed a deadline
    /// is the better risk. Not every batch: there can be thousands of sets with a member that is down.
    ///
    /// # Errors
    /// None in a valid committee: all points together reach the threshold.
    pub(super) fn choose(
        &self,
        committee: &Committee,
        batch: u64,
        live: &[&SigningSet],
        failed: &[&SigningSet],
    ) -> Result<SigningSet, Error> {
        let tried = |set: &SigningSet| {
            let times = self.vain.get(set).copied().unwrap_or(0);
            let times = usize::try_from(times).unwrap_or(usize::MAX);
            times.saturating_add(count(failed, set))
        };
        let mut best: Option<((usize, usize), SigningSet)> = None;
        for round in 0..=2 * RANKINGS_MAX {
            let is_penalty_aside = round > RANKINGS_MAX;
            let is_good =
                |(tried, live): &(usize, usize)| *tried == 0 && (*live == 0 || is_penalty_aside);
            if is_penalty_aside && !batch.is_multiple_of(2)
                || best.as_ref().is_some_and(|(weight, _)| is_good(weight))
            {
                break;
            }
            let set = self.ranked(committee, batch, (round > 0).then_some(round))?;
            let lives = if is_penalty_aside {
                usize::MAX
            } else {
                count(live, &set)
            };
            let weight = (tried(&set), lives);
            if best.as_ref().is_none_or(|(least, _)| weight < *least) {
                best = Some((weight, set));
            }
        }
        best.map(|(_, set)| set).ok_or(Error::Internal)
    }

    fn ranked(
        &self,
        committee: &Committee,
        batch: u64,
        round: Option<u32>,
    ) -> Result<SigningSet, Error> {
        let mut order: Vec<(u32, u32, [u8; 32], u16)> = (0..committee.n())
            .map(|member| {
                let at = usize::from(member);
                // Ranking anew looks at the penalty and the hash only.
                let suspicion = if round.is_none() {
                    self.suspicion[at]
                } else {
                    0
                };
                let penalty = match round {
                    Some(round) if round > RANKINGS_MAX => 0,
                    _ => self.penalty[at],
                };
                let hash = plan_hash(committee.era_ctx(), batch, member, round);
                (penalty, suspicion, hash, member)
            })
            .collect();
        order.sort_unstable();
        let mut points = 0;
        let mut ids = Vec::new();
        for (.., member) in order {
            if points >= usize::from(committee.t()) {
                break;
            }
            points += committee.points(member).len();
            ids.push(member);
        }
        ids.sort_unstable();
        committee.signing_set(&ids)
    }

    fn update(&mut self, set: &SigningSet, change: impl Fn(u32) -> u32) {
        for member in set.ids() {
            if let Some(suspicion) = self.suspicion.get_mut(usize::from(*member)) {
                *suspicion = change(*suspicion);
            }
        }
    }
}

/// Penalty of a missed deadline.
pub(super) const PENALTY: u32 = 10;
/// How often a batch is ranked anew.
const RANKINGS_MAX: u32 = 64;
/// Most sets remembered that were tried in vain; all are forgotten together when there are more.
const VAIN_SETS_MAX: usize = 1_024;

fn count(sets: &[&SigningSet], set: &SigningSet) -> usize {
    sets.iter().filter(|other| **other == set).count()
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;
    use crate::committee::CommitteeParams;
    use crate::committee::share::testing;

    fn committee(n: u16, t: u16) -> Committee {
        let params = testing::committee(n).params().clone();
        Committee::new(CommitteeParams { t, ..params }).unwrap()
    }

    #[test]
    fn members_with_less_penalty_come_first() {
        let committee = committee(5, 3);
        let mut standing = Standing::new(5);
        standing.punish(0);
        standing.punish(3);
        for batch in 0..20 {
            let set = standing.choose(&committee, batch, &[], &[]).unwrap();
            assert_eq!(set.ids(), [1, 2, 4]);
        }
        (0..PENALTY).for_each(|_| standing.decay());
        assert_eq!(standing.penalty, [0; 5]);
    }

    #[test]
    fn live_sets_and_sets_tried_in_vain_are_avoided_as_long_as_there_are_others() {
        let committee = committee(4, 3);
        let mut standing = Standing::new(4);
        let mut live: Vec<SigningSet> = Vec::new();
        let chosen = |standing: &Standing, batch, live: &[SigningSet]| {
            let live: Vec<&SigningSet> = live.iter().collect();
            standing.choose(&committee, batch, &live, &[]).unwrap()
        };
        for batch in 0..4 {
            let set = chosen(&standing, batch, &live);
            assert!(!live.contains(&set), "batch {batch}");
            live.push(set);
        }
        // All four sets are live: one of them is taken twice.
        live.push(chosen(&standing, 4, &live));
        for tried in 0..3 {
            standing.failure(&live[tried]);
            for batch in 5..20 {
                assert!(!live[..=tried].contains(&chosen(&standing, batch, &[])));
            }
        }
        // A live set is better than one tried in vain.
        for batch in 5..20 {
            assert_eq!(chosen(&standing, batch, &live), live[3]);
        }
        // When all were, the one tried least often.
        standing.failure(&live[3]);
        for tried in [0, 1, 3] {
            standing.failure(&live[tried]);
        }
        for batch in 5..20 {
            assert_eq!(chosen(&standing, batch, &[]), live[2]);
        }
        standing.success(&live[1]);
        assert!(standing.vain.is_empty());
        // Sets that failed for subjects that are open yet count, too.
        let failed: Vec<&SigningSet> = live[..3].iter().collect();
        for batch in 5..20 {
            assert_eq!(
                standing.choose(&committee, batch, &[], &failed).unwrap(),
                live[3]
            );
        }
    }

    #[test]
    fn sets_tried_in_vain_are_remembered_in_bounded_memory() {
        let big = testing::committee(21);
        let mut standing = Standing::new(21);
        for batch in 0..5_000 {
            let set = standing.ranked(&big, batch, Some(1)).unwrap();
            standing.failure(&set);
            assert!(standing.vain.len() <= VAIN_SETS_MAX);
        }
    }

    #[test]
    fn a_spoiler_is_left_out_also_when_another_member_carries_a_penalty() {
        let committee = committee(4, 3);
        let mut standing = Standing::new(4);
        standing.punish(2);
        let first = standing.choose(&committee, 0, &[], &[]).unwrap();
        assert_eq!(first.ids(), [0, 1, 3]);
        standing.failure(&first);
        let mut tried = BTreeSet::new();
        for batch in 1..8 {
            let set = standing.choose(&committee, batch, &[], &[]).unwrap();
            if !batch.is_multiple_of(2) {
                // By penalty there is no other set, and it may have had bad luck only.
                assert_eq!(set, first);
                continue;
            }
            assert!(set.slot(2).is_some() && tried.insert(set.clone()));
            standing.failure(&set);
        }
        assert_eq!(tried.len(), 3);
    }

    #[test]
    fn one_good_set_is_found_again_whatever_happened() {
        // Member 0 is down, and the others had bad luck together: by penalty theirs is the only set, and all
        // others are without hope.
        let committee = committee(4, 3);
        let good = committee.signing_set(&[1, 2, 3]).unwrap();
        let mut standing = Standing::new(4);
        standing.failure(&good);
        for batch in 0..40 {
            let set = standing.choose(&committee, batch, &[], &[&good]).unwrap();
            if set == good {
                assert!(batch < 20, "batch {batch}");
                if batch >= 8 {
                    return;
                }
                standing.failure(&good);
            } else {
                standing.punish(0);
                standing.in_vain(&set);
            }
        }
        panic!("never tried again");
    }

    #[test]
    fn a_set_is_the_shortest_prefix_that_holds_the_points() {
        let params = testing::committee(3).params().clone();
        let points = alloc::vec![alloc::vec![1, 2, 3], alloc::vec![4], alloc::vec![5]];
        let committee = Committee::with_points(params, points).unwrap();
        let mut standing = Standing::new(3);
        standing.punish(1);
        standing.punish(2);
        assert_eq!(standing.choose(&committee, 0, &[], &[]).unwrap().ids(), [0]);
        standing.punish(0);
        standing.punish(0);
        assert_eq!(
            standing.choose(&committee, 0, &[], &[]).unwrap().ids(),
            [0, 1, 2]
        );
    }

    /// Attempts until a subject is signed when `spoilers` always sign garbage: three batches ahead, the batch
    /// of a failed set is replaced.
    fn attempts(committee: &Committee, spoilers: u16, first_batch: u64) -> u32 {
        let mut standing = Standing::new(committee.n());
        let mut live: Vec<SigningSet> = Vec::new();
        let mut batch = first_batch;
        for attempt in 1.. {
            while live.len() < 3 {
                let others: Vec<&SigningSet> = live.iter().collect();
                live.push(standing.choose(committee, batch, &others, &[]).unwrap());
                batch += 1;
            }
            let set = live.remove(0);
            if set.ids().iter().all(|id| *id >= spoilers) {
                return attempt;
            }
            standing.failure(&set);
        }
        unreachable!()
    }

    #[test]
    fn one_or_two_spoilers_of_twenty_one_are_avoided_within_minutes() {
        let committee = committee(21, 15);
        let runs = 200;
        // Measured: 1, 2.8 (at most 7 in 200 runs) and 17 attempts; without batches ahead 2.4 and 14.
        for (spoilers, limit) in [(0, 1.0), (1, 3.5), (2, 25.0)] {
            let all: Vec<u32> = (0..runs)
                .map(|run| attempts(&committee, spoilers, run * 100_000))
                .collect();
            let mean = f64::from(all.iter().sum::<u32>()) / all.len() as f64;
            assert!(
                mean <= limit,
                "{spoilers} spoilers: {mean} attempts on average"
            );
        }
    }
}
