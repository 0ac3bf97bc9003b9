//! Policy: what the destination demands of each source chain. Never taken from an envelope.
//!
//! A [`Policy`] pins one [`SourcePolicy`] per source chain; a source without one is refused, and
//! the default policy refuses everything. Every lane that an envelope carries is verified, required
//! or not.
//!
//! # Source
//! Wire specification, section "Product policy"; tiers as in the table of [`Tier`].

use alloc::vec::Vec;

use crate::classify::LaneSet;
use crate::error::{Error, Lane, Reason};
use crate::quorum::Quorum;
use crate::registry::Pin;

#[cfg(feature = "json")]
mod json;
mod lint;

#[cfg(feature = "json")]
pub use json::{sources_from_json, sources_to_json};
pub use lint::{Finding, Rule, Severity, lint};

/// Which lanes a destination requires.
///
/// | Tier | Required | Post-quantum roots |
/// |---|---|---|
/// | `classical` | Beam | none |
/// | `pulse` | Beam, Pulse | Pulse |
/// | `horizon` (default) | Beam, CertSet, Pulse | CertSet, Pulse |
/// | `pq` | CertSet, Pulse; Beam when it has signers | CertSet, Pulse |
/// | `wrapped` | Beam, Groth16, Pulse | Pulse alone |
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum Tier {
    /// Beam only.
    Classical,
    /// Beam and Pulse.
    Pulse,
    /// Beam, CertSet and Pulse.
    #[default]
    Horizon,
    /// CertSet and Pulse; a Beam that is present is verified too.
    Pq,
    /// Beam, Groth16 proof and Pulse.
    Wrapped,
}

impl Tier {
    /// Every tier.
    pub const ALL: [Self; 5] = [
        Self::Classical,
        Self::Pulse,
        Self::Horizon,
        Self::Pq,
        Self::Wrapped,
    ];

    /// Exact name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classical => "classical",
            Self::Pulse => "pulse",
            Self::Horizon => "horizon",
            Self::Pq => "pq",
            Self::Wrapped => "wrapped",
        }
    }

    /// The tier with this exact name.
    ///
    /// # Errors
    /// `PolicyTier` for any other text, other capitals included.
    pub fn from_name(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|tier| tier.name() == name);
        found.ok_or(Error::misuse(Reason::PolicyTier, "tier"))
    }

    /// The lanes that must verify.
    #[must_use]
    pub fn required(self) -> LaneSet {
        use Lane::{Beam, CertSet, Groth16, Pulse};
        match self {
            Self::Classical => LaneSet::of([Beam]),
            Self::Pulse => LaneSet::of([Beam, Pulse]),
            Self::Horizon => LaneSet::of([Beam, CertSet, Pulse]),
            Self::Pq => LaneSet::of([CertSet, Pulse]),
            Self::Wrapped => LaneSet::of([Beam, Groth16, Pulse]),
        }
    }
}

/// What one source chain must prove, as configured. [`Policy::new`] checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceConfig {
    /// The network.
    pub network_id: u32,
    /// The source chain.
    pub chain_id: [u8; 32],
    /// Required lanes.
    pub tier: Tier,
    /// Beam quorum, numerator and denominator.
    pub beam_quorum: (u64, u64),
    /// Certificate quorum, numerator and denominator.
    pub certset_quorum: (u64, u64),
    /// Source height from which at least one post-quantum lane is required whatever the tier.
    pub pq_since: Option<u64>,
    /// Greatest age of a registry record, seconds; not 0.
    pub max_age_s: u64,
    /// Source heights during which a retired generation still verifies.
    pub grace_heights: u64,
    /// Fewest validators a record may have; not 0.
    pub validators_min: u32,
    /// Lowest Pulse threshold a record may have, in points; not 0.
    pub threshold_min: u32,
    /// Hash of the last registry record of the chain.
    pub registry_head: [u8; 32],
    /// Id of the verifying key under which Groth16 proofs of this chain count. `None` refuses them.
    pub wrapper_key: Option<[u8; 32]>,
}

impl SourceConfig {
    /// The defaults for a source chain: tier `horizon`, 67/100 twice, 30 days, no grace, at least 4
    /// validators and 3 points, no wrapper key.
    #[must_use]
    pub const fn new(network_id: u32, chain_id: [u8; 32], registry_head: [u8; 32]) -> Self {
        Self {
            network_id,
            chain_id,
            tier: Tier::Horizon,
            beam_quorum: (67, 100),
            certset_quorum: (67, 100),
            pq_since: None,
            max_age_s: 30 * 86_400,
            grace_heights: 0,
            validators_min: 4,
            threshold_min: 3,
            registry_head,
            wrapper_key: None,
        }
    }
}

/// A checked [`SourceConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePolicy {
    config: SourceConfig,
    beam_quorum: Quorum,
    certset_quorum: Quorum,
}

impl SourcePolicy {
    fn new(config: SourceConfig) -> Result<Self, Error> {
        let quorum = |(numerator, denominator), field| {
            Quorum::new(numerator, denominator)
                .map_err(|_| Error::misuse(Reason::QuorumParameters, field))
        };
        let numbers = [
            (config.max_age_s != 0, "max_age_s"),
            (config.validators_min != 0, "validators_min"),
            (config.threshold_min != 0, "threshold_min"),
            (config.registry_head != [0; 32], "registry_head"),
        ];
        if let Some((_, field)) = numbers.into_iter().find(|(good, _)| !good) {
            return Err(Error::misuse(Reason::PolicyField, field));
        }
        Ok(Self {
            config,
            beam_quorum: quorum(config.beam_quorum, "beam_quorum")?,
            certset_quorum: quorum(config.certset_quorum, "certset_quorum")?,
        })
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &SourceConfig {
        &self.config
    }

    /// Quorum of the Beam.
    #[must_use]
    pub const fn beam_quorum(&self) -> Quorum {
        self.beam_quorum
    }

    /// Quorum of the certificates, of the full total weight.
    #[must_use]
    pub const fn certset_quorum(&self) -> Quorum {
        self.certset_quorum
    }

    /// Whether a post-quantum lane is demanded at this source height.
    #[must_use]
    pub fn demands_pq(&self, height: u64) -> bool {
        let since = self.config.pq_since.is_some_and(|since| height >= since);
        since || !self.config.tier.required().post_quantum().is_empty()
    }
}

/// The destination's policies. The default has none and refuses everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    sources: Vec<SourcePolicy>,
}

impl Policy {
    /// Checks configurations.
    ///
    /// # Errors
    /// `QuorumParameters`, `PolicyField`, `PolicyDuplicate`.
    pub fn new(configs: &[SourceConfig]) -> Result<Self, Error> {
        let mut sources = configs
            .iter()
            .copied()
            .map(SourcePolicy::new)
            .collect::<Result<Vec<_>, _>>()?;
        let key = |source: &SourcePolicy| (source.config.network_id, source.config.chain_id);
        sources.sort_unstable_by_key(key);
        let mut pairs = sources.iter().zip(sources.iter().skip(1));
        if pairs.any(|(a, b)| key(a) == key(b)) {
            return Err(Error::misuse(Reason::PolicyDuplicate, "chain_id"));
        }
        Ok(Self { sources })
    }

    /// The policy for exactly this source chain.
    ///
    /// # Errors
    /// `PolicyMissing`.
    pub fn source(&self, network_id: u32, chain_id: &[u8; 32]) -> Result<&SourcePolicy, Error> {
        let found = self
            .sources
            .binary_search_by_key(&(network_id, *chain_id), |source| {
                (source.config.network_id, source.config.chain_id)
            });
        let found = found.ok().and_then(|at| self.sources.get(at));
        found.ok_or(Error::rejected(Reason::PolicyMissing))
    }

    /// All sources.
    #[must_use]
    pub fn sources(&self) -> &[SourcePolicy] {
        &self.sources
    }

    /// The pins with which the registry is to be loaded.
    #[must_use]
    pub fn pins(&self) -> Vec<Pin> {
        let pin = |source: &SourcePolicy| Pin {
            network_id: source.config.network_id,
            chain_id: source.config.chain_id,
            head: source.config.registry_head,
        };
        self.sources.iter().map(pin).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f20_n51_tier_names_are_exact() {
        for tier in Tier::ALL {
            assert_eq!(Tier::from_name(tier.name()), Ok(tier));
        }
        for name in ["", "PQ", "Strict-PQ", "hybrid", " horizon"] {
            assert_eq!(
                Tier::from_name(name).unwrap_err().reason(),
                Reason::PolicyTier
            );
        }
        assert_eq!(Tier::default(), Tier::Horizon);
    }

    /// Unset or excessive numbers never mean "any": they refuse the policy.
    #[test]
    fn q10_q19_unset_fields_and_bad_quorums_refuse_the_policy() {
        let good = SourceConfig::new(1, [1; 32], [2; 32]);
        Policy::new(&[good]).unwrap();
        let refused = |config| Policy::new(&[config]).unwrap_err();
        let cases = [
            (
                SourceConfig {
                    max_age_s: 0,
                    ..good
                },
                Reason::PolicyField,
                "max_age_s",
            ),
            (
                SourceConfig {
                    validators_min: 0,
                    ..good
                },
                Reason::PolicyField,
                "validators_min",
            ),
            (
                SourceConfig {
                    threshold_min: 0,
                    ..good
                },
                Reason::PolicyField,
                "threshold_min",
            ),
            (
                SourceConfig {
                    registry_head: [0; 32],
                    ..good
                },
                Reason::PolicyField,
                "registry_head",
            ),
            (
                SourceConfig {
                    beam_quorum: (0, 1),
                    ..good
                },
                Reason::QuorumParameters,
                "beam_quorum",
            ),
            (
                SourceConfig {
                    certset_quorum: (2, 1),
                    ..good
                },
                Reason::QuorumParameters,
                "certset_quorum",
            ),
        ];
        for (config, reason, field) in cases {
            let error = refused(config);
            assert_eq!((error.reason(), error.field()), (reason, Some(field)));
        }
        let twice = Policy::new(&[good, good]).unwrap_err();
        assert_eq!(twice.reason(), Reason::PolicyDuplicate);
    }

    #[test]
    fn the_default_policy_covers_no_source() {
        let missing = Policy::default().source(0, &[0; 32]).unwrap_err();
        assert_eq!(missing.reason(), Reason::PolicyMissing);
        let policy = Policy::new(&[SourceConfig::new(1, [1; 32], [2; 32])]).unwrap();
        assert!(policy.source(1, &[1; 32]).is_ok());
        assert!(policy.source(2, &[1; 32]).is_err());
        assert!(policy.source(1, &[3; 32]).is_err());
    }
}
