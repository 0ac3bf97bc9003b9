//! Damaged, incomplete and old data directories.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use crate::net::{ALPHA, Net, PATIENCE};
use crate::process::{HORIZON, Process, until};

const IO: i32 = 6;
const UNSAFE: i32 = 7;

/// Copies a folder with its modes.
fn copy(from: &Path, to: &Path) {
    fs::DirBuilder::new().mode(0o700).create(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
    let mode = fs::metadata(from).unwrap().permissions().mode();
    fs::set_permissions(to, fs::Permissions::from_mode(mode)).unwrap();
}

fn replace(data: &Path, with: &Path) {
    fs::remove_dir_all(data).unwrap();
    copy(with, data);
}

/// Inverts every byte from `start` to `start + len`.
fn invert(path: &Path, start: u64, len: usize) {
    let mut file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let mut bytes = vec![0; len];
    file.seek(SeekFrom::Start(start)).unwrap();
    file.read_exact(&mut bytes).unwrap();
    for byte in &mut bytes {
        *byte = !*byte;
    }
    file.seek(SeekFrom::Start(start)).unwrap();
    file.write_all(&bytes).unwrap();
}

/// Inverts the last bytes of a file that are not zero.
fn invert_end(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let start = end.saturating_sub(64);
    invert(path, start as u64, end - start);
}

#[test]
fn a_corrupted_last_record_is_recovered_or_refused_and_signs_nothing_twice() {
    let mut net = Net::alone("record", 100);
    let victim = net.name(ALPHA, 3);
    net.await_height(ALPHA, 3, 20);
    net.kill(&victim);
    let data = net.folder(ALPHA, 3).join("data");
    let whole = net.root.join("whole");
    copy(&data, &whole);
    let mut refused = 0;
    for file in ["ledger.redb", "signer.redb"] {
        invert_end(&data.join(file));
        let mut process = Process::start(&net.program(&victim));
        let tip = net.tip(ALPHA);
        until("the node goes on or refuses", PATIENCE, || {
            !process.is_running() || net.height(ALPHA, 3) > tip
        });
        if process.is_running() {
            process.kill();
            // What it signed since must not be forgotten.
            fs::remove_dir_all(&whole).unwrap();
            copy(&data, &whole);
        } else {
            let ended = process.wait(PATIENCE);
            refused += 1;
            assert!(
                matches!(ended.code, Some(IO | UNSAFE)),
                "{:?} {}",
                ended.code,
                ended.log
            );
            let names_it = [file, "old copy"].map(|words| ended.sentence().contains(words));
            assert!(names_it.contains(&true), "{}", ended.sentence());
            if file == "ledger.redb" {
                // The rest is undamaged, and may have been used since.
                fs::copy(whole.join(file), data.join(file)).unwrap();
                replace(&whole, &data);
            } else {
                // No peer has taken its word: whoever forgot a signature is refused before.
                replace(&data, &whole);
            }
        }
        net.assert_alive();
    }
    eprintln!("refused: {refused} of 2");
    net.start(&victim);
    net.await_ready(ALPHA, 3);
    net.assert_no_fork(ALPHA);
    for index in 0..3 {
        assert_eq!(net.status(ALPHA, index).unwrap().evidence, 0);
    }
}

#[test]
fn an_old_copy_is_refused_with_code_7_and_comes_back_behind_the_fence() {
    let mut net = Net::alone("copy", 100);
    let name = net.name(ALPHA, 3);
    let data = net.folder(ALPHA, 3).join("data");
    let (old, newest) = (net.root.join("old"), net.root.join("newest"));
    net.await_height(ALPHA, 3, 10);
    net.kill(&name);
    copy(&data, &old);
    net.start(&name);
    let tip = net.tip(ALPHA);
    net.await_height(ALPHA, 3, tip + 20);
    net.kill(&name);
    copy(&data, &newest);

    // Refused as often as it is tried.
    replace(&data, &old);
    let mut sentence = String::new();
    for _ in 0..2 {
        let ended = Process::start(&net.program(&name)).wait(PATIENCE);
        ended.insist(UNSAFE, &["old copy", "Restoring a validator"]);
        sentence = ended.sentence().to_owned();
    }
    // The newest directory is the first way back.
    replace(&data, &newest);
    net.start(&name);
    net.await_ready(ALPHA, 3);
    net.kill(&name);

    // The second one, for a directory that is lost: in the operator's words, with the numbers of the refusal.
    replace(&data, &old);
    let ended = Process::start(&net.program(&name)).wait(PATIENCE);
    ended.insist(UNSAFE, &["old copy"]);
    assert_ne!(
        ended.sentence(),
        sentence,
        "another life has been there since"
    );
    let numbers: Vec<u64> = ended
        .sentence()
        .split(|other: char| !other.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    let [boot, height] = numbers[..] else {
        panic!("not two numbers: {}", ended.sentence());
    };
    let program = net.program(&name);
    let accepted = Command::new(HORIZON)
        .arg(program.command)
        .arg("--config")
        .arg(&program.config)
        .arg("--accept-old-copy")
        .arg(format!("{boot}:{height}"))
        .output()
        .unwrap();
    assert!(accepted.status.success(), "{accepted:?}");
    // It follows without a vote until it is past everything that it can have signed, and says so.
    let ended = Process::start(&program).wait(PATIENCE);
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    assert!(ended.log.contains("caught up"), "{}", ended.log);
    net.start(&name);
    net.await_ready(ALPHA, 3);
    net.assert_last_votes(ALPHA);
    net.assert_no_fork(ALPHA);
    for index in 0..4 {
        assert_eq!(net.status(ALPHA, index).unwrap().evidence, 0);
    }
}
