"""Whether samples were measured with the sources that a tool has in this checkout, and in its way of measuring: what
every "stale" and every "older way of measuring" rests on."""

from workflow import aligners
from workflow.race import provenance
from workflow.scripts.tools import tool_id


def current_hashes():
    """{tool id: source hash of this checkout}."""
    return {adapter.id: adapter.source_hash() for adapter in aligners.load().values()}


def is_stale(row, current):
    """The tool of a sample row is gone, or its sources have changed since. current: current_hashes()."""
    return current.get(tool_id(row)) != row["tool_source_hash"]


def is_older(card):
    """A race was measured by another procedure than this checkout's. card: of its file, a dict; the first had none."""
    return card.get("procedure") != provenance.PROCEDURE


def older_text(card):
    """What makes a race an older one, as a sentence without its end; "" for one of today's."""
    if not is_older(card):
        return ""
    order = "" if "seed" in card else "; the order of its rounds is not recorded"
    told = card.get("procedure", "of the time before they were numbered")
    return f"older way of measuring (procedure {told}, now {provenance.PROCEDURE}{order})"
