"""Recorded runs: raw figures, a summary, and everything needed to repeat them."""

import csv
import datetime
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ("liblinear-official", "numpy", "scipy")


def write(name: str, title: str, rows: list[dict], summary: str, commands: list[str],
          peers: tuple[str, ...] | list[str] = PEERS, threads: str | None = None) -> Path:
    """Write raw.csv, summary and README.md of a run and return its directory.

    `threads` says who uses how many, where it is not that we use all cores and LIBLINEAR one.
    """
    today = datetime.date.today().isoformat()
    directory = ROOT / "benchmarks" / "runs" / f"{today}-{name}"
    directory.mkdir(parents=True, exist_ok=True)
    # First the text: the version it states is that of the tree before this run is written.
    text = readme(title, commands, summary, machine(peers) | ({"threads": threads} if threads else {}))
    with (directory / "raw.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (directory / "summary.md").write_text(summary)
    (directory / "README.md").write_text(text)
    return directory


def readme(title: str, commands: list[str], summary: str, facts_by_name: dict[str, str]) -> str:
    """What was run, on what, and what came out."""
    facts = "\n".join(f"- {key}: {value}" for key, value in facts_by_name.items())
    calls = "\n".join(dict.fromkeys(commands))
    return f"# {title}\n\n{facts}\n\n```\n{calls}\n```\n\n{summary}"


def machine(peers: tuple[str, ...] | list[str]) -> dict[str, str]:
    """Versions and hardware."""
    return {
        "ddiht": f"{output('git', 'describe', '--always', '--dirty')}, {output('rustc', '--version')}",
        "peers": ", ".join(f"{p} {installed(p)}" for p in peers),
        "Python": platform.python_version(),
        "machine": f"{processor()}, {os.cpu_count()} cores, {memory_gib():.0f} GiB, {platform.system()}",
        "threads": "ddiht uses all cores" + (", LIBLINEAR one" if "liblinear-official" in peers else ""),
    }


def installed(package: str) -> str:
    """The version of a package here."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def output(*call: str) -> str:
    """What a program prints."""
    return subprocess.run(call, check=True, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def processor() -> str:
    """The processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def memory_gib() -> float:
    """Physical memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
