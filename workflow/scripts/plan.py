"""Print what a run will do and about how long it takes: lane, host, races, tools, pairs, minutes.

Example: python -m workflow.scripts.plan --lane kick
"""

import argparse
import sys

from workflow.race import host
from workflow.scripts import settings

# Seconds outside the timed slices, as seen on two cores: a worker's start with its JIT compilation, verification and
# hashing per timed second, one table or figure, and everything else (collecting, report, Snakemake itself).
START_SECONDS = 3.0
CHECK_FACTOR = 1.6
SCRIPT_SECONDS = 2.0
FIXED_SECONDS = 20.0


def contestants(experiment):
    """Timed (tool, threads, scope) combinations of one race; the twin runs once more."""
    return (len(experiment["tools"]) + 1) * len(experiment["threads"]) * len(experiment["scopes"])


def race_seconds(chosen, experiment):
    """Estimated seconds of one race in the chosen lane: at least the fewest rounds, at most the lane's budget."""
    lane, spec = chosen.lane, chosen.narrowed(experiment)
    one_round = contestants(spec) * lane["round_seconds"]
    timed = max(lane["rounds"]["min"] * one_round, min(lane["rounds"]["max"] * one_round, lane["race_seconds"]))
    return timed + CHECK_FACTOR * one_round


def estimate_minutes(chosen):
    """Estimated minutes of the whole run, from the lane's budgets."""
    total = FIXED_SECONDS + SCRIPT_SECONDS * (len(chosen.config["tables"]) + len(chosen.config["figures"]))
    for name, spec in chosen.experiments.items():
        workers = len(spec["tools"]) + 1
        total += workers * START_SECONDS + len(chosen.datasets(name)) * race_seconds(chosen, name)
    return total / 60


def describe(chosen):
    """The plan as text of a few lines."""
    name = chosen.lane["name"]
    lines = [f"wavebench: lane {name}, host {host.host_id()}, {host.usable_cores()} cores"]
    for experiment, spec in chosen.experiments.items():
        datasets = chosen.datasets(experiment)
        real = sum(dataset.startswith("real_") for dataset in datasets)
        sizes = ", ".join(f"{dataset} ({chosen.pairs(dataset):,})" for dataset in datasets)
        most = ", real ones at most the count shown" if real else ""
        lines.append(f"  {experiment}: {len(datasets)} races of {len(spec['tools'])} tools, {spec['title']}")
        lines.append(f"    pairs: {sizes or 'none in this lane'}{most}")
        if chosen.left_out(experiment):
            lines.append(f"    not in this lane: {', '.join(chosen.left_out(experiment))}")
    named = {dataset for spec in chosen.experiments.values() for dataset in spec["datasets"]}
    for row in chosen.real_rows:
        if not {row.technology, row.dataset} & named:
            lines.append(f"  not used: {row.dataset}: no experiment names {row.technology}")
    lines += [f"  note: {note}" for note in chosen.notes]
    lines.append(f"  then {len(chosen.config['tables'])} tables, {len(chosen.config['figures'])} figures, the report")
    lines.append(f"  estimate: {estimate_minutes(chosen):.0f} minutes; finished steps are not repeated")
    return "\n".join(lines)


def main(argv=None):
    """Print the plan; exit code 2 with one message when the configuration is wrong."""
    parser = argparse.ArgumentParser(prog="python -m workflow.scripts.plan", description=__doc__.splitlines()[0])
    parser.add_argument("--lane", help="auto, or the name of a file in config/lanes (default: as configured)")
    options = parser.parse_args(argv)
    try:
        print(describe(settings.load(lane=options.lane)))
    except settings.SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
