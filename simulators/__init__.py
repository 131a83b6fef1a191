"""Simulated pattern/text pairs: ``uniform`` (the papers' generator) and profiles of sequencing technologies.

>>> from simulators import simulate
>>> simulate("uniform", pairs=1000, seed=1, length=150, error=0.05).metadata["dataset"]
'uniform_150_e5'
"""

import math
import os
from dataclasses import asdict

import numpy as np

from simulators import illumina, moleculo, nanopore, pacbio, profile, uniform
from simulators.generator import generate, realised_statistics, with_metadata

PROFILES = {p.id: p for module in (illumina, moleculo, pacbio, nanopore) for p in module.PROFILES}
MODELS = ("uniform", *PROFILES)

#: More threads than any host has cores only wait for each other.
MOST_THREADS = 4096

__all__ = ["MODELS", "MOST_THREADS", "PROFILES", "SimulationError", "simulate"]


class SimulationError(ValueError):
    """A request that no model can fulfil: the message names the value and what is allowed."""


def simulate(model, pairs, seed, length=None, error=None, threads=None):
    """Simulate pairs; the same arguments give the same bytes, whatever the number of threads.

    model: one of MODELS. pairs: their number, >= 1. seed: 0 <= seed < 2**63. length (bp, >= 1) and error (a fraction,
    0 to 1) belong to ``uniform`` and to no other model. threads: at most MOST_THREADS;
    None takes all cores.
    Returns a PairBatch in random order whose metadata names the data set, the parameters and the realised statistics.
    Raises SimulationError for a value out of its range, MemoryError when the pairs do not fit.
    """
    _check(model, pairs, seed, length, error, threads)
    if model == "uniform":
        return _simulate_uniform(pairs, seed, length, error, threads)
    return _simulate_profile(PROFILES[model], pairs, seed, threads)


def _simulate_uniform(pairs, seed, length, error, threads):
    edits = uniform.nominal_edits(length, error)
    lengths = np.full(pairs, length, np.int64)
    batch, counts = generate(uniform.edit_range, np.array([edits]), lengths, seed, threads)
    return with_metadata(
        batch,
        dataset=f"uniform_{length}_e{error * 100:g}",
        model="uniform",
        length_bp=str(length),
        error=f"{error:g}",
        seed=str(seed),
        source=f"simulated: random patterns of {length} bp, texts with {edits} uniform edits ({error * 100:g} %)",
        realised=realised_statistics(batch, *counts),
        parameters={"pairs": pairs, "length": length, "error": error, "edits": edits, "seed": seed},
    )


def _simulate_profile(chosen, pairs, seed, threads):
    lengths = np.empty(pairs, np.int64)
    profile.draw_lengths(seed, profile.length_limits(chosen), chosen.shortest, lengths)
    batch, counts = generate(profile.edit_range, profile.error_limits(chosen), lengths, seed, threads)
    return with_metadata(
        batch,
        dataset=chosen.id,
        model=chosen.id,
        length_bp=str(chosen.mean),
        error=f"{chosen.error:g}",
        seed=str(seed),
        source=f"simulated stand-in for {chosen.name} reads (lengths: {chosen.length_source}; "
        f"errors: {chosen.error_source})",
        realised=realised_statistics(batch, *counts),
        parameters={"pairs": pairs, "seed": seed, **asdict(chosen)},
    )


def _check(model, pairs, seed, length, error, threads):
    if model not in MODELS:
        raise SimulationError(f"unknown model {model!r}: one of {', '.join(MODELS)}")
    for name, value, least in (("pairs", pairs, 1), ("seed", seed, 0), ("threads", threads, 1), ("length", length, 1)):
        if value is None and name in ("threads", "length"):
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise SimulationError(f"{name} must be an integer >= {least}, not {value!r}")
    if threads is not None and threads > MOST_THREADS:
        raise SimulationError(f"threads must be at most {MOST_THREADS}, not {threads}")
    _check_size(model, pairs, length)
    if seed >= 2**63:
        raise SimulationError(f"seed must be below 2**63, not {seed}")
    if model != "uniform" and (length is not None or error is not None):
        raise SimulationError(f"length and error are set by the model {model}; only uniform takes them")
    if model == "uniform" and (length is None or error is None):
        raise SimulationError("uniform needs a length (bp) and an error (a fraction such as 0.05)")
    if error is not None and (isinstance(error, bool) or not isinstance(error, int | float) or not 0 <= error <= 1):
        raise SimulationError(f"error must be a fraction from 0 to 1, not {error!r}")


def _check_size(model, pairs, length):
    """Refuse before work what cannot fit in memory: letters of both sequences, and two offsets a pair."""
    letters = length or (PROFILES[model].mean if model in PROFILES else 0)
    try:
        needed = pairs * (2.1 * letters + 24)
    except OverflowError:  # an integer past what a float holds
        needed = math.inf
    held = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else math.inf
    if needed > held:
        raise SimulationError(
            f"{pairs} pairs of {letters} bp take {needed / 2**30:.3g} GiB, more than the {held / 2**30:.3g} GiB here"
        )
