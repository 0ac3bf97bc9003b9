//! What one member of a Lens committee computes to sign, and what the coordinator does.

use core::hint::black_box;

use horizon_lens::ed25519::Ed25519;
use horizon_lens::ristretto255::Ristretto255;
use horizon_lens::secp256k1::Secp256k1;
use horizon_lens::{
    Approval, Commitments, Committee, Identifier, MemoryLedger, SessionId, SignatureShare, Signer,
    SigningPackage, Suite, aggregate, dealer, verify,
};
use horizon_testkit::SeededRng;

use super::Fixtures;
use crate::failed::Failed;
use crate::measure::Bench;

/// Threshold and members of the committees.
const COMMITTEES: [(u16, u16); 2] = [(3, 5), (14, 21)];
const SESSION: SessionId = SessionId([9; 32]);
const MESSAGE: &[u8] = &[0x5a; 64];

pub(super) fn run(bench: &mut Bench<'_>, _: &Fixtures) -> Result<(), Failed> {
    suite::<Ed25519>(bench, "ed25519")?;
    suite::<Secp256k1>(bench, "secp256k1")?;
    suite::<Ristretto255>(bench, "ristretto255")
}

fn suite<S: Suite>(bench: &mut Bench<'_>, name: &str) -> Result<(), Failed> {
    for (t, n) in COMMITTEES {
        let mut rng = SeededRng::new(20);
        let signers = deal::<S>(t, n, &mut rng)?;
        let signers = signers.get(..usize::from(t)).unwrap_or(&signers);
        let first = signers
            .first()
            .ok_or_else(|| Failed("no signer".to_owned()))?;
        let parameters = format!("{name},t={t}");
        let mut seed = 100;
        bench.consume(
            &format!("lens/round1/{parameters}"),
            || {
                seed += 1;
                Ok((MemoryLedger::new(4), SeededRng::new(seed)))
            },
            |(mut ledger, mut rng)| first.commit(SESSION, &mut ledger, &mut rng),
        )?;
        let session = Session::new(signers, &mut rng)?;
        bench.consume(
            &format!("lens/round2/{parameters}"),
            || {
                let mut ledger = MemoryLedger::new(4);
                let (nonces, own) = first.commit(SESSION, &mut ledger, &mut rng)?;
                let others = session.commitments.iter().skip(1).cloned();
                let commitments: Vec<_> = core::iter::once(own).chain(others).collect();
                Ok((nonces, package(first, &commitments)?, ledger))
            },
            |(nonces, package, mut ledger)| {
                let approval = Approval {
                    message: MESSAGE,
                    signers: &session.set,
                };
                first.sign(nonces, &package, &approval, &mut ledger)
            },
        )?;
        coordinator(bench, &parameters, first, &session)?;
    }
    Ok(())
}

fn coordinator<S: Suite>(
    bench: &mut Bench<'_>,
    parameters: &str,
    signer: &Signer<S>,
    session: &Session<S>,
) -> Result<(), Failed> {
    let group = signer.group();
    let package = package(signer, &session.commitments)?;
    // The signature is verified before it leaves.
    bench.check(&format!("lens/aggregate-verify/{parameters}"), || {
        aggregate(group, black_box(&package), &session.shares)
    })?;
    let signature = aggregate(group, &package, &session.shares)?;
    bench.check(&format!("lens/verify/{parameters}"), || {
        verify(group.verifying_key(), MESSAGE, black_box(&signature))
    })
}

/// One signing session of everybody, recorded.
struct Session<S: Suite> {
    set: Vec<Identifier>,
    commitments: Vec<Commitments<S>>,
    shares: Vec<SignatureShare<S>>,
}

impl<S: Suite> Session<S> {
    fn new(signers: &[Signer<S>], rng: &mut SeededRng) -> Result<Self, Failed> {
        let set: Vec<Identifier> = signers.iter().map(Signer::identifier).collect();
        let mut opened = Vec::new();
        let mut commitments = Vec::new();
        for signer in signers {
            let mut ledger = MemoryLedger::new(4);
            let (nonces, own) = signer.commit(SESSION, &mut ledger, rng)?;
            opened.push((signer, nonces, ledger));
            commitments.push(own);
        }
        let first = signers
            .first()
            .ok_or_else(|| Failed("no signer".to_owned()))?;
        let package = package(first, &commitments)?;
        let approval = Approval {
            message: MESSAGE,
            signers: &set,
        };
        let shares = opened
            .into_iter()
            .map(|(signer, nonces, mut ledger)| {
                Ok(signer.sign(nonces, &package, &approval, &mut ledger)?)
            })
            .collect::<Result<_, Failed>>()?;
        Ok(Self {
            set,
            commitments,
            shares,
        })
    }
}

fn package<S: Suite>(
    signer: &Signer<S>,
    commitments: &[Commitments<S>],
) -> Result<SigningPackage<S>, Failed> {
    Ok(SigningPackage::new(
        signer.group(),
        SESSION,
        MESSAGE,
        commitments,
    )?)
}

fn deal<S: Suite>(t: u16, n: u16, rng: &mut SeededRng) -> Result<Vec<Signer<S>>, Failed> {
    let committee = Committee::numbered(t, n)?;
    let (group, dealt) = dealer::deal::<S, _>(&committee, rng)?;
    let signers = dealt
        .into_iter()
        .map(|share| Ok(share.into_signer(&group)?));
    signers.collect()
}
