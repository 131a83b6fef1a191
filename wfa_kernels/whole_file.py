"""Files that are whole or not there: written beside their place, and moved there at the end."""

import contextlib
import os
import shutil
import stat

#: Links in these folders are descriptors of a process, or names of devices: what they lead to is not to be replaced.
_DESCRIPTORS = ("/proc/", "/dev/")
#: As many links one behind another as Linux follows.
_MOST_LINKS = 40


@contextlib.contextmanager
def beside(path):
    """A path to write to in the place of ``path``, where it lies when the block ends; an error leaves no part of it.

    A link stays, and the file that it leads to is replaced. A pipe, a device or a descriptor (``/dev/stdout`` may be
    all of these) is written to as it stands: a file in its place would be another one. The permissions of a file that
    is replaced stay. Raises OSError.
    """
    place = _place(path)
    if place is None:
        yield path
        return
    part = _part(place)
    try:
        yield part
        if os.path.exists(place):
            shutil.copymode(place, part)
        os.replace(part, place)
    finally:
        if os.path.exists(part):
            os.remove(part)


def require_writable(path):
    """Raise OSError unless ``beside(path)`` could be written to now: to be asked before long work.

    A pipe is not tried: to open and close it would end what its reader reads.
    """
    place = _place(path)
    if place is None:
        if not stat.S_ISFIFO(os.stat(path).st_mode):
            open(path, "ab").close()
        return
    open(_part(place), "wb").close()
    os.remove(_part(place))


def _place(path):
    """Where a file at that path lies, behind links, there or not; None for what is written to as it stands."""
    path = os.fsdecode(path)
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(os.path.dirname(path))
        path = os.path.join(folder, os.path.basename(path))
        if not os.path.islink(path):
            return path if os.path.isfile(path) or not os.path.exists(path) else None
        if path.startswith(_DESCRIPTORS):
            return None
        path = os.path.join(folder, os.readlink(path))
    return None


def _part(place):
    return f"{place}.{os.getpid()}.part"
