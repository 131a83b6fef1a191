"""Pairs whose cheapest path leaves a band by little: what a band must not be certain of.

Pairs at random seldom tell a certificate that is too generous: within a band that their path leaves, all else costs far
more. Of these the best path within costs one more for each diagonal that it stays short.
"""


def pairs_around(outs, less=0):
    """[(pattern, text)] for each of outs, both ways round: see pair."""
    forth = [pair(out, out - less) for out in outs]
    return forth + [(text, pattern) for pattern, text in forth]


def pair(out, back):
    """The cheapest path inserts ``out`` letters, keeps the others and deletes ``back``.

    Where mismatches and letters of gaps cost 1, and opening gaps little: a path that is d diagonals short of it saves
    2 d of these letters for d mismatches at the beginning, d where letters change and d at the end.
    """
    kept = b"A" * (out + 2) + b"C" * (out + 2)
    return kept + b"T" * back, b"G" * out + kept
