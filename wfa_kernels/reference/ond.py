"""Edit distance by Myers' O(ND) difference algorithm in linear space, in plain Python: the readable twin of cpu/ond.

Problem: global alignment of a pattern of m and a text of n bytes; mismatch, insertion and deletion cost 1 each.
Myers 1986 counts insertions and deletions only; here a substitution is a third step of cost 1, so that D is the edit
distance, as in the O(ND) row of thesis Tab 1.

Recurrence (Myers 1986, section 3, with that third step): F[d][k] is the furthest offset h on diagonal k = h - v that
d steps from (0, 0) reach.

    F[d][k] = max(F[d-1][k+1], F[d-1][k] + 1, F[d-1][k-1] + 1), then along the snake: while letters match, one by one

Linear space (section 4b): the same sweep runs on the reversed pair; forward and reverse steps alternate until they
have met on some diagonal. The end of the forward snake there splits the pair in two, solved by recursion.

Memory: the furthest points of the last step in each direction. Limits: none but time.
"""

from itertools import groupby


def align_pair(pattern, text, penalties, scope):
    """Align two bytes objects. penalties: Edit(). scope: "score" or "cigar".

    Returns (edit distance, CIGAR string or None for scope "score").
    """
    if scope == "score":
        return _middle(pattern, text)[0], None
    operations = _operations(pattern, text)
    score = sum(operation != "=" for operation in operations)
    return score, "".join(f"{len(list(run))}{operation}" for operation, run in groupby(operations))


def _snake(pattern, text, v, h):
    """Letters that match, one by one, from pattern[v] and text[h] on."""
    start = v
    while v < len(pattern) and h < len(text) and pattern[v] == text[h]:
        v, h = v + 1, h + 1
    return v - start


def _step(pattern, text, furthest):
    """F[d] from F[d-1], both {k: offset}; a point outside the matrix is not stored."""
    m, n = len(pattern), len(text)
    following = {}
    for k in range(min(furthest) - 1, max(furthest) + 2):
        origins = ((k + 1, 0), (k, 1), (k - 1, 1))
        points = [furthest[origin] + advance for origin, advance in origins if origin in furthest]
        inside = [h for h in points if h <= n and h - k <= m]
        if inside:
            h = max(inside)
            following[k] = h + _snake(pattern, text, h - k, h)
    return following


def _middle(pattern, text):
    """(D, v, h), (v, h) the end of the middle snake: half of the D steps lie before it, half behind."""
    m, n = len(pattern), len(text)
    backward_pattern, backward_text = pattern[::-1], text[::-1]
    forward = {0: _snake(pattern, text, 0, 0)}
    reverse = {0: _snake(backward_pattern, backward_text, 0, 0)}
    distance = 0
    while True:
        for k, h in forward.items():
            if h + reverse.get(n - m - k, -1) >= n:
                return distance, h - k, h
        distance += 1
        if distance % 2:
            forward = _step(pattern, text, forward)
        else:
            reverse = _step(backward_pattern, backward_text, reverse)


def _operations(pattern, text):
    """One letter of = X I D for every column of one optimal alignment."""
    head = _snake(pattern, text, 0, 0)
    pattern, text = pattern[head:], text[head:]
    tail = _snake(pattern[::-1], text[::-1], 0, 0)
    pattern, text = pattern[: len(pattern) - tail], text[: len(text) - tail]
    if not pattern or not text:
        middle = "D" * len(pattern) + "I" * len(text)
    elif len(pattern) == len(text) == 1:
        middle = "X"
    else:
        _, v, h = _middle(pattern, text)
        middle = _operations(pattern[:v], text[:h]) + _operations(pattern[v:], text[h:])
    return "=" * head + middle + "=" * tail
