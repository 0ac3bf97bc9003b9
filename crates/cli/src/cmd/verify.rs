//! `horizon verify`: one envelope, one verdict.

use std::path::PathBuf;

use clap::Args;
use horizon_warp::limits::ENVELOPE_LEN_MAX;
use horizon_warp::prism::Schedule;
use horizon_warp::{Context, Policy, prism};

use crate::exit::{Code, Failure};
use crate::key_files::read_up_to;
use crate::output::Output;
use crate::wrapper::{KeyOptions, prepare};
use crate::{sources, verdict};

#[derive(Args, Debug)]
pub(super) struct Options {
    /// Registry file: JSON, or one record in canonical bytes
    #[arg(long, value_name = "FILE")]
    pub(super) registry: PathBuf,
    /// Policy file
    #[arg(long, value_name = "FILE")]
    pub(super) policy: PathBuf,
    #[command(flatten)]
    pub(super) wrapper: KeyOptions,
    #[command(flatten)]
    pub(super) position: Position,
    /// The envelope, or a version 1 message
    #[arg(value_name = "ENVELOPE")]
    pub(super) envelope: PathBuf,
}

/// Where the verifier stands.
#[derive(Args, Debug)]
pub(super) struct Position {
    /// Height of the source chain. Without it the strictest: records with an end have ended,
    /// retired ones are gone, `pq_since` has come
    #[arg(long)]
    height: Option<u64>,
    /// Seconds since 1970, for the age of records; the clock of this machine by default
    #[arg(long, value_name = "SECONDS")]
    time: Option<u64>,
    /// The network whose messages are taken; needed when the policy names several
    #[arg(long)]
    network: Option<u32>,
    /// Era and generation that a version 1 message is verified under, for example 1:0
    #[arg(long, value_name = "ERA:GENERATION", value_parser = generation)]
    message_generation: Option<(u64, u64)>,
    /// One lane after the other on one thread
    #[arg(long)]
    sequential: bool,
}

impl Position {
    /// The context of Prism.
    ///
    /// # Errors
    /// [`Code::Usage`] when the network is not clear.
    pub(super) fn context(&self, policy: &Policy) -> Result<Context<'_>, Failure> {
        let networks = policy
            .sources()
            .iter()
            .map(|source| source.config().network_id);
        let mut networks: Vec<u32> = networks.collect();
        networks.dedup();
        let network = match (self.network, networks.as_slice()) {
            (Some(network), _) => network,
            (None, [network]) => *network,
            _ => {
                let text = "the policy names no or several networks: say --network";
                return Err(Failure::new(Code::Usage, text));
            }
        };
        let height = self.height.unwrap_or(u64::MAX);
        let time_s = self.time.unwrap_or_else(sources::now_s);
        Ok(Context {
            message_generation: self.message_generation,
            schedule: if self.sequential {
                Schedule::Sequential
            } else {
                Schedule::Parallel
            },
            clock: Some(verdict::clock_ns),
            ..Context::new(network, height, time_s)
        })
    }
}

fn generation(text: &str) -> Result<(u64, u64), String> {
    let parts = text.split_once(':');
    let parsed =
        parts.and_then(|(era, generation)| Some((era.parse().ok()?, generation.parse().ok()?)));
    parsed.ok_or_else(|| "two numbers with a colon, for example 1:0".to_owned())
}

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    let policy = sources::read_policy(&options.policy)?;
    let registry = sources::load_registry(&options.registry, &policy)?;
    let wrapper = options.wrapper.load()?;
    let context = Context {
        wrapper: wrapper.as_ref(),
        ..options.position.context(&policy)?
    };
    let bytes = read_up_to(&options.envelope, ENVELOPE_LEN_MAX)?;
    prepare(wrapper.as_ref(), &registry, &policy, &bytes);
    let start = verdict::clock_ns();
    let outcome = prism::verify_bytes(&bytes, &registry, &policy, &context);
    let total_ns = verdict::clock_ns().saturating_sub(start);
    match outcome {
        Ok(verified) => {
            for line in verdict::accepted_lines(&verified, total_ns) {
                output.text(&line);
            }
            output.object("verify", verdict::accepted_fields(&verified, total_ns));
            Ok(())
        }
        Err(refusal) => {
            output.object("verify", verdict::refused_fields(&refusal));
            let mut text = format!("refused: {refusal}\n  what to do: {}", refusal.hint());
            let is_message = matches!(bytes.first(), Some(0xc0..=0xff));
            if is_message && context.message_generation.is_none() {
                text += "\n  a version 1 message names no generation: --message-generation";
            }
            Err(output.told(Code::Refused, text))
        }
    }
}
