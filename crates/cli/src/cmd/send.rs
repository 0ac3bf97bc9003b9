//! `horizon send`: signs a message with an account key and gives it to a node.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_ledger::tx::{self, Call};
use horizon_node::api::types::{Id, Message};
use horizon_node::client::Client;
use horizon_node::keys::read_mldsa;
use horizon_sig::mldsa;
use horizon_sig::traits::Verifier as _;
use horizon_warp::payload::EXPIRY_NEVER;
use serde_json::json;

use crate::exit::{Code, Failure};
use crate::ids;
use crate::key_files::read_bounded;
use crate::live::{Endpoints, block_on, failed};
use crate::output::{Output, id};

#[derive(Args, Debug)]
pub(super) struct Options {
    #[command(flatten)]
    endpoints: Endpoints,
    /// Account: a secret file made by `keys new ml-dsa-65`
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Network of the destination
    #[arg(long)]
    to_network: u32,
    /// Chain of the destination: 0x hex or CB58
    #[arg(long)]
    to_chain: ids::Id,
    /// Who acts there: journal, counter, gate
    #[arg(long, default_value = "journal")]
    recipient: String,
    /// What is said
    #[arg(long, conflicts_with = "body")]
    text: Option<String>,
    /// File with what is said
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,
    /// Channel, 32 bytes of hex; its first byte is 01 for an ordered one
    #[arg(long, default_value = DEFAULT_CHANNEL)]
    channel: ids::Id,
    /// Last destination height at which the message may act; without it for ever
    #[arg(long)]
    expiry_height: Option<u64>,
    /// Number among the account's transactions; asked from the node by default
    #[arg(long)]
    sequence: Option<u64>,
    /// Seconds to wait until the message stands in a final block; 0 to return at once
    #[arg(long, default_value_t = 30)]
    wait: u64,
}

const DEFAULT_CHANNEL: &str = "0x0000000000000000000000000000000000000000000000000000000000000001";

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    let key = read_mldsa(&options.key)
        .map_err(|error| Failure::new(Code::Configuration, error.to_string()))?;
    let body = match (&options.text, &options.body) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(path)) => read_bounded(path, BODY_LEN_MAX)?,
        (None, None) => {
            let text = "say something with --text or --body";
            return Err(Failure::new(Code::Usage, text));
        }
    };
    let endpoints = options.endpoints.resolve()?;
    let clients = endpoints.nodes()?;
    block_on(async {
        let client = source(&clients, options.to_network, &options.to_chain.0).await?;
        let letter = Letter {
            network: options.to_network,
            chain: options.to_chain.0,
            channel: options.channel.0,
            expiry_height: options.expiry_height.unwrap_or(EXPIRY_NEVER),
            recipient: &options.recipient,
            body: &body,
        };
        let sequence = options.sequence;
        let sent = submit(&client, &key, &letter, sequence).await?;
        output.text(&format!("transaction {}", id(&sent.transaction)));
        let message = if options.wait == 0 {
            None
        } else {
            let limit = Duration::from_secs(options.wait);
            Some(await_message(&client, &letter, &sent, limit).await?)
        };
        match &message {
            Some(message) => {
                output.text(&format!("message {}", id(&message.id)));
                output.text(&format!(
                    "  final in block {}, nonce {}",
                    message.height, message.nonce
                ));
                output.text(&format!("next: horizon explain {}", id(&message.id)));
            }
            None => output.text("  not waited for: the message id exists once a block has it"),
        }
        output.object(
            "send",
            json!({"node": client.address(), "transaction": id(&sent.transaction),
                "sequence": sent.sequence.to_string(),
                "id": message.as_ref().map(|message| id(&message.id)),
                "height": message.as_ref().map(|message| message.height.to_string())}),
        );
        Ok(())
    })
}

/// What is said and where it goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Letter<'a> {
    pub(crate) network: u32,
    pub(crate) chain: Id,
    pub(crate) channel: Id,
    pub(crate) expiry_height: u64,
    pub(crate) recipient: &'a str,
    pub(crate) body: &'a [u8],
}

/// What a node took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) transaction: Id,
    pub(crate) sequence: u64,
    /// Messages the network had sent before: where to look for the new one.
    pub(crate) before: u64,
}

/// The first of the nodes that is not of the destination itself.
async fn source(clients: &[Client], network: u32, chain: &Id) -> Result<Client, Failure> {
    let mut last = None;
    for client in clients {
        match client.status().await {
            Ok(status) if (status.network_id, &status.chain_id) != (network, chain) => {
                return Ok(client.clone());
            }
            Ok(_) => {}
            Err(error) => last = Some(failed(client, &error)),
        }
    }
    let text = "none of the nodes is of another network than the destination";
    Err(last.unwrap_or_else(|| Failure::new(Code::Usage, text)))
}

/// Signs and submits.
///
/// # Errors
/// What the ledger refuses before it is asked, then what the node answers.
pub(crate) async fn submit(
    client: &Client,
    key: &mldsa::SigningKey,
    letter: &Letter<'_>,
    sequence: Option<u64>,
) -> Result<Sent, Failure> {
    let status = client
        .status()
        .await
        .map_err(|error| failed(client, &error))?;
    let sequence = match sequence {
        Some(sequence) => sequence,
        None => {
            let bytes = key.verifying_key().key_bytes().try_into();
            let wrong = |_| Failure::new(Code::Configuration, "not an ml-dsa-65 key");
            let account = tx::account(bytes.map_err(wrong)?);
            let answer = client.account(&account).await;
            answer
                .map_err(|error| failed(client, &error))?
                .next_sequence
        }
    };
    let call = Call {
        sequence,
        destination_network: letter.network,
        destination_chain: letter.chain,
        channel: letter.channel,
        expiry_height: letter.expiry_height,
        recipient: letter.recipient.as_bytes(),
        body: letter.body,
    };
    let mut rng = UnwrapErr(SysRng);
    let transaction = call
        .sign(status.network_id, &status.chain_id, key, &mut rng)
        .map_err(|refusal| Failure::new(Code::Usage, refusal.to_string()))?;
    let answer = client.submit_message(transaction).await;
    let answer = answer.map_err(|error| failed(client, &error))?;
    Ok(Sent {
        transaction: answer.transaction,
        sequence,
        before: status.outgoing,
    })
}

/// Waits until the letter stands in a final block.
async fn await_message(
    client: &Client,
    letter: &Letter<'_>,
    sent: &Sent,
    limit: Duration,
) -> Result<Message, Failure> {
    let deadline = Instant::now() + limit;
    let mut next = sent.before;
    loop {
        let page = client.messages(next.checked_sub(1), 64).await;
        let page = page.map_err(|error| failed(client, &error))?;
        for message in page.messages {
            next = message.sequence + 1;
            if is_letter(&message, letter) {
                return Ok(message);
            }
        }
        if Instant::now() > deadline {
            let text = format!("not in a final block after {} s", limit.as_secs());
            return Err(Failure::new(Code::Insufficient, text));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Whether a message carries this letter; two equal letters at once cannot be told apart.
fn is_letter(message: &Message, letter: &Letter<'_>) -> bool {
    let place = (
        message.destination_network,
        message.destination_chain,
        message.channel,
    );
    let end = message.unsigned.ends_with(letter.body);
    place == (letter.network, letter.chain, letter.channel) && !message.is_ack && end
}

const POLL: Duration = Duration::from_millis(100);
const BODY_LEN_MAX: u64 = 32 << 10;
