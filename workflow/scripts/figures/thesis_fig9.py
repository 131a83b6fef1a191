"""thesis Fig 9: BT-blocks piggybacked to the offsets of the wavefronts, and the chain of one pair in the BT-buffer.

Everything shown is the trace of our kernel of WFA-GPU's design; a test holds every cell and block of it against the
plain reference.
"""

from dataclasses import dataclass

from wfa_kernels import Affine
from wfa_kernels.reference import affine_bt
from workflow.scripts import bt_trace, plotting

PENALTIES = Affine(2, 3, 1)
PATTERN, TEXT = b"CTGGCTTCCCACCGTTGTAGACTTGTTCGACCACGTCATGCCGG", b"CTGCCTCCTTCGTCCACCGTGTCTCATGTCCTGACGCTCGCCG"
SHADES = {"X": "#e6e6e6", "I": plotting.SKY, "D": plotting.ORANGE}
SLOTS = affine_bt.OPERATIONS_PER_BLOCK


@dataclass(frozen=True)
class Source:
    """A cell that another may come from. name: as in Eq. 3. reached: its offset with what the operation consumes."""

    name: str
    cell: affine_bt.Cell
    reached: int
    operation: str


def sources(found, s, k):
    """The five cells that the cells of score s on diagonal k may come from, or None where one is missing."""
    x, o, e = PENALTIES.triple
    places = (("M", o + e, -1, "I"), ("I", e, -1, "I"), ("M", o + e, 1, "D"), ("D", e, 1, "D"), ("M", x, 0, "X"))
    given = []
    for matrix, back, beside, operation in places:
        cell = found.wavefronts[matrix].get(s - back, {}).get(k + beside)
        if cell is None:
            return None
        name = f"{matrix}({s - back}, {k + beside})".replace("-", "−")
        given.append(Source(name, cell, cell.offset + (operation != "D"), operation))
    return given


def chosen_cell(found):
    """(s, k) of the first M with all its sources, operations of every kind before it, and matches behind."""
    for s in range(1, found.score + 1):
        for k in sorted(found.wavefronts["M"][s]):
            made = all(k in found.wavefronts[gap][s] for gap in "ID")
            given = sources(found, s, k) if made else None
            behind = "".join(letters(source.cell.block) for source in given or ())
            if set("XID") <= set(behind) and winners(found, s, k)[1]:
                return s, k
    raise ValueError("the pair has no such cell")


def winners(found, s, k):
    """The sources that the cells of score s on diagonal k come from, and how many matches follow M's.

    The furthest wins; of equal ones the beginning of a gap, and D before X before I.
    """
    given = sources(found, s, k)
    gaps = [max(given[at : at + 2], key=lambda source: source.reached) for at in (0, 2)]
    codes = affine_bt.CODES
    best = max([*gaps, given[4]], key=lambda source: (source.reached, codes[source.operation]))
    won = gaps + [given[4]] * (best is given[4])
    return won, found.wavefronts["M"][s][k].offset - best.reached


def chain(found):
    """[(number, operations as letters)] of the blocks of the final cell, the first one first; its own has number 0."""
    block, number, told = found.final.block, found.final.previous, [(0, letters(found.final.block))]
    while number:
        block, before = found.buffer[number - 1]
        told.append((number, letters(block)))
        number = before
    return told[::-1]


def letters(block):
    """Operations of a BT-block, the first one first."""
    of_code = {code: letter for letter, code in affine_bt.CODES.items()}
    told = ""
    while block:
        told = of_code[block & 3] + told
        block >>= 2
    return told


def draw():
    """How the offset and BT-block of one diagonal come about; the blocks of the final cell in the BT-buffer."""
    found = bt_trace.trace(PATTERN, TEXT, PENALTIES)
    s, k = chosen_cell(found)
    fig, (upper, lower) = plotting.figure(plotting.ONE_COLUMN, 5.2, nrows=2, gridspec_kw={"height_ratios": (10, 7)})
    _draw_cell(upper, found, s, k)
    _draw_chain(lower, chain(found), len(found.buffer))
    for axes in (upper, lower):
        axes.axis("off")
    x, o, e = PENALTIES.triple
    fig.supxlabel(
        f"{PATTERN.decode()}\n{TEXT.decode()}\nmismatch {x}, gap open {o}, gap extend {e}: score {found.score}\n"
        "red: the furthest, which win; X after I or D ends the gap",
        fontsize=7,
    )
    return fig


def _draw_cell(axes, found, s, k):
    won, matches = winners(found, s, k)
    axes.set_title(f"diagonal {k} of score {s}".replace("-", "−"), fontweight="bold")
    _row(axes, 0, ("from", "offset", "BT-block", "operation"), plotting.BLACK)
    for at, source in enumerate(sources(found, s, k), 1):
        then = f"{source.operation}, to {source.reached}"
        row = (source.name, str(source.cell.offset), letters(source.cell.block), then)
        _row(axes, at, row, plotting.RED if source in won else plotting.GREY)
    axes.plot([0, 16.4], [5.55, 5.55], color="#9a9a9a", lw=0.6)
    for at, matrix in enumerate("IDM", 6):
        cell = found.wavefronts[matrix][s][k]
        then = f"X, {matches} matches" if matrix == "M" else ""
        name = f"{matrix}({s}, {k})".replace("-", "−")
        _row(axes, at, (name, str(cell.offset), letters(cell.block), then), plotting.BLACK)
    axes.set_xlim(0, 16.4)
    axes.set_ylim(8.6, -0.6)


def _row(axes, at, texts, color):
    for place, text in zip((0, 4.2, 6.4, 13.6), texts, strict=False):
        axes.text(place, at, text, fontsize=7, va="center", color=color)


def _draw_chain(axes, blocks, count):
    axes.set_title(f"chain of the final cell in the BT-buffer of {count} blocks", fontweight="bold")
    for row, (number, told) in enumerate(blocks):
        label = f"block {number}" if number else "final cell"
        axes.text(-0.3, 2 * row, label, fontsize=7, ha="right", va="center")
        for slot in range(SLOTS):
            letter = told[slot] if slot < len(told) else ""
            axes.add_patch(
                plotting.plt.Rectangle(
                    (slot, 2 * row - 0.5), 1, 1, facecolor=SHADES.get(letter, "none"), edgecolor="#9a9a9a", lw=0.6
                )
            )
            axes.text(slot + 0.5, 2 * row, letter, fontsize=7, ha="center", va="center")
        if row:
            axes.annotate("", (2, 2 * row - 1.45), (2, 2 * row - 0.55), arrowprops={"arrowstyle": "->", "lw": 0.8})
            axes.text(2.5, 2 * row - 1, f"previous: {blocks[row - 1][0]}", fontsize=7, va="center")
    axes.set_xlim(-4.4, SLOTS + 0.1)
    axes.set_ylim(2 * len(blocks) - 1.3, -0.8)


main = plotting.command(draw)
if __name__ == "__main__":
    main()
