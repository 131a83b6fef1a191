"""Files are whole or not there; links, pipes and devices are written to as they stand."""

import os
import select

import pytest

from wfa_kernels import whole_file


def write(path, text):
    with whole_file.beside(path) as part, open(part, "w") as sink:
        sink.write(text)


def test_a_file_is_replaced_at_the_end_and_keeps_its_permissions(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    path.chmod(0o600)
    with whole_file.beside(path) as part:
        with open(part, "w") as sink:
            sink.write("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), whole_file.beside(path) as part, open(part, "w"):
        raise ZeroDivisionError
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_one(tmp_path, there):
    link, target = tmp_path / "link", tmp_path / "target"
    if there:
        target.write_text("old")
    link.symlink_to(target)
    whole_file.require_writable(link)
    write(link, "new")
    assert link.is_symlink() and target.read_text() == "new"


def test_what_a_link_leads_to_is_whole_or_as_it_was(tmp_path):
    """Behind a relative link, a link to it, and one to its folder."""
    (tmp_path / "there").mkdir()
    target = tmp_path / "there/target"
    (tmp_path / "there/first").symlink_to("target")
    (tmp_path / "second").symlink_to("there/first")
    (tmp_path / "folder").symlink_to("there")
    for link in ("second", "folder/first", "folder/target"):
        target.write_text("old")
        with pytest.raises(ZeroDivisionError), whole_file.beside(tmp_path / link) as part, open(part, "w"):
            raise ZeroDivisionError
        whole_file.require_writable(tmp_path / link)
        assert target.read_text() == "old"
        write(tmp_path / link, "new")
        assert target.read_text() == "new" and (tmp_path / "second").is_symlink()
    assert sorted(path.name for path in target.parent.iterdir()) == ["first", "target"]


def test_a_link_that_leads_nowhere_is_an_error(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        whole_file.require_writable(tmp_path / "loop")
    (tmp_path / "gone").symlink_to("missing/x")
    with pytest.raises(OSError, match="No such file"):
        whole_file.require_writable(tmp_path / "gone")


def test_a_path_may_be_bytes(tmp_path):
    write(os.fsencode(tmp_path / "x"), "rows")
    assert (tmp_path / "x").read_text() == "rows"


def test_a_descriptor_that_is_a_file_gets_what_is_written(tmp_path):
    """As ``-o /dev/stdout > out`` does."""
    with open(tmp_path / "out", "w+") as out:
        (tmp_path / "stdout").symlink_to(f"/proc/self/fd/{out.fileno()}")
        write(tmp_path / "stdout", "rows")
        assert out.read() == "rows"


def test_a_pipe_is_written_to(tmp_path):
    reader, writer = os.pipe()
    write(f"/dev/fd/{writer}", "rows")
    os.close(writer)
    with open(reader) as source:
        assert source.read() == "rows"


def test_the_reader_of_a_named_pipe_waits_for_what_is_written(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader, told = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK), select.poll()
    told.register(reader)
    whole_file.require_writable(tmp_path / "pipe")
    assert told.poll(0) == [], "no writer has come and gone"
    write(tmp_path / "pipe", "rows")
    assert os.read(reader, 10) == b"rows" and told.poll(0) == [(reader, select.POLLHUP)]
    os.close(reader)


def test_nothing_is_left_where_it_could_be_written(tmp_path):
    whole_file.require_writable(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="No such file"):
        whole_file.require_writable(tmp_path / "missing/x")
