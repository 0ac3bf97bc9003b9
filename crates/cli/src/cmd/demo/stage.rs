//! The running processes of a demo, and how they are asked.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use horizon_ledger::Genesis;
use horizon_node::api::types::{Delivery, DeliveryState, Id, Status};
use horizon_node::client::Client;
use horizon_node::keys::read_mldsa;
use horizon_sig::mldsa;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::Options;
use super::track::{RowId, Tracker};
use crate::cmd::network::{GENESIS_FILE, read_genesis};
use crate::devnet::processes::Processes;
use crate::devnet::provision::{Plan, provision};
use crate::devnet::{ACCOUNT_FILE, Layout, node_program, relayer_program};
use crate::exit::{Code, Failure};
use crate::live::client;
use crate::output::{Output, id};

pub(super) struct Stage {
    pub(super) root: PathBuf,
    pub(super) layout: Layout,
    pub(super) processes: Processes,
    pub(super) account: mldsa::SigningKey,
    /// Clients of the validators, by network.
    pub(super) nodes: [Vec<Client>; 2],
    pub(super) relayer: Client,
    pub(super) genesis: [Genesis; 2],
    pub(super) output: Output,
    /// Longest time anything may take.
    pub(super) patience: Duration,
}

impl Stage {
    /// Makes the files, starts the processes, and waits until they can deliver.
    pub(super) async fn build(
        options: &Options,
        root: PathBuf,
        output: Output,
    ) -> Result<Self, Failure> {
        let plan = Plan {
            validators: options.validators,
            interval_ms: options.interval_ms,
            batch_count: if options.validators <= 7 { 8 } else { 4 },
        };
        title(output, "keys, dealing, genesis");
        let start = Instant::now();
        let layout = provision(&root, &plan, &mut |step| output.text(&format!("  {step}")))?;
        output.text(&format!("  {:.1} s", start.elapsed().as_secs_f64()));
        output.text("  This process dealt every share: a demonstration. A dealer that kept them");
        output.text("  could sign alone; the processes below hold one share each.");
        let read = |index: usize| {
            let network = &layout.networks[index];
            read_genesis(&root.join(&network.name).join(GENESIS_FILE))
        };
        let genesis = [read(0)?, read(1)?];
        let clients = |index: usize| {
            let nodes = layout.networks[index].nodes.iter();
            nodes
                .map(|node| client(&node.url()))
                .collect::<Result<Vec<_>, _>>()
        };
        let account = read_mldsa(&root.join(ACCOUNT_FILE))
            .map_err(|error| Failure::new(Code::Configuration, error.to_string()))?;
        // Members share two cores here: everything takes longer the more of them there are.
        let patience = Duration::from_secs(60 + 15 * u64::from(options.validators));
        let mut stage = Self {
            nodes: [clients(0)?, clients(1)?],
            relayer: client(&layout.relayer.url())?,
            processes: Processes::new()?,
            root,
            layout,
            account,
            genesis,
            output,
            patience,
        };
        stage.start().await?;
        Ok(stage)
    }

    async fn start(&mut self) -> Result<(), Failure> {
        let programs = self.layout.processes(&self.root);
        self.title(&format!("{} processes start", programs.len()));
        let start = Instant::now();
        for program in &programs {
            self.processes.start(program)?;
        }
        for network in 0..2 {
            for index in 0..self.nodes[network].len() {
                let client = self.nodes[network][index].clone();
                let name = self.layout.networks[network].nodes[index].name.clone();
                self.until(&format!("{name} is ready"), async || {
                    super::super::status::is_ready(&client.readiness().await)
                })
                .await?;
            }
            let client = self.nodes[network][0].clone();
            let name = self.layout.networks[network].name.clone();
            self.until(
                &format!("{name} has nonces for a Pulse"),
                async || matches!(client.status().await, Ok(status) if status.pulse.ready > 0),
            )
            .await?;
        }
        let relayer = self.relayer.clone();
        self.until("the relayer is ready", async || {
            super::super::status::is_ready(&relayer.readiness().await)
        })
        .await?;
        let seconds = start.elapsed().as_secs_f64();
        self.output.text(&format!("  ready after {seconds:.1} s"));
        self.output
            .object("demo.ready", json!({"seconds": seconds}));
        Ok(())
    }

    pub(super) fn title(&self, text: &str) {
        title(self.output, text);
    }

    /// Waits until `done` says so, while all processes run.
    pub(super) async fn until(
        &mut self,
        what: &str,
        mut done: impl AsyncFnMut() -> bool,
    ) -> Result<(), Failure> {
        let deadline = Instant::now() + self.patience;
        let bar = spinner(what);
        loop {
            self.alive()?;
            if done().await {
                bar.finish_and_clear();
                return Ok(());
            }
            if Instant::now() > deadline {
                let text = format!("waited {} s in vain until {what}", self.patience.as_secs());
                return Err(Failure::new(Code::Insufficient, text));
            }
            bar.tick();
            tokio::time::sleep(POLL).await;
        }
    }

    /// Fails when a process ended that was not told to.
    pub(super) fn alive(&mut self) -> Result<(), Failure> {
        match self.processes.ended() {
            None => Ok(()),
            Some(ended) => {
                let code = ended
                    .code
                    .map_or_else(|| "a signal".to_owned(), |c| c.to_string());
                let text = format!("{} ended with {code}:\n{}", ended.name, ended.tail);
                Err(Failure::new(Code::Internal, text))
            }
        }
    }

    /// Starts a validator that was killed.
    pub(super) fn restart_node(&mut self, network: usize, index: usize) -> Result<(), Failure> {
        let program = node_program(&self.root, &self.layout.networks[network].nodes[index]);
        self.processes.start(&program)
    }

    pub(super) fn restart_relayer(&mut self) -> Result<(), Failure> {
        let program = relayer_program(&self.root, &self.layout.relayer);
        self.processes.start(&program)
    }

    /// The status of a validator, or the reason why there is none.
    pub(super) async fn status(&self, network: usize, index: usize) -> Result<Status, Failure> {
        let client = &self.nodes[network][index];
        client
            .status()
            .await
            .map_err(|error| crate::live::failed(client, &error))
    }

    /// Checks at every validator of the destinations that each message acted exactly once.
    pub(super) async fn check_once(
        &mut self,
        tracker: &Tracker,
        rows: &[RowId],
    ) -> Result<(), Failure> {
        for network in 0..2 {
            let wanted: Vec<Id> = rows
                .iter()
                .map(|row| tracker.row(*row))
                .filter(|row| row.from != network)
                .filter_map(|row| row.id)
                .collect();
            for client in self.nodes[network].clone() {
                let mut all = Vec::new();
                self.until("every validator has every delivery", async || {
                    all = inbox(&client).await;
                    wanted
                        .iter()
                        .all(|id| all.iter().any(|delivery| delivery.id == *id))
                })
                .await?;
                for id in &wanted {
                    exactly_once(client.address(), id, &all)?;
                }
            }
        }
        let count = rows.len();
        self.output.text(&format!(
            "  every one of {count} messages acted exactly once, at every validator"
        ));
        self.output
            .object("demo.once", json!({"messages": count, "ok": true}));
        Ok(())
    }
}

fn exactly_once(address: &str, wanted: &Id, all: &[Delivery]) -> Result<(), Failure> {
    let found: Vec<&Delivery> = all
        .iter()
        .filter(|delivery| delivery.id == *wanted)
        .collect();
    match found.as_slice() {
        [delivery] if delivery.state == DeliveryState::Executed && delivery.attempts == 1 => Ok(()),
        other => {
            let text = format!(
                "{address}: message {} has {} deliveries, not one execution",
                id(wanted),
                other.len()
            );
            Err(Failure::new(Code::Internal, text))
        }
    }
}

/// Every delivery that a node has.
async fn inbox(client: &Client) -> Vec<Delivery> {
    let mut all: Vec<Delivery> = Vec::new();
    loop {
        let after = all.last().and_then(|delivery| delivery.sequence);
        match client.deliveries(after, 256).await {
            Ok(page) if !page.deliveries.is_empty() => all.extend(page.deliveries),
            _ => return all,
        }
    }
}

fn title(output: Output, text: &str) {
    output.text(&format!("\n# {text}"));
}

/// A spinner on a terminal, nothing elsewhere.
fn spinner(what: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("  {spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar
}

const POLL: Duration = Duration::from_millis(50);
