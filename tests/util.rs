//! Running the program as a user does.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A call of the real program.
pub(crate) fn ddiht() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ddiht"));
    command.env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

/// Runs to the end and hands back what happened.
pub(crate) fn output(command: &mut Command) -> Output {
    command.output().unwrap()
}

/// Runs with `text` on stdin.
pub(crate) fn output_with_stdin(command: &mut Command, text: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

pub(crate) fn stdout(out: &Output) -> String {
    String::from_utf8(out.stdout.clone()).unwrap()
}

pub(crate) fn stderr(out: &Output) -> String {
    String::from_utf8(out.stderr.clone()).unwrap()
}

/// Runs, expects exit code 0, and hands back what was printed.
pub(crate) fn ok(command: &mut Command) -> String {
    let out = output(command);
    assert!(out.status.success(), "{command:?} failed ({}): {}", out.status, stderr(&out));
    stdout(&out)
}

/// Runs, expects exit code 0, and reads the JSON object it printed.
pub(crate) fn json(command: &mut Command) -> Value {
    serde_json::from_str(&ok(command)).unwrap()
}

/// Runs, expects exit code `code` and nothing on stdout, and hands back the message: one line that
/// begins with the program's name.
pub(crate) fn fails(command: &mut Command, code: i32) -> String {
    let out = output(command);
    let message = stderr(&out);
    assert_eq!(out.status.code(), Some(code), "{command:?}: {message}");
    assert_eq!(stdout(&out), "", "{command:?}");
    message
}

pub(crate) fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The lines of a file, each a JSON object.
pub(crate) fn read_lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A number of a JSON object.
pub(crate) fn number(object: &Value, key: &str) -> f64 {
    object[key].as_f64().unwrap_or_else(|| panic!("{key} is no number in {object}"))
}

/// The directory of larger data sets, when there is one.
pub(crate) fn data_dir() -> Option<PathBuf> {
    std::env::var_os("DDIHT_DATA").map(PathBuf::from)
}

/// A directory of one test's files.
#[derive(Debug)]
pub(crate) struct Place {
    dir: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Generated text-like data, `rows` x `features`.
    pub(crate) fn synth(&self, name: &str, rows: usize, features: usize) -> PathBuf {
        let path = self.path(name);
        let (rows, features) = (rows.to_string(), features.to_string());
        let mut command = ddiht();
        command.args([
            "synth",
            "text",
            "--rows",
            &rows,
            "--features",
            &features,
            "--nonzeros",
            "30",
        ]);
        ok(command.args(["--informative", "60", "-o"]).arg(&path));
        path
    }

    /// A call of `ddiht train DATA -k K --json --model NAME`, and where the model will be.
    pub(crate) fn train(&self, data: &Path, k: usize, model: &str) -> (Command, PathBuf) {
        let model = self.path(model);
        let mut command = ddiht();
        command
            .arg("train")
            .arg(data)
            .args(["-k", &k.to_string(), "--json", "--model"])
            .arg(&model);
        (command, model)
    }
}
