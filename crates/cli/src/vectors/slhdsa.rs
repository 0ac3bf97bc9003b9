//! SLH-DSA-SHA2-192f signatures of an independent implementation.

use horizon_sig::error::{Error, Rejected};
use horizon_sig::slhdsa;
use horizon_sig::traits::Verifier as _;

use super::Context;
use super::fields::{Checked, Fields, Verdict, fault, same};
use super::message::refused;

pub(super) fn check(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let key = slhdsa::VerifyingKey::from_bytes(&case.bytes("pk")?).map_err(refused)?;
    let (message, context) = (case.bytes("msg")?, case.bytes("ctx")?);
    let verdict = key.verify(&context, &message, &case.bytes("sig")?);
    same("valid", &verdict.is_ok(), &case.flag("valid")?)?;
    match verdict {
        Ok(_) | Err(Error::Rejected(Rejected::Equation { .. })) => Ok(Verdict::Equal),
        Err(error) => Err(fault(&format!("refused for another reason: {error}"))),
    }
}
