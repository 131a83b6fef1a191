"""thesis Fig 1: the penalty of a gap against its length, for four distance functions."""

import numpy as np

from workflow.scripts import plotting

#: Penalties of the curves. The figure of the thesis names none; these are common in aligners' defaults.
LINEAR = 2
OPEN, EXTEND = 4, 2
OPEN2, EXTEND2 = 24, 1
LOG_OPEN, LOG_EXTEND = 4, 12
LONGEST = 40


def linear(length):
    return LINEAR * length


def affine(length):
    return OPEN + EXTEND * length


def two_piece(length):
    """The cheaper of two affine pieces."""
    return np.minimum(OPEN + EXTEND * length, OPEN2 + EXTEND2 * length)


def logarithmic(length):
    """O + E log l: the thesis prints O + l log E, which is linear in l and not the curve it describes."""
    return LOG_OPEN + LOG_EXTEND * np.log(length)


def draw():
    """Gap penalty against gap length: linear, affine, two-piece affine, logarithmic."""
    fig, axes = plotting.figure(plotting.ONE_COLUMN, 2.7)
    length = np.arange(1, LONGEST + 1)
    curves = (
        (linear, f"linear: {LINEAR}$\\ell$", plotting.ORANGE, ":"),
        (affine, f"affine: {OPEN} + {EXTEND}$\\ell$", plotting.BLUE, "--"),
        (two_piece, f"two-piece affine: min({OPEN} + {EXTEND}$\\ell$, {OPEN2} + $\\ell$)", plotting.RED, "-"),
        (logarithmic, f"logarithmic: {LOG_OPEN} + {LOG_EXTEND} ln $\\ell$", plotting.GREEN, "-."),
    )
    for function, label, color, line in curves:
        axes.plot(length, function(length), line, color=color, label=label)
    axes.set_xlabel("gap length $\\ell$ (bp)")
    axes.set_ylabel("gap penalty")
    axes.set_xlim(0, LONGEST)
    axes.set_ylim(0, None)
    axes.grid(True)
    fig.legend(loc="outside lower center", ncols=1, handlelength=3)
    return fig


main = plotting.command(draw)
if __name__ == "__main__":
    main()
