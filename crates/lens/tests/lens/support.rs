//! Whole runs, with a place to interfere between the steps.

use alloc::collections::VecDeque;
use core::convert::Infallible;

use horizon_lens::wire::Frame;
use horizon_lens::{
    Approval, CeremonyId, Commitments, Committee, Error, GroupKey, Identifier, MemoryLedger,
    Misuse, Peer, PeerFault, SessionId, Signature, SignatureShare, Signer, SigningNonces,
    SigningPackage, Suite, aggregate, dealer, dkg, refresh,
};
use horizon_testkit::SeededRng;
use rand_core::{TryCryptoRng, TryRng};

pub(crate) fn id(number: u16) -> Identifier {
    Identifier::new(number).unwrap()
}

pub(crate) fn ids(numbers: &[u16]) -> Vec<Identifier> {
    numbers.iter().copied().map(id).collect()
}

pub(crate) fn hex(value: &serde_json::Value) -> Vec<u8> {
    horizon_testkit::vectors::from_hex(value.as_str().unwrap()).unwrap()
}

pub(crate) fn peer<T: core::fmt::Debug>(
    result: Result<T, Error>,
    fault: PeerFault,
    culprits: &[u16],
) {
    let expected = Peer {
        fault,
        culprits: ids(culprits),
    };
    assert_eq!(result.unwrap_err(), Error::Peer(expected));
}

pub(crate) fn misuse<T: core::fmt::Debug>(result: Result<T, Error>, fault: Misuse) {
    assert_eq!(result.unwrap_err(), Error::Misuse(fault));
}

/// Gives out prepared draws and nothing else.
pub(crate) struct Script(pub(crate) VecDeque<Vec<u8>>);

impl TryRng for Script {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        panic!("not scripted")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        panic!("not scripted")
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        let draw = self.0.pop_front().expect("script is too short");
        assert_eq!(draw.len(), dst.len(), "draw of another length");
        dst.copy_from_slice(&draw);
        Ok(())
    }
}

impl TryCryptoRng for Script {}

/// Says the same 32 bytes for ever, as a broken generator does.
pub(crate) struct Stuck(pub(crate) [u8; 32]);

impl TryRng for Stuck {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_le_bytes([self.0[0]; 4]))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_le_bytes([self.0[0]; 8]))
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        for (out, byte) in dst.iter_mut().zip(self.0.iter().cycle()) {
            *out = *byte;
        }
        Ok(())
    }
}

impl TryCryptoRng for Stuck {}

pub(crate) fn deal<S: Suite>(t: u16, n: u16, rng: &mut SeededRng) -> (GroupKey<S>, Vec<Signer<S>>) {
    let committee = Committee::numbered(t, n).unwrap();
    let (group, dealt) = dealer::deal::<S, _>(&committee, rng).unwrap();
    let signers = dealt
        .into_iter()
        .map(|share| share.into_signer(&group).unwrap())
        .collect();
    (group, signers)
}

/// The same value once more, through its frame: the only way to copy what cannot be cloned.
pub(crate) fn copy<F: Frame>(value: &F) -> F {
    F::from_bytes(value.to_bytes().as_ref()).unwrap()
}

pub(crate) fn copy_signer<S: Suite>(signer: &Signer<S>) -> Signer<S> {
    Signer::new(copy(signer.share()), signer.group().clone()).unwrap()
}

/// A signing session after its first round.
pub(crate) struct Session<'a, S: Suite> {
    pub(crate) id: SessionId,
    pub(crate) signers: Vec<&'a Signer<S>>,
    pub(crate) ledgers: Vec<MemoryLedger>,
    pub(crate) nonces: Vec<SigningNonces<S>>,
    pub(crate) commitments: Vec<Commitments<S>>,
}

impl<'a, S: Suite> Session<'a, S> {
    pub(crate) fn begin(signers: &[&'a Signer<S>], rng: &mut SeededRng) -> Self {
        let mut session = Session {
            id: SessionId(rng.bytes()),
            signers: signers.to_vec(),
            ledgers: vec![MemoryLedger::new(8); signers.len()],
            nonces: Vec::new(),
            commitments: Vec::new(),
        };
        for (signer, ledger) in signers.iter().zip(&mut session.ledgers) {
            let (nonces, commitments) = signer.commit(session.id, ledger, rng).unwrap();
            session.nonces.push(nonces);
            session.commitments.push(commitments);
        }
        session
    }

    pub(crate) fn set(&self) -> Vec<Identifier> {
        self.signers.iter().map(|s| s.identifier()).collect()
    }

    pub(crate) fn package(&self, message: &[u8]) -> SigningPackage<S> {
        SigningPackage::new(self.signers[0].group(), self.id, message, &self.commitments).unwrap()
    }

    /// Second round by everybody.
    pub(crate) fn shares(mut self, package: &SigningPackage<S>) -> Vec<SignatureShare<S>> {
        let set = self.set();
        let approval = Approval {
            message: package.message(),
            signers: &set,
        };
        let parts = self.signers.iter().zip(&mut self.ledgers).zip(self.nonces);
        parts
            .map(|((signer, ledger), nonces)| {
                signer.sign(nonces, package, &approval, ledger).unwrap()
            })
            .collect()
    }
}

pub(crate) fn sign<S: Suite>(
    signers: &[&Signer<S>],
    message: &[u8],
    rng: &mut SeededRng,
) -> Result<Signature<S>, Error> {
    let session = Session::begin(signers, rng);
    let package = session.package(message);
    let shares = session.shares(&package);
    aggregate(signers[0].group(), &package, &shares)
}

/// Everybody's messages except those of one party.
pub(crate) fn without<T: Clone>(all: &[T], index: usize) -> Vec<T> {
    let rest = all.iter().enumerate().filter(|(i, _)| *i != index);
    rest.map(|(_, message)| message.clone()).collect()
}

/// `frame` with the bytes from `offset` replaced.
pub(crate) fn patched<F: Frame>(value: &F, offset: usize, with: &[u8]) -> F {
    let mut bytes = value.to_bytes().as_ref().to_vec();
    bytes[offset..offset + with.len()].copy_from_slice(with);
    F::from_bytes(&bytes).unwrap()
}

pub(crate) struct DkgRun<S: Suite> {
    pub(crate) committee: Committee,
    pub(crate) states: Vec<dkg::Committed<S>>,
    pub(crate) round1: Vec<dkg::Round1Package<S>>,
}

impl<S: Suite> DkgRun<S> {
    pub(crate) fn begin(committee: &Committee, rng: &mut SeededRng) -> Self {
        let ceremony = CeremonyId([3; 32]);
        let members = committee.members().iter();
        let begun = members.map(|me| dkg::begin::<S, _>(ceremony, *me, committee, rng).unwrap());
        let (states, round1) = begun.unzip();
        Self {
            committee: committee.clone(),
            states,
            round1,
        }
    }

    pub(crate) fn echo(self) -> (Vec<dkg::Echoed<S>>, Vec<dkg::Echo<S>>) {
        let states = self.states.into_iter().enumerate();
        states
            .map(|(me, state)| state.receive(&without(&self.round1, me)).unwrap())
            .unzip()
    }

    pub(crate) fn share(self) -> (Vec<dkg::Sharing<S>>, Vec<dkg::SecretPackage<S>>) {
        let (states, echoes) = self.echo();
        let (mut sharing, mut sent) = (Vec::new(), Vec::new());
        for (me, state) in states.into_iter().enumerate() {
            let (state, packages) = state.receive(&without(&echoes, me)).unwrap();
            sharing.push(state);
            sent.extend(packages);
        }
        (sharing, sent)
    }

    pub(crate) fn finish(self) -> Vec<Signer<S>> {
        let members = self.committee.members().to_vec();
        let (sharing, sent) = self.share();
        let states = members.iter().zip(sharing);
        states
            .map(|(me, state)| state.finish(&addressed(&sent, *me)).unwrap())
            .collect()
    }
}

pub(crate) fn addressed<S: Suite>(
    sent: &[dkg::SecretPackage<S>],
    to: Identifier,
) -> Vec<dkg::SecretPackage<S>> {
    let mine = sent.iter().filter(|package| package.to() == to);
    mine.map(copy).collect()
}

pub(crate) fn refresh_until_shares<S: Suite>(
    signers: &[&Signer<S>],
    rng: &mut SeededRng,
) -> (Vec<refresh::Sharing<S>>, Vec<refresh::SecretPackage<S>>) {
    let remaining: Vec<_> = signers.iter().map(|s| s.identifier()).collect();
    let ceremony = CeremonyId([4; 32]);
    let (states, round1): (Vec<_>, Vec<_>) = signers
        .iter()
        .map(|signer| refresh::begin(ceremony, signer, &remaining, rng).unwrap())
        .unzip();
    let (states, echoes): (Vec<_>, Vec<_>) = states
        .into_iter()
        .enumerate()
        .map(|(me, state)| state.receive(&without(&round1, me)).unwrap())
        .unzip();
    let (mut sharing, mut sent) = (Vec::new(), Vec::new());
    for (me, state) in states.into_iter().enumerate() {
        let (state, packages) = state.receive(&without(&echoes, me)).unwrap();
        sharing.push(state);
        sent.extend(packages);
    }
    (sharing, sent)
}

pub(crate) fn refreshed<S: Suite>(signers: &[&Signer<S>], rng: &mut SeededRng) -> Vec<Signer<S>> {
    let (sharing, sent) = refresh_until_shares(signers, rng);
    let states = signers.iter().zip(sharing);
    states
        .map(|(signer, state)| {
            let mine = sent.iter().filter(|p| p.to() == signer.identifier());
            state
                .finish(signer, &mine.map(copy).collect::<Vec<_>>())
                .unwrap()
        })
        .collect()
}
