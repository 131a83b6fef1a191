"""Any command-line aligner, configured in config/external_tools.yaml and without code.

A run is one start of the program on a file of the pairs, so its time by our clock holds the program's start and its
reading of the file; ``time_from`` takes the program's own timer instead. config/external_tools.yaml explains the keys.
"""

import hashlib
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from wfa_kernels import Edit
from wfa_kernels.result import OK, OVER_LIMIT, UNSUPPORTED
from workflow.aligners import ToolMissing
from workflow.aligners._external_config import read
from workflow.aligners._library import PeerAdapter
from workflow.processes import die_with_parent

_SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6}
#: What a line of a sequence file can hold.
_PRINTABLE = bytes(range(33, 127))
_RUN = re.compile(r"(\d*)([A-Za-z=])")


class ExternalToolError(RuntimeError):
    """The program failed, or its output is not what its entry says."""


class External(PeerAdapter):
    """One entry of config/external_tools.yaml. settings: the entry as a dict, checked by the schema."""

    sources = (*PeerAdapter.sources, "workflow/processes.py")

    def __init__(self, settings):
        self.settings = settings
        self.tool, self.variant = settings["name"], settings.get("variant", "")
        self.device, self.exact = settings.get("device", "cpu"), settings.get("exact", True)
        self.quantity = settings.get("quantity", "time_end_to_end")
        self.edit_only = settings["metrics"] == ["edit"]
        self._alphabet = settings["alphabet"].encode() if "alphabet" in settings else _PRINTABLE

    def source_hash(self):
        """Digest of this file and of the entry: a changed command is another tool."""
        entry = json.dumps(self.settings, sort_keys=True)
        return hashlib.sha256((super().source_hash() + entry).encode()).hexdigest()[:16]

    def build(self):
        """Digest of the program as it lies on PATH, "" where it does not or may not be read."""
        found = shutil.which(shlex.split(self.settings["command"])[0])
        try:
            return hashlib.sha256(Path(found).read_bytes()).hexdigest() if found else ""
        except OSError:
            return ""

    def version(self):
        """What the version command prints, or "unknown". Raises ToolMissing when the program is not on PATH."""
        program = shlex.split(self.settings["command"])[0]
        if shutil.which(program) is None:
            raise ToolMissing(f"not installed: {program} is not on PATH")
        asked = self.settings.get("version")
        if asked is None:
            return "unknown"
        try:
            done = subprocess.run(shlex.split(asked["command"]), capture_output=True, text=True, timeout=30)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ToolMissing(f"its version command does not run: {error}") from None
        found = re.search(asked.get("regex", r"(.+)"), done.stdout + done.stderr)
        if found is None:
            raise ToolMissing(f"its version command prints nothing that matches {asked.get('regex', '(.+)')!r}")
        return found.group(1).strip()

    def unsupported(self, job):
        """The entry's scopes and metrics say."""
        if job.scope not in self.settings["scopes"]:
            return f"gives no {job.scope}"
        if isinstance(job.penalties, Edit) and "edit" not in self.settings["metrics"]:
            return "computes gap-affine alignments only"
        return super().unsupported(job)

    def refusal(self, pattern, text, job):
        """Refuse bytes outside the entry's alphabet and sequences over its length."""
        if pattern.translate(None, self._alphabet) or text.translate(None, self._alphabet):
            return UNSUPPORTED
        return OVER_LIMIT if max(len(pattern), len(text)) > self.settings.get("max_length_bp", 2**31) else OK

    def ask(self, sequences, job):
        """Write the pairs to the program's input files and fill in its command."""
        self._sequences = sequences
        self._folder = tempfile.TemporaryDirectory(prefix="wavebench-")
        folder = Path(self._folder.name)
        mismatch, gap_open, gap_extend = self.objective(job).triple
        values = {"mismatch": mismatch, "gap_open": gap_open, "gap_extend": gap_extend}
        values |= {"gap_first": gap_open + gap_extend, "threads": self.settings.get("threads", 1)}
        values |= {name: str(folder / name) for name in ("input", "pattern", "text", "output")}
        command = f"{self.settings['command']} {self.settings.get('scope_arguments', {}).get(job.scope, '')}"
        self._command = [word.format(**values) for word in shlex.split(command)]
        self._output = folder / "output"
        if self.settings["input_format"] == "seq":
            (folder / "input").write_bytes(b"".join(b">%b\n<%b\n" % pair for pair in sequences))
            return
        for side, name in enumerate(("pattern", "text")):
            records = (b">%d\n%b\n" % (number, pair[side]) for number, pair in enumerate(sequences, 1))
            (folder / name).write_bytes(b"".join(records))

    def run(self):
        """One start of the program, none for no pairs. Raises ExternalToolError unless it exits with 0."""
        self._printed = ""
        if not self._sequences:
            return
        self._output.unlink(missing_ok=True)
        # The program dies with its worker, also one that is killed: it would run on beside every later sample.
        done = subprocess.run(
            self._command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
            preexec_fn=partial(die_with_parent, os.getpid()),
        )  # fmt: skip
        self._printed, self._errors = done.stdout, done.stderr
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
            raise ExternalToolError(f"{self._command[0]} ended with exit code {done.returncode}; it said: {said[:200]}")

    def own_seconds(self):
        """The last time the program printed, where the entry has ``time_from``; None: our clock counts.

        0 where the program's clock is too coarse for its pairs, of which a race may find that it runs more.
        """
        timer = self.settings.get("time_from")
        if timer is None or not self._sequences:
            return None
        found = re.findall(timer["regex"], self._printed + self._errors)
        if not found:
            raise ExternalToolError(f"{self._command[0]} printed no time that matches {timer['regex']!r}")
        seconds = float(found[-1]) * _SECONDS[timer.get("unit", "s")]
        if not 0 <= seconds < math.inf:
            raise ExternalToolError(f"{self._command[0]} printed a time of {found[-1]}, which is no number >= 0")
        return seconds

    def answers(self):
        """Scores and CIGARs out of the program's output, in order of its input. Raises ExternalToolError."""
        if not self._sequences:
            return []
        sign = -1 if self.settings["output"].get("score_sign") == "negated" else 1
        try:
            records = self._in_order(list(self._records()))
            return [
                (OK, sign * int(record["score"]), self._cigar(record, *pair))
                for record, pair in zip(records, self._sequences, strict=True)
            ]
        except ValueError as error:
            raise ExternalToolError(f"{self._command[0]} gave output that cannot be read: {error}") from None

    def _in_order(self, records):
        """The records by their index, where they have one; one for each pair asked."""
        if len(records) != len(self._sequences):
            raise ValueError(f"{len(records)} answers for {len(self._sequences)} pairs")
        if "index" not in records[0]:
            return records
        by_index = {int(record["index"]): record for record in records}
        missing = next((i for i in range(1, len(records) + 1) if i not in by_index), None)
        if missing is not None:
            raise ValueError(f"no answer has index {missing}")
        return [by_index[i] for i in range(1, len(records) + 1)]

    def _records(self):
        """{"score": text, "cigar": text, "index": text} of each answer, as far as the entry says where they stand."""
        output = self.settings["output"]
        text = self._printed
        if output["from"] == "file":
            if not self._output.exists():
                raise ValueError("it wrote no output file")
            text = self._output.read_text(errors="replace")
        if "regex" in output:
            yield from (found.groupdict() for found in re.finditer(output["regex"], text, re.MULTILINE))
            return
        for line in text.splitlines()[output.get("skip_lines", 0) :]:
            fields = line.split("\t")
            if len(fields) < max(output["columns"].values()):
                raise ValueError(f"no column {max(output['columns'].values())} in the line {line[:80]!r}")
            yield {part: fields[column - 1] for part, column in output["columns"].items()}

    def _cigar(self, record, pattern, text):
        """The program's CIGAR, with or without run lengths, in our letters and merged runs."""
        if self._job.scope == "score":
            return ""
        letters = self.settings["output"].get("cigar_letters", {})
        if _RUN.sub("", record["cigar"]):
            raise ValueError(f"not a CIGAR: {record['cigar'][:60]!r}")
        runs, v, h = [], 0, 0
        for length, letter in _RUN.findall(record["cigar"]):
            operation, length = letters.get(letter, letter), int(length or 1)
            if operation == "=X":
                runs += _told_apart(pattern[v : v + length], text[h : h + length])
            elif length:
                runs.append((operation, length))
            v += length * (operation != "I")
            h += length * (operation != "D")
        return "".join(f"{sum(n for _, n in of)}{operation}" for operation, of in groupby(runs, itemgetter(0)))


def _told_apart(pattern, text):
    """[(= or X, length)] of letters one above the other."""
    if pattern == text:
        return [("=", len(pattern))] if pattern else []
    equal = groupby(a == b for a, b in zip(pattern, text, strict=False))
    return [("=" if same else "X", sum(1 for _ in run)) for same, run in equal]


def adapters():
    """One for each entry of config/external_tools.yaml."""
    return [External(entry) for entry in read()]
