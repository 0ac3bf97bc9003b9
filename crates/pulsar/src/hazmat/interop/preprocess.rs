//! Between the rounds: matrices in, MACs and transcript, sum, rank. Independent of the message.

use alloc::vec::Vec;
use core::fmt;

use horizon_hash::{kmac::KmacJob, suite::TranscriptHasher};
use horizon_ring::{
    backend::{self, Kind},
    matrix::NttMatrix,
    rank,
};
use zeroize::ZeroizeOnDrop;

use super::{
    frames::{Round1Message, equal},
    hashes,
    nonce::Nonces,
    session::{Nonce, Session},
};
use crate::{
    Error,
    error::{Misuse, Peer, Round},
    params::{KEY_LEN, NONCE_COLS, POLY_LEN, ROWS, vector_len},
};

/// Takes the matrices of a session one by one, in the order of the signer set, as they arrive.
///
/// Each is checked against its MAC, absorbed by the transcript and added to the sum in one go;
/// after the last one only its own share of the work is left. The own matrix takes part by itself.
pub struct Preprocess<'a> {
    nonce: Nonce<'a>,
    transcript: TranscriptHasher,
    sum: NttMatrix,
    /// Index in the signer set of the next matrix to absorb.
    next: usize,
}

impl<'a> Preprocess<'a> {
    /// Starts with this member's own round-one state, which it consumes.
    #[must_use]
    pub fn new(nonce: Nonce<'a>) -> Self {
        let mut transcript = nonce.session.transcript.clone();
        transcript.update(&hashes::session_tail(nonce.sid, &nonce.session.ids()));
        let mut this = Self {
            nonce,
            transcript,
            sum: NttMatrix::zeros(ROWS, NONCE_COLS),
            next: 0,
        };
        this.absorb_own();
        this
    }

    /// Position whose message is due, or `None` when all are in.
    #[must_use]
    pub fn due(&self) -> Option<u16> {
        self.session().signers.positions().get(self.next).copied()
    }

    /// Takes the next messages, in the order of the signer set and without the own one. Their MACs
    /// are checked together before anything is absorbed; the more at once, the cheaper.
    ///
    /// # Errors
    /// [`Misuse::OutOfOrder`]; [`Peer::Unexpected`] after the last one; [`Peer::WrongSession`],
    /// [`Peer::Missing`] (no MAC for this member), [`Peer::MacMismatch`]. After an error nothing of
    /// the call was absorbed.
    pub fn absorb(&mut self, messages: &[&Round1Message]) -> Result<(), Error> {
        self.check_order(messages)?;
        self.check_macs(messages)?;
        for message in messages {
            absorb(&mut self.transcript, &mut self.sum, message.matrix.as_ser());
            self.next += 1;
            self.absorb_own();
        }
        Ok(())
    }

    /// Takes all messages of a session at once, in any order. The own message may be among them,
    /// unaltered.
    ///
    /// # Errors
    /// [`Peer::Duplicate`], [`Peer::Unexpected`], [`Peer::Missing`], [`Peer::OwnMatrixAltered`],
    /// and the errors of [`absorb`](Self::absorb).
    pub fn absorb_all(&mut self, messages: &[Round1Message]) -> Result<(), Error> {
        let round = Round::One;
        let own = self.session().share.position;
        let signers = self.session().signers.clone();
        let mut by_index: Vec<Option<&Round1Message>> = alloc::vec![None; signers.len()];
        for message in messages {
            let party = message.sender;
            let index = signers
                .index_of(party)
                .ok_or(Peer::Unexpected { round, party })?;
            if by_index[index].replace(message).is_some() {
                return Err(Peer::Duplicate { round, party }.into());
            }
        }
        let own_index = self.session().own;
        if by_index[own_index].is_some_and(|message| message.matrix != self.nonce.matrix) {
            return Err(Peer::OwnMatrixAltered.into());
        }
        let mut ordered = Vec::with_capacity(signers.len());
        for (&party, message) in signers.positions().iter().zip(by_index) {
            match message {
                _ if party == own => {}
                Some(message) => ordered.push(message),
                None => return Err(Peer::Missing { round, party }.into()),
            }
        }
        self.absorb(&ordered)
    }

    /// Ends preprocessing: the transcript hash, the reduced sum and the rank check.
    ///
    /// # Errors
    /// [`Peer::Missing`] when a matrix is still due, [`Peer::RankDeficient`].
    pub fn finish(mut self) -> Result<Ready<'a>, Error> {
        if let Some(party) = self.due() {
            return Err(Peer::Missing {
                round: Round::One,
                party,
            }
            .into());
        }
        let kind = Kind::active();
        for slots in self.sum.iter_mut() {
            let raw = *slots.as_array();
            backend::reduce(kind, &raw, slots.as_mut_array());
        }
        if !rank::full_rank(&self.sum) {
            return Err(Peer::RankDeficient.into());
        }
        // The announced length is that of one matrix per signer, and all were absorbed.
        let transcript = self
            .transcript
            .finalize()
            .map_err(|_| Misuse::Length { field: "D" })?;
        let Nonce {
            session, sid, r, ..
        } = self.nonce;
        Ok(Ready {
            session,
            sid,
            nonces: r,
            d_sum: self.sum,
            transcript,
        })
    }

    const fn session(&self) -> &'a Session<'a> {
        self.nonce.session
    }

    fn check_order(&self, messages: &[&Round1Message]) -> Result<(), Error> {
        let session = self.session();
        let mut due = session
            .signers
            .positions()
            .get(self.next..)
            .unwrap_or(&[])
            .iter()
            .copied();
        for message in messages {
            let mut expected = due.next();
            if expected == Some(session.share.position) {
                expected = due.next();
            }
            let party = message.sender;
            let Some(expected) = expected else {
                return Err(Peer::Unexpected {
                    round: Round::One,
                    party,
                }
                .into());
            };
            if party != expected {
                return Err(Misuse::OutOfOrder { expected }.into());
            }
            if message.sid != self.nonce.sid || *message.signers != *session.signers.positions() {
                return Err(Peer::WrongSession {
                    round: Round::One,
                    party,
                }
                .into());
            }
        }
        Ok(())
    }

    fn check_macs(&self, messages: &[&Round1Message]) -> Result<(), Error> {
        let session = self.session();
        let to = session.share.position;
        let tail = hashes::session_tail(self.nonce.sid, &session.ids());
        let heads: Vec<[u8; 8]> = messages
            .iter()
            .map(|message| u64::from(message.sender).to_be_bytes())
            .collect();
        let parts: Vec<[&[u8]; 3]> = messages
            .iter()
            .zip(&heads)
            .map(|(message, head)| [&head[..], message.matrix.as_ser(), &tail])
            .collect();
        let jobs: Vec<KmacJob<'_>> = messages
            .iter()
            .zip(&parts)
            .map(|(message, parts)| KmacJob {
                key: &session.share.mac_keys[usize::from(message.sender)],
                parts,
            })
            .collect();
        let macs: Vec<[u8; KEY_LEN]> = session.suite().mac_batch(&jobs);
        for (message, mac) in messages.iter().zip(&macs) {
            let from = message.sender;
            let received = message.mac_for(to).ok_or(Peer::Missing {
                round: Round::One,
                party: from,
            })?;
            if !equal(mac, received) {
                return Err(Peer::MacMismatch { from, to }.into());
            }
        }
        Ok(())
    }

    /// Absorbs the own matrix if it is due.
    fn absorb_own(&mut self) {
        if self.next == self.session().own {
            absorb(
                &mut self.transcript,
                &mut self.sum,
                self.nonce.matrix.as_ser(),
            );
            self.next += 1;
        }
    }
}

/// Hashes and adds one canonical `SER(D)`.
fn absorb(transcript: &mut TranscriptHasher, sum: &mut NttMatrix, ser: &[u8]) {
    transcript.update(ser);
    let rows = ser[8..].chunks_exact(vector_len(NONCE_COLS));
    let polys = rows.flat_map(|row| row[8..].as_chunks::<POLY_LEN>().0);
    for (sum, poly) in sum.iter_mut().zip(polys) {
        let words = poly[16..].as_chunks::<8>().0;
        // At most 1,024 values below 2^49.
        for (sum, word) in sum.as_mut_array().iter_mut().zip(words) {
            *sum += u64::from_le_bytes(*word);
        }
    }
}

impl fmt::Debug for Preprocess<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preprocess")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl ZeroizeOnDrop for Preprocess<'_> {}

/// A session that lacks nothing but the message. Good for exactly one: [`sign`](Ready::sign)
/// consumes it. This compiles without its last line:
///
/// ```
/// use horizon_pulsar::hazmat::interop::Ready;
/// fn once(ready: Ready<'_>, prf_key: &[u8; 32]) {
///     let _first = ready.sign(b"one", prf_key);
/// }
/// ```
///
/// ```compile_fail,E0382
/// use horizon_pulsar::hazmat::interop::Ready;
/// fn twice(ready: Ready<'_>, prf_key: &[u8; 32]) {
///     let _first = ready.sign(b"one", prf_key);
///     let _second = ready.sign(b"two", prf_key);
/// }
/// ```
pub struct Ready<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) sid: u64,
    pub(super) nonces: Nonces,
    pub(super) d_sum: NttMatrix,
    pub(super) transcript: [u8; 32],
}

impl Ready<'_> {
    /// The transcript hash `H`. Public.
    #[must_use]
    pub const fn transcript(&self) -> &[u8; 32] {
        &self.transcript
    }

    /// The sum of the matrices, 8 x 49, NM form. Public.
    #[must_use]
    pub const fn d_sum(&self) -> &NttMatrix {
        &self.d_sum
    }
}

impl fmt::Debug for Ready<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready")
            .field("sid", &self.sid)
            .finish_non_exhaustive()
    }
}

impl ZeroizeOnDrop for Ready<'_> {}
