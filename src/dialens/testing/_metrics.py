"""What every metric promises."""

import pickle
import random
import string
from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from dialens.base import DialensError
from dialens.corpus import LEVELS, Corpus, Dialogue, Reference, Turn
from dialens.metrics import (
    BatchScorer,
    MetricCard,
    Part,
    Resources,
    ScoredBatch,
    ScoringPlan,
    long,
    make_plan,
    merged_parts,
    open_scorers,
    score_parts,
)
from dialens.testing._promise import promise

_CASES = 15
_APART = 5  # every so many of them are scored by processes of their own, too
_EXACT, _MODEL = 1e-12, 1e-3
_LETTERS = set(string.ascii_lowercase + string.digits + "_")
_SPOKEN = (
    "i you it the a and but of to is do not never all happy sad angry scared love hate thanks wow "
    "disgusting hope cat zebra ? ! . , don't we're 42 😀 größe 雨"
)
_WORDS = _SPOKEN.split()
_KEY = ["metric", "level", "system", "agent", "dialog", "turn"]


def check_metric(*cards: MetricCard, resources: Resources | None = None) -> None:
    """Check that metrics keep their promises; several are scored together, which is faster.

    A card is filled in and its signature names it. Neither the size of the batches nor the number
    of threads nor the order of the dialogues changes a value, nor do batches that several processes
    scored. Values are finite and lie in the
    declared range; each that is missing has a reason, and every turn of the agent is counted.

    Args:
        cards: What `metric` made, or what `cards_of` makes of a `Family`.
        resources: Lexicons, models, weights, where the defaults will not do.

    Raises:
        AssertionError: Says which promise is broken.

    Examples:
        >>> from dialens.metrics import metric, metrics, turn_mean
        >>> check_metric(metrics()["question"])
        >>> @metric("loudness", meaning="Share of marks", family="surface", range=(0.0, 1.0))
        ... def loudness(resources):
        ...     count = lambda batch: batch.turns["text"].str.count_matches("!").to_numpy() * 1.0
        ...     return turn_mean("loudness", count)
        >>> check_metric(loudness)
        Traceback (most recent call last):
        ...
        AssertionError: The metric loudness gives 3, above the 1 that its range declares. ...
    """
    used = resources or Resources()
    for card in cards:
        _check_card(card, used)
    plan = make_plan(cards, used)
    kept = [metric.card for metric in plan.metrics]
    for case in range(_CASES):
        draw = random.Random(case)
        talks = _talks(draw)
        rows = _scored(talks, plan)
        batch = draw.randint(1, 4)
        changes = {
            f"batches of {batch} turns and two threads": _scored(talks, plan, batch, threads=2),
            "another order of the dialogues": _scored(draw.sample(talks, len(talks)), plan),
        }
        if case % _APART == 0:
            apart = _scored_apart(talks, plan, batch)
            changes["batches that several processes scored"] = apart
        spoken = sum(turn.role == "agent" for talk in talks for turn in talk.turns)
        for card in kept:
            mine = pl.col("metric") == card.name
            _check_rows(card, rows.filter(mine), spoken)
            for change, others in changes.items():
                _check_same(card, rows.filter(mine), others.filter(mine), change)


def _check_card(card: MetricCard, resources: Resources) -> None:
    who = f"The metric {card.name}"
    promise(
        card.name and set(card.name) <= _LETTERS,
        f"{who}: a name has small letters, digits and underscores only.",
    )
    promise(card.meaning[:1].isupper(), f"{who} says no meaning that begins with a capital.")
    promise(card.family, f"{who} belongs to no family.")
    promise(
        card.levels and set(card.levels) <= set(LEVELS),
        f"{who} is defined on {card.levels}; levels are {', '.join(LEVELS)}.",
    )
    low, high = card.range
    promise(low is None or high is None or low < high, f"{who} has an empty range: {card.range}.")
    signature = card.bind(resources).signature
    promise(
        signature.startswith(f"{card.name}|v{card.version}"),
        f"{who} signs as {signature}; a signature begins with name and version.",
    )
    promise(
        signature == card.bind(resources).signature,
        f"{who} signs differently when it is bound to the same resources again.",
    )


def _talks(draw: random.Random) -> list[Dialogue]:
    """A few conversations of a few words, with empty turns, one-sided ones and references."""

    def text() -> str:
        return " ".join(draw.choices(_WORDS, k=draw.randint(0, 8)))

    talks = []
    for number in range(draw.randint(2, 6)):
        roles = draw.choices(["agent", "partner"], k=draw.randint(1, 5))
        turns = [Turn(role, role, text()) for role in roles]
        talk = Dialogue(draw.choice(["s1", "s2"]), draw.choice("ab"), f"d{number}", turns)
        talk.references.extend(
            Reference(place, text() or "hope")
            for place, role in enumerate(roles)
            if role == "agent" and draw.random() < 0.7
        )
        talks.append(talk)
    talks.append(Dialogue("s1", "a", "marks", [Turn("agent", "agent", "! ! ! wow")]))
    return talks


def _scored(
    talks: list[Dialogue], plan: ScoringPlan, batch: int = 1000, *, threads: int = 1
) -> pl.DataFrame:
    corpus = Corpus.of(talks)
    references = open_scorers(corpus, plan)
    parts = score_parts(corpus.batches(turns=batch), plan, references=references, threads=threads)
    return _table(parts, plan)


def _scored_apart(talks: list[Dialogue], plan: ScoringPlan, batch: int) -> pl.DataFrame:
    """As several processes score: each batch by a scorer that knows no word, and sent as bytes."""
    corpus = Corpus.of(talks)
    references = open_scorers(corpus, plan)

    def sent() -> Iterator[ScoredBatch]:
        for turns in corpus.batches(turns=batch):
            scorer = BatchScorer(plan)
            scored = scorer.score(scorer.see(turns, references))
            yield pickle.loads(pickle.dumps(scored))

    return _table(merged_parts(sent(), plan), plan)


def _table(parts: Iterable[Part], plan: ScoringPlan) -> pl.DataFrame:
    signatures = {metric.name: metric.signature for metric in plan.metrics}
    try:
        return pl.concat([long(part, signatures) for part in parts]).sort(_KEY)
    except DialensError as error:
        raise AssertionError(str(error)) from error


def _check_rows(card: MetricCard, rows: pl.DataFrame, spoken: int) -> None:
    who = f"The metric {card.name}"
    values = rows["value"].drop_nulls()
    promise(values.is_finite().all(), f"{who} gives an infinite value.")
    units = rows.filter(pl.col("level") != "position")
    unexplained = units.filter(pl.col("value").is_null() & pl.col("reason").is_null())
    promise(unexplained.is_empty(), f"{who} has no value somewhere, and gives no reason.")
    whole = units.filter(pl.col("level") == "system")
    if "system" in card.levels:
        counted = int((whole["n"] + whole["n_missing"]).sum())
        promise(
            counted == spoken,
            f"{who} accounts for {counted} turns of the agents; there are {spoken}.",
        )
    turns = units.filter(pl.col("level") == "turn").height
    promise(
        turns == (spoken if "turn" in card.levels else 0),
        f"{who} has {turns} rows of turns; the agents have {spoken}.",
    )


def _check_same(card: MetricCard, one: pl.DataFrame, two: pl.DataFrame, change: str) -> None:
    """The same rows, and values equal but for rounding (models see other batches)."""
    family = card.scored_by
    tolerance = _EXACT if family is None or family.kind == "words" else _MODEL
    same = one.drop("value").equals(two.drop("value")) and np.allclose(
        one["value"].to_numpy(), two["value"].to_numpy(), rtol=1e-9, atol=tolerance, equal_nan=True
    )
    promise(same, f"The metric {card.name} gives other values with {change}.")
