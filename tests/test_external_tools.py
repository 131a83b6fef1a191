"""Programs configured in config/external_tools.yaml: what they are given, how they are read, what goes wrong."""

import json
import os
import subprocess
import sys
import textwrap
import time

import psutil
import pytest
import yaml

from tests.judging import answer, check
from wfa_kernels import Affine, Edit, PairBatch
from wfa_kernels.result import OK, OVER_LIMIT, UNSUPPORTED
from workflow import aligners
from workflow.aligners import Job, ToolConfigError, ToolMissing, _external_config, external

#: Stands in for a program: aligns by gaps alone (its CIGAR is one deletion and one insertion, unless the letters are
#: equal), takes both input formats, and does what its flags say.
PROGRAM = """
import os, sys, time
flags = sys.argv[1:]
value = {name: flags[flags.index(name) + 1] for name in ("-i", "-p", "-t", "-o", "-g", "--hang") if name in flags}
if "--version" in flags:
    print("gapper 3.2"); sys.exit()
if "--fail" in flags:
    print("loading"); print("cannot find a device", file=sys.stderr); sys.exit(3)
if "--hang" in flags:
    open(value["--hang"], "w").write(str(os.getpid())); time.sleep(1000)
if "-i" in value:
    lines = open(value["-i"]).read().splitlines()
    assert all(line[0] == "><"[i % 2] for i, line in enumerate(lines))
    pairs = [(p[1:], t[1:]) for p, t in zip(lines[::2], lines[1::2])]
else:
    pairs = list(zip(open(value["-p"]).read().splitlines()[1::2], open(value["-t"]).read().splitlines()[1::2]))
x, o, e = map(int, value["-g"].split(","))
answers = []
for i, (p, t) in enumerate(pairs, 1):
    cost = 0 if p == t else 2 * o + e * (len(p) + len(t))
    cigar = f"{len(p)}M" if p == t else f"{len(p)}D{len(t)}I"
    cigar = cigar.translate(str.maketrans("ID", "DI")) if "--swap" in flags else cigar
    cigar = "D" + "M" * (len(p) - 1) + "I" if "--expand" in flags else cigar
    answers.append((i, -cost if "--negate" in flags else cost, cigar))
if "--shuffle" in flags:
    answers.reverse()
if "--lose" in flags:
    answers.pop()
out = open(value["-o"], "w") if "-o" in value else sys.stdout
if "--header" in flags:
    print("index\\tscore\\tcigar", file=out)
for i, score, cigar in answers:
    if "--words" in flags:
        print(f"pair {i}: score={score}\\n  path {cigar}", file=out)
    else:
        print(i, "oops" if "--garble" in flags else score, cigar, sep="\\t", file=out)
print("warm-up 9 ms\\nAligned in 2.5 ms", file=sys.stderr)
"""
#: A mismatch costs more than two gaps here: on the pairs below, gaps alone are optimal.
GAPS_WIN = Affine(90, 1, 1)
EXTERNAL_PAIRS = [(b"AAAA", b"CC"), (b"ACGT", b"ACGT"), (b"", b"ACG"), (b"GGGGG", b"T"), (b"", b"")]


@pytest.fixture
def entry(tmp_path):
    """A function that makes an adapter of the stand-in program with the given flags and other keys of its entry."""
    (tmp_path / "gapper.py").write_text(textwrap.dedent(PROGRAM))

    def make(flags="", command=None, **keys):
        settings = {
            "name": "gapper",
            "command": command
            or f"'{sys.executable}' {tmp_path}/gapper.py -i {{input}} -o {{output}} "
            f"-g {{mismatch}},{{gap_open}},{{gap_extend}} {flags}",
            "input_format": "seq",
            "metrics": ["affine"],
            "scopes": ["score", "cigar"],
            "output": {"from": "file", "columns": {"score": 2, "cigar": 3}, "cigar_letters": {"M": "="}},
        }
        (tmp_path / "tools.yaml").write_text(yaml.safe_dump({"tools": [settings | keys]}))
        (settings,) = _external_config.read(tmp_path / "tools.yaml")
        return external.External(settings)

    make.program = f"'{sys.executable}' {tmp_path}/gapper.py"
    return make


def _wait_for(condition, seconds=60):
    """The condition's first true value; fails after so many seconds."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
    return value


def judge_external(adapter, pairs=EXTERNAL_PAIRS):
    batch = PairBatch.from_strings(*zip(*pairs, strict=True))
    for scope in adapter.settings["scopes"]:
        check(adapter, batch, answer(adapter, batch, scope, GAPS_WIN), scope, GAPS_WIN)


class TestExternal:
    """Programs configured in YAML, by one that stands in for them."""

    def test_file_of_columns(self, entry):
        judge_external(entry())

    def test_a_program_that_was_built_anew_has_another_build(self, entry, tmp_path, monkeypatch):
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        adapter = entry(command="gapper {input} {output}")
        found, sources = [adapter.build()], adapter.source_hash()
        for content in ("one", "two", "two"):
            (tmp_path / "gapper").write_text(content)
            (tmp_path / "gapper").chmod(0o755)
            found.append(adapter.build())
        assert found[0] == "" and len(set(found)) == 3 and found[2] == found[3]
        assert adapter.source_hash() == sources, "samples of a machine that has it are not stale where it is not"

    def test_cigars_of_columns_and_of_runs_are_told_apart_by_the_letters(self, entry):
        adapter = entry(output={"from": "stdout", "regex": "(?P<score>.)(?P<cigar>.)", "cigar_letters": {"M": "=X"}})
        adapter._job = Job("cigar", GAPS_WIN)
        for cigar, told in (
            ("4M1D3M", "3=1X1D1=2X"), ("MMMMDMMM", "3=1X1D1=2X"), ("3=1=1I", "4=1I"), ("2=2X0I1X1=", "2=3X1="),
            ("", ""),
        ):  # fmt: skip
            assert adapter._cigar({"cigar": cigar}, b"ACGTAGCC", b"ACGAGTT") == told

    def test_no_pairs_start_no_program(self, entry):
        judge_external(entry("--fail"), [(b"", b""), (b"", b"A")])

    def test_negated_scores_swapped_gaps_and_a_header(self, entry):
        output = {"from": "file", "columns": {"score": 2, "cigar": 3}, "skip_lines": 1, "score_sign": "negated"}
        letters = {"M": "=", "I": "D", "D": "I"}
        judge_external(entry("--negate --swap --header", output=output | {"cigar_letters": letters}))

    def test_fasta_stdout_and_regex(self, entry):
        command = entry.program + " -p {pattern} -t {text} -g {mismatch},{gap_open},{gap_extend} --words"
        output = {"from": "stdout", "regex": r"score=(?P<score>\d+)\s+path (?P<cigar>\S+)", "cigar_letters": {"M": "="}}
        judge_external(entry(command=command, input_format="fasta", output=output))

    def test_answers_out_of_order(self, entry):
        output = {"from": "file", "columns": {"index": 1, "score": 2, "cigar": 3}, "cigar_letters": {"M": "="}}
        judge_external(entry("--shuffle", output=output))

    def test_letter_for_match_and_mismatch_without_run_lengths(self, entry):
        output = {"from": "file", "columns": {"score": 2, "cigar": 3}, "cigar_letters": {"M": "=X"}}
        batch = PairBatch.from_strings([b"GAACGT"], [b"AAGGTC"])
        cigars = answer(entry("--expand", output=output), batch, "cigar", GAPS_WIN).cigar_strings()
        assert cigars == ["1D2=1X2=1I"]

    def test_scope_arguments_and_scopes(self, entry):
        failing_score = entry(scope_arguments={"score": "--fail"})
        batch = PairBatch.from_strings([b"A"], [b"A"])
        assert answer(failing_score, batch, "cigar", GAPS_WIN).scores.tolist() == [0]
        with pytest.raises(external.ExternalToolError):
            answer(failing_score, batch, "score", GAPS_WIN)
        assert entry(scopes=["score"]).unsupported(Job("cigar", GAPS_WIN)) == "gives no cigar"

    def test_metrics(self, entry):
        assert "gap-affine" in entry().unsupported(Job("score", Edit()))
        edit = entry(metrics=["edit"])
        assert edit.objective(Job("cigar", GAPS_WIN)) == Edit()
        assert edit.unsupported(Job("score", GAPS_WIN)) and not edit.unsupported(Job("cigar", GAPS_WIN))

    def test_refused_pairs(self, entry):
        adapter = entry(alphabet="ACGT", max_length_bp=4)
        for sides in ([b"ACGT", b"ACGN", b"ACGTA"], [b"ACGT"] * 3), ([b"ACGT"] * 3, [b"ACGT", b"ACGN", b"ACGTA"]):
            result = answer(adapter, PairBatch.from_strings(*sides), "score", GAPS_WIN)
            assert result.status.tolist() == [OK, UNSUPPORTED, OVER_LIMIT]
        assert answer(entry(), PairBatch.from_strings([b"A\nC"], [b"A"]), "score", GAPS_WIN).status[0] == UNSUPPORTED

    def test_own_timer(self, entry):
        adapter = entry(time_from={"regex": "Aligned in ([0-9.]+)", "unit": "ms"})
        answer(adapter, PairBatch.from_strings([b"A"], [b"A"]), "score", GAPS_WIN)
        assert adapter.own_seconds() == pytest.approx(0.0025)
        for timer, seconds in (({"unit": "us"}, 2.5e-6), ({"unit": "s"}, 2.5), ({}, 2.5)):
            adapter.settings["time_from"] = {"regex": "Aligned in ([0-9.]+)", **timer}
            assert adapter.own_seconds() == pytest.approx(seconds)
        several = entry(time_from={"regex": "([0-9.]+) ms", "unit": "ms"})
        answer(several, PairBatch.from_strings([b"A"], [b"A"]), "score", GAPS_WIN)
        assert several.own_seconds() == pytest.approx(0.0025), "the last one"
        silent = entry(time_from={"regex": "Took ([0-9.]+)"})
        answer(silent, PairBatch.from_strings([b"A"], [b"A"]), "score", GAPS_WIN)
        with pytest.raises(external.ExternalToolError, match="printed no time"):
            silent.own_seconds()
        assert entry().own_seconds() is None

    def test_a_time_that_is_none(self, entry):
        adapter = entry(time_from={"regex": "([-0-9.]+) ms", "unit": "ms"})
        answer(adapter, PairBatch.from_strings([b"A"], [b"A"]), "score", GAPS_WIN)
        adapter._printed, adapter._errors = "0.00 ms", ""
        assert adapter.own_seconds() == 0, "too coarse a clock, which on more pairs may tell"
        adapter._printed = "-3 ms"
        with pytest.raises(external.ExternalToolError, match="printed a time of -3, which is no number >= 0"):
            adapter.own_seconds()

    def test_version(self, entry):
        assert entry().version() == "unknown"
        asked = {"command": entry.program + " --version", "regex": r"gapper (\S+)"}
        assert entry(version=asked).version() == "3.2"
        with pytest.raises(ToolMissing, match="nothing that matches"):
            entry(version=asked | {"regex": "(nonsense)"}).version()

    def test_absent_program(self, entry):
        with pytest.raises(ToolMissing, match="^not installed: no-such-aligner is not on PATH$"):
            entry(command="no-such-aligner {input} {output}").version()

    @pytest.mark.parametrize(
        ("flags", "message"),
        [
            ("--fail", "exit code 3; it said: cannot find a device"),
            ("--lose", "3 answers for 4 pairs"),
            ("--header", "5 answers for 4 pairs"),
            ("--garble", "oops"),
        ],
    )
    def test_failing_program(self, entry, flags, message):
        pairs = [(b"AAAA", b"CC"), (b"ACGT", b"ACGT"), (b"GGGGG", b"T"), (b"A", b"A")]
        with pytest.raises(external.ExternalToolError, match=message):
            judge_external(entry(flags), pairs)

    def test_program_that_writes_no_file(self, entry):
        adapter = entry(command=entry.program + " -i {input} -g 1,1,1 --unused {output}")
        with pytest.raises(external.ExternalToolError, match="no output file"):
            judge_external(adapter)

    def test_answers_of_the_last_run_are_not_those_of_one_that_writes_no_file(self, entry):
        adapter = entry()
        answer(adapter, PairBatch.from_strings([b"A"], [b"A"]), "score", GAPS_WIN)
        adapter._command = [sys.executable, "-c", ""]
        adapter.run()
        with pytest.raises(external.ExternalToolError, match="no output file"):
            adapter.outputs()

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
    def test_program_dies_with_its_killed_worker(self, entry, tmp_path):
        adapter = entry(f"--hang {tmp_path}/pid")
        (tmp_path / "settings.json").write_text(json.dumps(adapter.settings))
        script = (
            "import json, sys; from wfa_kernels import Affine, PairBatch; from workflow.aligners import Job, external\n"
            "adapter = external.External(json.load(open(sys.argv[1])))\n"
            "adapter.prepare(PairBatch.from_strings(['A'], ['A']), Job('score', Affine(90, 1, 1))); adapter.run()\n"
        )
        worker = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "settings.json")], cwd=aligners.ROOT)
        program = psutil.Process(int(_wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())))
        worker.kill()
        worker.wait()
        psutil.wait_procs([program], timeout=20)
        assert not program.is_running() or program.status() == psutil.STATUS_ZOMBIE

    def test_command_keys_the_samples(self, entry):
        assert entry().source_hash() == entry().source_hash() != entry("--negate").source_hash()

    @pytest.mark.parametrize(
        ("keys", "message"),
        [
            ({"comand": "x"}, r"tools.yaml: key 'tools.0': .*'comand'"),
            ({"threads": "two"}, r"tools.yaml: key 'tools.0.threads': 'two' is not of type 'integer'"),
            ({"threads": 4}, r"'tools.0.threads' must be 1 for a program of the CPU: .*processes of one thread each"),
            ({"device": "tpu"}, r"tools.0.device"),
            ({"scopes": ["path"]}, r"tools.0.scopes.0"),
            ({"time_from": {"regex": "("}}, r"tools.0.time_from.regex"),
            (
                {"command": "x {input} {output} {penalty}"},
                r"'tools.0.command' has unknown \{penalty\}; allowed are input",
            ),
            ({"command": "x {input}"}, r"'tools.0.command' lacks \{output\}"),
            ({"command": "x '{input} {output}"}, r"'tools.0.command' cannot be read as a command"),
            ({"command": "x {input} {output"}, r"'tools.0.command' cannot be read as a command"),
            ({"command": "x {input!z} {output}"}, r"'tools.0.command' may have no ':' or '!' between its braces"),
            ({"scope_arguments": {"score": "{threads:02d}"}}, r"'tools.0.scope_arguments.score' may have no ':'"),
            ({"version": {"command": "x '"}}, r"'tools.0.version.command' cannot be read as a command: No closing"),
            ({"version": {"command": "x", "regex": "v."}}, r"'tools.0.version.regex' must have a group"),
            ({"device": "cuda"}, r"key 'tools.0': 'quantity' is a required property"),
            ({"device": "cuda", "quantity": "time_end_to_end"}, r"quantity.: .time_end_to_end. is not one of .*pinned"),
            ({"time_from": {"regex": "in .+ s"}}, r"'tools.0.time_from.regex' must have one group"),
            ({"time_from": {"regex": "(.) (.)"}}, r"'tools.0.time_from.regex' must have one group"),
            ({"input_format": "fasta"}, r"'tools.0.command' lacks \{pattern\}"),
            (
                {"output": {"from": "file", "columns": {"score": 1}}},
                r"output' says nothing of where the cigar",
            ),
            (
                {"output": {"from": "file", "regex": "(?P<cigar>.)"}},
                r"output' says nothing of where the score",
            ),
        ],
    )
    def test_bad_entries_name_the_file_and_the_key(self, entry, keys, message):
        with pytest.raises(ToolConfigError, match=message):
            entry(**keys)

    def test_a_gpus_program_has_threads_of_its_host(self, entry):
        adapter = entry("-n {threads}", device="cuda", quantity="time_end_to_end_pageable", threads=4)
        adapter.ask([(b"A", b"A")], Job("score", GAPS_WIN))
        assert adapter._command[-2:] == ["-n", "4"]
        assert (adapter.device, adapter.quantity) == ("cuda", "time_end_to_end_pageable")

    @pytest.mark.parametrize("exact", [True, False])
    def test_a_program_claims_exactness_where_its_entry_does(self, entry, exact):
        assert entry(exact=exact).exact is exact and entry().exact

    def test_a_program_is_told_the_penalties_that_it_optimises(self, entry):
        told = "{mismatch} {gap_open} {gap_extend} {gap_first}"
        for metric, penalties in (("affine", ["4", "6", "2", "8"]), ("edit", ["1", "0", "1", "1"])):
            adapter = entry(told, metrics=[metric])
            adapter.ask([(b"A", b"A")], Job("cigar", Affine(4, 6, 2)))
            assert adapter._command[-4:] == penalties

    def test_two_entries_of_one_name(self, entry, tmp_path):
        adapter = entry()
        (tmp_path / "two.yaml").write_text(yaml.safe_dump({"tools": [adapter.settings, adapter.settings]}))
        with pytest.raises(ToolConfigError, match=r"'tools.1.name' gives 'gapper' twice"):
            _external_config.read(tmp_path / "two.yaml")

    def test_broken_file(self, tmp_path):
        (tmp_path / "broken.yaml").write_text("tools:\n  - name: x\n   command: y\n")
        with pytest.raises(ToolConfigError, match=r"broken.yaml, line 3: "):
            _external_config.read(tmp_path / "broken.yaml")
        (tmp_path / "empty.yaml").write_text("")
        with pytest.raises(ToolConfigError, match=r"empty.yaml: "):
            _external_config.read(tmp_path / "empty.yaml")
        assert _external_config.read(tmp_path / "absent.yaml") == []

    def test_shipped_file_and_its_examples(self, tmp_path):
        """The file is valid as it stands, and with its examples taken out of their comments."""
        head, examples = _external_config.CONFIG.read_text().split("tools: []\n")
        assert _external_config.read() == []
        active = [line[1:] for line in examples.splitlines() if line.startswith("#  ")]
        (tmp_path / "tools.yaml").write_text("\n".join([head, "tools:", *active]))
        entries = _external_config.read(tmp_path / "tools.yaml")
        assert [e["name"] for e in entries] == ["wfa-gpu", "ewfa-gpu", "gasal2"]
