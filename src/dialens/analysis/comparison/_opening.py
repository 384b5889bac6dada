"""A run by its place: a score folder is opened, conversations are scored once and remembered."""

import os
import shutil
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import polars as pl

from dialens.base import MEMORY, DialensError, atomic_folder, counted, progress, step_key
from dialens.corpus import Corpus, Intake, ReadOptions, read
from dialens.metrics import (
    LAYOUT,
    MetricCard,
    Resources,
    Scores,
    make_plan,
    open_scorers,
    score,
    score_into,
)
from dialens.metrics.families import shipped

_MARK = "metrics.json"
_RUNS = "runs"
_KEPT = 20
"""Runs that are remembered, those used last."""


def open_run(
    run: "str | Path | Corpus | Scores",
    *,
    metrics: Sequence[str | MetricCard] | None = None,
    resources: Resources | None = None,
    threads: int | None = None,
    format: str | None = None,
    options: ReadOptions | None = None,
    whole_turns: bool = False,
    intake: Intake | None = None,
    cache: Path | None = None,
    memory: int = MEMORY,
    say: Callable[[str], None] = lambda _: None,
) -> Scores:
    """The scores of a run.

    A score folder is opened as it is. Conversations are read and scored, all metrics but the
    automatic ones unless `metrics` names others; what comes out is kept in the cache under a key
    of the conversations and the signatures of the metrics.

    Args:
        run: A score folder, a file or folder of conversations, a corpus, or scores.
        metrics: Names of metrics or families, or cards, for conversations.
        resources: Lexicons, models, prompt and seed, for conversations.
        threads: Batches that are scored at once.
        format: Of the conversations; detected if not given.
        options: Names for agents and systems, and what the columns of a table mean.
        whole_turns: Whether replies that were cut off are left out, for conversations.
        intake: Keeps account of records that cannot be read.
        cache: A folder in which scores are kept; None keeps none.
        memory: Bytes that scoring may take where scores are kept; else they are made in memory.
        say: Takes a sentence on what is done.

    Raises:
        DialensError: There is nothing at that place, or it cannot be read.
    """
    if isinstance(run, Scores):
        return run
    resources = resources or Resources()
    if isinstance(run, Corpus):
        run = run.whole_turns() if whole_turns else run
        return score(run, metrics=metrics, resources=resources, threads=threads)
    place = Path(run)
    if is_score_folder(place):
        if whole_turns:
            say(f"{place} is scored already; --whole-turns is for `dialens score` there.")
        return Scores.open(place)
    require_run(place)
    with progress(f"Reading {place.name}") as advance:
        corpus = read(place, format=format, options=options, intake=intake, advance=advance)
    corpus = corpus.whole_turns() if whole_turns else corpus
    plan = make_plan(metrics, resources)
    open_scorers(corpus, plan)
    signatures = [metric.signature for metric in plan.metrics]
    many = counted(len(signatures), "metric")
    ours = {card.name for card in shipped()} >= {metric.name for metric in plan.metrics}
    if cache is None or not ours:  # what others write may change without a new version
        say(f"{place} holds conversations: scoring them on {many}.")
        return score(corpus, metrics=metrics, resources=resources, threads=threads)
    made_of = [corpus.manifest, _digest(corpus), resources.prompt, resources.seed]
    key = step_key([LAYOUT, *made_of, sorted(signatures)])
    kept = cache / _RUNS / key
    if is_score_folder(kept):
        say(f"{place} holds conversations that were scored before: those scores are used.")
        os.utime(kept)
        return Scores.open(kept)
    say(f"{place} holds conversations: scoring them on {many}.")
    total = corpus.turns.select(pl.len()).collect(engine="streaming").item()
    with (
        atomic_folder(kept) as scratch,
        progress(f"Scoring {place.name}", total=total) as advance,
    ):
        score_into(corpus, scratch, plan, threads=threads, memory=memory, advance=advance)
    _forget_oldest(kept.parent)
    return Scores.open(kept)


def require_run(place: Path) -> None:
    """Refuse a place at which there is nothing, before anything else is scored.

    Examples:
        >>> require_run(Path("nowhere"))
        Traceback (most recent call last):
        ...
        dialens.DialensError: nowhere does not exist. Name a score folder (what `dialens score` ...
    """
    if not place.exists():
        raise DialensError(
            f"{place} does not exist. Name a score folder (what `dialens score` wrote), "
            "or a file or folder of conversations."
        )


def _digest(corpus: Corpus) -> str:
    """What tells these turns from others: the same file may be read in another way."""
    each = pl.struct(pl.all()).hash(seed=0)
    sums = corpus.turns.select(each.sum(), least=each.min(), most=each.max(), n=pl.len())
    return sha256(repr(sums.collect(engine="streaming").rows()).encode()).hexdigest()


def is_score_folder(place: Path) -> bool:
    """Whether a place is a folder that `dialens score` wrote.

    Examples:
        >>> is_score_folder(Path("nowhere"))
        False
    """
    return (place / _MARK).exists()


def _forget_oldest(folder: Path) -> None:
    runs = sorted(folder.iterdir(), key=lambda place: place.stat().st_mtime, reverse=True)
    for run in runs[_KEPT:]:
        shutil.rmtree(run, ignore_errors=True)
