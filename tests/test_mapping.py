"""Real reads: the table, and mapping against a known truth and against --real-data."""

import ast
import gzip
import json
import subprocess
import sys
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from tests.naive import edit_distance
from tests.real_data import ROWS, write_table
from tests.test_fetch import files_in
from wfa_kernels import PairBatch
from workflow.scripts import map_reads as mapping
from workflow.scripts.fetch import fetch
from workflow.scripts.real_data import COLUMNS, RealDataError, read_table

needs_mappy = pytest.mark.skipif(find_spec("mappy") is None, reason="mappy is not installed (it compiles C)")
COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")


GOOD_ROW = ("ecoli", "nanopore", "map-ont", "reads.fq", "", "ref.fa", "")


def table(tmp_path, *rows, header=COLUMNS):
    path = tmp_path / "real_data.tsv"
    path.write_text("# a comment\n\n" + "".join("\t".join(row) + "\n" for row in (header, *rows)))
    return path


def test_table_is_read(tmp_path):
    rows = read_table(table(tmp_path, GOOD_ROW, ("b", *GOOD_ROW[1:4], "0" * 64, *GOOD_ROW[5:])))
    assert [row.dataset for row in rows] == ["real_ecoli", "real_b"]
    assert (rows[0].preset, rows[0].reads_sha256, rows[1].reads_sha256) == ("map-ont", "", "0" * 64)


def test_the_shipped_table_has_no_rows_and_its_examples_are_valid(tmp_path):
    shipped = Path(__file__).parents[1] / "config" / "real_data.tsv"
    assert read_table(shipped) == []
    lines = shipped.read_text().splitlines()
    path = tmp_path / "examples.tsv"
    path.write_text("\n".join([lines[-1], *(line[2:] for line in lines if line.count("\t") == 6 and line[0] == "#")]))
    assert len(read_table(path)) == 2


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (0, "a/b", "line 4: column name: 'a/b' must be letters"),
        (0, "", "line 4: column name"),
        (0, "-x", "line 4: column name: '-x' must be letters"),
        (0, ".x", "line 4: column name: '.x' must be letters"),
        (1, "martian", "line 4: column technology: 'martian' is not one of illumina_150,"),
        (2, "map-all", "line 4: column preset: 'map-all' is not one of sr,"),
        (3, "", "line 4: column reads: is empty"),
        (4, "abc", "line 4: column reads_sha256: must be 64 hex digits or empty, not 'abc'"),
        (5, " ", "line 4: column reference: is empty"),
        (5, "http://[bad/", r"line 4: column reference: http://\[bad/: not a URL \(Invalid IPv6 URL\)"),
        (6, "x" * 64, "line 4: column reference_sha256"),
    ],
)
def test_bad_rows_name_file_line_and_column(tmp_path, column, value, message):
    row = [*GOOD_ROW]
    row[column] = value
    with pytest.raises(RealDataError, match=f"real_data.tsv: {message}"):
        read_table(table(tmp_path, row))


def test_bad_tables(tmp_path):
    with pytest.raises(RealDataError, match="line 5: column name: 'ecoli' stands twice"):
        read_table(table(tmp_path, GOOD_ROW, GOOD_ROW))
    with pytest.raises(RealDataError, match="line 4: 6 tab-separated columns, not 7"):
        read_table(table(tmp_path, GOOD_ROW[:6]))
    with pytest.raises(RealDataError, match="line 3: the header must be"):
        read_table(table(tmp_path, header=("name", "reads")))
    with pytest.raises(RealDataError, match="none.tsv: no such file"):
        read_table(tmp_path / "none.tsv")
    for content, message in ((b"", "line 1: the header must be"), (b"\xff\xfe", "cannot be read .*'utf-8' codec")):
        (tmp_path / "other.tsv").write_bytes(content)
        with pytest.raises(RealDataError, match=f"other.tsv: {message}"):
            read_table(tmp_path / "other.tsv")


def random_dna(rng, length):
    return bytes(rng.choice(np.frombuffer(b"ACGT", np.uint8), length))


def reverse_complement(sequence):
    return sequence.translate(COMPLEMENT)[::-1]


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    """Reads of known slices of two contigs, every second one from the reverse strand; and where they are from.

    Read k has one mismatch in its middle; reads 0-9 have 100 foreign letters before, 40-44 are foreign altogether.
    """
    folder, rng = tmp_path_factory.mktemp("truth"), np.random.default_rng(7)
    contigs = {"one": random_dna(rng, 20_000), "two": random_dna(rng, 10_000)}
    reads, slices = [], []
    for k in range(40):
        name = ("one", "two")[k % 3 == 0]
        start = int(rng.integers(0, len(contigs[name]) - 1000))
        text = bytearray(contigs[name][start : start + 1000])
        text[500] = ord("A") if text[500] != ord("A") else ord("C")
        slices.append((contigs[name][start : start + 1000], bytes(text)))
        reads.append((random_dna(rng, 100) if k < 10 else b"") + (reverse_complement(text) if k % 2 else bytes(text)))
    reads += [random_dna(rng, 1000) for _ in range(5)]
    with gzip.open(folder / "reads.fq.gz", "wb") as sink:
        for k, read in enumerate(reads):
            sink.write(b"@r%d x\n%s\n+\n%s\n" % (k, read.lower(), b"!" * len(read)))
    with open(folder / "ref.fa", "wb") as sink:
        for name, contig in contigs.items():
            sink.write(b">%s some words\n%s\n%s\n" % (name.encode(), contig[:777].lower(), contig[777:]))
    return folder, slices


@needs_mappy
def test_pairs_are_the_slices_the_reads_came_from(truth):
    folder, slices = truth
    pairs, counts = mapping.map_reads(folder / "reads.fq.gz", folder / "ref.fa", "map-ont", seed=3)
    assert (counts.reads, counts.mapped, counts.unmapped, counts.reads_beyond_cap) == (45, 40, 5, 0)
    assert counts.reverse_strand == 20
    assert counts.pairs_with_non_acgt == 0
    found, exact = [pairs.pair(i) for i in range(len(pairs))], set(slices)
    # A mapper may clip or add a few letters at a slice's ends; most hits end exactly where the read does.
    assert sum(pair in exact for pair in found) >= 30
    for pattern, text in found:
        assert any(pattern[20:-20] in p and text[20:-20] in t for p, t in slices)
        assert edit_distance(pattern, text) <= 5
    assert 10 * 80 <= counts.clipped_bases <= 10 * 120
    assert counts.mismatches >= 40
    assert [pair for pair in found if pair in exact] != [pair for pair in slices if pair in found]  # shuffled


def test_letters_of_a_hit_are_counted_by_what_became_of_them():
    read, contig = (np.frombuffer(letters, np.uint8) for letters in (b"CCARKBCC", b"GGACNTTGG"))
    hit = SimpleNamespace(q_st=2, q_en=6, r_st=2, r_en=7, strand=-1, NM=6, cigar=[[1, 0], [2, 1], [3, 2], [1, 0]])
    counts, patterns, texts = mapping.Counts(), [], []
    mapping._add_pair(read, contig, hit, counts, patterns, texts)
    assert (patterns, texts) == ([b"ACNTT"], [b"VMYT"])
    told = asdict(counts)
    assert {name: number for name, number in told.items() if number} == {
        "mismatches": 1, "insertions": 2, "deletions": 3, "clipped_bases": 4, "reverse_strand": 1,
        "pairs_with_non_acgt": 1,
    }  # fmt: skip
    plain = SimpleNamespace(**vars(hit) | {"strand": 1, "q_st": 0, "q_en": 2})
    mapping._add_pair(read, contig, plain, counts, patterns, texts)
    mapping._add_pair(read, contig, SimpleNamespace(**vars(hit) | {"r_st": 0, "r_en": 2}), counts, patterns, texts)
    assert counts.pairs_with_non_acgt == 3, "of either side"


def test_every_letter_of_a_reverse_read_has_its_complement():
    read = np.frombuffer(b"ACGTRYKMBDHVSWN", np.uint8)
    hit = SimpleNamespace(q_st=0, q_en=15, r_st=0, r_en=15, strand=-1, NM=0, cigar=[])
    texts = []
    mapping._add_pair(read, read, hit, mapping.Counts(), [], texts)
    assert texts == [b"TGCAYRMKVHDBSWN"[::-1]]


def test_a_read_has_its_first_primary_hit_and_the_others_are_counted():
    hits = [SimpleNamespace(is_primary=primary, name=name) for name, primary in zip("sabc", (0, 1, 1, 1), strict=True)]
    counts = mapping.Counts()
    assert mapping._primary(hits, counts).name == "a"
    assert (counts.mapped, counts.secondary_dropped, counts.supplementary_dropped, counts.unmapped) == (1, 1, 2, 0)
    assert mapping._primary(hits[:1], counts) is None
    assert (counts.mapped, counts.secondary_dropped, counts.unmapped) == (1, 2, 1)


@needs_mappy
def test_rna_is_aligned_as_dna(tmp_path):
    """Of either strand: U of reads stands for T."""
    letters = random_dna(np.random.default_rng(2), 4000)
    (tmp_path / "ref.fa").write_bytes(b">one\n%s\n" % letters)
    read = letters[1000:3000]
    for name, sequence in (("forward", read), ("reverse", reverse_complement(read))):
        (tmp_path / "reads.fa").write_bytes(b">%s\n%s\n" % (name.encode(), sequence.replace(b"T", b"U")))
        pairs, counts = mapping.map_reads(tmp_path / "reads.fa", tmp_path / "ref.fa", "map-ont", seed=1)
        assert pairs.pair(0) == (read, read) and counts.pairs_with_non_acgt == 0


@needs_mappy
def test_order_is_seeded_and_threads_change_nothing(truth):
    folder, _ = truth
    one = mapping.map_reads(folder / "reads.fq.gz", folder / "ref.fa", "map-ont", seed=3)
    two = mapping.map_reads(folder / "reads.fq.gz", folder / "ref.fa", "map-ont", seed=3, threads=3)
    other = mapping.map_reads(folder / "reads.fq.gz", folder / "ref.fa", "map-ont", seed=4)
    assert (one[0].content_hash(), one[1]) == (two[0].content_hash(), two[1])
    assert one[0].content_hash() != other[0].content_hash()
    assert sorted(one[0].patterns()) == sorted(other[0].patterns())


@needs_mappy
@pytest.mark.parametrize("threads", [1, 3])
def test_reads_beyond_a_block_are_mapped_too(truth, monkeypatch, threads):
    whole, counts = mapping.map_reads(truth[0] / "reads.fq.gz", truth[0] / "ref.fa", "map-ont", seed=3)
    monkeypatch.setattr(mapping, "_BLOCK_READS", 4)
    again = mapping.map_reads(truth[0] / "reads.fq.gz", truth[0] / "ref.fa", "map-ont", seed=3, threads=threads)
    assert (again[0].content_hash(), again[1]) == (whole.content_hash(), counts)


@needs_mappy
def test_cap_takes_the_first_pairs_and_counts_the_rest(truth):
    folder, _ = truth
    whole, _ = mapping.map_reads(folder / "reads.fq.gz", folder / "ref.fa", "map-ont", seed=3)
    part, counts = mapping.map_reads(folder / "reads.fq.gz", folder / "ref.fa", "map-ont", seed=3, cap=7, threads=2)
    assert part.content_hash() == whole[:7].content_hash()
    assert counts.mapped == 7
    assert counts.reads_tried == counts.mapped + counts.unmapped
    assert counts.reads_tried + counts.reads_beyond_cap == 45


def run(folder, *arguments, reads="reads.fq.gz", name="x"):
    files = ("--reads", folder / reads, "--reference", folder / "ref.fa")
    kind = ("--technology", "nanopore", "--preset", "map-ont", "--name", name)
    command = [sys.executable, "-m", "workflow.scripts.map_reads", *files, *kind, *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


@needs_mappy
def test_command_line_writes_pairs_and_counts(truth, tmp_path):
    done = run(truth[0], "--seed", 3, "-o", tmp_path / "x.arrow", "--report", tmp_path / "x.json")
    assert done.returncode == 0, done.stderr
    pairs, report = PairBatch.from_arrow(tmp_path / "x.arrow"), json.loads((tmp_path / "x.json").read_text())
    meta = pairs.metadata
    assert (meta["dataset"], meta["model"], meta["error"], meta["seed"]) == ("real_x", "nanopore", "", "3")
    assert json.loads(meta["realised"]) == report["realised"]
    assert (report["realised"]["pairs"], report["realised"]["unmapped"]) == (40, 5)
    assert json.loads(meta["parameters"])["technology"] == "nanopore"
    assert int(meta["length_bp"]) == round(pairs.pattern_lengths.mean())


def command(folder, output, report, *further):
    """The command run in this process, on the reads of the folder."""
    asked = {"reads": folder / "reads.fq.gz", "reference": folder / "ref.fa", "technology": "nanopore",
             "preset": "map-ont", "name": "x", "output": output, "report": report}  # fmt: skip
    return CliRunner().invoke(mapping.command, [*(f"--{name}={value}" for name, value in asked.items()), *further])


@needs_mappy
def test_the_command_takes_cap_and_seed_and_tells_them(truth, tmp_path):
    done = command(truth[0], tmp_path / "x.arrow", tmp_path / "x.json", "--cap=7", "--seed=3")
    assert done.exit_code == 0, done.stderr
    expected, counts = mapping.map_reads(truth[0] / "reads.fq.gz", truth[0] / "ref.fa", "map-ont", seed=3, cap=7)
    made, report = PairBatch.from_arrow(tmp_path / "x.arrow"), json.loads((tmp_path / "x.json").read_text())
    assert made.content_hash() == expected.content_hash()
    assert report["parameters"] == {
        "name": "x", "technology": "nanopore", "reads": "reads.fq.gz", "reference": "ref.fa", "preset": "map-ont",
        "cap": 7, "seed": 3,
    }  # fmt: skip
    assert counts.reads_tried < counts.reads and report["source"] == made.metadata["source"] == (
        "real nanopore reads of reads.fq.gz, mapped to ref.fa with minimap2 (map-ont): "
        f"7 pairs of {counts.reads_tried} reads, {counts.unmapped} unmapped"
    )


@pytest.mark.parametrize("absent", ["output", "report"])
def test_what_cannot_be_written_is_told_before_reads_are_mapped(truth, tmp_path, monkeypatch, absent):
    monkeypatch.setattr(mapping, "map_reads", lambda *_: pytest.fail("mapped"))
    files = {"output": tmp_path / "x.arrow", "report": tmp_path / "x.json"} | {absent: tmp_path / "none/x"}
    done = command(truth[0], **files)
    assert done.exit_code == 2 and done.stderr.startswith(f"error: {tmp_path}/none/x: cannot be written (")
    assert files_in(tmp_path) == []


@needs_mappy
def test_command_line_mistakes_are_one_message_and_exit_2(truth, tmp_path):
    folder = truth[0]
    foreign = folder / "foreign.fa"
    foreign.write_bytes(b">a\n" + random_dna(np.random.default_rng(1), 500) + b"\n")
    good = ("-o", tmp_path / "x.arrow", "--report", tmp_path / "x.json")
    for done, message in (
        (run(folder, *good, reads="foreign.fa"), "none of 1 reads maps"),
        (run(folder, *good, reads="none.fa"), "none.fa: no such file"),
        (run(folder, *good, "--technology", "martian"), "'martian' is not one of"),
        (run(folder, *good, "--preset", "best"), "'best' is not one of"),
        (run(folder, *good, name="a/b"), "--name: 'a/b' must be"),
        (run(folder, "-o", tmp_path / "no" / "x", "--report", tmp_path / "x.json"), "cannot be written"),
    ):
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
        assert message in done.stderr
    assert files_in(tmp_path) == []


@needs_mappy
@pytest.mark.parametrize(
    ("header", "shown"),
    [(b"> chr1", "> chr1"), (b">\tchr1", ">\tchr1"), (b">", ">"), (b">chr\xc3\xa91 x", r">chr\xc3\xa91 x")],
)
def test_a_reference_name_that_minimap2_reads_otherwise_is_refused_before_mapping(truth, tmp_path, header, shown):
    reference = tmp_path / "ref.fa"
    reference.write_bytes(b">one\n" + random_dna(np.random.default_rng(1), 900) + b"\n" + header + b"\nACGT\n")
    with pytest.raises(RealDataError) as caught:
        mapping.map_reads(truth[0] / "reads.fq.gz", reference, "map-ont")
    message = f"header '{shown}': an ASCII name must follow the '>' with no blank between"
    assert str(caught.value) == f"{reference}: {message}"


@needs_mappy
def test_a_reference_that_has_a_name_twice_is_refused(truth, tmp_path):
    (tmp_path / "ref.fa").write_bytes(b">one\nACGT\n>two\nACGT\n>one other words\nTTTT\n")
    with pytest.raises(RealDataError, match=r"ref\.fa: two sequences have the same name; names must differ$"):
        mapping.map_reads(truth[0] / "reads.fq.gz", tmp_path / "ref.fa", "map-ont")


def test_missing_mappy_is_said(truth, monkeypatch):
    monkeypatch.setitem(sys.modules, "mappy", None)
    with pytest.raises(RealDataError, match="needs mappy, which is not installed"):
        mapping.map_reads(truth[0] / "reads.fq.gz", truth[0] / "ref.fa", "map-ont")


@pytest.mark.slow
@needs_mappy
@pytest.mark.parametrize("name", [row[0] for row in ROWS])
def test_real_reads_map(real_data_dir, tmp_path, name):
    write_table(real_data_dir, tmp_path / "real_data.tsv")
    (row,) = [row for row in read_table(tmp_path / "real_data.tsv") if row.name == name]
    reads, reference = fetch(row.reads, row.reads_sha256), fetch(row.reference, row.reference_sha256)
    pairs, counts = mapping.map_reads(reads, reference, row.preset, cap=300, threads=2)
    assert counts.mapped == len(pairs) >= 100
    assert counts.mapped > 0.8 * counts.reads_tried
    assert counts.mapped + counts.unmapped + counts.reads_beyond_cap == counts.reads
    assert (pairs.pattern_lengths > 0).all()
    assert (pairs.text_lengths > 0).all()
    # The optimal distance is at most that of the mapper's alignment; NM counts N as a difference, as bytes do not.
    short = [i for i in range(len(pairs)) if pairs.pattern_lengths[i] < 2000]
    edits = counts.mismatches + counts.insertions + counts.deletions
    assert sum(edit_distance(*pairs.pair(i)) for i in short) <= edits


def test_tests_on_real_reads_are_slow_as_ci_gives_the_reads_to_these_alone():
    found = {}
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and "real_data_dir" in {argument.arg for argument in node.args.args}:
                found[node.name] = [ast.unparse(mark) for mark in node.decorator_list]
    assert {"test_real_reads_map", "test_real_reads_replace_the_simulated_ones"} <= set(found)
    assert [name for name, marks in found.items() if "pytest.mark.slow" not in marks] == []
