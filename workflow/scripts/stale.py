"""Whether samples were measured with the sources that a tool has in this checkout, in its way of measuring and at the
penalties that its experiments ask: what every "stale" and "older way of measuring" rests on."""

import functools
import hashlib

from workflow import aligners
from workflow.race import provenance
from workflow.scripts.config_files import ROOT, read_yaml
from workflow.scripts.tools import tool_id


def current_hashes():
    """{tool id: source hash of this checkout}."""
    return _hashes(tuple(aligners.adapter_files()))


def current_digest():
    """Digest of current_hashes(): another one, and what is marked as stale is to be drawn anew."""
    return hashlib.sha256(repr(sorted(current_hashes().items())).encode()).hexdigest()[:16]


@functools.cache  # it reads, and looks through, every source of every tool: seconds
def _hashes(_adapter_files):
    return {adapter.id: adapter.source_hash() for adapter in aligners.load().values()}


def is_stale(row, current):
    """The tool of a sample row is gone, or its sources have changed since. current: current_hashes()."""
    return current.get(tool_id(row)) != row["tool_source_hash"]


def at_other_penalties(row):
    """The experiment of a sample row asks others now: it is another problem. False where no file has the experiment."""
    return _asked_penalties().get(row["experiment"], row["penalties"]) != row["penalties"]


@functools.cache
def _asked_penalties():
    """{experiment: its penalties as samples tell them}."""
    told = map(read_yaml, sorted((ROOT / "config/experiments").glob("*.yaml")))
    return {one["id"]: "" if one["penalties"] == "edit" else ",".join(map(str, one["penalties"])) for one in told}


def changed_conditions(card):
    """{name: (of the race, of this checkout)} of what a race was measured under that has changed since.

    card: of its file, a dict. The first cards name no procedure, which is then another one (None), and no bounds of
    memory, which are then not judged.
    """
    now = provenance.conditions()
    return {name: (card.get(name), now[name]) for name in now
            if card.get(name) != now[name] and (name in card or name == "procedure")}  # fmt: skip


def older_text(card):
    """``older way of measuring (...)``: what has changed since the race, and whether its order is known; else ""."""
    changed = changed_conditions(card)
    if not changed:
        return ""
    told = [
        f"{name.replace('_', ' ')} {'not recorded' if then is None else then}, now {now}"
        for name, (then, now) in changed.items()
    ]
    told += [] if "seed" in card else ["the order of its rounds is not recorded"]
    return f"older way of measuring ({'; '.join(told)})"
