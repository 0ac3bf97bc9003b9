//! Everything the interface and the relayer can answer besides success: one table of stable codes.
//!
//! The reasons of [`horizon_warp::Reason`] are part of the table under their own codes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use horizon_warp::Reason;
use horizon_warp::prism::{Outcome, Refusal};

use super::types::ErrorBody;

/// An answer that is not a success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    status: StatusCode,
    code: Cow<'static, str>,
    message: Cow<'static, str>,
    retryable: bool,
    detail: BTreeMap<String, String>,
}

impl ApiError {
    /// The answer for a code of the table.
    #[must_use]
    pub fn new(code: Code) -> Self {
        Self {
            status: code.status(),
            code: Cow::Borrowed(code.code()),
            message: Cow::Borrowed(code.text()),
            retryable: code.is_retryable(),
            detail: BTreeMap::new(),
        }
    }

    /// The answer for a refusal of another table, for example the ledger's.
    ///
    /// `code` is lower-case words joined by hyphens, `message` one sentence.
    #[must_use]
    pub fn refused(code: &'static str, message: String, retryable: bool) -> Self {
        let status = if retryable {
            StatusCode::CONFLICT
        } else {
            StatusCode::UNPROCESSABLE_ENTITY
        };
        Self {
            status,
            code: Cow::Borrowed(code),
            message: Cow::Owned(message),
            retryable,
            detail: BTreeMap::new(),
        }
    }

    /// Adds a fact. The value must not be secret and must not be bytes that a client sent.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.detail.insert(name.to_owned(), value.to_string());
        self
    }

    /// HTTP status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Stable code.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// The JSON body.
    #[must_use]
    pub fn body(&self) -> ErrorBody {
        ErrorBody {
            code: self.code.clone().into_owned(),
            message: self.message.clone().into_owned(),
            retryable: self.retryable,
            detail: self.detail.clone(),
        }
    }
}

impl From<Code> for ApiError {
    fn from(code: Code) -> Self {
        Self::new(code)
    }
}

impl From<horizon_warp::Error> for ApiError {
    fn from(error: horizon_warp::Error) -> Self {
        let mut answer = Self::new(Code::Warp(error.reason()));
        if let Some(field) = error.field() {
            answer = answer.with("field", field);
        }
        if let Some(offset) = error.offset() {
            answer = answer.with("offset", offset);
        }
        if let Some(lane) = error.lane() {
            answer = answer.with("lane", lane.name());
        }
        if let Some(index) = error.index() {
            answer = answer.with("index", index);
        }
        answer
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let answer = Self::from(*refusal.error());
        match refusal.lane() {
            Some(lane) => answer.with("lane", lane.name()),
            None => answer,
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for ApiError {}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(self.body())).into_response();
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

macro_rules! codes {
    ($(
        $variant:ident $status:ident $retryable:literal $code:literal $text:literal $hint:literal
    )*) => {
        /// A stable code of the interface. [`Code::TABLE`] lists those that are not Warp's.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $( #[doc = $text] $variant, )*
            /// A reason of the envelope's verification.
            Warp(Reason),
        }

        impl Code {
            /// Every code that is not a Warp reason.
            pub const TABLE: &'static [Self] = &[ $( Self::$variant, )* ];

            /// Lower-case words joined by hyphens, never renamed.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self {
                    $( Self::$variant => $code, )*
                    Self::Warp(reason) => reason.code(),
                }
            }

            /// One static sentence without a full stop.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $( Self::$variant => $text, )*
                    Self::Warp(reason) => reason.text(),
                }
            }

            /// What to do next.
            #[must_use]
            pub const fn hint(self) -> &'static str {
                match self {
                    $( Self::$variant => $hint, )*
                    Self::Warp(reason) => reason.hint(),
                }
            }

            /// HTTP status.
            #[must_use]
            pub fn status(self) -> StatusCode {
                match self {
                    $( Self::$variant => StatusCode::$status, )*
                    Self::Warp(reason) if outcome(reason) == Outcome::Refused => {
                        StatusCode::UNPROCESSABLE_ENTITY
                    }
                    Self::Warp(_) => StatusCode::CONFLICT,
                }
            }

            /// Whether the same request may succeed later.
            #[must_use]
            pub fn is_retryable(self) -> bool {
                match self {
                    $( Self::$variant => $retryable, )*
                    Self::Warp(reason) => outcome(reason) != Outcome::Refused,
                }
            }
        }
    };
}

impl Code {
    /// The code with this text.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        let own = Self::TABLE.iter().copied().find(|row| row.code() == code);
        own.or_else(|| Reason::from_code(code).map(Self::Warp))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// What a reason means for whoever carries the envelope; the rule of [`Refusal::outcome`].
fn outcome(reason: Reason) -> Outcome {
    let error = horizon_warp::Error::Rejected {
        reason,
        lane: None,
        index: None,
    };
    Refusal::from(error).outcome()
}

codes! {
    BadQuery BAD_REQUEST false "bad-query"
        "A query key is unknown, repeated or has a wrong value"
        "Compare with docs/api.md; unknown keys are refused"
    BadId BAD_REQUEST false "bad-id"
        "The path has no id of 0x and 64 lower-case hex digits"
        "Write the id as the interface prints it"
    BadHeight BAD_REQUEST false "bad-height"
        "The path has no decimal height"
        "Write the height without sign and leading zero"
    BadBody BAD_REQUEST false "bad-body"
        "The body is not what the request takes, or broke off"
        "Compare with docs/api.md; unknown keys are refused"
    BodyTooLarge PAYLOAD_TOO_LARGE false "body-too-large"
        "The body is larger than the request's limit"
        "Send less"
    BodyTimeout REQUEST_TIMEOUT true "body-timeout"
        "The body did not arrive in time"
        "Send again over a faster connection"
    MediaType UNSUPPORTED_MEDIA_TYPE false "media-type"
        "The body's content type is not the one the request takes"
        "Use application/octet-stream for bytes and application/json for JSON"
    RouteUnknown NOT_FOUND false "route-unknown"
        "No such path"
        "Compare with docs/api.md"
    MethodWrong METHOD_NOT_ALLOWED false "method-wrong"
        "The path takes another method"
        "Compare with docs/api.md"
    RateLimited TOO_MANY_REQUESTS true "rate-limited"
        "Too many requests from this address"
        "Wait a second, then send fewer"
    Overloaded SERVICE_UNAVAILABLE true "overloaded"
        "Too many requests are in work"
        "Wait, then try again"
    Slow GATEWAY_TIMEOUT true "slow"
        "The answer took longer than the server's limit"
        "Try again; look at the node's load if it stays so"
    Unavailable SERVICE_UNAVAILABLE true "unavailable"
        "The process is starting, stopping or catching up"
        "Look at /readyz for the reason"
    Internal INTERNAL_SERVER_ERROR false "internal"
        "The process met a fault of its own"
        "Look at its log"
    MessageUnknown NOT_FOUND true "message-unknown"
        "No final block here sent a message with this id"
        "Check the id and the network; the block may not be final yet"
    DeliveryUnknown NOT_FOUND true "delivery-unknown"
        "No message with this id has arrived here"
        "Ask the relayer's queue where it is"
    BlockUnknown NOT_FOUND true "block-unknown"
        "There is no final block of this height here"
        "Wait, or ask a node that keeps all blocks"
    HeightTooOld GONE false "height-too-old"
        "The message is older than the look-back allows"
        "Raise the look-back, or have the message sent again"
    AttestationRefused CONFLICT false "attestation-refused"
        "The validators refuse to sign this message"
        "Ask a validator's log for the reason"
    EvidenceIncomplete CONFLICT true "evidence-incomplete"
        "A lane of the message is not complete yet"
        "Look at the aggregate and the pulse of the message"
    MempoolFull SERVICE_UNAVAILABLE true "mempool-full"
        "Too many transactions wait for a block"
        "Wait, then send again"
    TransactionMalformed UNPROCESSABLE_ENTITY false "transaction-malformed"
        "The bytes are not a transaction that can be sent here"
        "Build it with the command-line tool"
    TransactionSignature UNPROCESSABLE_ENTITY false "transaction-signature"
        "The transaction's signature does not verify"
        "Sign for this chain and this account"
    AccountSequence CONFLICT false "account-sequence"
        "The transaction has a sequence number that its account has used"
        "Read the account's next number and sign again"
    MessageExpired UNPROCESSABLE_ENTITY false "message-expired"
        "The message's expiry height has passed at the destination"
        "Send it again with a later expiry"
    WrongDestination UNPROCESSABLE_ENTITY false "wrong-destination"
        "The message is addressed to another network or chain, or to none"
        "Submit it to its destination"
    RecipientUnknown UNPROCESSABLE_ENTITY false "recipient-unknown"
        "The message's recipient is no handler of this chain"
        "Use journal, counter or gate"
    ChannelGap CONFLICT true "channel-gap"
        "An earlier message of the ordered channel has not arrived"
        "Deliver the earlier one first"
    NonceWindow CONFLICT true "nonce-window"
        "The message's nonce is too far ahead of the channel's window"
        "Deliver earlier messages of the channel first"
    NonceUsed UNPROCESSABLE_ENTITY false "nonce-used"
        "Another message used this nonce of the channel"
        "Keep both messages; the source signed two for one nonce"
    NothingToRetry CONFLICT false "nothing-to-retry"
        "No message that can be retried matches"
        "Look at the queue or the inbox"
    AlreadyExecuted CONFLICT false "already-executed"
        "The message has acted already"
        "Nothing needs to be done"
    HandlerFailed CONFLICT true "handler-failed"
        "The recipient's handler refused the message; its bytes are kept"
        "Remove the cause and retry the message at the destination"
    SourceUnreachable BAD_GATEWAY true "source-unreachable"
        "No endpoint of the source answers"
        "Start a node of the source, or correct its address"
    DestinationUnreachable BAD_GATEWAY true "destination-unreachable"
        "No endpoint of the destination answers"
        "Start a node of the destination, or correct its address"
    SourceMismatch BAD_GATEWAY false "source-mismatch"
        "The source's endpoint belongs to another network than configured"
        "Correct network_id, chain_id or the address"
    DestinationMismatch BAD_GATEWAY false "destination-mismatch"
        "The destination's endpoint belongs to another network than configured"
        "Correct network_id, chain_id or the address"
    BadAnswer BAD_GATEWAY true "bad-answer"
        "An endpoint's answer is not what the interface promises"
        "Compare the versions of both sides"
    SourceRewound BAD_GATEWAY false "source-rewound"
        "The source has fewer messages than were read from it"
        "Find out which endpoint lost blocks; the cursor stays where it is"
    BacklogFull CONFLICT true "backlog-full"
        "The route has as many messages on disk as it may; reading pauses"
        "Find out why they are not delivered; retry or forget dead letters"
    TierUnsupported CONFLICT false "tier-unsupported"
        "The destination's tier needs a lane that this relayer cannot build"
        "Use a tier without Groth16, or a prover"
    SignaturesInvalid CONFLICT true "signatures-invalid"
        "Collected signatures did not verify and were dropped"
        "Ask another node of the source"
    PulseWaiting CONFLICT true "pulse-waiting"
        "The message has no Pulse yet"
        "Look at the pulse of the message and at the committee's health"
    PulseAborted CONFLICT true "pulse-aborted"
        "Every attempt to sign the message's Pulse failed"
        "Look at the committee's log; a new subject is needed"
    NotFinal CONFLICT true "not-final"
        "The destination has not made the message final yet"
        "Wait; it is sent again if it gets lost"
    LostBeforeFinality CONFLICT true "lost-before-finality"
        "The destination no longer knows the envelope that was sent"
        "Nothing; it is sent again"
    SubmissionsExhausted CONFLICT false "submissions-exhausted"
        "The envelope was sent as often as allowed and never became final"
        "Look at the destination, then retry"
    AckWaiting CONFLICT true "ack-waiting"
        "The message is delivered and its acknowledgement is under way"
        "Look at the route back"
    StoreFailed INTERNAL_SERVER_ERROR true "store-failed"
        "The route's file could not be written"
        "Check free space and permissions"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_code_is_unique_across_the_table_and_the_warp_reasons() {
        let mut codes = BTreeSet::new();
        let warp = Reason::ALL.iter().copied().map(Code::Warp);
        for code in Code::TABLE.iter().copied().chain(warp) {
            assert!(codes.insert(code.code()), "duplicate {code}");
            assert_eq!(Code::from_code(code.code()), Some(code));
            assert!(!code.text().is_empty() && !code.text().ends_with('.'));
            assert!(!code.hint().is_empty() && !code.hint().ends_with('.'));
            assert!(code.status().is_client_error() || code.status().is_server_error());
        }
        assert_eq!(Code::from_code("no-such-code"), None);
    }

    #[test]
    fn refusals_that_more_evidence_can_change_are_retryable() {
        assert!(Code::Warp(Reason::InsufficientWeight).is_retryable());
        assert!(Code::Warp(Reason::RecordUnknown).is_retryable());
        assert!(!Code::Warp(Reason::PulseInvalid).is_retryable());
        let answer = ApiError::from(Code::Warp(Reason::PulseInvalid));
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
    }
}
