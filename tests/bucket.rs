//! A bucket on a real S3 server in a process of its own, and a proxy that counts what passes through it.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    processes::{Process, free_address},
    util::{Place, ddiht},
};

/// How long the server may take to its first answer: it is a Python program.
const PATIENCE: Duration = Duration::from_secs(60);

/// What must appear in no message.
pub(crate) const SECRET: &str = "hunter2hunter2";

const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=someone/20260101/us-east-1/s3/aws4_request, \
                      SignedHeaders=host, Signature=0";

/// An S3 server with one bucket called `bkt`.
pub(crate) struct Bucket {
    pub(crate) address: String,
    _server: Process,
}

impl Bucket {
    /// Starts the server, if there is one to start.
    pub(crate) fn start(place: &Place) -> Option<Self> {
        let Some(program) = std::env::var_os("DDIHT_MOTO") else {
            println!(
                "skipped: DDIHT_MOTO does not name moto's moto_server, so there is no S3 to test with"
            );
            return None;
        };
        let this = Self::run(&program, place);
        this.ask("PUT", "/bkt", b"");
        Some(this)
    }

    fn run(program: &OsString, place: &Place) -> Self {
        let address = free_address();
        let (host, port) = address.split_once(':').unwrap();
        let mut command = Command::new(program);
        command.args(["-H", host, "-p", port]).stdin(Stdio::null()).stdout(Stdio::null());
        let server = Process::start(&mut command, place.path("moto.log"));
        let start = Instant::now();
        while TcpStream::connect(&address).is_err() {
            assert!(start.elapsed() < PATIENCE, "{program:?} does not start: {}", server.log());
            thread::sleep(Duration::from_millis(50));
        }
        Self { address, _server: server }
    }

    /// A request whose signature is none: this server looks at who signed, and not at what.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nhost: {}\r\nauthorization: {SIGNED}\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap();
        assert!(status.starts_with('2'), "{method} {path}: {head}");
        answer.split_off(end)
    }

    /// Puts a file into the bucket.
    pub(crate) fn upload(&self, key: &str, file: &Path) {
        self.ask("PUT", &format!("/bkt/{key}"), &std::fs::read(file).unwrap());
    }

    /// What the bucket has under a name.
    pub(crate) fn get(&self, key: &str) -> Vec<u8> {
        self.ask("GET", &format!("/bkt/{key}"), b"")
    }

    /// The names of all objects.
    pub(crate) fn keys(&self) -> Vec<String> {
        let listing = String::from_utf8(self.ask("GET", "/bkt?list-type=2", b"")).unwrap();
        let keys = listing.split("<Key>").skip(1);
        keys.map(|rest| rest.split("</Key>").next().unwrap().to_owned()).collect()
    }

    /// A call of the program that finds the bucket.
    pub(crate) fn ddiht(&self) -> Command {
        ddiht_at(&self.address)
    }
}

/// A call of the program whose S3 is at `address`.
pub(crate) fn ddiht_at(address: &str) -> Command {
    let mut command = ddiht();
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("AWS_")) {
            command.env_remove(name);
        }
    }
    command
        .env("AWS_ACCESS_KEY_ID", "someone")
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ENDPOINT_URL", format!("http://{address}"))
        .env("AWS_ALLOW_HTTP", "true");
    command
}

/// A proxy that counts the bytes of all answers.
pub(crate) struct Proxy {
    pub(crate) address: String,
    received: Arc<AtomicU64>,
}

impl Proxy {
    /// Between whoever connects and `server`; its threads end with the process.
    pub(crate) fn start(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let received = Arc::new(AtomicU64::new(0));
        let (server, count) = (server.to_owned(), received.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let upstream = TcpStream::connect(&server).unwrap();
                let (from, to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
                thread::spawn(move || relay(from, to, |_| ()));
                let count = count.clone();
                let add = move |bytes| {
                    count.fetch_add(bytes, Ordering::SeqCst);
                };
                thread::spawn(move || relay(upstream, client, add));
            }
        });
        Self { address, received }
    }

    /// Bytes of answers so far, heads included.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::SeqCst)
    }
}

/// Copies until one side ends.
fn relay(mut from: TcpStream, mut to: TcpStream, count: impl Fn(u64)) {
    let mut buffer = vec![0; 64 << 10];
    let mut pass = || -> io::Result<bool> {
        let length = from.read(&mut buffer)?;
        count(length as u64);
        to.write_all(&buffer[..length])?;
        Ok(length > 0)
    };
    while pass().unwrap_or(false) {}
    let _ = to.shutdown(Shutdown::Write);
}
