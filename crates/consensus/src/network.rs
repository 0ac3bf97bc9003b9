//! Authenticated links between the validators of the genesis, for the process.

use core::{net::SocketAddr, time::Duration};

use commonware_codec::DecodeExt as _;
use commonware_cryptography::{
    ChaCha20Poly1305, Signer as _,
    ed25519::{PrivateKey, PublicKey},
};
use commonware_p2p::{
    Address, AddressableManager as _,
    authenticated::lookup::{self, Oracle},
};
use commonware_runtime::{Handle, Supervisor as _, tokio};
use commonware_stream::{
    cups::{self, Cups},
    sake::{self, Sake},
};
use commonware_utils::{NZUsize, ordered::Map};

use crate::{
    engine::{self, Links},
    error::Error,
    limits,
    roster::Roster,
};

/// How the links of one validator are opened.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// How long a validator that broke the rules stays disconnected.
    pub block_duration: Duration,
}

/// Sending side of a link channel.
pub type Sender = lookup::Sender<PublicKey, tokio::Context>;
/// Receiving side of a link channel.
pub type Receiver = lookup::Receiver<PublicKey>;

/// The started network of one validator.
pub struct Network {
    /// Channels of agreement and delivery.
    pub links: Links<Sender, Receiver>,
    /// The gossip channel.
    pub gossip: (Sender, Receiver),
    /// The ceremony channel.
    pub ceremony: (Sender, Receiver),
    /// Peer set and blocker.
    pub oracle: Oracle<PublicKey>,
    /// Ends only when the network does.
    pub task: Handle<()>,
}

impl core::fmt::Debug for Network {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}

/// The link key of a validator from its 32-byte Ed25519 seed.
///
/// # Errors
/// [`Error::Roster`] for another length.
pub fn identity_from_seed(seed: &[u8]) -> Result<PrivateKey, Error> {
    PrivateKey::decode(bytes::Bytes::copy_from_slice(seed))
        .map_err(|_| Error::Roster("the link key does not decode".to_owned()))
}

/// Opens the links of the validator that holds `identity`.
///
/// # Errors
/// [`Error::Roster`] when the identity is in no seat or two validators share an address.
pub fn open(
    context: &tokio::Context,
    roster: &Roster,
    identity: PrivateKey,
    settings: Settings,
) -> Result<Network, Error> {
    if roster.position(&identity.public_key()).is_none() {
        return Err(Error::Roster(
            "the identity key belongs to no validator of the genesis".to_owned(),
        ));
    }
    let peers: Map<PublicKey, Address> = roster
        .validators()
        .iter()
        .map(|validator| (validator.identity.clone(), Address::from(validator.address)))
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| Error::Roster("an identity occurs twice".to_owned()))?;
    let seats = core::num::NonZeroUsize::new(roster.len()).unwrap_or(NZUsize!(1));
    let handshake = Cups::<_, ChaCha20Poly1305>::new(
        Sake {
            signer: identity,
            synchrony_bound: Duration::from_secs(5),
            max_handshake_age: Duration::from_secs(10),
            version: sake::Version::V1,
        },
        cups::Version::V1,
    );
    let mut config = lookup::Config::local(
        handshake,
        &roster.link_namespace(),
        settings.listen,
        seats,
        engine::max_message_size(roster.len()),
        NZUsize!(limits::MAILBOX),
    );
    config.tracked_peer_sets = NZUsize!(1);
    config.block_duration = settings.block_duration;
    let (mut network, mut oracle) = lookup::Network::new(context.child("network"), config);
    let _ = oracle.track(0, peers);
    let [
        votes,
        certificates,
        fetch,
        backfill,
        blocks,
        gossip,
        ceremony,
    ] = engine::channels().map(|(channel, quota)| network.register(channel, quota));
    Ok(Network {
        links: Links {
            votes,
            certificates,
            fetch,
            backfill,
            blocks,
        },
        gossip,
        ceremony,
        oracle,
        task: network.start(),
    })
}
