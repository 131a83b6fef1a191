"""What a Stream asks of a design, and what most of them answer."""

from wfa_kernels.cuda.packing import MAX_LENGTH


class Design:
    """A way to align batches on a GPU: kernels, each for the pairs that are over the limit of the one before.

    Subclasses have NAMES, of the kernels; ``launch(level, queue, after, batch, traced)``, which launches one on the
    pairs of a queue or on ALL_PAIRS and leaves those over its limit to the queue ``after`` (see banded.make_kernel for
    the arrays); and ``scratch_words(pairs, longest, traced)``, the uint64 words of scratch memory for full speed.
    """

    #: The first kernel that may be launched.
    first_level = 0
    #: Numbers that the kernels of a batch leave in row 0 of the queues for ``learn``.
    LEARNED = 0
    #: Whether the kernels need all of the scratch memory, and not as much as there is.
    NEEDS_ALL_SCRATCH = False
    #: Whether the host may pack letters, where the wire or the host's memory would else be the limit.
    HOST_PACKS = True

    def begin(self):
        """Before the batches of a call."""

    def learn(self, numbers, batch):
        """Take into account what the kernels of a batch have left, int32[LEARNED]."""

    def counts(self, level):
        """Whether ``learn`` is told of the pairs that this kernel does."""
        return False

    def forget(self):
        """A level that was likely has failed on too many pairs: what was learned is of others."""

    def finish(self, batch):
        """Launch what CIGARs need besides: nothing where the kernels leave runs themselves."""

    def longest(self, scratch_words):
        """Letters of the longest sequence that can be done with so much scratch memory, None without CIGARs."""
        return MAX_LENGTH

    def longer(self):
        """The Design for pairs with a sequence of more than MAX_LENGTH letters; None: they are the host's."""

    def filling_pairs(self, longest, level, traced):
        """Pairs that a batch is to have at least: none where the wire is the limit, or each pair has a block.

        level: where batches begin, None if that is not known yet. traced: with CIGARs.
        """
        return 0

    def pairs_at_once(self, longest, words, traced):
        """Pairs, of sequences of up to so many letters, for which so many uint64 words of scratch memory have room at a
        time; None: for any number.

        Of pairs in order of their lengths a batch has no more: it would go through in turns, each as long as its
        longest pair, and hold up the batches behind it.
        """

    def first_likely_level(self, longest):
        """The first kernel to launch before it is known what such sequences need."""
        return self.first_level

    def last_likely_level(self, longest):
        """The last kernel to launch before it is known what such sequences need."""
        return len(self.NAMES) - 1

    def likely_level(self, longest, pairs):
        """The kernel with which a batch of so many pairs, of sequences of up to so many letters, had best begin; None:
        not known."""

    def tolerated_failures(self, level, first):
        """Part of a batch above which a kernel that fails on it is left out for the next ones, if it began with
        ``first``."""
        return 0.3

    def wire_bound(self, first):
        """Whether pairs that begin with this kernel take less time there than on the wire, however long they are."""
        return False
