"""A profile as a file: one JSON that says on which machine, when and from which commit and sources it was read."""

import json
import os

from wfa_kernels import whole_file
from workflow.profile import watched
from workflow.profile.cells import ProfileError
from workflow.profile.layout import LAYOUT
from workflow.race import provenance
from workflow.race.host import host_card, host_id


def require_writable(path):
    """Make the folder of a file; raises ProfileError now rather than after the work."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise ProfileError(f"{path}: cannot be written ({error.strerror})") from None
    if os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise ProfileError(f"{path}: cannot be written")


def write(path, kind, content, host=None):
    """Write a profile, whole or not at all. kind: one of layout.KINDS. content: its own keys, JSON-able."""
    head = {
        "kind": kind,
        "layout": LAYOUT,
        "host": host or host_id(),
        "host_card": host_card(host),
        "commit": provenance.commit(),
        "time_utc": provenance.now_utc(),
        "tool_source_hashes": watched.source_hashes(kind),
    }
    with whole_file.beside(path) as part, open(part, "w", encoding="utf-8") as out:
        json.dump(head | content, out, indent=1)
        out.write("\n")
