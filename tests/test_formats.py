"""Readers and writers of pair files: round trips, line ends, every bad input with its message."""

import gzip
import io
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wfa_kernels import PairBatch, PairsError, read_pairs, write_seq
from wfa_kernels.formats import read_sequences, require_writable, write_fasta

VISIBLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60).map(str.encode)
PAIRS = st.lists(st.tuples(VISIBLE, VISIBLE), min_size=1, max_size=20)
SEQ = b">ACGT\n<ACT\n>\n<\n>nNg\n<G\n"
EXPECTED = [(b"ACGT", b"ACT"), (b"", b""), (b"NNG", b"G")]


def write(path, content):
    path.write_bytes(content)
    return path


def pairs_of(batch):
    return list(zip(batch.patterns(), batch.texts(), strict=True))


def batch_of(pairs):
    return PairBatch.from_strings([p for p, _ in pairs], [t for _, t in pairs])


@settings(deadline=None)  # the first example compiles
@given(pairs=PAIRS)
def test_seq_round_trip(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("seq") / "x.seq"
    write_seq(batch_of(pairs), path)
    assert path.read_bytes() == b"".join(b">%s\n<%s\n" % pair for pair in pairs)
    assert pairs_of(read_pairs(path, uppercase=False)) == pairs
    assert pairs_of(read_pairs(path)) == [(p.upper(), t.upper()) for p, t in pairs]


LETTERS = st.text("ACGTNacgtn", max_size=60).map(str.encode)


@settings(deadline=None)
@given(pairs=st.lists(st.tuples(LETTERS, LETTERS), min_size=1, max_size=20))
def test_fasta_round_trip(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("fasta")
    write_fasta(batch_of(pairs), folder / "p.fa", folder / "t.fa")
    assert pairs_of(read_pairs(folder / "p.fa", folder / "t.fa", uppercase=False)) == pairs


# Without a time stamp, which would make the names of the tests differ between processes.
GZIPPED = gzip.compress(SEQ, mtime=0)
GZIPPED_TWICE = gzip.compress(SEQ[:11], mtime=0) + gzip.compress(SEQ[11:], mtime=0)


@pytest.mark.parametrize(
    "content",
    [SEQ, SEQ.replace(b"\n", b"\r\n"), SEQ + b"\n\n", GZIPPED, GZIPPED_TWICE],
    ids=["plain", "CRLF", "blank lines at the end", "gzip", "gzip of two members"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["x.seq", "misnamed.fa"])
@pytest.mark.filterwarnings("error")
def test_seq_variants(tmp_path, content, name):
    assert pairs_of(read_pairs(write(tmp_path / name, content))) == EXPECTED


def test_a_last_line_that_does_not_end_is_read_with_a_warning(tmp_path):
    path = write(tmp_path / "x.seq", SEQ.rstrip(b"\n"))
    with pytest.warns(UserWarning, match=rf"x.seq: line {2 * len(EXPECTED)}: no line end; if the file was cut off"):
        assert pairs_of(read_pairs(path)) == EXPECTED


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n"])
def test_an_empty_last_text_is_one_that_ends_its_line(tmp_path, end):
    assert pairs_of(read_pairs(write(tmp_path / "x.seq", b">ACGT\n<" + end))) == [(b"ACGT", b"")]


def test_seq_from_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SEQ)))
    assert pairs_of(read_pairs("-")) == EXPECTED


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "^standard input: is empty"),
        (b">A\n", "^standard input: line 1: odd number"),
        (b">A\n<", "^standard input: line 2: the file is cut off"),
        (b">A\n>C\n", "^standard input: line 2 must start with '<'"),
        (b"@a\nA\n+\n!\n", "^standard input: FASTQ holds one side"),
        (b"hello\n", "^standard input: line 1 starts with 'h'"),
        (gzip.compress(SEQ, mtime=0)[:15], "^standard input: truncated or damaged gzip"),
    ],
    ids=["empty", "no text", "cut off", "prefix", "FASTQ", "other", "gzip"],
)
def test_standard_input_is_named(monkeypatch, content, message):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    with pytest.raises(PairsError, match=message):
        read_pairs("-")


def test_slice_is_written(tmp_path):
    write_seq(batch_of(EXPECTED)[1:], tmp_path / "x.seq")
    assert pairs_of(read_pairs(tmp_path / "x.seq")) == EXPECTED[1:]


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_fasta_and_fastq_in_parallel(tmp_path, zipped, end):
    fasta = b">a first\nAC\nGT\n\n>b\n>c\nnNg".replace(b"\n", end)
    fastq = b"@a\nACT\n+\n@@@\n@b\n\n+\n\n@c\ng\n+c\n+".replace(b"\n", end)
    squeeze = gzip.compress if zipped else bytes
    patterns, texts = write(tmp_path / "p", squeeze(fasta)), write(tmp_path / "t", squeeze(fastq))
    assert pairs_of(read_pairs(patterns, texts)) == EXPECTED
    assert read_sequences(patterns).names() == ["a", "b", "c"]
    assert read_sequences(texts).names() == ["a", "b", "c"]


def test_fastq_whose_last_record_is_empty(tmp_path):
    assert len(read_sequences(write(tmp_path / "x.fq", b"@a\nA\n+\n!\n@b\n\n+\n\n"))) == 2


def test_arrow_is_memory_mapped_when_nothing_is_folded(tmp_path):
    path = tmp_path / "x.arrow"
    batch_of(EXPECTED).to_arrow(path)
    read = read_pairs(path)
    assert pairs_of(read) == EXPECTED
    assert not read.pattern.flags.owndata
    assert not read.pattern.flags.writeable


def test_arrow_is_folded_and_keeps_its_metadata(tmp_path):
    path = tmp_path / "x"
    PairBatch.from_strings(["acGT", "z{`@["], ["a", ""], {"dataset": "d"}).to_arrow(path)
    assert pairs_of(read_pairs(path)) == [(b"ACGT", b"A"), (b"Z{`@[", b"")]
    assert read_pairs(path).metadata == {"dataset": "d"}
    assert read_pairs(path, uppercase=False).patterns()[0] == b"acGT"


@pytest.mark.parametrize("pair", [("acg", "ACG"), ("ACG", "aCg")])
def test_arrow_is_folded_where_one_side_alone_is_lower_case(tmp_path, pair):
    PairBatch.from_strings(*([side] for side in pair)).to_arrow(tmp_path / "x.arrow")
    assert pairs_of(read_pairs(tmp_path / "x.arrow")) == [(b"ACG", b"ACG")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "x.seq: is empty"),
        (b"\n\n", "x.seq: is empty"),
        (b">A\n<A\n>C\n", "x.seq: line 3: odd number of lines"),
        (b">A\n<A\n>C", "x.seq: line 3: odd number of lines"),
        (b">A\n<A\n>", "x.seq: line 3: odd number of lines"),
        (b">A\n<", "x.seq: line 2: the file is cut off after '<'; an empty text needs its line end"),
        (b">A\r\n<A\r\n>\r\n<", "x.seq: line 4: the file is cut off after '<'"),
        (gzip.compress(b">A\n<", mtime=0), "x.seq: line 2: the file is cut off after '<'"),
        (b">A\n<A\n<C\n>C\n", "x.seq: line 3 must start with '>' and the pattern, not '<'"),
        (b">A\nACGT\n>B\nACGT\n", "x.seq: line 2 must start with '<' and the text, not 'A' .FASTA.*two files"),
        (b">A\n<A\n\n>C\n<C\n", "x.seq: line 3 must start with '>' and the pattern, not an empty line"),
        (b">A\n<A\n>C\n<C\0G\n", "x.seq: line 4: holds a control byte"),
        (b">A\n<A\n>C\x1bG\n<C\n", "x.seq: line 3: holds a control byte"),
        (b">A C\n<A\n", "x.seq: line 1: holds a control byte or a space"),
        (b">A\n<A\x7fC\n", "x.seq: line 2: holds a control byte or a space"),
        (b">A\r\r\n<A\n", "x.seq: line 1: holds a control byte"),
        (b">A\n<A\n\0\0\0\n", "x.seq: line 3: holds a control byte"),
        (b"\x7fELF\0\0", "line 1 starts with byte 0x7f: not a pair file; allowed are"),
        (b"A\tC\n", "line 1 starts with 'A': not a pair file; allowed are"),
        (b"@a\nA\n+\n!\n", "x.seq: FASTQ holds one side of the pairs: give the texts as a second file"),
        (gzip.compress(SEQ * 99, mtime=0)[:-9], "x.seq: truncated or damaged gzip"),
        (gzip.compress(SEQ, mtime=0)[:15], "x.seq: truncated or damaged gzip"),
        (gzip.compress(b"", mtime=0), "x.seq: is empty"),
        (b"ARROW1\0\0", "x.seq: not an Arrow IPC file"),
        (gzip.compress(b"ARROW1\0\0", mtime=0), "x.seq: an Arrow pair file is read from a plain file, neither gzipped"),
    ],
)
def test_bad_single_files(tmp_path, content, message):
    with pytest.raises(PairsError, match=message) as caught:
        read_pairs(write(tmp_path / "x.seq", content))
    assert "\n" not in str(caught.value)


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(PairsError, match="none.seq: no such file"):
        read_pairs(tmp_path / "none.seq")
    with pytest.raises(PairsError, match="is a directory"):
        read_pairs(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"@a\nACG\n", "line 1: this record is cut short"),
        (b"@a\nACG\n+", "line 1: this record is cut short"),
        (b"@a\nA\n+\n!\n@b", "line 5: this record is cut short"),
        (b"@a\nACG\n+\n!!\n", "line 4: the qualities are not as long"),
        (b"@a\nACG\n+\n!!!!\n", "line 4: the qualities are not as long"),
        (b"@a\nACG\n-\n!!!\n", "line 3: wrong first character; a FASTQ record is four lines"),
        (b"@a\nA\n+\n!\nb\nA\n+\n!\n", "line 5: wrong first character"),
        (b"@a\nA\0G\n+\n!!!\n", "line 2: holds a control byte"),
        (b">a\nAC\n>b\nA\x01\n", "line 4: holds a control byte"),
        (b">a\rACGT\r>b\rAC\r", "line 1: a carriage return within a header: lines end with LF or CRLF"),
        (b">A\n<A\n", "this is seq, where FASTA or FASTQ is needed"),
        (b"hello\n", "line 1 starts with 'h': not a pair file"),
        (b"", "is empty"),
    ],
)
def test_bad_fasta_and_fastq(tmp_path, content, message):
    good = write(tmp_path / "good.fa", b">a\nACGT\n")
    with pytest.raises(PairsError, match=f"bad.fq: .*{message}|bad.fq: {message}"):
        read_pairs(good, write(tmp_path / "bad.fq", content))


def test_counts_that_differ_are_both_named(tmp_path):
    one, two = write(tmp_path / "one.fa", b">a\nA\n"), write(tmp_path / "two.fa", b">a\nA\n>b\nC\n")
    with pytest.raises(PairsError, match="one.fa has 1 records but .*two.fa has 2"):
        read_pairs(one, two)


def test_bad_arguments(tmp_path):
    path = write(tmp_path / "x.seq", SEQ)
    with pytest.raises(PairsError, match="unknown format 'bam': one of seq, fasta, fastq, arrow"):
        read_pairs(path, format="bam")
    with pytest.raises(PairsError, match="no second file"):
        read_pairs(path, path, format="seq")
    with pytest.raises(PairsError, match="standard input .-. takes .seq only"):
        read_pairs(path, "-")


def test_writers_refuse_what_they_could_not_read_back(tmp_path):
    for pairs in ([(b"A\nC", b"A")], [(b"A", b"A C")]):
        with pytest.raises(PairsError, match="control byte or a space"):
            write_seq(batch_of(pairs), tmp_path / "x.seq")
        with pytest.raises(PairsError, match="control byte or a space"):
            write_fasta(batch_of(pairs), tmp_path / "p.fa", tmp_path / "t.fa")
    with pytest.raises(PairsError, match="header"):
        write_fasta(batch_of([(b"A", b">A")]), tmp_path / "p.fa", tmp_path / "t.fa")
    for path in (tmp_path / "missing" / "x.seq", f"{tmp_path}/a\0b"):
        with pytest.raises(PairsError, match="cannot be written"):
            write_seq(batch_of(EXPECTED), path)
    with pytest.raises(PairsError, match="x.seq: pairs must be a PairBatch, not list"):
        write_seq([("A", "A")], tmp_path / "x.seq")
    assert list(tmp_path.iterdir()) == []


def test_require_writable(tmp_path):
    require_writable(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
    for path in (tmp_path, tmp_path / "missing" / "x", f"{tmp_path}/a\0b"):
        with pytest.raises(PairsError, match="cannot be written"):
            require_writable(path)


def test_many_lines_are_split_exactly(tmp_path):
    rng = np.random.default_rng(5)
    pairs = [
        tuple(bytes(rng.choice(np.frombuffer(b"ACGTN", np.uint8), rng.integers(0, 300))) for _ in range(2))
        for _ in range(2000)
    ]
    write_seq(batch_of(pairs), tmp_path / "x.seq")
    assert pairs_of(read_pairs(tmp_path / "x.seq")) == pairs
