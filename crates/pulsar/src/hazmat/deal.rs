//! Keys from the trusted dealer, for a committee that lives in one process.

use alloc::vec::Vec;

use horizon_hash::suite::Suite;
use rand_core::CryptoRng;

use crate::dealer::{self, Ceremony, MemberShare, Variant};
use crate::signers::Quorum;
use crate::{Error, GroupKey};

/// Makes a group key and the shares of all members, in order of position.
///
/// The ceremony belongs to no chain; a random value in place of an opening block tells two
/// dealings apart.
///
/// # Errors
/// Those of the dealer; none occurs for a checked quorum.
///
/// # Security
/// The dealer sees every secret: whoever controls it controls the key.
pub fn deal(
    quorum: Quorum,
    suite: Suite,
    rng: &mut impl CryptoRng,
) -> Result<(GroupKey, Vec<MemberShare>), Error> {
    let mut opening_block_hash = [0; 32];
    rng.fill_bytes(&mut opening_block_hash);
    let ceremony = Ceremony {
        variant: Variant::Dkg,
        chain_id: &[0; 32],
        network_id: 0,
        group_id: 0,
        suite,
        era: 0,
        old_generation: 0,
        new_generation: 0,
        old_set_hash: [0; 32],
        new_set_hash: [0; 32],
        old_threshold: 0,
        new_threshold: u32::from(quorum.threshold()),
        group_key_hash: [0; 32],
        opening_block_hash,
        attempt: 0,
    };
    let deal = dealer::deal(&ceremony, quorum, rng)?;
    let record = deal.record;
    let accept = |package: dealer::Package| package.accept(&record);
    let shares = deal
        .packages
        .into_iter()
        .map(accept)
        .collect::<Result<_, _>>()?;
    Ok((deal.group_key, shares))
}
