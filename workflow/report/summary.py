"""The report's first page: what was run, whether it can be trusted, where our kernels stand, what is missing."""

import csv
import json
from collections import Counter
from statistics import median

from workflow.scripts import table_floor
from workflow.scripts.doubts import (
    NOISY,
    broken_promise,
    machines_text,
    race_identity,
    twins_too_noisy,
    unverified_text,
)
from workflow.scripts.format_numbers import percent, short_commit, significant, spread
from workflow.scripts.gpu_cards import card_rank
from workflow.scripts.ratios import fastest, peers, shown
from workflow.scripts.stale import older_text
from workflow.scripts.table_build import CELL_TIMES
from workflow.scripts.table_text import MEMORY
from workflow.scripts.tools import TOOL_NAMES, tool_id

SCOPES = {"cigar": "with CIGAR", "score": "score only"}


def hosts(measurements, races):
    """A dict a host, this one first: name, source, what it is, lanes, commits, first and last day, races, machines.

    Machines of this one's id that were recorded are another host, with cards of their own.
    """
    here = {m["host"] for m in measurements if m["source"] == "here"}
    told = [
        ((race.recorded and race.host in here, race.host), race.card.get("host_card") or {}, race.rows[0]["time_utc"])
        for race in races
    ]
    cards = {host: card for host, card, time_utc in sorted(told, key=lambda one: card_rank(one[1], one[2] or ""))}
    copies = {name: [card["pcie_gb_s"] for host, card, _ in told if host == name and card.get("pcie_gb_s")]
              for name in cards}  # fmt: skip
    found = {}
    for m in measurements:
        host = found.setdefault((m["source"], m["host"]), {"lanes": set(), "commits": set(), "times": [], "races": {}})
        host["lanes"].add(m["lane"])
        host["commits"].add(short_commit(m["commit"]))
        host["times"].append((m["time_utc"] or "")[:10])
        host["races"][race_identity(m)] = m["machine"]
    return [
        {
            "name": name,
            "source": "this host" if source == "here" else "recorded host",
            "card": _card_of((source != "here" and name in here, name), cards, copies),
            "lanes": sorted(h["lanes"]),
            "commits": sorted(h["commits"]),
            "days": sorted({min(h["times"]), max(h["times"])}),
            "races": counted(len(h["races"]), "race"),
            "machines": machines_text(list(h["races"].values())),
        }
        for (source, name), h in sorted(found.items())
    ]


def _card_of(host, cards, copies):
    return card_text(cards.get(host, {}), copies.get(host, []))


def card_text(card, copies):
    """A host card in a line. copies: pcie_gb_s of the cards of all of its races."""
    told = [card.get("cpu"), f"{card['cores']} cores" if card.get("cores") else None]
    told.append(f"{card['clock_mhz']} MHz" if card.get("clock_mhz") else None)
    told.append(f"{card['memory_gib']} GiB memory" if card.get("memory_gib") else None)
    told += map(_gpu_text, card.get("gpus") or [])
    if copies:
        inward, outward = (spread([speeds[way] for speeds in copies]) for way in ("h2d_pinned", "d2h_pinned"))
        told.append(f"pinned copies at {inward} GB/s in and {outward} out, as measured beside its races")
    if card and not card.get("gpus"):
        told.append("no GPU")
    told.append(f"Python {card['python']}, numba {card['numba']}" if card.get("numba") else None)
    return ", ".join(filter(None, told)) or "no host card"


def _gpu_text(gpu):
    mhz = str(gpu.get("clock_mhz"))  # nvidia-smi may tell none: [N/A]
    clock = f", up to {mhz} MHz" if mhz.isdigit() else ""
    return f"{gpu.get('name')} (driver {gpu.get('driver')}{clock})"


def verification(measurements):
    """Verdict on every timed cell of our tables: counts, and the names of the tools that broke their promise.

    A further quantity of a run, such as its kernels' time, is no cell of its own: it has the answers of the run, whose
    first row alone has the pairs that failed.
    """
    own = [m for m in measurements if m["quantity"] in CELL_TIMES or isinstance(m["failing_pairs"], str)]
    main = [m for m in own if m["main"]]
    timed = [m for m in main if m["status"] == "ok" and m["median_s"] is not None]
    judged = [m for m in timed if m["recall_native"] is not None]
    wrong = [
        f"{_tool(m)} on {m['dataset']} ({m['scope']}, {_of_run(m)}, {m['host']}, recall {percent(m['recall_native'])})"
        for m in judged
        if broken_promise(m)
    ]
    refused = Counter()
    for m in timed:
        for name, n in json.loads(m["refused"] or "{}").items():
            refused[f"{_tool(m)}: {name.replace('_', ' ')}"] += n
    return {
        "timed": len(timed),
        "judged": len(judged),
        "refused_all": sum(m["coverage"] == 0 for m in timed),
        "pairs": int(sum(m.get("verified") or 0 for m in judged)),
        "unverified": sorted(
            f"{_tool(m)} on {m['dataset']} ({unverified_text(m)})" for m in timed if unverified_text(m)
        ),
        "wrong": sorted(wrong),
        # A pair that is refused in several cells, of other threads or on another host, counts in each.
        "refused": [f"{what}, {counted(n, 'answer')}" for what, n in sorted(refused.items())],
        "stale": _stale_texts(timed),
    }


def _of_run(m):
    """``16 threads``, or of a GPU's tool from what memory."""
    return MEMORY.get(m["quantity"], counted(m["threads"], "thread"))


def _stale_texts(timed):
    """One text for each host: tools with times of other sources than the checkout's, and how many of their cells."""
    cells = Counter((m["host"], _tool(m)) for m in timed)
    stale, found = Counter((m["host"], _tool(m)) for m in timed if m["stale"]), {}
    for (host, tool), number in sorted(stale.items()):
        found.setdefault(host, []).append(f"{tool} ({number} of {counted(cells[host, tool], 'cell')})")
    return [f"{host}: {'; '.join(tools)}" for host, tools in found.items()]


def validity(races):
    """What the twins and the canary of every race say, in words; races: ratios.read()."""
    invalid = [race for race in races if not race.valid]
    without = [race for race in races if race.valid and not race.card.get("twins")]
    noisy = [race for race in races if race.valid and race.card.get("twins") and twins_too_noisy(race.card["twins"])]
    kinds = {"uneven": invalid, "too noisy to tell": noisy, "without a twin": without}
    twins = [(twin, f"{name}, {_place(race)}") for race in races for name, twin in race.card.get("twins", {}).items()]
    widest = max(twins, key=lambda t: max(t[0]["ratio"], 1 / t[0]["ratio"]), default=None)
    told = [race.card.get("canary", {}).get("drift") for race in races]
    drifts = [abs(drift) for drift in told if drift is not None]
    most = max(drifts, default=0)
    return {
        "races": counted(len(races), "race"),
        "all": bool(races),
        "uneven": len(invalid),
        "invalid": sorted(_uneven_text(race) for race in invalid),
        "unknown": len(without) + len(noisy),
        "told": [_twins_of(host, races, kinds) for host in sorted({race.host for race in races})],
        "widest": _twin_text(*widest) if widest else "",
        "drift": f"{significant(100 * most, 2)} %" if drifts else "not measured",
        "noisy": most > NOISY,
        "older": _older_texts(races),
    }


def _twins_of(host, races, kinds):
    """``host: 3 even, 20 too noisy to tell`` of its races. kinds: {what is said: the races that are not shown even}."""
    counts = {said: sum(race.host == host for race in found) for said, found in kinds.items()}
    even = sum(race.host == host for race in races) - sum(counts.values())
    return f"{host}: {', '.join([f'{even} even', *(f'{n} {said}' for said, n in counts.items() if n)])}"


def _older_texts(races):
    """One text for each host and what has changed in the way of measuring since its races."""
    found = Counter((race.host, older_text(race.card)) for race in races if race.older)
    return [f"{counted(number, 'race')} on {host}: {why}" for (host, why), number in sorted(found.items())]


def _place(race):
    return f"{race.rows[0]['experiment']} {race.dataset} on {race.host}"


def _twin_text(twin, where):
    return f"{twin['ratio']:.2f}× [{twin['low']:.2f}, {twin['high']:.2f}] ({where})"


def _uneven_text(race):
    uneven = [_twin_text(twin, name) for name, twin in race.card.get("twins", {}).items() if not twin["even"]]
    return f"{_place(race)}: {'; '.join(uneven) or 'no twin'}"


def standing(races, here=()):
    """For each experiment and host, our kernel against each data set's fastest other tool, on the most threads.

    A tool with wrong answers does not count, nor one that optimises another objective than the experiment's, nor an
    invalid race. races: ratios.read(). here: names of this host, which comes first. List of dicts: experiment, host,
    threads, scopes (texts), rows (scope, data set, tool, ratio text), invalid (races left out), without (data sets
    and scopes with no ratio), stale and older (whether any ratio is stale, or measured in an older way).
    """
    groups = {}
    for race in shown(races):
        key = (race.rows[0]["experiment"], race.host not in here, race.host)
        group = groups.setdefault(key, {"invalid": 0, "best": {}, "without": [], "older": False})
        if not race.valid:
            group["invalid"] += 1
            continue
        for scope in sorted({row["scope"] for row in race.rows}):
            best = _fastest_peer(race, scope)
            if best:
                group["best"].setdefault(scope, []).append(best)
                group["older"] |= race.older
            else:
                group["without"].append(f"{race.dataset} ({SCOPES[scope]})")
    return [
        _standing_of(experiment, host, group)
        for (experiment, _, host), group in sorted(groups.items(), key=lambda item: item[0])
        if group["best"] or group["invalid"]
    ]


def _fastest_peer(race, scope):
    """Speedup over the fastest tool that solved the same problem rightly, or None."""
    threads = max(row["threads"] for row in race.rows)
    return fastest(peers(race, race.reference, scope, threads))


def _standing_of(experiment, host, group):
    found = [s for best in group["best"].values() for s in best]
    return {
        "experiment": experiment,
        "host": host,
        "threads": counted(max((s.threads for s in found), default=0), "thread"),
        "scopes": [f"{SCOPES[scope]} {_tally(best)}" for scope, best in group["best"].items()],
        "rows": [
            (SCOPES[scope], s.dataset, TOOL_NAMES.get(s.tool, s.tool), ratio_text(s))
            for scope, best in group["best"].items()
            for s in best
        ],
        "invalid": counted(group["invalid"], "invalid race") if group["invalid"] else "",
        "without": group["without"],
        "stale": any(s.stale for s in found),
        "older": group["older"],
    }


def _tally(best):
    faster, slower = sum(s.low > 1 for s in best), sum(s.high < 1 for s in best)
    even = f", neither on {len(best) - faster - slower}" if faster + slower < len(best) else ""
    return f"faster on {faster}, slower on {slower}{even} of {counted(len(best), 'data set')}"


def on_gpu(races, here=()):
    """For each experiment and host with a GPU, our fast design beside what the letters alone need over the wire.

    Simulated pairs of one length, from page-locked memory; races that are invalid, and wrong answers, do not count.
    races: ratios.read(). here: names of this host, which comes first. List of dicts: experiment, host, scopes (texts),
    stale and older (whether any of these times is).
    """
    groups = {}
    for race in shown(races):
        wire = table_floor.wire(race.card.get("host_card") or {})
        if not race.valid or not wire or race.rows[0]["dataset_model"] != "uniform":
            continue
        key = (race.rows[0]["experiment"], race.host not in here, race.host)
        for scope, rows in _fast_runs(race).items():
            group = groups.setdefault(key, {"times": {}, "stale": False, "older": False})
            floor_s = table_floor.seconds(rows[0]["length_bp"], rows[0]["pairs"], wire)
            group["times"].setdefault(scope, []).append(median(row["value_s"] for row in rows) / floor_s)
            group["stale"] |= tool_id(rows[0]) in race.stale
            group["older"] |= race.older
    return [
        {
            "experiment": experiment,
            "host": host,
            "scopes": [f"{SCOPES[scope]} {_range_text(times)}" for scope, times in sorted(group["times"].items())],
            "stale": group["stale"],
            "older": group["older"],
        }
        for (experiment, _, host), group in sorted(groups.items())
    ]


def _fast_runs(race):
    """{scope: sample rows of our fast design on its most pairs, from page-locked memory, with right answers of all of
    them by the GPU}."""
    found = {}
    for row in race.rows:
        if row["variant"] == "fast" and row["quantity"] == "time_end_to_end_pinned" and not row["twin"]:
            found.setdefault(row["scope"], {}).setdefault(row["pairs"], []).append(row)
    largest = {scope: list(filter(_all_by_gpu, cells[max(cells)])) for scope, cells in found.items()}
    return {scope: rows for scope, rows in largest.items() if rows}


def _all_by_gpu(row):
    """The row has a time, in which the GPU answered each pair rightly."""
    right = row["recall_native"] == 1 and row["coverage"] == 1 and not row.get("rescued")
    return right and row["value_s"] is not None


def _range_text(times):
    """``0.79 to 1.1 × on 4 data sets``."""
    ends = dict.fromkeys(significant(end, 2) for end in (min(times), max(times)))
    return f"{' to '.join(ends)} × on {counted(len(times), 'data set')}"


def counted(n, noun):
    """``1 race``, ``2 races``."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def ratio_text(speedup):
    """``2.31× [2.28, 2.35]``, with the word stale where other sources were measured."""
    text = f"{significant(speedup.median)}× [{significant(speedup.low)}, {significant(speedup.high)}]"
    return text + " stale" * speedup.stale


def missing(table_files):
    """[(why, cells)] of the cells of ours without a time, most frequent first; table_files: the tables' CSV files."""
    why = Counter()
    for path in table_files:
        with open(path, newline="", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                if row.get("source") in ("here", "recorded") and row.get("status", "ok") != "ok":
                    short = row["status"].split(":")[0]
                    why["refused more than 1 % of the pairs" if short.startswith("refused ") else short] += 1
    return why.most_common()


def _tool(measurement):
    name = tool_id(measurement)
    return TOOL_NAMES.get(name, name)
