"""What is profiled: the executions of thesis Tables 4 and 5, and their data sets."""

import os
from dataclasses import dataclass

from simulators import PROFILES, simulate
from wfa_kernels import PairBatch, PaperDesign, pin_pairs
from wfa_kernels.designs import PAPER_KERNELS

SEED = 1
#: Errors that each of the papers' kernels can do (thesis 3.2.3).
KERNEL_LIMITS = {name: int(name[1:]) for name in PAPER_KERNELS}


class ProfileError(ValueError):
    """A request that cannot be profiled: the message says what is wrong and what is allowed."""


@dataclass(frozen=True)
class Dataset:
    """Random patterns of one length with uniform edits. length: bp. error: edits per letter of the pattern."""

    length: int
    error: float

    @property
    def name(self):
        """As the races name it: ``uniform_150_e5``."""
        return f"uniform_{self.length}_e{self.error * 100:g}"

    def simulate(self, count):
        """A PairBatch of so many pairs, of SEED."""
        return simulate("uniform", count, SEED, length=self.length, error=self.error)


@dataclass(frozen=True)
class ReadsDataset:
    """Reads of a technology. name: one of simulators.PROFILES."""

    name: str

    @property
    def error(self):
        """Edits per letter of the pattern."""
        return PROFILES[self.name].error

    def simulate(self, count):
        """A PairBatch of so many pairs, of SEED."""
        return simulate(self.name, count, SEED)


@dataclass(frozen=True)
class Cell:
    """One execution of the papers' design, with CIGARs.

    first_kernel: the smallest kernel that may run, "" for the automatic choice. block_threads: of every kernel, None
    for the papers' 32, 64 and 128.
    """

    table: str
    dataset: Dataset
    first_kernel: str = ""
    block_threads: int | None = None

    @property
    def name(self):
        """For messages."""
        return f"{self.table} {self.dataset.name} {self.first_kernel}".strip()

    def design(self):
        """What to pass to align()."""
        first = {"first_kernel": self.first_kernel} if self.first_kernel else {}
        return PaperDesign(block_threads=self.block_threads, **first)


SHORT = Dataset(150, 0.05)
#: Lengths with a long tail, to eight times the mean, and 15 % errors.
LONG_TAILED = ReadsDataset("pacbio_clr")
#: thesis Tab 4: the kernel that fits each data set. Tab 5: every kernel on one data set, with 32 threads a block.
CELLS = (
    *(Cell("thesis_tab4", Dataset(1000, error)) for error in (0.02, 0.05, 0.1)),
    *(Cell("thesis_tab5", SHORT, kernel, 32) for kernel in KERNEL_LIMITS),
)


def ensure_data(dataset, folder, count):
    """Path of the pair file of a Dataset or ReadsDataset in the folder; simulated with SEED where there is none.

    Raises ProfileError for a folder that cannot be written and for a file of fewer pairs than ``count``.
    """
    path = os.path.join(folder, f"{dataset.name}.arrow")
    if not os.path.exists(path):
        try:
            os.makedirs(folder, exist_ok=True)
            dataset.simulate(count).to_arrow(path)
        except OSError as error:
            raise ProfileError(f"{path}: cannot be written ({error.strerror})") from None
    held = len(PairBatch.from_arrow(path))
    if held < count:
        raise ProfileError(f"{path}: holds {held} pairs, --pairs asks for {count}; give another --data, or fewer pairs")
    return path


def load(dataset, folder, count):
    """The first ``count`` pairs of the data set, in page-locked memory."""
    return pin_pairs(PairBatch.from_arrow(ensure_data(dataset, folder, count))[:count])
