//! Servers under attack: garbage, half-open connections, slow and huge headers, oversized messages.

use std::{
    fs,
    io::{ErrorKind, Read},
    net::{SocketAddr, TcpStream as Socket},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Runtime,
    time::sleep,
};

use crate::{
    certificates::Authority,
    processes::Cluster,
    util::{Place, number, ok},
};

const TOKEN: &str = "a-secret-of-the-tests-0123456789";
const WORKERS: usize = 8;
/// Connections of the attack; with the workers' they are 500.
const ATTACKERS: usize = 492;
const KINDS: usize = 7;
/// The pause before a connection that was closed is opened again.
const AGAIN: Duration = Duration::from_millis(500);
/// The beginning of HTTP/2, and an empty frame of settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// A frame of HTTP/2 on stream 1.
fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [length[1], length[2], length[3], kind, flags, 0, 0, 0, 1];
    [&head, payload].concat()
}

/// The headers of a call that looks right.
fn call_headers() -> Vec<u8> {
    // POST and http have numbers; the rest is spelled out.
    let mut block = vec![0x83, 0x86];
    let mut literal = |prefix: &[u8], value: &str| {
        block.extend_from_slice(prefix);
        block.push(u8::try_from(value.len()).unwrap());
        block.extend_from_slice(value.as_bytes());
    };
    literal(&[0x04], "/ddiht.v1.Training/Join");
    literal(&[0x01], "server");
    literal(
        &[0x00, 12, b'c', b'o', b'n', b't', b'e', b'n', b't', b'-', b't', b'y', b'p', b'e'],
        "application/grpc",
    );
    literal(&[0x00, 2, b't', b'e'], "trailers");
    block
}

/// Bytes without a meaning.
fn noise(seed: usize, length: usize) -> Vec<u8> {
    let mut state = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// One connection of an attack, until the server has had enough of it.
async fn abuse(mut stream: TcpStream, kind: usize, seed: usize) -> std::io::Result<()> {
    match kind {
        // Nothing at all.
        0 => {}
        1 => stream.write_all(&noise(seed, 4096)).await?,
        // What looks like the beginning of TLS, and goes on as noise.
        2 => {
            stream.write_all(&[0x16, 3, 1, 0x20, 0]).await?;
            stream.write_all(&noise(seed, 600)).await?;
        }
        // Headers that never end, a byte at a time.
        3 => {
            stream.write_all(PREFACE).await?;
            for byte in frame(HEADERS, 0, &call_headers()) {
                stream.write_all(&[byte]).await?;
                sleep(Duration::from_millis(100)).await;
            }
        }
        // Headers that never end, as fast as they are taken.
        4 => {
            stream.write_all(PREFACE).await?;
            stream.write_all(&frame(HEADERS, 0, &call_headers())).await?;
            let header = [&[0x00, 1, b'x', 100][..], &[b'y'; 100]].concat().repeat(100);
            loop {
                stream.write_all(&frame(CONTINUATION, 0, &header)).await?;
            }
        }
        // A message of 4 GiB is announced, or one that is noise is sent.
        5 | 6 => {
            stream.write_all(PREFACE).await?;
            stream.write_all(&frame(HEADERS, 4, &call_headers())).await?;
            let length: u32 = if kind == 5 { u32::MAX } else { 200 };
            let message = [&[0][..], &length.to_be_bytes(), &noise(seed, 200)].concat();
            stream.write_all(&frame(DATA, 1, &message)).await?;
        }
        _ => unreachable!("there are {KINDS} kinds"),
    }
    let mut answer = [0; 1024];
    while stream.read(&mut answer).await? > 0 {}
    Ok(())
}

/// Strangers that come again and again, until this is dropped.
struct Attack {
    _runtime: Runtime,
    opened: Arc<AtomicUsize>,
}

impl Attack {
    /// Waits until all connections are there.
    fn start(address: &str, connections: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server: SocketAddr = address.parse().unwrap();
        let opened = Arc::new(AtomicUsize::new(0));
        for seed in 0..connections {
            let opened = Arc::clone(&opened);
            runtime.spawn(async move {
                for time in 0.. {
                    if let Ok(stream) = TcpStream::connect(server).await {
                        opened.fetch_add(1, Ordering::Relaxed);
                        // It always ends in an error, or in the end of the connection.
                        let _ = abuse(stream, seed % KINDS, seed + 1000 * time).await;
                    }
                    sleep(AGAIN).await;
                }
            });
        }
        while opened.load(Ordering::Relaxed) < connections {
            thread::sleep(Duration::from_millis(5));
        }
        Self { _runtime: runtime, opened }
    }
}

/// A run of eight workers: how long it takes until the last one has ended, and its model.
fn timed(cluster: &mut Cluster<'_>, options: &[&str], attackers: usize) -> (Duration, Vec<u8>) {
    cluster.server.wait_for("listening");
    let attack = (attackers > 0).then(|| Attack::start(&cluster.address, attackers));
    let start = Instant::now();
    (0..WORKERS).for_each(|_| cluster.join(options));
    for worker in &mut cluster.workers {
        assert!(worker.wait().success(), "{}", worker.log());
    }
    let time = start.elapsed();
    let summary = cluster.finish();
    assert!(number(&summary, "dual_bound") <= number(&summary, "objective"), "{summary}");
    assert!(!cluster.server.log().contains("panicked"), "{}", cluster.server.log());
    if let Some(attack) = attack {
        let opened = attack.opened.load(Ordering::Relaxed);
        let train = number(&summary["seconds"], "train");
        println!("{attackers} strangers opened {opened} connections; {train:.2} s of training");
    }
    (time, fs::read(&cluster.model).unwrap())
}

#[test]
fn workers_finish_among_hundreds_that_send_garbage() {
    let place = Place::new();
    let data = place.synth("a.svm", 6000, 4000);
    let ours = Authority::new(&place, "ours");
    let shown = ours.sign("server", &["127.0.0.1"]);
    let token = place.write("token", TOKEN).display().to_string();
    let protected = [&shown.options()[..], &["--token-file", &token]].concat();
    let client = ["--tls-ca", &ours.file, "--token-file", &token];
    let job = ["-k", "50", "--rounds", "200", "--gap", "0"];
    for (name, server, client) in [
        ("open", &[][..], &[][..]),
        ("token", &protected[4..], &client[2..]),
        ("tls", &protected[..], &client[..]),
    ] {
        let options = [&job[..], server].concat();
        let run = |kind: &str, attackers| {
            let name = format!("{name}-{kind}");
            let mut cluster = Cluster::serve(&place, &name, &data, WORKERS, &options);
            timed(&mut cluster, client, attackers)
        };
        // Attackers, workers and whatever else runs share this machine: one fair comparison of three will do.
        let fair = (0..3).any(|_| {
            let (quiet, model) = run("quiet", 0);
            let (loud, same) = run("loud", ATTACKERS);
            println!("{name}: {quiet:?} quiet, {loud:?} under attack");
            assert!(model == same, "{name}: another model under attack");
            loud.as_secs_f64() < 1.5 * quiet.as_secs_f64()
        });
        assert!(fair, "{name}: strangers hold up the workers");
    }
}

#[test]
fn strangers_make_room_for_workers() {
    let place = Place::new();
    let data = place.synth("a.svm", 100, 60);
    let options = ["-k", "5", "--rounds", "5", "--gap", "0", "--max-connections", "4"];
    let mut cluster = Cluster::serve(&place, "room", &data, 2, &options);
    cluster.server.wait_for("listening");
    cluster.join(&[]);
    cluster.server.wait_for("worker 1 of 2");
    let connect = || Socket::connect(&cluster.address).unwrap();
    let mut strangers: Vec<Socket> = (0..20).map(|_| connect()).collect();
    // The first of them are gone long before their time is over.
    let is_closed = |socket: &mut Socket, within: Duration| {
        socket.set_read_timeout(Some(within)).unwrap();
        // The server's first words are no end; a connection that is reset is one.
        let read = socket.read_to_end(&mut Vec::new()).map_err(|error| error.kind());
        !matches!(read, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut))
    };
    for stranger in &mut strangers[..16] {
        assert!(is_closed(stranger, Duration::from_secs(3)));
    }
    assert!(ok(&mut cluster.ask("status")).contains("1 of 2"));
    cluster.join(&[]);
    cluster.finish();
}

#[test]
fn a_connection_that_makes_no_call_is_closed_and_one_that_works_is_not() {
    let place = Place::new();
    let data = place.synth("a.svm", 100, 60);
    let options = ["-k", "5", "--rounds", "5", "--gap", "0"];
    let mut cluster = Cluster::serve(&place, "slow", &data, 2, &options);
    cluster.server.wait_for("listening");
    cluster.join(&[]);
    cluster.server.wait_for("worker 1 of 2");
    let start = Instant::now();
    let mut silent = Socket::connect(&cluster.address).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let _ = silent.read_to_end(&mut Vec::new());
    let waited = start.elapsed().as_secs_f64();
    assert!((9.0..30.0).contains(&waited), "closed after {waited:.1} s");
    // The worker has been there for longer.
    cluster.join(&[]);
    cluster.finish();
    let first = cluster.workers[0].log();
    assert!(!first.contains("waiting for the server"), "{first}");
}
