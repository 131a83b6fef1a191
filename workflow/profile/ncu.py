"""Counters of the alignment kernels from Nsight Compute (ncu), launch by launch, and what they come to for a kernel.

Definitions. ``sm_busy``: what ncu calls "SM Busy", the busiest of the issue slots and the pipelines of an SM; in thesis
Tab 4 and 5 it is the issue slots, as its warp cycles per issued instruction are occupancy / (4 x SM busy).
``global_throughput``: bytes between device memory and L2 (dram__bytes) over the kernel's time: the thesis' throughput x
time is 665 to 707 MB for a million pairs of 1000 letters, which is their packed letters once and the answers.
"""

import csv
import glob
import io
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import defaultdict

#: Name of the empty kernel that is launched before each cell, to tell the launches of one cell from another's.
MARK = "profile_mark"
KERNEL = re.compile(r"edit_wfa_(E\d+)")
TIME, INSTRUCTIONS, BYTES = "gpu__time_duration.sum", "smsp__inst_executed.sum", "dram__bytes.sum"
ISSUED, CYCLES = "smsp__inst_issued.sum", "sm__cycles_active.sum"
#: Averages -> (ncu's metric, what it is an average over): so launches are put together without an error.
AVERAGES = {
    "sm_busy_percent": ("sm__instruction_throughput.avg.pct_of_peak_sustained_active", CYCLES),
    "issue_slots_busy_percent": ("sm__inst_issued.avg.pct_of_peak_sustained_active", CYCLES),
    "active_warps_per_sm": ("sm__warps_active.avg.per_cycle_active", CYCLES),
    "active_threads_per_warp": ("smsp__thread_inst_executed_per_inst_executed.ratio", INSTRUCTIONS),
    "warp_cycles_per_issued_instruction": ("smsp__average_warp_latency_per_inst_issued.ratio", ISSUED),
}
METRICS = (TIME, INSTRUCTIONS, BYTES, ISSUED, CYCLES, *(metric for metric, _ in AVERAGES.values()))
_SCALES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "nsecond": 1e-9, "usecond": 1e-6, "msecond": 1e-3,
           "second": 1.0, "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}  # fmt: skip


def find():
    """Path of ncu: on PATH, or in a CUDA toolkit's usual place; None where there is none."""
    usual = sorted(glob.glob("/usr/local/cuda*/bin/ncu") + glob.glob("/opt/nvidia/nsight-compute/*/ncu"))
    return shutil.which("ncu") or (usual[-1] if usual else None)


def version(path):
    """Version of an ncu as text; "unknown" where it does not tell."""
    try:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    found = re.search(r"Version (\S+)", told)
    return found[1] if found else "unknown"


def command(path, child, log, metrics=METRICS):
    """Command line that profiles the marked kernels of a child command between its profiler's start and stop.

    The clocks are left as they are; caches are flushed before each pass, ncu's default, as in the thesis.
    """
    return [
        path, "--csv", "--page", "raw", "--print-units", "base", "--log-file", log, "--force-overwrite",
        "--kernel-name-base", "mangled", "--print-kernel-base", "mangled",
        "--kernel-name", f"regex:{KERNEL.pattern}|{MARK}", "--profile-from-start", "off", "--clock-control", "none",
        "--metrics", ",".join(metrics), *child,
    ]  # fmt: skip


def profile(path, child, timeout_s):
    """(launches as parse() gives them, why there are none or not all, "" when all went well).

    A metric that this ncu or GPU does not know is left out in a second try.
    """
    launches, said = _run(path, child, timeout_s, METRICS)
    known = [metric for metric in METRICS if metric not in said]
    if not launches and known and len(known) < len(METRICS):
        launches, said = _run(path, child, timeout_s, known)
    return launches, said


def _run(path, child, timeout_s, metrics):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "ncu.csv")
        code, printed = _finished(command(path, child, log, metrics), timeout_s)
        text = ""
        if os.path.exists(log):
            with open(log, encoding="utf-8", errors="replace") as lines:
                text = lines.read()
    launches = parse(text)
    return launches, "" if launches and not code else _reason(text + "\n" + printed)


def _finished(line, timeout_s):
    """(exit code, all that it printed) of a command line; ended with its children when it takes too long."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
    try:
        process = subprocess.Popen(line, env={**os.environ, "LC_ALL": "C"}, **options)
    except OSError as error:
        return 1, f"==ERROR== cannot be run ({error.strerror})"
    try:
        printed, _ = process.communicate(timeout=timeout_s)
        return process.returncode, printed
    except BaseException as error:  # an interrupt, too, must not leave the watched process on the GPU
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return 1, f"==ERROR== took more than {timeout_s:g} s"


def _reason(text):
    """ncu's errors in a line, else the last that was said."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("==ERROR==").strip() for line in lines if line.startswith("==ERROR==")]
    return f"ncu: {'; '.join(dict.fromkeys(errors)) or (lines[-1] if lines else 'said nothing')}"


def parse(text):
    """Launches of ncu's CSV (raw page) in order: [(kernel's name, {metric: value})]; times in s, sizes in bytes.

    A value that is no number ("n/a") is left out. [] for a text without such a table.
    """
    begin = text.find('"ID"')
    if begin < 0:
        return []
    table = [line for line in text[begin:].splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(io.StringIO("\n".join(table))))
    units = next((row for row in rows if not row["ID"]), {})
    return [
        (row["Kernel Name"], {name: value for name in METRICS if (value := _number(row.get(name), units.get(name)))
                              is not None})
        for row in rows if row["ID"] and row.get("Kernel Name")
    ]  # fmt: skip


def _number(text, unit):
    try:
        return float((text or "").replace(",", "")) * _SCALES.get(unit or "", 1)
    except ValueError:
        return None


def by_cell(launches, cells):
    """One list of launches a cell, in order: each begins with a launch of MARK. Cells that were not reached have []."""
    found = []
    for name, metrics in launches:
        if MARK in name:
            found.append([])
        elif found:
            found[-1].append((name, metrics))
    return (found + [[]] * cells)[:cells]


def by_kernel(launches):
    """{kernel, as "E32": summary() of its launches}."""
    found = defaultdict(list)
    for name, metrics in launches:
        if kernel := KERNEL.search(name):
            found[kernel[1]].append(metrics)
    return {kernel: summary(of_it) for kernel, of_it in found.items()}


def summary(launches):
    """What the launches of a kernel come to: sums over them, and averages weighted by what they are averages over.

    {"launches", "kernel_time_s", "warp_instructions", "global_throughput_gib_s", *AVERAGES}; None for a value that a
    launch has no metric for.
    """
    time, moved = _sum(launches, TIME), _sum(launches, BYTES)
    averages = {name: _average(launches, *metrics) for name, metrics in AVERAGES.items()}
    return {
        "launches": len(launches),
        "kernel_time_s": time,
        "warp_instructions": _sum(launches, INSTRUCTIONS),
        "global_throughput_gib_s": moved / time / 2**30 if time and moved is not None else None,
        **averages,
    }


def scaled(summary, times):
    """A summary() with what is added up made so many times as large; averages, and the launches as they were, stay."""
    sums = ("kernel_time_s", "warp_instructions")
    return {key: value * times if key in sums and value is not None else value for key, value in summary.items()}


def _sum(launches, metric):
    values = [launch.get(metric) for launch in launches]
    return None if None in values else sum(values)


def _average(launches, metric, over):
    """The metric's mean, weighted by ``over``; a launch that did nothing has no weight, and may lack the metric."""
    weights = [launch.get(over) for launch in launches]
    if None in weights or not sum(weights):
        return None
    values = [launch.get(metric) if weight else 0.0 for launch, weight in zip(launches, weights, strict=True)]
    if None in values:
        return None
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)
