#!/usr/bin/env python3
"""Measures a cluster on loopback: real processes, one command a part.

    benchmarks/cluster.py quality    exact with 8 workers against 1: objective, gap, payload (reuters, imdb, ng20)
    benchmarks/cluster.py straggler  one of 8 workers 10 times as slow: time to the bound, with and without a barrier
    benchmarks/cluster.py overhead   wall time over gRPC against in memory, 8 workers on large generated data
    benchmarks/cluster.py many       64 workers: does it finish, and how much memory does the server take
    benchmarks/cluster.py socket     the summary's bytes against the bytes that cross the sockets
    benchmarks/cluster.py sizing     memory of server and workers, bytes and time of a round, over rows, features and k
    benchmarks/cluster.py recovery   kill -9 of a worker and of the server: time from the restart to the next round, and what was lost

Needs target/release/ddiht (or --binary), and for real data sets the directory named by DDIHT_DATA. Standard library only.
"""
import argparse, json, os, socket, statistics, subprocess, sys, tempfile, threading, time

DATA = os.environ.get("DDIHT_DATA", "data")
SETS = {
    "reuters": ["reuters21578_acq_train.svm.xz"],
    "imdb": ["imdb_bow_train.svm.xz", "--positive", ">=7", "--normalize", "l2"],
    "ng20": ["ng20_bin_bigram_train.svm.xz"],
}
JOB = ["--lambda", "1e-4", "--no-intercept", "--quiet"]
WORK = tempfile.mkdtemp(prefix="ddiht-cluster-")


def job(more):
    """The options of a run: k is 1000 unless `more` says otherwise."""
    return [*([] if "-k" in more else ["-k", "1000"]), *JOB, *map(str, more)]


def options(name):
    file, *rest = SETS[name]
    return os.path.join(DATA, file), rest


def train(data, *more):
    out = subprocess.run([BINARY, "train", data, *job(more), "--json"], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Cluster:
    """A server and workers; `via` maps the server's port to the one that workers use."""

    def __init__(self, data, workers, more, slow=None, via=None, threads=None):
        port = free_port()
        self.history = os.path.join(WORK, "history.jsonl")
        self.server = subprocess.Popen(
            [BINARY, "server", "--listen", f"127.0.0.1:{port}", "--workers", str(workers), "--data", data, *job(more),
             "--json", "--history", self.history], stdout=subprocess.PIPE, text=True)
        self.port = via(port) if via else port
        self.workers = [
            subprocess.Popen([BINARY, "worker", "--server", f"127.0.0.1:{self.port}", "--quiet",
                              *(["--delay", slow] if slow and i == 0 else []), *(["--threads", str(threads)] if threads else [])])
            for i in range(workers)]
        self.peak = 0

    def watch_memory(self):
        while self.server.poll() is None:
            self.peak = max(self.peak, peak_of(self.server.pid))
            time.sleep(0.05)

    def finish(self):
        watcher = threading.Thread(target=self.watch_memory)
        watcher.start()
        text, _ = self.server.communicate()
        codes = [w.wait() for w in self.workers]
        watcher.join()
        if self.server.returncode or any(codes):
            sys.exit(f"the cluster failed: server {self.server.returncode}, workers {codes}")
        return json.loads(text), [json.loads(line) for line in open(self.history)]


def quality():
    print("data      workers  objective   bound       gap      up/round  down/round  seconds")
    for name in SETS:
        data, rest = options(name)
        for workers in (1, 8):
            more = [*rest, "--gap", "1e-4", "--rounds", 120]
            s = train(data, *more) if workers == 1 else Cluster(data, workers, more).finish()[0]
            up, down = (s["bytes"][w] / s["rounds"] / workers for w in ("up", "down"))
            print(f"{name:9} {workers:7}  {s['objective']:.7f}  {s['dual_bound']:.7f}  {s['gap']:.4%}  {up:8.0f}  {down:10.0f}  "
                  f"{s['seconds']['train']:7.1f}", flush=True)


def straggler():
    data, rest = options("imdb")
    rounds = 60
    common = [*rest, "--gap", 0]
    _, calm = Cluster(data, 8, [*common, "--rounds", rounds]).finish()
    # What the server waits for an answer: on few cores more than a worker computes, because they take turns.
    usual = statistics.median(b["seconds"] - a["seconds"] for a, b in zip(calm, calm[1:]) if a["step"] == b["step"] == "dual")
    slow = f"{9000 * usual:.0f}ms"
    print(f"a dual round takes {1000 * usual:.0f} ms; one worker's answers come {slow} later", flush=True)
    _, sync = Cluster(data, 8, [*common, "--rounds", rounds], slow=slow).finish()
    dual = [r for r in sync if r["step"] in ("dual", "flush", "certify")]
    bound = max(r["dual_bound"] for r in dual)
    t_sync = next(r["seconds"] for r in sync if r["dual_bound"] >= bound)
    print(f"exact, barrier: bound {bound:.6f} after {rounds} dual rounds in {t_sync:.1f} s", flush=True)
    _, free = Cluster(data, 8, [*common, "--rounds", 20 * rounds, "--async", 4, "--time", f"{8 * t_sync:.0f}s"], slow=slow).finish()
    t_async = next((r["seconds"] for r in free if r["dual_bound"] is not None and r["dual_bound"] >= bound), None)
    print("exact, --async 4: never reached" if t_async is None else
          f"exact, --async 4: the same bound in {t_async:.1f} s, {t_async / t_sync:.2f} of that", flush=True)
    for name, more in (("barrier", []), ("--async 4", ["--async", 4])):
        s, h = Cluster(data, 8, [*common, "--aggregate", "average", "--rounds", 40 if not more else 80, *more], slow=slow).finish()
        print(f"average, {name}: P {s['objective']:.5f} in {s['seconds']['train']:.1f} s, staleness {s['staleness']}", flush=True)


def overhead():
    data = os.path.join(WORK, "text.svm")
    subprocess.run([BINARY, "synth", "text", "-o", data, "--rows", "600000"], check=True)
    ratios = []
    for _ in range(2):
        seconds, rounds = {}, {}
        for transport in ("memory", "grpc"):
            s = train(data, "--gap", 0, "--rounds", 20, "--workers", 8, "--transport", transport)
            seconds[transport], rounds[transport] = s["seconds"]["train"], s["rounds"]
        ratios.append(seconds["grpc"] / seconds["memory"])
        print(f"memory {seconds['memory']:.2f} s, gRPC {seconds['grpc']:.2f} s, {rounds['grpc']} rounds of "
              f"{1000 * seconds['memory'] / rounds['memory']:.0f} ms: ratio {ratios[-1]:.3f}", flush=True)
    print(f"mean ratio {statistics.mean(ratios):.3f}")


def many():
    for name in ("reuters", "ng20"):
        data, rest = options(name)
        c = Cluster(data, 64, [*rest, "--gap", 0, "--rounds", 20])
        s, _ = c.finish()
        allowed = 100e6 + 24 * s["features"]
        print(f"{name}: 64 workers, P {s['objective']:.6f}, {s['rounds']} rounds in {s['seconds']['train']:.0f} s; server peak {c.peak / 1e6:.0f} MB, "
              f"at most {allowed / 1e6:.0f} MB + 12 bytes for each non-zero of the parts", flush=True)


class Proxy:
    """Passes connections on and counts what crosses."""

    def __init__(self, port):
        self.to, self.up, self.down = port, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            while True:
                try:
                    far = socket.create_connection(("127.0.0.1", self.to))
                    break
                except OSError:
                    time.sleep(0.05)
            for a, b, way in ((near, far, "up"), (far, near, "down")):
                a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.pump, args=(a, b, way), daemon=True).start()

    def pump(self, a, b, way):
        try:
            while chunk := a.recv(1 << 16):
                setattr(self, way, getattr(self, way) + len(chunk))
                b.sendall(chunk)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # a process has ended


def socket_bytes():
    data, rest = options("reuters")
    proxy = []

    def via(port):
        proxy.append(Proxy(port))
        return proxy[0].port

    s, _ = Cluster(data, 8, [*rest, "--gap", 0, "--rounds", 60], via=via).finish()
    for way in ("up", "down"):
        counted, crossed = s["bytes"][way], getattr(proxy[0], way)
        print(f"{way}: summary {counted}, socket {crossed}, {crossed / counted - 1:+.2%}; "
              f"{(crossed - counted) / s['rounds'] / 8:.0f} bytes a message of framing, headers and heartbeats")


def peak_of(pid):
    try:
        return max(int(line.split()[1]) * 1024 for line in open(f"/proc/{pid}/status") if line.startswith("VmHWM"))
    except (OSError, ValueError):
        return 0


def sizing():
    """Four workers, one thread each, on shards made beforehand."""
    print("rows     features  k       entries    server MB  worker MB  up/round  down/round  ms/round  entries/s/worker")
    for rows, features, k in ((50_000, 47_236, 1000), (200_000, 47_236, 1000), (800_000, 47_236, 1000),
                              (200_000, 47_236, 100), (200_000, 47_236, 10_000), (200_000, 1_000_000, 1000)):
        data, shards = os.path.join(WORK, "sizing.svm"), os.path.join(WORK, f"shards-{rows}-{features}")
        if not os.path.exists(shards):
            subprocess.run([BINARY, "synth", "text", "-o", data, "--rows", str(rows), "--features", str(features)], check=True,
                           stderr=subprocess.DEVNULL)
            subprocess.run([BINARY, "shard", data, "-n", "4", "-o", shards], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            os.remove(data)
        c = Cluster(shards, 4, ["-k", k, "--gap", 0, "--rounds", 60], threads=1)
        peaks = [0] * 4
        watching = True

        def watch():
            while watching:
                peaks[:] = [max(old, peak_of(w.pid)) for old, w in zip(peaks, c.workers)]
                time.sleep(0.05)

        watcher = threading.Thread(target=watch)
        watcher.start()
        s, history = c.finish()
        watching = False
        watcher.join()
        up, down = (s["bytes"][w] / s["rounds"] / 4 for w in ("up", "down"))
        dual = statistics.median(b["seconds"] - a["seconds"] for a, b in zip(history, history[1:]) if a["step"] == b["step"] == "dual")
        work = statistics.median(max(r["worker_seconds"]) for r in history if r["step"] == "dual")
        entries = sum(os.path.getsize(os.path.join(shards, f)) for f in os.listdir(shards)) // 8 - 2 * rows
        print(f"{rows:7}  {features:8}  {k:6}  {entries:9}  {c.peak / 1e6:9.0f}  {max(peaks) / 1e6:9.0f}  {up:8.0f}  {down:10.0f}  "
              f"{1000 * dual:8.1f}  {entries / 4 / work:16.2e}", flush=True)


def lines_of(path):
    """The whole lines of a history that may be growing."""
    text = open(path).read() if os.path.exists(path) else ""
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


def wait_for_lines(path, count):
    while len(lines := lines_of(path)) < count:
        time.sleep(0.005)
    return lines


class Mortal:
    """A server with checkpoints and workers with state, each of which can be killed and started again."""

    HEARTBEAT, EVERY = 2.0, 1.0

    def __init__(self, data, workers, more):
        address = f"127.0.0.1:{free_port()}"
        directory = tempfile.mkdtemp(dir=WORK)
        self.history = os.path.join(directory, "history.jsonl")
        serve = ["server", "--listen", address, "--workers", str(workers), "--data", data, *job(more), "--json",
                 "--history", self.history, "--heartbeat-timeout", f"{self.HEARTBEAT:g}s",
                 "--checkpoint", os.path.join(directory, "checkpoint"), "--checkpoint-every", f"{self.EVERY:g}s"]
        work = ["worker", "--server", address, "--quiet", "--state"]
        self.commands = [serve] + [[*work, os.path.join(directory, f"state-{i}")] for i in range(workers)]
        self.processes = [self.start(c) for c in self.commands]

    @staticmethod
    def start(command):
        return subprocess.Popen([BINARY, *command], stdout=subprocess.PIPE, text=True)

    def kill(self, number):
        self.processes[number].kill()
        self.processes[number].wait()

    def revive(self, number):
        self.processes[number] = self.start(self.commands[number])

    def finish(self):
        out, _ = self.processes[0].communicate()
        return json.loads(out), [p.wait() for p in self.processes]


def recovery():
    data, rest = options("imdb")
    more = [*rest, "--gap", 0, "--rounds", 600]
    calm = train(data, *more, "--workers", 8)
    c = Mortal(data, 8, more)
    known = wait_for_lines(c.history, 30)
    usual = statistics.median(b["seconds"] - a["seconds"] for a, b in zip(known, known[1:]))
    print(f"a round takes {1000 * usual:.0f} ms, heartbeat timeout {c.HEARTBEAT:g} s, a checkpoint every {c.EVERY:g} s", flush=True)
    for trial in range(5):
        wait_for_lines(c.history, len(lines_of(c.history)) + 30)
        c.kill(1 + trial)
        time.sleep(0.3 * (trial + 1))
        c.revive(1 + trial)
        restart, before = time.time(), len(lines_of(c.history))
        wait_for_lines(c.history, before + 1)
        print(f"worker {trial}: down for {0.3 * (trial + 1):.1f} s, the next round {time.time() - restart:.2f} s after its restart; "
              f"allowed {2 * c.HEARTBEAT + 2 * usual:.2f} s", flush=True)
    for trial in range(3):
        wait_for_lines(c.history, len(lines_of(c.history)) + 30)
        c.kill(0)
        left = lines_of(c.history)
        c.revive(0)
        restart = time.time()
        # The history goes back to the checkpoint before it grows again.
        while not (now := lines_of(c.history)) or now == left:
            time.sleep(0.002)
        first = wait_for_lines(c.history, len(now) + 1)[len(now)]
        waited = time.time() - restart
        lost = max(0.0, left[-1]["seconds"] - first["seconds"])
        print(f"server: the next round {waited:.2f} s after its restart; {left[-1]['round'] - first['round'] + 1} rounds of "
              f"{lost:.2f} s lost", flush=True)
    s, codes = c.finish()
    print(f"exit codes {codes}; P {s['objective']:.6f} against {calm['objective']:.6f} undisturbed, bound {s['dual_bound']:.6f}")


PARTS = {"quality": quality, "straggler": straggler, "overhead": overhead, "many": many, "socket": socket_bytes, "recovery": recovery, "sizing": sizing}
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("part", choices=PARTS)
parser.add_argument("--binary", default="target/release/ddiht")
args = parser.parse_args()
BINARY = args.binary
PARTS[args.part]()
