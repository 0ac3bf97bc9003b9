//! The header against the library: numbers, declarations, and the example compiled by a C compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use horizon_capi::boundary::{FLAG_MESSAGE_GENERATION, FLAG_SEQUENTIAL};
use horizon_capi::{POLICY_LEN_MAX, REGISTRY_LEN_MAX, Status, VERDICT_LEN_MAX};
use horizon_warp::limits::ENVELOPE_LEN_MAX;

use crate::fixture::files;
use crate::world::{HEIGHT, ISSUED_S, NETWORK};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_header_has_the_numbers_of_the_library_and_declares_every_function() {
    let header = fs::read_to_string(format!("{CRATE}/include/horizon.h")).unwrap();
    let define = |name: &str| -> u64 {
        let line = header
            .lines()
            .find(|line| line.starts_with(&format!("#define {name} ")));
        let line = line.unwrap_or_else(|| panic!("{name} is not defined"));
        line.split_whitespace().nth(2).unwrap().parse().unwrap()
    };
    let number = |status: Status| u64::try_from(status.code()).unwrap();
    for (name, value) in [
        ("HORIZON_OK", number(Status::Ok)),
        ("HORIZON_INTERNAL", number(Status::Internal)),
        ("HORIZON_USAGE", number(Status::Usage)),
        ("HORIZON_REFUSED", number(Status::Refused)),
        (
            "HORIZON_NOT_ENOUGH_EVIDENCE",
            number(Status::NotEnoughEvidence),
        ),
        ("HORIZON_CONFIGURATION", number(Status::Configuration)),
        ("HORIZON_BUFFER_TOO_SMALL", number(Status::BufferTooSmall)),
        ("HORIZON_REGISTRY_LEN_MAX", REGISTRY_LEN_MAX as u64),
        ("HORIZON_POLICY_LEN_MAX", POLICY_LEN_MAX as u64),
        ("HORIZON_ENVELOPE_LEN_MAX", ENVELOPE_LEN_MAX as u64),
        ("HORIZON_VERDICT_LEN_MAX", VERDICT_LEN_MAX as u64),
        ("HORIZON_SEQUENTIAL", FLAG_SEQUENTIAL.into()),
        ("HORIZON_MESSAGE_GENERATION", FLAG_MESSAGE_GENERATION.into()),
    ] {
        assert_eq!(define(name), value, "{name}");
    }
    let source = fs::read_to_string(format!("{CRATE}/src/boundary.rs")).unwrap();
    let functions: Vec<&str> = source
        .split("extern \"C\" fn ")
        .skip(1)
        .filter_map(|rest| rest.split('(').next())
        .collect();
    assert_eq!(functions.len(), 5);
    for function in functions {
        assert!(
            header.contains(&format!("{function}(")),
            "{function} is not declared"
        );
    }
}

#[test]
fn the_c_example_accepts_a_good_envelope_and_refuses_a_changed_one() {
    let folder = Folder::new();
    let files = files();
    let paths = [
        ("registry.json", &files.registry),
        ("policy.json", &files.policy),
        ("envelope", &files.envelope),
    ]
    .map(|(name, bytes)| {
        let path = folder.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    });
    let numbers = [
        NETWORK.to_string(),
        HEIGHT.to_string(),
        (ISSUED_S + 60).to_string(),
    ];
    for (name, library) in [("static", "libhorizon_capi.a"), ("shared", SHARED)] {
        let program = folder.0.join(name);
        compile(&library_path(library), &program);
        let run = output(Command::new(&program).args(&paths).args(&numbers));
        let text = String::from_utf8_lossy(&run.stdout);
        assert!(
            run.status.success(),
            "{text}{}",
            String::from_utf8_lossy(&run.stderr)
        );
        for part in [
            "as it is: 0, ",
            r#""state":"horizon-final""#,
            "one byte changed: 3, ",
            r#""code":"pulse-invalid""#,
        ] {
            assert!(text.contains(part), "{name}: no {part} in\n{text}");
        }
        // Another policy file: the program reports and stops.
        let run = output(
            Command::new(&program)
                .arg(&paths[0])
                .arg(&paths[0])
                .arg(&paths[2])
                .args(&numbers),
        );
        assert_eq!(run.status.code(), Some(Status::Configuration.code()));
    }
}

/// Compiles the example with every warning an error.
fn compile(library: &Path, program: &Path) {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let run = output(
        Command::new(compiler)
            .args([
                "-std=c99",
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Werror",
                "-O1",
            ])
            .arg(format!("-I{CRATE}/include"))
            .arg(format!("{CRATE}/examples/verify.c"))
            .arg(library)
            .arg(format!(
                "-Wl,-rpath,{}",
                library.parent().unwrap().display()
            ))
            .args(["-lpthread", "-ldl", "-lm", "-o"])
            .arg(program),
    );
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
}

/// The library as cargo built it for this test: beside the test's own program.
fn library_path(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let candidates = [folder.join(name), folder.join("..").join(name)];
    let found = candidates.iter().find(|path| path.exists());
    found
        .unwrap_or_else(|| panic!("no {name} near {}", folder.display()))
        .clone()
}

fn output(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// A folder of its own that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("horizon-capi-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SHARED: &str = if cfg!(target_os = "macos") {
    "libhorizon_capi.dylib"
} else {
    "libhorizon_capi.so"
};
