//! Real processes in a storm: seeded schedules of deaths, sleeps, cuts and delays while a run trains. What is
//! asserted is the model. Each fault that was ever found has its own test in `faults.rs`.
//!
//! A few seeds run with the other tests. More of them:
//!
//! ```text
//! DDIHT_CHAOS=20 cargo test --release --test tests chaos:: -- --nocapture
//! ```

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ddiht_core::rng;
use rand::RngExt;
use serde_json::Value;

use crate::{
    processes::{Cluster, Process},
    util::{Place, ddiht, json, number},
};

/// A link between workers and server that can be cut and slowed down.
struct Wire {
    address: String,
    server: Arc<Mutex<String>>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    delay: Arc<AtomicU64>,
    cut_until: Arc<Mutex<Instant>>,
}

impl Wire {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let this = Self {
            address: listener.local_addr().unwrap().to_string(),
            server: Arc::default(),
            open: Arc::default(),
            delay: Arc::default(),
            cut_until: Arc::new(Mutex::new(Instant::now())),
        };
        let (server, open) = (Arc::clone(&this.server), Arc::clone(&this.open));
        let (delay, cut) = (Arc::clone(&this.delay), Arc::clone(&this.cut_until));
        thread::spawn(move || {
            for near in listener.incoming() {
                let Ok(near) = near else { continue };
                let to = server.lock().unwrap().clone();
                let is_cut = Instant::now() < *cut.lock().unwrap();
                let Some(far) = TcpStream::connect(&to).ok().filter(|_| !is_cut) else { continue };
                let ends = [&near, &far].map(|end| end.try_clone().unwrap());
                open.lock().unwrap().extend(ends);
                for (from, to) in [(near.try_clone(), far.try_clone()), (Ok(far), Ok(near))] {
                    let (from, to) = (from.unwrap(), to.unwrap());
                    let delay = Arc::clone(&delay);
                    thread::spawn(move || drop(pump(from, to, &delay)));
                }
            }
        });
        this
    }

    /// Everything breaks, and nothing gets through for a while.
    fn cut(&self, time: Duration) {
        *self.cut_until.lock().unwrap() = Instant::now() + time;
        for end in self.open.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, delay: &AtomicU64) -> io::Result<()> {
    to.set_nodelay(true)?;
    let mut buffer = [0; 1 << 16];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return to.shutdown(Shutdown::Write);
        }
        thread::sleep(Duration::from_millis(delay.load(Ordering::Relaxed)));
        to.write_all(&buffer[..count])?;
    }
}

const WORKERS: usize = 4;
const OPTIONS: [&str; 14] = [
    "-k",
    "60",
    "--lambda",
    "1e-3",
    "--gap",
    "0",
    "--time",
    "14s",
    "--heartbeat-timeout",
    "1s",
    "--spares",
    "1",
    "--checkpoint-every",
    "200ms",
];

/// What happens next.
#[derive(Debug, Clone, Copy)]
enum Blow {
    KillWorker(usize),
    KillServer,
    Sleep(usize),
    Cut,
    Slow,
}

/// Three deaths of workers, one of the server, and some of everything, in any order.
fn schedule(draw: &mut impl RngExt) -> Vec<Blow> {
    let mut blows = vec![Blow::KillServer];
    blows.extend((0..3).map(|_| Blow::KillWorker(draw.random_range(0..WORKERS))));
    for _ in 0..draw.random_range(1..4) {
        blows.push(match draw.random_range(0..4) {
            0 => Blow::Sleep(draw.random_range(0..WORKERS)),
            1 => Blow::Cut,
            2 => Blow::Slow,
            _ => Blow::KillServer,
        });
    }
    for i in (1..blows.len()).rev() {
        blows.swap(i, draw.random_range(0..=i));
    }
    blows
}

struct Storm<'a> {
    cluster: Cluster<'a>,
    wire: Wire,
    states: Vec<PathBuf>,
}

impl<'a> Storm<'a> {
    fn begin(place: &'a Place, seed: u64, data: &std::path::Path) -> Self {
        let directory = place.path(&format!("ck{seed}"));
        let kept = ["--checkpoint", directory.to_str().unwrap()];
        let options = [&OPTIONS[..], &kept].concat();
        let cluster = Cluster::serve(place, &format!("storm{seed}"), data, WORKERS, &options);
        let wire = Wire::new();
        *wire.server.lock().unwrap() = cluster.address.clone();
        let states = (0..WORKERS).map(|i| place.path(&format!("state{seed}-{i}"))).collect();
        let mut this = Self { cluster, wire, states };
        for number in 0..WORKERS {
            let worker = this.worker(number);
            this.cluster.workers.push(worker);
        }
        this
    }

    /// A worker behind the wire; every other one has its state on disk.
    fn worker(&self, number: usize) -> Process {
        let mut command = ddiht();
        command.args(["worker", "--server", &self.wire.address]);
        if number.is_multiple_of(2) {
            command.arg("--state").arg(&self.states[number]);
        }
        let log = self.states[number].with_extension("log");
        Process::start(command.stdout(std::process::Stdio::null()), log)
    }

    fn strike(&mut self, blow: Blow, draw: &mut impl RngExt) {
        let a_while = Duration::from_millis(draw.random_range(50..1500));
        match blow {
            Blow::KillWorker(number) => {
                self.cluster.workers[number].kill();
                thread::sleep(a_while / 4);
                self.cluster.workers[number] = self.worker(number);
            }
            Blow::KillServer => {
                self.cluster.server.kill();
                thread::sleep(a_while / 4);
                self.cluster.restart_server();
            }
            Blow::Sleep(number) => {
                self.cluster.workers[number].signal("STOP");
                thread::sleep(a_while);
                self.cluster.workers[number].signal("CONT");
            }
            Blow::Cut => self.wire.cut(a_while),
            Blow::Slow => {
                self.wire.delay.store(5, Ordering::Relaxed);
                thread::sleep(a_while);
                self.wire.delay.store(0, Ordering::Relaxed);
            }
        }
    }

    /// The summary, once everybody has ended by themselves.
    fn end(&mut self) -> Value {
        let summary = self.cluster.finish();
        let logs = self.cluster.workers.iter().map(Process::log).chain([self.cluster.server.log()]);
        logs.for_each(|log| assert!(!log.contains("panicked"), "{log}"));
        summary
    }
}

#[test]
fn a_run_survives_a_storm() {
    let seeds = std::env::var("DDIHT_CHAOS").map_or(2, |count| count.parse().unwrap());
    let place = Place::new();
    let data = place.synth("a.svm", 3000, 4000);
    let mut calm = Cluster::start(&place, "calm", &data, WORKERS, &OPTIONS[..OPTIONS.len() - 2]);
    let calm = number(&calm.finish(), "objective");
    let mut best = calm;
    let mut bounds = Vec::new();
    for seed in 1..=seeds {
        let mut draw = rng::generator(seed, 3, 0);
        let mut storm = Storm::begin(&place, seed, &data);
        storm.cluster.server.wait_for("round");
        let blows = schedule(&mut draw);
        let mut struck = 0;
        for &blow in &blows {
            thread::sleep(Duration::from_millis(draw.random_range(100..700)));
            if !storm.cluster.server.is_running() {
                break;
            }
            storm.strike(blow, &mut draw);
            struck += 1;
        }
        let summary = storm.end();
        let (objective, bound) = (number(&summary, "objective"), number(&summary, "dual_bound"));
        println!(
            "seed {seed}: P {objective:.8} against {calm:.8}, bound {bound:.8}, {struck} of {blows:?}"
        );
        assert!((objective / calm - 1.0).abs() <= 1e-3, "seed {seed}: {objective} {calm}");
        let again = json(ddiht().arg("eval").arg(&storm.cluster.model).arg(&data).arg("--json"));
        assert!((number(&again, "objective") / objective - 1.0).abs() < 1e-9, "seed {seed}");
        best = best.min(objective);
        bounds.push(bound);
        assert_eq!(struck, blows.len(), "seed {seed}: the run was over before the storm");
    }
    assert!(bounds.iter().all(|&bound| bound <= best), "{bounds:?} {best}");
}
