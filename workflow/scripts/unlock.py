"""Remove the lock that a killed Snakemake left on this folder; a running one keeps its lock.

Snakemake's lock is a file that outlives a kill -9. It is stale when no Snakemake process works in this folder.
"""

import subprocess
import sys
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]


def holders(folder):
    """Process ids of the Snakemake runs whose working folder this is."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        words = process.info["cmdline"] or []
        is_snakemake = any(Path(word).name == "snakemake" for word in words[:4])
        if is_snakemake and process.info["cwd"] and Path(process.info["cwd"]).resolve() == folder:
            found.append(process.info["pid"])
    return found


def main():
    """Exit code 2 when another run holds the lock, 0 when there is none or a stale one is removed."""
    if not any((ROOT / ".snakemake/locks").glob("*.lock")):
        return 0
    running = holders(ROOT)
    if running:
        print(f"error: another run works in this folder (process {running[0]}); wait until it ends", file=sys.stderr)
        return 2
    print("removing the lock of an interrupted run")
    return subprocess.run([sys.executable, "-m", "snakemake", "--unlock", "--quiet"], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
