"""Build the shared library of the peers: ``python -m workflow.peers.build``, or ``make peers``.

The libraries' sources are the source distributions that the locks pin by hash; pip fetches them into build/peers. What
cannot be built is a note here and a reason in the tables' rows, never an error: exit code 0.
"""

import argparse
import fcntl
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from workflow import peers

FLAGS = ("-O3", "-fPIC", "-DNDEBUG")
NATIVE = "-march=native"
LOG = peers.FOLDER / "build.log"
_ON_ARM = platform.machine() in ("aarch64", "arm64")


class BuildError(Exception):
    """A part cannot be built; the text is the reason."""


@dataclass(frozen=True)
class Part:
    """One peer. own: our file. sources: patterns of the files to compile, include: folders, both in the unpacked
    source of its package. flags: further ones of the compiler. native: whether it gains from this processor's own
    instructions.
    """

    own: str
    sources: tuple = ()
    include: tuple = ()
    flags: tuple = ()
    native: bool = True


PARTS = {
    "wfa2lib": Part(
        "wfa2lib.c",
        tuple(f"pywfa/WFA2_lib/{folder}/*.c" for folder in ("alignment", "system", "utils", "wavefront")),
        ("pywfa/WFA2_lib",),
    ),
    # GCC 12 makes Edlib 1.10 to 1.22 times slower with -march=native (150 and 1000 letters, AMD EPYC with AVX-512).
    "edlib": Part("edlib.c", ("edlib/src/edlib.cpp",), (".", "edlib/include"), native=False),
    # On ARM as mappy's own build: its sources then translate SSE.
    "ksw2": Part(
        "ksw2.c",
        ("ksw2_extz2_sse.c", "kalloc.c"),
        (".", "sse2neon") if _ON_ARM else (".",),
        ("-DHAVE_KALLOC", *(("-DKSW_SSE2_ONLY", "-D__SSE2__") if _ON_ARM else ())),
    ),
    "parasail": Part("parasail.c"),
    # SeqAn's 16-bit lanes are 2.6 times faster with AVX2 than with AVX-512 (150 letters, GCC 12).
    "seqan": Part("seqan.cpp", flags=("-std=c++17", "-w", *(() if _ON_ARM else ("-mno-avx512f",)))),
}


def run(command):
    """Run a command with its output in the log. Raises BuildError with its last words."""
    with open(LOG, "a", encoding="utf-8") as log:
        print("$", shlex.join(map(str, command)), file=log, flush=True)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        log.write(done.stdout + done.stderr)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line.lower()] or ["no message"]
        raise BuildError(f"{Path(command[0]).name} failed: {said[0].strip()[:160]}")
    return done.stdout


def compilers():
    """(C compiler, C++ compiler) as lists of words, from CC and CXX where they are set. Raises BuildError."""
    found = [shlex.split(os.environ.get(name) or usual) for name, usual in (("CC", "cc"), ("CXX", "c++"))]
    for words in found:
        if shutil.which(words[0]) is None:
            raise BuildError(f"no C and C++ compiler here ({words[0]} is not on PATH)")
    return found


def sources(package):
    """Folder of the unpacked source distribution of a package, fetched by its hash where it is not there yet.

    Raises BuildError.
    """
    requirement = peers.locked(package)
    version = requirement.split("==")[1].split()[0]
    folder = peers.FOLDER / f"{package}-{version}"
    if folder.is_dir():
        return folder
    with tempfile.TemporaryDirectory(dir=peers.FOLDER) as scratch:
        wanted = Path(scratch, "requirement.txt")
        wanted.write_text(requirement, encoding="utf-8")
        run([sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--retries=1",
             "--require-hashes", "--no-deps", f"--no-binary={package}", "-d", scratch, "-r", wanted])  # fmt: skip
        (archive,) = Path(scratch).glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(scratch, filter="data")
        Path(scratch, folder.name).rename(folder)
    return folder


def compile_part(name, part, cc, cxx):
    """Object files of one part, as paths. Raises BuildError."""
    folder = sources(peers.PACKAGES[name]) if name in peers.PACKAGES else peers.SOURCES
    theirs = sorted(path for pattern in part.sources for path in folder.glob(pattern))
    include = [f"-I{path}" for path in (peers.SOURCES, *(folder / place for place in part.include))]
    objects = peers.FOLDER / "objects" / name
    objects.mkdir(parents=True, exist_ok=True)
    flags = [*FLAGS, *([NATIVE] if part.native else []), *part.flags]
    commands = []
    for path in (peers.SOURCES / part.own, *theirs):
        hidden = ["-fvisibility=hidden"] if path in theirs else []
        compiler = cxx if path.suffix == ".cpp" else cc
        output = objects / f"{path.parent.name}-{path.name}.o"
        commands.append([*compiler, *flags, *hidden, *include, "-c", str(path), "-o", str(output)])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, commands))
    return [command[-1] for command in commands]


def build():
    """Compile what can be and link it. Returns what is written to the record; raises BuildError when nothing can."""
    cc, cxx = compilers()
    told, objects = {}, []
    for name, part in PARTS.items():
        try:
            objects += compile_part(name, part, cc, cxx)
            told[name] = {"version": part_version(name)}
        except BuildError as error:
            told[name] = {"reason": part_reason(name, error)}
    packing = str(peers.FOLDER / "objects/packing.o")
    run([*cc, *FLAGS, "-c", str(peers.SOURCES / "packing.c"), "-o", packing])
    linked = peers.FOLDER / "linked.so"
    run([*cxx, "-shared", "-o", str(linked), *objects, packing, *(["-ldl"] if sys.platform == "linux" else [])])
    linked.replace(peers.LIBRARY)
    compiler = run([*cc, "--version"]).splitlines()[0]
    return {"key": peers.key(), "compiler": compiler, "parts": told}


def part_version(name):
    """What the part's sources are, and how they are compiled."""
    told = {"parasail": "the wheel's library, called through ours", "seqan": "SeqAn's headers"}.get(name)
    if name in peers.PACKAGES:
        told = " ".join(("from", *peers.locked(peers.PACKAGES[name]).split()[0].split("==")))
    return f"{told}, {FLAGS[0]}{f' {NATIVE}' if PARTS[name].native else ''}"


def part_reason(name, error):
    """Why the part is missing, in words for a table."""
    if name == "seqan" and "No such file" in str(error):
        return "not installed: no seqan headers (on Debian and Ubuntu the package libseqan2-dev)"
    return f"not built: {error}"


def is_failure(part):
    """Whether a part of the record was tried in vain; one whose library is not installed was not."""
    return part.get("reason", "").startswith("not built")


def main(argv=()):
    """Build unless what is there is of the same sources; a second build at the same time waits for the first."""
    argparse.ArgumentParser(prog="python -m workflow.peers.build", description=__doc__.splitlines()[0]).parse_args(argv)
    peers.FOLDER.mkdir(parents=True, exist_ok=True)
    with open(peers.FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if peers.COMPLETE.exists() and peers.record().get("key") == peers.key():
            peers.COMPLETE.touch()
            return
        print("building the peers' C libraries for this processor (a minute)", flush=True)
        LOG.write_text("", encoding="utf-8")
        for path in (peers.COMPLETE, peers.LIBRARY):
            path.unlink(missing_ok=True)
        try:
            told = build()
        except BuildError as error:
            parts = {name: {"reason": f"not built: {error}"} for name in PARTS}
            told = {"key": peers.key(), "compiler": "", "parts": parts}
        peers.RECORD.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        failed = {}
        for name, part in told["parts"].items():
            if is_failure(part):
                failed.setdefault(part["reason"], []).append(name)
        if not failed:
            peers.COMPLETE.touch()
    for reason, names in failed.items():
        log = LOG.relative_to(peers.ROOT)
        print(f"note: native {', '.join(names)}: {reason}; the tables' rows will say so ({log})")


if __name__ == "__main__":
    main(sys.argv[1:])
