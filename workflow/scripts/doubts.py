"""What a reader must know before trusting a time, and when a time may not stand beside others: one set of rules for
tables, figures and the report."""

import json

from workflow.scripts.format_numbers import significant

#: A time scaled from fewer pairs than this says little where lengths differ; on a GPU, which so few do not fill with a
#: warp each: strips of long reads, 96 registers a thread, have 2640 warps on an H200.
FEW_PAIRS, FEW_PAIRS_GPU = 30, 2000
#: Of several threads: 200 reads of log-normal lengths (sigma 0.6) let 16 be 11.5 times as fast as one at best, 49
#: of them 6.9 times.
FEW_A_THREAD = 10
FEW_TEXT = f"{FEW_PAIRS} pairs, of several threads {FEW_A_THREAD} each, on a GPU {FEW_PAIRS_GPU}"
#: Seconds of a GPU's call below which a time scaled from it tells more of what a call costs besides, 0.9 ms and more
#: (CIGARs of 1000 pairs of 150 letters on an H200), than of the pairs.
SHORT_S = 0.01
#: What a CPU tool's time is called; a GPU's begins so, and is named by where its input lies.
CPU_QUANTITY, GPU_TIME = "time_end_to_end", "time_end_to_end_"
#: Below this coverage the tool did other work than its neighbours: no scaled time, no ratio.
MOST_COVERAGE = 0.99
#: A twin's 99.9 % interval that reaches further from 1 tells nothing of whether it was treated evenly.
TOO_WIDE = 0.1
#: Columns that tell a race from any other: one that is run again keeps its race_id, of all that it depends on, and two
#: data sets of the same content share it.
RACE = ("race_id", "time_utc", "host", "lane", "experiment", "dataset")
#: Drift of the canary loop, a fraction, above which a machine was noisy.
NOISY = 0.1


def idle_threads(record):
    """Threads had no pair to align: the time is not one of that many threads."""
    return record["threads"] > 1 and 0 < record["pairs"] < record["threads"]


def broken_promise(record):
    """What a tool did not keep of what it says of its answers, "" where it did, or nothing was verified.

    One that claims exactness must be optimal on every pair. A heuristic's scores are no lower than the optimum, and its
    CIGARs fit their pairs and cost what it says: else it has pairs that failed, which stand in a cell's first row.
    """
    if record["exact"]:
        wrong = record["recall_native"] is not None and record["recall_native"] < 1
        return "claims exactness and was not optimal on every pair" if wrong else ""
    failing = record["failing_pairs"]  # missing, of pandas, where a cell's first row is not the record's
    return "has answers that are of no alignment" if isinstance(failing, str) and failing != "[]" else ""


def is_verified(record):
    """An exact score is known for some of its answers."""
    return record["recall_native"] is not None


def answered_pairs(record):
    """Measured pairs that the tool did not refuse, or None where nothing was verified or refused."""
    return None if record["coverage"] is None else round(record["pairs"] * record["coverage"])


def few_pairs(record):
    """So few pairs were answered that a time scaled from them says little: of several threads the one with the dearest
    share tells it."""
    answered = answered_pairs(record)
    answered = record["pairs"] if answered is None else answered
    enough = max(FEW_PAIRS, FEW_A_THREAD * record["threads"])
    return answered < (enough if record["quantity"] == CPU_QUANTITY else FEW_PAIRS_GPU)


def short_call(record):
    """A GPU's tool took so short, from end to end, that a time scaled from it says little; record: with median_s."""
    return record["quantity"].startswith(GPU_TIME) and record["median_s"] < SHORT_S


def twins_too_noisy(twins):
    """No twin ran, or the interval of one is too wide to tell whether it was treated evenly; twins: of a card."""
    return not twins or any(twin["low"] < 1 - TOO_WIDE or twin["high"] > 1 + TOO_WIDE for twin in twins.values())


def machines_text(codes):
    """On how many machines of its kind a host's races ran, where that is not one; codes: of each, "" where not told."""
    known, silent = len(set(filter(None, codes))), sum(not code for code in codes)
    if silent == len(codes):
        return "on which machine of its kind each ran is not recorded"
    if silent:
        others = f"{silent} of {len(codes)} do not tell"
        return f"they ran on {known} machine{'s' * (known > 1)} of its kind or more ({others})"
    return f"they ran on {known} machines of its kind" if known > 1 else ""


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


def race_identity(row):
    """What tells a race from any other, of one of its rows."""
    return tuple(row[name] for name in RACE)


def race_rank(valid, outdated, pairs_total, time_utc):
    """Sort key of races of one host and data set: the greatest is shown.

    outdated: stale, or measured in an older way.
    """
    return bool(valid), not outdated, pairs_total or 0, time_utc or ""


def rescued_text(record):
    """``12 pairs by the CPU`` where a GPU's tool handed so many of its pairs to it, "" for none, or where not told."""
    rescued = int(record["rescued"] or 0)
    return f"{rescued} pair{'s' * (rescued != 1)} by the CPU" if rescued else ""


def rescued_share(record):
    """``12 of 5000``: how many of its pairs a GPU's tool handed to the CPU, "" for none, or where not told."""
    rescued = int(record["rescued"] or 0)
    return f"{rescued} of {record['pairs']}" if rescued else ""


def refused_share(coverage):
    """``refused 93 %``."""
    return f"refused {significant(100 * (1 - coverage), 2)} %"


def refused_text(refused):
    """``27 out of memory, 2 over limit`` of a record's refused pairs, a JSON object; "" for none."""
    return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in json.loads(refused or "{}").items() if n)
