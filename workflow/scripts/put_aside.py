"""Put aside this host's samples of reads that config/real_data.tsv no longer names so: tables show what it names.

They go from results/samples to results/put_aside. Races that ran here stay in the store too, from where they come back
when the table names the reads again.
"""

import sys
from pathlib import Path

from workflow.race import host, samples
from workflow.scripts import settings
from workflow.scripts.config_files import ROOT
from workflow.scripts.fetch import local_name
from workflow.scripts.real_data import mapped_text


def put_aside(results, host_id, rows):
    """Move the samples of this host's real reads that are none of the rows', or of other files, technology or preset.

    results: folder with ``samples/<lane>/<host>/<experiment>/<data set>.parquet``. rows: of real_data.tsv, RealData.
    Their new paths. Raises samples.SamplesError for a file that is none of samples.
    """
    named = {row.dataset: _source(row) for row in rows}
    moved, folder = [], Path(results, "samples")
    for path in sorted(folder.glob(f"*/{host_id}/*/real_*.parquet")):
        wanted, source = named.get(path.stem), _source_of(path)
        if wanted is None or (source and not source.startswith(wanted)):
            target = Path(results, "put_aside", path.relative_to(folder))
            target.parent.mkdir(parents=True, exist_ok=True)
            moved.append(path.replace(target))
    return moved


def _source(row):
    return mapped_text(row.technology, local_name(row.reads), local_name(row.reference), row.preset)


def _source_of(path):
    """What the reads of a race are, "" where its card is from before that was kept."""
    _, card = samples.read(path)
    return (card.get("data") or {}).get("source", "")


def main():
    """Exit code 2 where the configuration is wrong, or a file of samples."""
    try:
        chosen = settings.load()
        moved = put_aside(ROOT / "results", host.host_id(), [*chosen.real_rows, *chosen.left_rows])
    except (settings.SettingsError, samples.SamplesError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for path in moved:
        print(f"  {path.stem}: {chosen.config['real_data']} no longer names these reads; their samples are now {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
