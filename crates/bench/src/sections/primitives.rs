//! Single signatures of every scheme; every call another message.

use core::hint::black_box;

use horizon_sig::traits::{Signer, Verifier};
use horizon_sig::{bls, ed25519, mldsa, p256, secp256k1, slhdsa};
use horizon_testkit::SeededRng;
use horizon_warp::transcript::CERTIFICATE_CONTEXT;

use super::Fixtures;
use crate::failed::Failed;
use crate::measure::Bench;

/// Bytes of a message: those of a version 2 transcript with a small payload.
pub(super) const MESSAGE_LEN: usize = 256;
const MESSAGES: usize = 16;

/// A key pair of one scheme.
pub(super) struct Scheme {
    pub(super) name: &'static str,
    pub(super) signer: Box<dyn Signer>,
    pub(super) verifier: Box<dyn Verifier>,
}

/// A message and its signature.
pub(super) type Signed = (Vec<u8>, Vec<u8>);

impl Scheme {
    fn new<S, V>(name: &'static str, signer: S, verifying_key: impl Fn(&S) -> V) -> Self
    where
        S: Signer + 'static,
        V: Verifier + 'static,
    {
        Self {
            name,
            verifier: Box::new(verifying_key(&signer)),
            signer: Box::new(signer),
        }
    }

    /// Random messages, signed under `context`.
    pub(super) fn sign_some(
        &self,
        context: &[u8],
        rng: &mut SeededRng,
    ) -> Result<Vec<Signed>, Failed> {
        (0..MESSAGES)
            .map(|_| {
                let message = rng.vec(MESSAGE_LEN);
                let signature = self.signer.sign(context, &message, rng)?;
                Ok((message, signature))
            })
            .collect()
    }
}

pub(super) fn schemes(rng: &mut SeededRng) -> Result<Vec<Scheme>, Failed> {
    let mut all = vec![
        Scheme::new("secp256k1", secp256k1::SigningKey::generate(rng)?, |key| {
            *key.verifying_key()
        }),
        Scheme::new("ed25519", ed25519::SigningKey::generate(rng)?, |key| {
            *key.verifying_key()
        }),
        Scheme::new("p256", p256::SigningKey::generate(rng)?, |key| {
            key.verifying_key().clone()
        }),
        Scheme::new(
            "slh-dsa-sha2-192f",
            slhdsa::SigningKey::generate(rng)?,
            |key| key.verifying_key().clone(),
        ),
        Scheme::new("bls12-381", bls::SigningKey::generate(rng)?, |key| {
            *key.verifying_key()
        }),
    ];
    for (name, set) in [
        ("ml-dsa-44", mldsa::ParameterSet::MlDsa44),
        ("ml-dsa-65", mldsa::ParameterSet::MlDsa65),
        ("ml-dsa-87", mldsa::ParameterSet::MlDsa87),
    ] {
        let key = mldsa::SigningKey::generate(set, rng)?;
        all.push(Scheme::new(name, key, |key| key.verifying_key().clone()));
    }
    Ok(all)
}

pub(super) fn run(bench: &mut Bench<'_>, _: &Fixtures) -> Result<(), Failed> {
    let mut rng = SeededRng::new(10);
    for scheme in schemes(&mut rng)? {
        let name = scheme.name;
        let messages: Vec<Vec<u8>> = (0..MESSAGES).map(|_| rng.vec(MESSAGE_LEN)).collect();
        let mut next = messages.iter().cycle();
        bench.check(&format!("sig/sign/{name}"), || {
            let message = next.next().map_or(&[][..], Vec::as_slice);
            scheme.signer.sign(&[], black_box(message), &mut rng)
        })?;
        let signed = scheme.sign_some(&[], &mut rng)?;
        verify(
            bench,
            &format!("sig/verify/{name}/cold"),
            &scheme,
            &[],
            &signed,
        )?;
        if name == "ml-dsa-65" {
            // As the product uses it: under the context of certificates.
            let signed = scheme.sign_some(CERTIFICATE_CONTEXT, &mut rng)?;
            let id = "sig/verify/ml-dsa-65,context/cold";
            verify(bench, id, &scheme, CERTIFICATE_CONTEXT, &signed)?;
        }
    }
    Ok(())
}

fn verify(
    bench: &mut Bench<'_>,
    id: &str,
    scheme: &Scheme,
    context: &[u8],
    signed: &[Signed],
) -> Result<(), Failed> {
    let mut next = signed.iter().cycle();
    bench.check(id, || match next.next() {
        Some((message, signature)) => scheme
            .verifier
            .verify(context, black_box(message), signature)
            .map_err(Failed::from),
        None => Err(Failed("no message".to_owned())),
    })
}
