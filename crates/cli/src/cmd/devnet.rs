//! `horizon devnet`: the networks of the demo, left running.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::status;
use crate::devnet::processes::{start_detached, tail};
use crate::devnet::provision::{Plan, provision};
use crate::devnet::{ACCOUNT_FILE, Layout, Program};
use crate::exit::{Code, Failure};
use crate::live::{Endpoints, block_on, client};
use crate::output::{Output, id};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Start two networks and a relayer that go on in the background
    Up(Up),
    /// Stop them; the folder stays and can be started again
    Down(Down),
    /// Say how they are
    Status(Down),
}

#[derive(Args, Debug)]
pub(super) struct Up {
    /// Folder; made if it does not exist, started again if it holds a devnet
    #[arg(long, value_name = "DIR", default_value = "devnet")]
    dir: PathBuf,
    /// Validators of each network
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(4..=64))]
    validators: u16,
    /// Least time between two blocks, milliseconds
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(50..=10_000))]
    interval_ms: u64,
    /// Seconds to wait until everything is ready
    #[arg(long, default_value_t = 120)]
    wait: u64,
}

#[derive(Args, Debug)]
pub(super) struct Down {
    /// Folder of the devnet
    #[arg(long, value_name = "DIR", default_value = "devnet")]
    dir: PathBuf,
}

pub(super) fn run(command: &Command, output: Output) -> Result<(), Failure> {
    match command {
        Command::Up(options) => {
            let options = Up {
                dir: absolute(&options.dir)?,
                ..*options
            };
            up(&options, output)
        }
        Command::Down(options) => down(&absolute(&options.dir)?, output),
        Command::Status(options) => {
            let options = Down {
                dir: absolute(&options.dir)?,
            };
            let endpoints = Endpoints {
                devnet: Some(options.dir.clone()),
                ..Endpoints::default()
            };
            let layout = Layout::read(&options.dir)?;
            for program in layout.processes(&options.dir) {
                let state = running(&program).map_or_else(
                    || "does not run".to_owned(),
                    |pid| format!("process {}", pid.as_raw_nonzero()),
                );
                output.text(&format!("{:<12} {state}", program.name));
            }
            status::show(&endpoints, output)
        }
    }
}

/// Processes are recognised by the path of their configuration: it must not depend on where a
/// command is typed.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::io(path, &error))
}

fn up(options: &Up, output: Output) -> Result<(), Failure> {
    let root = &options.dir;
    let layout = if root.join("devnet.json").exists() {
        output.text(&format!("{} is started again", root.display()));
        Layout::read(root)?
    } else {
        let plan = Plan {
            validators: options.validators,
            interval_ms: options.interval_ms,
            batch_count: 8,
        };
        provision(root, &plan, &mut |step| output.text(&format!("  {step}")))?
    };
    for program in layout.processes(root) {
        if running(&program).is_some() {
            output.text(&format!("  {} runs already", program.name));
            continue;
        }
        let pid = start_detached(&program)?;
        let text = format!("{pid}\n");
        let path = pid_file(&program);
        fs::write(&path, text).map_err(|error| Failure::io(&path, &error))?;
    }
    let outcome = wait_ready(options, &layout, output);
    if outcome.is_err() {
        // Half a devnet helps nobody.
        down(root, output)?;
    }
    outcome?;
    show(root, &layout, output);
    Ok(())
}

fn wait_ready(options: &Up, layout: &Layout, output: Output) -> Result<(), Failure> {
    let root = &options.dir;
    let deadline = Instant::now() + Duration::from_secs(options.wait);
    let nodes = layout.networks.iter().flat_map(|network| &network.nodes);
    let mut waited: Vec<(String, String)> =
        nodes.map(|node| (node.name.clone(), node.url())).collect();
    waited.push(("relayer".to_owned(), layout.relayer.url()));
    let programs = layout.processes(root);
    block_on(async {
        for (name, url) in &waited {
            let client = client(url)?;
            let program = programs.iter().find(|program| &program.name == name);
            while !status::is_ready(&client.readiness().await) {
                if let Some(program) = program
                    && running(program).is_none()
                {
                    let text = format!("{name} ended:\n{}", tail(&program.log));
                    return Err(Failure::new(Code::Internal, text));
                }
                if Instant::now() > deadline {
                    let text = format!("{name} is not ready after {} s", options.wait);
                    return Err(Failure::new(Code::Insufficient, text));
                }
                tokio::time::sleep(POLL).await;
            }
            output.text(&format!("  {name} is ready"));
        }
        Ok(())
    })
}

fn show(root: &Path, layout: &Layout, output: Output) {
    let shown = root.display();
    for network in &layout.networks {
        let urls: Vec<String> = network.nodes.iter().map(|node| node.url()).collect();
        output.text(&format!(
            "{} (network {}): {}",
            network.name,
            network.network_id,
            urls.join(" ")
        ));
    }
    output.text(&format!("relayer: {}", layout.relayer.url()));
    let [_, to] = &layout.networks;
    output.text(&format!(
        "try: horizon send --devnet {shown} --key {shown}/{ACCOUNT_FILE} --to-network {} --to-chain \
         {} --text hello",
        to.network_id,
        id(&to.chain_id())
    ));
    output.object("devnet.up", json!({"folder": root, "layout": layout}));
}

fn down(root: &Path, output: Output) -> Result<(), Failure> {
    let layout = Layout::read(root)?;
    let programs = layout.processes(root);
    let mut stopped = Vec::new();
    for program in &programs {
        if let Some(pid) = running(program) {
            // Fails only when it has just ended.
            let _ = kill_process(pid, Signal::TERM);
            stopped.push((program, pid));
        }
    }
    let deadline = Instant::now() + GRACE;
    for (program, pid) in &stopped {
        while running(program).is_some() {
            if Instant::now() > deadline {
                output.text(&format!("  {} does not stop and is killed", program.name));
                let _ = kill_process(*pid, Signal::KILL);
                break;
            }
            std::thread::sleep(POLL);
        }
        // It may be gone already.
        let _ = fs::remove_file(pid_file(program));
    }
    output.text(&format!(
        "{} processes stopped; {} stays",
        stopped.len(),
        root.display()
    ));
    output.object(
        "devnet.down",
        json!({"folder": root, "stopped": stopped.len()}),
    );
    Ok(())
}

fn pid_file(program: &Program) -> PathBuf {
    program.config.with_extension("pid")
}

/// The process of a program, if the recorded one is still it: process ids are used again.
fn running(program: &Program) -> Option<Pid> {
    let text = fs::read_to_string(pid_file(program)).ok()?;
    let pid: i32 = text.trim().parse().ok()?;
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let config = program.config.to_str()?.as_bytes();
    let is_ours = line.split(|byte| *byte == 0).any(|word| word == config);
    if is_ours { Pid::from_raw(pid) } else { None }
}

const POLL: Duration = Duration::from_millis(100);
const GRACE: Duration = Duration::from_secs(10);
