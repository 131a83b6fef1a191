# What every stage needs: the checked settings, and which files a job is made from.
import os
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

ROOT = Path(str(workflow.current_basedir)).parents[1]
sys.path.insert(0, str(ROOT))

from workflow.race import kernel_cache

kernel_cache.use()  # before Numba is imported, for this process and every job

from workflow.race import host, planning, provenance
from workflow.scripts import cpu_races, plan, settings, sources, stale


def checked(read, *arguments):
    """What read() gives; the run ends with its message when the configuration is wrong."""
    try:
        return read(*arguments)
    except settings.SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


# Snakemake's own reading names no line, and takes the last of two equal keys.
checked(settings.read_yaml, ROOT / settings.CONFIG)


configfile: "config/config.yaml"


SETTINGS = checked(settings.load, dict(config))

# Jobs run `python`: the one that runs Snakemake, whatever the caller's PATH says. Snakemake's own strict mode is off
# once there is a prefix, so that it is part of this one.
# logged LOG COMMAND...: what the command says goes to its log, and to the terminal, too, where it fails: `make reproduce`
# keeps Snakemake from showing the logs of failed jobs.
shell.prefix(
    f'set -euo pipefail; export PATH={shlex.quote(os.path.dirname(sys.executable))}:"$PATH"; '
    'logged() {{ local log=$1; shift; "$@" 2> "$log" || {{ cat "$log" >&2; exit 1; }}; }}; '
)

LANE = SETTINGS.lane["name"]
HOST = host.host_id()
# What samples are called stale by, also of tools that no race here holds: jobs that mark them depend on it.
MARKS = stale.current_digest()
DATA = f"results/data/{LANE}"
SAMPLES = f"results/samples/{LANE}/{HOST}"
MEASUREMENTS = "results/collected/measurements.parquet"
LEDGER = f"results/verify/{LANE}/{HOST}.csv"
TABLES = expand(
    "results/tables/{table}.{ext}",
    table=SETTINGS.config["tables"],
    ext=["csv", "md", "html", "tidy.csv"],
)
FIGURES = expand(
    "results/figures/{figure}.{ext}",
    figure=SETTINGS.config["figures"],
    ext=["svg", "png"],
)
# The experiments whose races the CPU page is drawn from.
CPU_EXPERIMENTS = expand(
    "config/experiments/{name}.yaml",
    name=[name for names in cpu_races.EXPERIMENTS.values() for name in names],
)


def print_plan():
    """Say what the run will do, unless `make reproduce` has said it already."""
    if os.environ.get("WAVEBENCH_PLAN") != "shown":
        print(plan.describe(SETTINGS), file=sys.stderr)


def caption(figure):
    """Text of a figure's caption, for Snakemake's own report."""
    path = ROOT / f"workflow/report/captions/{figure}.rst"
    return path.read_text(encoding="utf-8").strip()


def pair_files(experiment):
    """The data sets of one experiment in this lane."""
    if experiment not in SETTINGS.experiments:
        raise WorkflowError(
            f"{settings.CONFIG}: key 'experiments' must name {experiment}"
        )
    return [f"{DATA}/{dataset}.arrow" for dataset in SETTINGS.datasets(experiment)]


def sample_files(experiment):
    """The samples of one experiment on this host in this lane, one file a race."""
    return [
        f"{SAMPLES}/{experiment}/{dataset}.parquet"
        for dataset in SETTINGS.datasets(experiment)
    ]


def all_sample_files():
    """Every sample file of this run."""
    return [
        path for experiment in SETTINGS.experiments for path in sample_files(experiment)
    ]


def other_sample_files():
    """Samples of other lanes and hosts that lie here already; the tables show the largest valid lane."""
    found = {str(path) for path in Path("results/samples").glob("*/*/*/*.parquet")}
    return sorted(found - set(all_sample_files()))


def recorded_files(experiment="*"):
    """Committed samples of named machines, of all experiments or one."""
    return sorted(
        str(path)
        for path in Path("results/recorded").glob(f"*/*/{experiment}/*.parquet")
    )


def samples_of(experiment):
    """Every sample file of one experiment: of this run, of other lanes, of recorded hosts."""
    everything = all_sample_files() + other_sample_files() + recorded_files()
    return [path for path in everything if Path(path).parent.name == experiment]


def cpu_samples():
    """The samples behind the CPU page; of an experiment that is not run, those that lie here already."""
    return [path for name in CPU_EXPERIMENTS for path in samples_of(Path(name).stem)]
