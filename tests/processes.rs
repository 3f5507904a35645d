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
        // Another life of the same process goes on with the log of the last.
        let file = File::options().create(true).append(true).open(&log).unwrap();
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

    /// Ends it as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends a signal: STOP, CONT, TERM, INT.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
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
    command: Command,
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
        Self { place, address, server, workers: Vec::new(), model, summary, name, command }
    }

    /// The server again, by the same command.
    pub(crate) fn restart_server(&mut self) {
        let log = self.place.path(&format!("{}.server.log", self.name));
        self.server = Process::start(&mut self.command, log);
    }

    /// A worker in another life.
    pub(crate) fn restart_worker(&mut self, number: usize, options: &[&str]) {
        self.workers[number] = self.worker(number, options);
    }

    fn worker(&self, number: usize, options: &[&str]) -> Process {
        let log = format!("{}.worker{number}.log", self.name);
        let mut command = ddiht();
        command.args(["worker", "--server", &self.address]).args(options).stdout(Stdio::null());
        Process::start(&mut command, self.place.path(&log))
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
        self.workers.push(self.worker(self.workers.len(), options));
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
