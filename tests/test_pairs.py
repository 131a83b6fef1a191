"""PairBatch: construction, slices, Arrow files."""

import errno
import json
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wfa_kernels import PairBatch, PairsError, pairs

SEQUENCES = st.lists(st.tuples(st.binary(max_size=30), st.binary(max_size=30)), max_size=20)


def batch(*pairs):
    return PairBatch.from_strings([p for p, _ in pairs], [t for _, t in pairs])


@given(SEQUENCES)
def test_from_strings_keeps_every_byte(pairs):
    made = batch(*pairs)
    assert len(made) == len(pairs)
    assert list(zip(made.patterns(), made.texts(), strict=True)) == pairs
    assert [made.pair(i) for i in range(len(pairs))] == pairs
    assert made.pattern_lengths.tolist() == [len(p) for p, _ in pairs]
    assert made.cells == sum(len(p) * len(t) for p, t in pairs)


@given(SEQUENCES, st.integers(-25, 25), st.integers(-25, 25))
def test_slice_is_the_list_slice(pairs, start, stop):
    part = batch(*pairs)[start:stop]
    assert list(zip(part.patterns(), part.texts(), strict=True)) == pairs[start:stop]


def test_slices_share_bytes_and_refuse_steps():
    made = batch((b"ACGT", b"ACG"), (b"T", b"TT"), (b"", b"A"))
    assert np.shares_memory(made[1:].pattern, made.pattern)
    with pytest.raises(ValueError, match="step 1"):
        made[::2]
    with pytest.raises(TypeError, match="pair"):
        made[0]


def test_content_hash_is_of_the_pairs_not_of_the_buffer():
    made = batch((b"AC", b"G"), (b"T", b"TT"))
    assert made[1:].content_hash() == batch((b"T", b"TT")).content_hash()
    assert made.content_hash() != batch((b"A", b"G"), (b"CT", b"TT")).content_hash()
    assert made.content_hash() != batch((b"G", b"AC"), (b"TT", b"T")).content_hash()
    assert len({batch(*[(b"", b"")] * count).content_hash() for count in range(3)}) == 3


def test_content_hash_is_of_all_pieces(monkeypatch):
    texts = [b"ACGT" * 5, b"GATTACA", b"", b"TTT"]
    whole = batch(*zip(texts, texts, strict=True)).content_hash()
    monkeypatch.setattr(pairs, "_HASHED_LENGTHS", 2)
    monkeypatch.setattr(pairs, "_HASHED_LETTERS", 3)
    found = {whole, batch(*zip(texts, texts, strict=True)).content_hash()}
    for at, changed in ((0, b"ACGT" * 4 + b"ACGA"), (2, b"A"), (3, b"TTA")):
        others = [*texts[:at], changed, *texts[at + 1 :]]
        found |= {batch(*zip(*sides, strict=True)).content_hash() for sides in ((texts, others), (others, texts))}
    assert len(found) == 8, "one for each content, and the whole one, of larger pieces"


@pytest.mark.parametrize(
    ("patterns", "texts", "message"),
    [
        (["A"], [], "1 patterns but 0 texts"),
        (["Ä"], ["A"], "a pattern holds 'Ä'"),
        (["A"], ["→"], "a text holds"),
        ("ACG", ["A", "C", "G"], "patterns must be a list of sequences, not one str"),
        (["A", "C", "G"], b"ACG", "texts must be a list of sequences, not one bytes"),
        (["A"], bytearray(b"A"), "texts must be a list of sequences, not one bytearray"),
        ([None], ["A"], "a pattern is None: sequences are ASCII text or bytes"),
        (["A"], 5, "texts must be a list of sequences, not 5"),
        ({"A"}, ["A"], "patterns must be a list of sequences, not a set"),
        (["A"], {"name": "A"}, "texts must be a list of sequences, not a dict"),
    ],
)
def test_from_strings_refuses(patterns, texts, message):
    with pytest.raises(PairsError, match=message):
        PairBatch.from_strings(patterns, texts)


@pytest.mark.parametrize("row", [-1, 3, 2**40])
def test_a_row_that_is_not_there(row):
    made = batch((b"ACGT", b"ACG"), (b"T", b"TT"), (b"", b"A"))
    for ask in (made.pair, lambda i: made.take([0, i]), lambda i: made.take(np.array([i]))):
        with pytest.raises(IndexError, match=f"no pair {row} in a batch of 3 pairs"):
            ask(row)


@pytest.mark.parametrize("rows", [1, [[0, 1]]])
def test_rows_are_a_list(rows):
    with pytest.raises(TypeError, match="rows must be a list of integers, not an array of [02] dimensions"):
        batch((b"ACGT", b"ACG"), (b"T", b"TT")).take(rows)


def test_take_is_the_rows_in_that_order():
    made = batch((b"ACGT", b"ACG"), (b"T", b"TT"), (b"", b"A"))
    for rows in ([2, 0, 2], np.array([1], np.uint8), []):
        taken = made.take(rows)
        assert [taken.pair(i) for i in range(len(taken))] == [made.pair(int(i)) for i in rows]
    with pytest.raises(TypeError, match="rows must be integers"):
        made.take([0.5])
    with pytest.raises(TypeError, match="rows must be integers"):
        made.take([True, False, True])


@given(st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 2**62)), max_size=20), st.integers(1, 7))
def test_cells_are_exact_whatever_the_lengths(lengths, chunk):
    a, b = np.array(lengths, np.int64).reshape(-1, 2).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "_CHUNK", chunk)
        assert pairs._sum_of_products(a, b) == sum(x * y for x, y in lengths)


def test_cells_of_many_long_pairs_do_not_wrap_around():
    lengths = np.full(100_000, 2**31 - 1)
    assert pairs._sum_of_products(lengths, lengths) == 100_000 * (2**31 - 1) ** 2


@pytest.mark.parametrize(
    ("offsets", "message"),
    [([0, 3, 2], "decrease"), ([0, 1, 5], "stay within"), ([-1, 1, 2], "stay within"), ([], "n \\+ 1 values")],
)
def test_bad_offsets_are_refused(offsets, message):
    flat = np.frombuffer(b"ACGT", np.uint8)
    with pytest.raises(PairsError, match=message):
        PairBatch(flat, np.array(offsets, np.int64), flat, np.array([0, 1, 2]))


@settings(deadline=None)
@given(pairs=SEQUENCES)
def test_arrow_round_trip(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("arrow") / "x.arrow"
    made = PairBatch.from_strings([p for p, _ in pairs], [t for _, t in pairs], {"dataset": "x", "realised": "{}"})
    made.to_arrow(path)
    read = PairBatch.from_arrow(path)
    assert (read.patterns(), read.texts(), read.metadata) == (made.patterns(), made.texts(), made.metadata)


def test_arrow_slice_round_trip_and_no_leftovers(tmp_path):
    made = batch((b"ACGT", b"ACG"), (b"T", b"TT"), (b"", b"A"))
    made[1:].to_arrow(tmp_path / "x.arrow")
    assert PairBatch.from_arrow(tmp_path / "x.arrow").patterns() == [b"T", b""]
    assert [p.name for p in tmp_path.iterdir()] == ["x.arrow"]


def test_arrow_of_several_chunks_is_read(tmp_path):
    schema = pa.schema([("pattern", pa.large_binary()), ("text", pa.large_binary())])
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for row in ((b"AC", b"G"), (b"T", b"")):
            writer.write_batch(pa.record_batch([pa.array([v], pa.large_binary()) for v in row], schema=schema))
    assert PairBatch.from_arrow(tmp_path / "x.arrow").patterns() == [b"AC", b"T"]


@pytest.mark.parametrize("view", [lambda a: np.repeat(a, 2)[::2], lambda a: a[::-1].copy()[::-1]])
def test_views_that_are_not_contiguous_are_copied(view):
    made = batch((b"GATTACA", b"GAATA"), (b"", b"T"), (b"ACGT", b""))
    arrays = made.pattern, made.pattern_offsets, made.text, made.text_offsets
    copied = PairBatch(*map(view, arrays))
    assert copied.patterns() == made.patterns() and copied.texts() == made.texts()
    assert not view(made.pattern).flags.c_contiguous and copied.pattern.flags.c_contiguous
    assert copied.text_offsets.flags.c_contiguous
    assert PairBatch(*arrays).pattern is made.pattern, "others are taken as they are"


def test_arrow_faults_name_file_and_column(tmp_path):
    path = tmp_path / "x.arrow"
    with pytest.raises(PairsError, match="x.arrow: no such file"):
        PairBatch.from_arrow(path)
    path.write_bytes(b"ARROW1\0\0 and then nothing of the kind")
    with pytest.raises(PairsError, match="x.arrow: not an Arrow IPC file"):
        PairBatch.from_arrow(path)
    letters = pa.array([b"A"], pa.large_binary())
    twice = pa.Table.from_arrays([letters] * 3, ["pattern", "text", "pattern"])
    for columns, message in (
        ({"pattern": pa.array([b"A"], pa.large_binary())}, "no column 'text'"),
        (twice, "2 columns 'pattern'"),
        ({"pattern": pa.array(["A"]), "text": pa.array(["A"])}, "'pattern' must be large_binary"),
        ({name: pa.array([None], pa.large_binary()) for name in ("pattern", "text")}, "without nulls"),
    ):
        table = pa.table(columns) if isinstance(columns, dict) else columns
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        with pytest.raises(PairsError, match=f"x.arrow: .*{message}"):
            PairBatch.from_arrow(path)


def test_a_damaged_arrow_file_is_one_error_that_names_it(tmp_path):
    path = tmp_path / "x.arrow"
    batch((b"ACGT" * 9, b"ACG"), (b"AC", b"T")).to_arrow(path)
    whole, refused = bytearray(path.read_bytes()), 0
    for at in range(len(whole)):
        for bit in (1, 128):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
            try:
                PairBatch.from_arrow(path)
            except PairsError as error:
                refused += 1
                assert "x.arrow: " in str(error)
    assert refused > len(whole) // 20


def test_an_arrow_file_cut_short(tmp_path):
    path = tmp_path / "x.arrow"
    batch((b"ACGT" * 100, b"ACG")).to_arrow(path)
    whole = path.read_bytes()
    for size in range(0, len(whole), 50):
        path.write_bytes(whole[:size])
        with pytest.raises(PairsError, match="x.arrow: not an Arrow IPC file"):
            PairBatch.from_arrow(path)


def test_what_keeps_an_arrow_file_from_being_read_is_named(tmp_path, monkeypatch):
    path = tmp_path / "x.arrow"
    batch((b"A", b"A")).to_arrow(path)
    with pytest.raises(PairsError, match="cannot be read .it is a directory"):
        PairBatch.from_arrow(tmp_path)
    for error, message in (
        (PermissionError(errno.EACCES, "Failed to open local file"), "Permission denied"),
        (OSError("Memory mapping file failed: Cannot allocate memory"), "Cannot allocate memory"),
    ):
        monkeypatch.setattr(pa, "memory_map", mock.Mock(side_effect=error))
        with pytest.raises(PairsError, match=f"x.arrow: cannot be read .*{message}"):
            PairBatch.from_arrow(path)


def test_unwritable_arrow_is_one_error(tmp_path):
    with pytest.raises(PairsError, match="cannot be written"):
        batch((b"A", b"A")).to_arrow(tmp_path / "missing" / "x.arrow")


def test_metadata_is_text_to_text(tmp_path):
    for metadata in (["x"], "x", 1):
        with pytest.raises(PairsError, match=r"metadata must be a dict, not (list|str|int)"):
            PairBatch.from_strings(["A"], ["A"], metadata)
    with pytest.raises(PairsError, match="metadata holds 'a': 1; it must be str to str"):
        PairBatch.from_strings(["A"], ["A"], {"a": 1})
    made = PairBatch.from_strings(["A"], ["A"], {"realised": json.dumps({"pairs": 1})})
    made.to_arrow(tmp_path / "x.arrow")
    assert json.loads(PairBatch.from_arrow(tmp_path / "x.arrow").metadata["realised"]) == {"pairs": 1}
