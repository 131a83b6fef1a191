"""Print what a run will do and about how long it takes: lane, host, races, tools, pairs, minutes.

Example: python -m workflow.scripts.plan --lane kick
"""

import argparse
import sys

from simulators import PROFILES
from workflow import aligners
from workflow.race import host, planning
from workflow.race.cells import thread_counts
from workflow.race.race import FURTHER_ROUNDS, STEP_SECONDS
from workflow.race.slices import PACE
from workflow.scripts import settings

# Seconds outside the races' rounds, as seen on two cores and on a GPU host with 16: a worker's start in each race, and
# in an experiment's first one its JIT compilation, by the tool's device; a race's own start, and for each GB of letters
# simulating, hashing and bringing them to the tools; one table or figure, and everything else (collecting, report,
# Snakemake itself).
START_SECONDS = {"cpu": 0.6, "cuda": 4.0}
COMPILE_SECONDS = {"cpu": 3.5, "cuda": 8.0}
JOB_SECONDS, GIGABYTE_SECONDS = 5.0, 6.0
#: GPU cells take whole data sets: page-locking, runs that are not timed, answers hashed and verified, a GB of letters.
GPU_CELL_SECONDS = 1.7
SCRIPT_SECONDS = 1.0
FIXED_SECONDS = 10.0


def race_plan(chosen, experiment):
    """The race's own Plan of one experiment in the chosen lane."""
    return planning.plan_of(chosen.experiments[experiment], chosen.lane, f"config/experiments/{experiment}.yaml")


def contestants(plan, adapters, gpu):
    """{id of a tool: the cells (scope, threads) that it is timed in}, without those that it can never do.

    plan: race.cells.Plan. adapters: {id: Adapter}. gpu: whether the host has one.
    """
    cells = {}
    for tool in plan.tools:
        able = [s for s in plan.scopes if adapters[tool].unsupported(aligners.Job(s, plan.penalties)) is None]
        here = gpu or adapters[tool].device == "cpu"
        cells[tool] = [(s, t) for s in able for t in thread_counts(plan, adapters[tool])] if here else []
    return cells


def twins(plan, adapters, cells):
    """(workers, cells) that run under a second name; cells: contestants()."""
    blocks = len({adapters[tool].device for tool, of_tool in cells.items() if of_tool})
    return blocks, blocks * len(plan.scopes) + (len(plan.threads) > 1)


def race_seconds(plan, cells):
    """Estimated seconds of one race: at least the fewest rounds, for which slices are shortened where a step does not
    hold them, at most the most, in between the lane's budget.

    cells: timed in a round, those of twins included.
    """
    one_round = PACE * cells * plan.round_seconds
    least, most = (one_round * (rounds + FURTHER_ROUNDS) for rounds in (plan.min_rounds, plan.max_rounds))
    return max(min(least, STEP_SECONDS), min(most, plan.race_seconds))


def gigabytes(chosen, experiment, dataset):
    """GB of letters that an experiment takes of a simulated data set; 0 for a real one, whose size nothing tells before
    it is mapped.
    """
    uniform = settings.UNIFORM.fullmatch(dataset)
    if not uniform and dataset not in PROFILES:
        return 0.0
    length = int(uniform["length"]) if uniform else PROFILES[dataset].mean
    return 2 * length * chosen.raced_pairs(experiment, dataset) / 1e9


def experiment_seconds(chosen, name, adapters):
    """Estimated seconds of all races of an experiment."""
    plan = race_plan(chosen, name)
    cells = contestants(plan, adapters, chosen.gpu)
    timed = sum(map(len, cells.values()))
    on_gpu = sum(len(of_tool) for tool, of_tool in cells.items() if adapters[tool].device == "cuda")
    twin_workers, twin_cells = twins(plan, adapters, cells)
    devices = [adapters[tool].device for tool, of_tool in cells.items() if of_tool]
    starts = sum(START_SECONDS[device] for device in devices) + twin_workers * START_SECONDS["cpu"]
    each = JOB_SECONDS + starts + race_seconds(plan, timed + twin_cells)
    of_letters = GIGABYTE_SECONDS + on_gpu * GPU_CELL_SECONDS
    letters = sum(gigabytes(chosen, name, dataset) for dataset in chosen.datasets(name))
    compiling = sum(COMPILE_SECONDS[device] for device in devices)
    return compiling + len(chosen.datasets(name)) * each + letters * of_letters


def estimate_minutes(chosen):
    """Estimated minutes of the whole run, from the lane's budgets and the sizes of its data sets."""
    adapters = aligners.load()
    total = FIXED_SECONDS + SCRIPT_SECONDS * (len(chosen.config["tables"]) + len(chosen.config["figures"]))
    raced = filter(chosen.datasets, chosen.experiments)
    return (total + sum(experiment_seconds(chosen, name, adapters) for name in raced)) / 60


def describe(chosen):
    """The plan as text of a few lines."""
    name = chosen.lane["name"]
    lines = [f"wavebench: lane {name}, host {host.host_id()}, {host.usable_cores()} cores"]
    for experiment, spec in chosen.experiments.items():
        if not chosen.raced(experiment):
            lines.append(f"  {experiment}: no race, it needs a GPU and this host has none; drawn from recorded samples")
            continue
        datasets = chosen.datasets(experiment)
        real = sum(map(planning.is_real, datasets))
        sizes = ", ".join(f"{dataset} ({chosen.raced_pairs(experiment, dataset):,})" for dataset in datasets)
        most = ", real ones at most the count shown" if real else ""
        tools = race_plan(chosen, experiment).tools
        lines.append(f"  {experiment}: {len(datasets)} races of {len(tools)} tools, {spec['title']}")
        lines.append(f"    pairs: {sizes or 'none in this lane'}{most}")
        if chosen.left_out(experiment):
            lines.append(f"    not in this lane: {', '.join(chosen.left_out(experiment))}")
    named = {dataset for spec in chosen.experiments.values() for dataset in spec["datasets"]}
    for row in chosen.real_rows:
        if not {row.technology, row.dataset} & named:
            lines.append(f"  not used: {row.dataset}: no experiment names {row.technology}")
    if chosen.unmapped:
        names = ", ".join(row.name for row in chosen.left_rows)
        lines.append(f"  note: real reads are left out ({names}): {chosen.unmapped}")
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
