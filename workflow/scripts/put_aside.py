"""Put aside this host's samples of reads that config/real_data.tsv no longer names: tables show what it names.

They go from results/samples to results/put_aside. Races that ran here stay in the store too, from where they come back
when the table names the reads again.
"""

import sys
from pathlib import Path

from workflow.race import host
from workflow.scripts import settings
from workflow.scripts.config_files import ROOT


def put_aside(results, host_id, named):
    """Move the samples of this host's real reads with other names; their new paths.

    results: folder with ``samples/<lane>/<host>/<experiment>/<data set>.parquet``. named: ids of data sets.
    """
    moved = []
    samples = Path(results, "samples")
    for path in sorted(samples.glob(f"*/{host_id}/*/real_*.parquet")):
        if path.stem not in named:
            target = Path(results, "put_aside", path.relative_to(samples))
            target.parent.mkdir(parents=True, exist_ok=True)
            moved.append(path.replace(target))
    return moved


def main():
    """Exit code 2 where the configuration is wrong."""
    try:
        chosen = settings.load()
    except settings.SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    named = {row.dataset for row in (*chosen.real_rows, *chosen.left_rows)}
    for path in put_aside(ROOT / "results", host.host_id(), named):
        print(f"  {path.stem}: {chosen.config['real_data']} no longer names it; its samples are now {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
