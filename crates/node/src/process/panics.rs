//! Panics of the consensus library: storage faults and broken invariants end as panics there, and a
//! panic anywhere ends the process. They become one log line and an exit code.

use std::panic::{self, PanicHookInfo};
use std::sync::{Mutex, PoisonError};

use tracing::error;

use super::{Failure, IO, UNSAFE};

/// The first panic of the process: later ones are its consequences.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

pub(super) fn install() {
    panic::set_hook(Box::new(|info| {
        let text = describe(info);
        error!("panic: {text}");
        let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(text);
    }));
}

/// What a caught panic means for the operator.
pub(super) fn failure() -> Failure {
    let text = FIRST
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
        .unwrap_or_else(|| "a panic without a message".to_owned());
    classify(&text)
}

fn classify(text: &str) -> Failure {
    let disk = DISK_WORDS.iter().any(|word| text.contains(word));
    if disk {
        return Failure::new(
            IO,
            format!("a disk or port failed under the consensus library: {text}"),
        );
    }
    Failure::new(
        UNSAFE,
        format!("an invariant of the consensus library broke: {text}"),
    )
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let message = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    let message = message.replace('\n', " ");
    match info.location() {
        Some(location) => format!("{message} ({}:{})", location.file(), location.line()),
        None => message,
    }
}

/// How the library words faults of disk and network.
const DISK_WORDS: [&str; 20] = [
    "StorageFull",
    "os error",
    "No space left",
    "unable to sync",
    "Io(",
    "IoError",
    "BlobSyncFailed",
    "WriteFailed",
    "write failed",
    "ReadFailed",
    "read failed",
    "BindFailed",
    "bind failed",
    "io error",
    "blob sync failed",
    "blob resize failed",
    "blob open failed",
    "partition creation failed",
    "failed to bind",
    "PermissionDenied",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disk_faults_are_told_from_broken_invariants() {
        let full = "unable to sync journal: Runtime(Io(Os { code: 28, kind: StorageFull }))";
        assert_eq!(classify(full).code, IO);
        // The same library, when it shows the error instead of debugging it.
        let full = "failed to persist notarized: journal error: runtime error: write failed";
        assert_eq!(classify(full).code, IO);
        assert_eq!(classify("assertion failed: a == b").code, UNSAFE);
    }
}
