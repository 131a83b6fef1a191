"""The ledger of verification: one line a verified cell of this lane's races, wrong answers first.

Wrong answers do not stop the workflow: their times are struck out in the tables, and the ledger names the pairs.
"""

import argparse
import sys

import pandas as pd

from workflow.race import samples
from workflow.scripts import out_file
from workflow.scripts.doubts import RACE, broken_promise

_COLUMNS = (
    "experiment", "dataset", "tool", "variant", "threads", "scope", "quantity", "exact", "pairs", "verified",
    "recall_native", "recall_affine", "coverage", "refused", "failing_pairs", "status", "reason", "dataset_hash",
    "output_hash",
)  # fmt: skip
#: What tells the cells of races apart: a GPU's tool has one for each kind of memory, by the name of its time.
_CELL = (*RACE, "tool", "variant", "threads", "scope", "quantity", "pairs")


def ledger(paths):
    """DataFrame of the verified cells of the given race files, those that break their promise first.

    A further quantity of a run, such as its kernels' time, is no cell of its own: it has the answers of the run.
    Raises samples.SamplesError.
    """
    frames = [samples.read(path)[0].to_pandas() for path in paths] or [samples.SCHEMA.empty_table().to_pandas()]
    rows = pd.concat(frames, ignore_index=True)
    rows = rows[~rows["twin"]].drop_duplicates(list(_CELL))
    further = (rows["status"] == "ok") & rows["failing_pairs"].isna()  # they stand in a cell's first row alone
    rows = rows.loc[~further, list(_COLUMNS)]
    broken = [bool(broken_promise(row)) for row in rows.to_dict("records")]
    return rows.assign(broken=broken).sort_values(["broken", "experiment", "dataset"], ascending=[False, True, True])


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", nargs="*", required=True, metavar="PARQUET")
    parser.add_argument("--out", required=True)
    asked = parser.parse_args()
    try:
        out_file.prepare(asked.out)
        rows = ledger(asked.races)
    except (samples.SamplesError, out_file.OutError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    rows.to_csv(asked.out, index=False)
    verified = rows["verified"].fillna(0).astype(int).sum()
    broken = int(rows["broken"].sum())
    print(f"{len(rows)} cells, {verified} answers verified, {broken} cells with wrong answers", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
