//! Disks that are full or cannot be written.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::net::{ALPHA, Net, PATIENCE};
use crate::process::{HORIZON, Process, arguments};

const CONFIGURATION: i32 = 5;
const IO: i32 = 6;
const AT_ONCE: Duration = Duration::from_secs(15);
const NOBODY: u32 = 65_534;

/// The program, behind a shell that first runs `prelude`. Files that may not grow fail as a full
/// disk does, if the signal that comes with it is ignored.
fn behind(net: &Net, name: &str, prelude: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("trap '' XFSZ; {prelude} exec \"$@\""))
        .args(["sh", HORIZON]);
    arguments(&mut command, &net.program(name));
    command
}

fn give(path: &Path, owner: u32) {
    chown(path, Some(owner), Some(owner)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), owner);
        }
    }
}

#[test]
fn a_start_on_a_full_or_read_only_disk_is_refused_with_code_5() {
    let net = Net::new("nospace", 100);
    let name = net.name(ALPHA, 0);
    let log = net.program(&name).log;
    let full = behind(&net, &name, "ulimit -f 0;");
    let ended = Process::spawn(&name, &log, full).wait(AT_ONCE);
    ended.insist(CONFIGURATION, &["data_dir", "cannot be written"]);

    let mut little = behind(&net, &name, "");
    little.env("HORIZON_LIMITS__MIN_FREE", "1048576 GiB");
    let ended = Process::spawn(&name, &log, little).wait(AT_ONCE);
    ended.insist(CONFIGURATION, &["data_dir", "MiB free", "limits.min_free"]);

    let data = net.folder(ALPHA, 0).join("data");
    let mut read_only = behind(&net, &name, "");
    if rustix::process::getuid().is_root() {
        // Modes do not bind the superuser.
        give(&net.root, NOBODY);
        read_only.uid(NOBODY).gid(NOBODY);
    }
    fs::set_permissions(&data, fs::Permissions::from_mode(0o500)).unwrap();
    // The lock is there from the starts before.
    fs::remove_file(data.join("lock")).unwrap();
    let ended = Process::spawn(&name, &log, read_only).wait(AT_ONCE);
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
    ended.insist(CONFIGURATION, &["data", "denied"]);
}

/// A file system of its own, if this user may mount one.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(at: &Path, mib: u32) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let size = format!("size={mib}m,mode=0700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "none"]).arg(at);
        let mounted = mount.output().is_ok_and(|ran| ran.status.success());
        mounted.then(|| Self(at.to_path_buf()))
    }

    /// Takes all space that is left.
    fn fill(&self) -> PathBuf {
        use std::io::Write as _;
        let path = self.0.join("ballast");
        let mut file = fs::File::create_new(&path).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        path
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_file_system_without_space_ends_a_node_with_code_6_and_it_catches_up_later() {
    let mut net = Net::new("tmpfs", 100);
    let data = net.folder(ALPHA, 3).join("data");
    let Some(disk) = Tmpfs::mount(&data, 128) else {
        eprintln!("mounting is not allowed here: only the limit on file sizes is tested");
        return;
    };
    net.start_network(ALPHA);
    for index in 0..4 {
        net.await_ready(ALPHA, index);
    }
    let name = net.name(ALPHA, 3);
    let ballast = disk.fill();
    let ended = net.take(&name).wait(PATIENCE);
    ended.insist(IO, &[]);
    eprintln!("{}", ended.sentence());
    // It does not start either.
    Process::start(&net.program(&name))
        .wait(AT_ONCE)
        .insist(CONFIGURATION, &["data_dir"]);
    let tip = net.tip(ALPHA);
    net.await_height(ALPHA, 0, tip + 10);
    fs::remove_file(ballast).unwrap();
    net.start(&name);
    net.await_height(ALPHA, 3, tip + 10);
    net.await_ready(ALPHA, 3);
    net.assert_no_fork(ALPHA);
    net.processes.clear();
    drop(disk);
}
