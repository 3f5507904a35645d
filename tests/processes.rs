//! A cluster of real processes on loopback.

use std::{
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::util::{Place, ddiht};

/// How long any cluster of a test may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process that does not outlive its test.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    pub(crate) fn start(command: &mut Command, log: PathBuf) -> Self {
        let file = File::create(&log).unwrap();
        let child = command.stderr(file).spawn().unwrap();
        Self { child, log }
    }

    /// Waits for the end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "still running; it says: {}", self.log());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// What it has said on stderr.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until it has said `text`.
    pub(crate) fn wait_for(&self, text: &str) {
        let start = Instant::now();
        while !self.log().contains(text) {
            assert!(start.elapsed() < PATIENCE, "never said `{text}` but: {}", self.log());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address on loopback that was free a moment ago.
pub(crate) fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// A server and its workers.
pub(crate) struct Cluster<'a> {
    place: &'a Place,
    pub(crate) address: String,
    pub(crate) server: Process,
    pub(crate) workers: Vec<Process>,
    pub(crate) model: PathBuf,
    summary: PathBuf,
    name: String,
}

impl<'a> Cluster<'a> {
    /// Starts a server that needs `workers` workers; `name` keeps the files of clusters apart.
    pub(crate) fn serve(
        place: &'a Place,
        name: &str,
        data: &Path,
        workers: usize,
        options: &[&str],
    ) -> Self {
        let address = free_address();
        let model = place.path(&format!("{name}.json"));
        let summary = place.path(&format!("{name}.summary"));
        let mut command = ddiht();
        command.args(["server", "--listen", &address, "--workers", &workers.to_string(), "--data"]);
        command.arg(data).args(options).arg("--json").arg("--model").arg(&model);
        command.stdout(Stdio::from(File::create(&summary).unwrap()));
        let server = Process::start(&mut command, place.path(&format!("{name}.server.log")));
        let name = name.to_owned();
        Self { place, address, server, workers: Vec::new(), model, summary, name }
    }

    /// A server and as many workers as it needs.
    pub(crate) fn start(
        place: &'a Place,
        name: &str,
        data: &Path,
        workers: usize,
        options: &[&str],
    ) -> Self {
        let mut this = Self::serve(place, name, data, workers, options);
        (0..workers).for_each(|_| this.join(&[]));
        this
    }

    /// One more worker.
    pub(crate) fn join(&mut self, options: &[&str]) {
        let log = format!("{}.worker{}.log", self.name, self.workers.len());
        let mut command = ddiht();
        command.args(["worker", "--server", &self.address]).args(options).stdout(Stdio::null());
        self.workers.push(Process::start(&mut command, self.place.path(&log)));
    }

    /// Waits for the end of all processes, expects success, and reads the summary.
    pub(crate) fn finish(&mut self) -> Value {
        let status = self.server.wait();
        assert!(status.success(), "the server ended with {status}: {}", self.server.log());
        for worker in &mut self.workers {
            let status = worker.wait();
            assert!(status.success(), "a worker ended with {status}: {}", worker.log());
        }
        serde_json::from_slice(&fs::read(&self.summary).unwrap()).unwrap()
    }

    /// Runs a command that takes the server's address.
    pub(crate) fn ask(&self, command: &str) -> Command {
        let mut call = ddiht();
        call.args([command, &self.address]);
        call
    }
}
