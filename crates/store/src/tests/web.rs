//! A web server that does what a test tells it to.

use std::{
    io::{BufRead, BufReader, Write},
    net::{Shutdown, TcpListener, TcpStream},
    ops::Range,
    sync::{Arc, Mutex},
    thread,
};

/// What was asked.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// Method and address, as in `GET /x?a=b`.
    pub(super) line: String,
    /// The bytes that were asked for.
    pub(super) range: Option<Range<usize>>,
}

/// What is answered.
pub(super) struct Reply {
    pub(super) status: &'static str,
    pub(super) headers: String,
    pub(super) body: Vec<u8>,
    /// How many bytes of the body are sent before the connection breaks.
    pub(super) sent: usize,
}

impl Reply {
    /// The part of `file` that was asked for.
    pub(super) fn part(file: &[u8], request: &Request) -> Self {
        let Some(range) = request.range.clone() else { return Self::whole(file) };
        if range.start >= file.len() {
            return Self::status("416 Range Not Satisfiable");
        }
        let range = range.start..range.end.min(file.len());
        let headers =
            format!("content-range: bytes {}-{}/{}\r\n", range.start, range.end - 1, file.len());
        let body = file[range].to_vec();
        let sent = body.len();
        Self { status: "206 Partial Content", headers, body, sent }
    }

    /// All of `file`, whatever was asked for.
    pub(super) fn whole(file: &[u8]) -> Self {
        let (status, headers) = ("200 OK", String::new());
        Self { status, headers, body: file.to_vec(), sent: file.len() }
    }

    pub(super) fn status(status: &'static str) -> Self {
        Self { status, headers: String::new(), body: Vec::new(), sent: 0 }
    }

    /// The same with a tag of the contents.
    pub(super) fn tagged(mut self, tag: &str) -> Self {
        self.headers.push_str(&format!("etag: \"{tag}\"\r\n"));
        self
    }

    /// The same, broken off after `sent` bytes.
    pub(super) fn cut(mut self, sent: usize) -> Self {
        self.sent = sent.min(self.body.len());
        self
    }
}

/// The server; its thread ends with the process.
pub(super) struct Web {
    pub(super) address: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Web {
    /// Answers the n-th request, from 0, as `reply` says.
    pub(super) fn start(reply: impl Fn(usize, &Request) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Some(request) = read(&stream) else { continue };
                let mut log = log.lock().unwrap();
                let reply = reply(log.len(), &request);
                answer(&stream, &request, &reply);
                log.push(request);
            }
        });
        Self { address, seen }
    }

    /// What was asked so far.
    pub(super) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let first = lines.next()?;
    let line = first.rsplit_once(' ')?.0.to_owned();
    let mut range = None;
    for header in lines.take_while(|line| !line.is_empty()) {
        let header = header.to_ascii_lowercase();
        if let Some(bytes) = header.strip_prefix("range: bytes=") {
            let (start, last) = bytes.split_once('-')?;
            range = Some(start.parse().ok()?..last.parse::<usize>().ok()? + 1);
        }
    }
    Some(Request { line, range })
}

fn answer(mut stream: &TcpStream, request: &Request, reply: &Reply) {
    let Reply { status, headers, body, sent } = reply;
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
        body.len()
    );
    // Whoever asked may have gone.
    let _ = stream.write_all(head.as_bytes());
    if !request.line.starts_with("HEAD") {
        let _ = stream.write_all(&body[..*sent]);
    }
    let _ = stream.shutdown(Shutdown::Write);
}
