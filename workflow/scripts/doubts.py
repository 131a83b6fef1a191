"""What a reader must know before trusting a time, and when a time may not stand beside others: one set of rules for
tables, figures and the report."""

import json

from workflow.scripts.format_numbers import significant

#: A time scaled from fewer pairs than this says little where lengths differ.
FEW_PAIRS = 30
#: Below this coverage the tool did other work than its neighbours: no scaled time, no ratio.
MOST_COVERAGE = 0.99
#: Drift of the canary loop, a fraction, above which a machine was noisy.
NOISY = 0.1


def idle_threads(record):
    """Threads had no pair to align: the time is not one of that many threads."""
    return record["threads"] > 1 and 0 < record["pairs"] < record["threads"]


def answered_pairs(record):
    """Measured pairs that the tool did not refuse, or None where nothing was verified or refused."""
    return None if record["coverage"] is None else round(record["pairs"] * record["coverage"])


def unverified_text(record):
    """``k of n answers verified`` where no exact score is known for some of the answers, else nothing."""
    answered, verified = answered_pairs(record), record["verified"]
    if answered is None or verified is None or verified >= answered:
        return ""
    return f"{int(verified)} of {answered} answers verified"


def figure_doubts(stale, older, invalid):
    """Line that ends the title of a host's panel, "" where there is no doubt. Three booleans, for any of its races."""
    found = ["stale"] * stale + ["older way of measuring"] * older + ["race invalid"] * invalid
    return "\n" * bool(found) + "; ".join(found)


def race_rank(valid, outdated, pairs_total, time_utc):
    """Sort key of races of one host and data set: the greatest is shown.

    outdated: stale, or measured in an older way.
    """
    return bool(valid), not outdated, pairs_total or 0, time_utc or ""


def rescued_text(record):
    """``12 pairs by the CPU`` where a GPU's tool handed so many of its pairs to it, "" for none, or where not told."""
    rescued = int(record["rescued"] or 0)
    return f"{rescued} pair{'s' * (rescued != 1)} by the CPU" if rescued else ""


def refused_share(coverage):
    """``refused 93 %``."""
    return f"refused {significant(100 * (1 - coverage), 2)} %"


def refused_text(refused):
    """``27 out of memory, 2 over limit`` of a record's refused pairs, a JSON object; "" for none."""
    return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in json.loads(refused or "{}").items() if n)
