"""Map reads to a reference with mappy (minimap2) and write pairs: ``python -m workflow.scripts.map_reads --help``.

The pair of a mapped read is that of its primary hit: text = read[q_st:q_en], reverse-complemented when the hit is on
the reverse strand, pattern = reference[r_st:r_en]; both in the reference's forward orientation, upper-case. What gives
no pair is counted: unmapped reads, secondary and supplementary hits, clipped bases, reads beyond the cap.
"""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice

import click
import numpy as np

from simulators.generator import realised_statistics, with_metadata
from wfa_kernels import PairBatch, PairsError, whole_file
from wfa_kernels.formats import read_sequences, require_writable
from workflow.race.planning import REAL
from workflow.scripts.real_data import PRESETS, TECHNOLOGIES, RealDataError, check_name, mapped_text

_COMPLEMENT = np.arange(256, dtype=np.uint8)
_COMPLEMENT[list(b"ACGTRYKMBDHVacgtrykmbdhv")] = list(b"TGCAYRMKVHDBtgcayrmkvhdb")
#: minimap2 reads U, of RNA, as T.
_AS_DNA = np.arange(256, dtype=np.uint8)
_AS_DNA[list(b"Uu")] = list(b"Tt")
_IS_ACGT = np.isin(np.arange(256), list(b"ACGT"))
_BLOCK_READS = 512
_INSERTION, _DELETION = 1, 2


@dataclass
class Counts:
    """What became of the reads; edits are those of the mapper's alignments (not of optimal ones)."""

    reads: int = 0
    reads_tried: int = 0
    reads_beyond_cap: int = 0
    mapped: int = 0
    unmapped: int = 0
    secondary_dropped: int = 0
    supplementary_dropped: int = 0
    clipped_bases: int = 0
    reverse_strand: int = 0
    pairs_with_non_acgt: int = 0
    mismatches: int = 0
    insertions: int = 0
    deletions: int = 0


def map_reads(reads_path, reference_path, preset, cap=None, seed=1, threads=1):
    """Pairs of the reads, in an order drawn with seed, until cap pairs are made.

    Returns (PairBatch without metadata, Counts); both are the same for any number of threads.
    Raises RealDataError when mappy is not installed or no read maps, PairsError when a file cannot be read.
    """
    mappy = _import_mappy()
    reads, reference = read_sequences(reads_path), read_sequences(reference_path)
    contigs = _contigs(reference, reference_path)
    aligner = mappy.Aligner(os.fspath(reference_path), preset=preset, n_threads=threads)
    if not aligner:
        raise RealDataError(f"{reference_path}: mappy cannot index this reference")
    counts, patterns, texts = Counts(reads=len(reads)), [], []
    order = np.random.default_rng(seed).permutation(len(reads))
    for index, hits in _hits(aligner, mappy, reads, order, threads):
        if cap is not None and counts.mapped == cap:
            break
        counts.reads_tried += 1
        hit = _primary(hits, counts)
        if hit is not None:
            _add_pair(reads.sequence(index), reference.sequence(contigs[hit.ctg]), hit, counts, patterns, texts)
    counts.reads_beyond_cap = counts.reads - counts.reads_tried
    if not patterns:
        raise RealDataError(
            f"{reads_path}: none of {counts.reads} reads maps to {reference_path} with preset {preset}; "
            "are reads, reference and preset the right ones?"
        )
    return PairBatch.from_strings(patterns, texts), counts


def _import_mappy():
    try:
        import mappy
    except ImportError:
        raise RealDataError("mapping reads needs mappy, which is not installed (it compiles C)") from None
    return mappy


def _contigs(reference, path):
    """{name: index} of the reference's sequences, whose names minimap2 reads as this project does."""
    contigs = dict(zip(reference.names(), range(len(reference)), strict=True))
    if len(contigs) != len(reference):
        raise RealDataError(f"{path}: two sequences have the same name; names must differ")
    for start, stop in reference.headers.tolist():
        header = reference.data[start:stop].tobytes()
        if not header[:1].strip() or not header.split(None, 1)[0].isascii():
            shown = header[:60].decode("ascii", "backslashreplace")
            raise RealDataError(f"{path}: header '>{shown}': an ASCII name must follow the '>' with no blank between")
    return contigs


def _hits(aligner, mappy, reads, order, threads):
    """(read index, its hits) in the given order; blocks of reads are mapped by threads (mappy lets go of the GIL)."""

    def run(chunk):
        buffer = mappy.ThreadBuffer()
        return [list(aligner.map(reads.sequence(i).tobytes().decode("latin-1"), buf=buffer)) for i in chunk]

    remaining = iter(order.tolist())
    with ThreadPoolExecutor(threads) as pool:
        while block := list(islice(remaining, _BLOCK_READS * threads)):
            chunks = [block[k::threads] for k in range(threads)]
            found = list(pool.map(run, chunks))
            for position, index in enumerate(block):
                yield index, found[position % threads][position // threads]


def _primary(hits, counts):
    """The first primary hit or None; counts the others."""
    primaries = [hit for hit in hits if hit.is_primary]
    counts.secondary_dropped += len(hits) - len(primaries)
    if not primaries:
        counts.unmapped += 1
        return None
    counts.mapped += 1
    counts.supplementary_dropped += len(primaries) - 1
    return primaries[0]


def _add_pair(read, contig, hit, counts, patterns, texts):
    text, pattern = _AS_DNA[read[hit.q_st : hit.q_en]], _AS_DNA[contig[hit.r_st : hit.r_en]]
    if hit.strand < 0:
        text = _COMPLEMENT[text[::-1]]
        counts.reverse_strand += 1
    insertions = sum(length for length, op in hit.cigar if op == _INSERTION)
    deletions = sum(length for length, op in hit.cigar if op == _DELETION)
    counts.insertions += insertions
    counts.deletions += deletions
    counts.mismatches += hit.NM - insertions - deletions
    counts.clipped_bases += len(read) - len(text)
    counts.pairs_with_non_acgt += not (_IS_ACGT[text].all() and _IS_ACGT[pattern].all())
    patterns.append(pattern.tobytes())
    texts.append(text.tobytes())


def describe(pairs, counts, name, technology, parameters):
    """The pairs with the metadata of a data set real_<name>."""
    made = realised_statistics(pairs, counts.mismatches, counts.insertions, counts.deletions)
    return with_metadata(
        pairs,
        dataset=f"{REAL}{name}",
        model=technology,
        length_bp=str(round(float(pairs.pattern_lengths.mean()))),
        error="",
        seed=str(parameters["seed"]),
        source=mapped_text(technology, parameters["reads"], parameters["reference"], parameters["preset"])
        + f" {counts.mapped} pairs of {counts.reads_tried} reads, {counts.unmapped} unmapped",
        realised={**asdict(counts), **made},
        parameters={"name": name, "technology": technology, **parameters},
    )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--reads", required=True, help="FASTA or FASTQ, gzip or not.")
@click.option("--reference", required=True, help="FASTA, gzip or not.")
@click.option("--technology", required=True, type=click.Choice(TECHNOLOGIES), help="What made the reads.")
@click.option("--preset", required=True, type=click.Choice(PRESETS), help="minimap2's preset.")
@click.option("--name", required=True, help="The data set is real_<name>.")
@click.option("--cap", type=click.IntRange(min=1), help="Stop after so many pairs [default: all reads].")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the order of the pairs.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("-o", "--output", required=True, help="Arrow pair file to write.")
@click.option("--report", required=True, help="JSON file of the counts to write.")
def command(reads, reference, technology, preset, name, cap, seed, threads, output, report):
    """Map reads to a reference and write the pairs of their primary hits.

    \b
    Example:
      python -m workflow.scripts.map_reads --reads r.fq.gz --reference ref.fa.gz --technology nanopore \\
        --preset map-ont --name ecoli --cap 1000 -o ecoli.arrow --report ecoli.json
    """
    try:
        check_name(name, "--name")
        require_writable(output)
        require_writable(report)
        pairs, counts = map_reads(reads, reference, preset, cap, seed, threads)
        parameters = {"reads": os.path.basename(reads), "reference": os.path.basename(reference), "preset": preset}
        pairs = describe(pairs, counts, name, technology, {**parameters, "cap": cap, "seed": seed})
        pairs.to_arrow(output)
        write_report(report, pairs)
    except (PairsError, RealDataError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    click.echo(f"{output}: {pairs.metadata['source']}", err=True)


def write_report(path, pairs):
    """Write what the metadata says of the data set as JSON, whole or not at all."""
    report = {key: pairs.metadata[key] for key in ("dataset", "source")}
    report |= {key: json.loads(pairs.metadata[key]) for key in ("realised", "parameters")}
    with whole_file.beside(path) as part, open(part, "w", encoding="utf-8") as sink:
        json.dump(report, sink, indent=2)


if __name__ == "__main__":
    command()
