"""The best and the worst replies on one quality, to be read and quoted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.corpus import Corpus
from dialens.metrics import PEOPLE, PlaceAmong, Scores, bands_of, reference_values
from dialens.report._among import place_words
from dialens.report._digest import Digest

_EACH = 2
_CANDIDATES = 40
_LONGEST = 420
_LONGEST_BEFORE = 200


@dataclass(frozen=True)
class Example:
    """A reply with what it answers.

    Attributes:
        agent: Who says it.
        dialog: Where.
        before: What the partner said before; empty where it speaks first.
        text: The reply.
        value: Its score, written out.
        place: Its place among people's replies, in words; may be empty.
        number: Of the agent.
    """

    agent: str
    dialog: str
    before: str
    text: str
    value: str
    place: str
    number: int


@dataclass(frozen=True)
class Examples:
    """The replies that score best and worst.

    Attributes:
        label: Of the quality.
        meaning: What it measures.
        best: Those to be proud of, or the highest where no way is better.
        worst: The others.
        heads: What both are called.
    """

    label: str
    meaning: str
    best: Sequence[Example]
    worst: Sequence[Example]
    heads: tuple[str, str]


def find_examples(digest: Digest, scores: Scores, corpus: Corpus) -> Examples | None:
    """Examples for the first quality of which a higher or lower value is better.

    None where turns have no values, or all have the same.
    """
    names = [name for name in digest.headline if "turn" in digest.cards[name].levels]
    names.sort(key=lambda name: digest.cards[name].higher_is_better is None)
    for name in names:
        rows = scores.table.filter(
            (pl.col("level") == "turn") & (pl.col("metric") == name) & pl.col("value").is_not_null()
        ).select("system", "agent", "dialog", "turn", "value")
        order = ["value", "dialog", "turn"]
        low, high = pl.collect_all(
            [rows.bottom_k(_CANDIDATES, by=order), rows.top_k(_CANDIDATES, by=order)],
            engine="streaming",
        )
        low, high = low.sort(order), high.sort(order, descending=True)
        if not low.height or low["value"][0] == high["value"][0]:
            continue
        middle = (low["value"][0] + high["value"][0]) / 2
        above = _chosen(digest, scores, corpus, name, high.filter(pl.col("value") > middle))
        below = _chosen(digest, scores, corpus, name, low.filter(pl.col("value") < middle))
        card = digest.cards[name]
        heads = ("Highest", "Lowest") if card.higher_is_better is None else ("Best", "Worst")
        best, worst = (below, above) if card.higher_is_better is False else (above, below)
        return Examples(card.label, card.meaning, best, worst, heads)
    return None


def _chosen(
    digest: Digest, scores: Scores, corpus: Corpus, name: str, rows: pl.DataFrame
) -> list[Example]:
    """The first of the candidates, each of another dialogue and with another text."""
    dialogs = rows["dialog"].unique().implode()
    turns = (
        corpus.turns.filter(pl.col("dialog").is_in(dialogs))
        .select("system", "agent", "dialog", "turn", "role", "text")
        .collect(engine="streaming")
    )
    texts = {(row[2], row[3]): (row[4], row[5] or "") for row in turns.iter_rows()}
    lengths = {
        (dialog, turn): value
        for dialog, turn, value in scores.table.filter(
            (pl.col("level") == "turn")
            & (pl.col("metric") == "length")
            & pl.col("dialog").is_in(dialogs)
        )
        .select("dialog", "turn", "value")
        .collect(engine="streaming")
        .iter_rows()
    }
    numbers = {(unit.system, unit.agent): unit for unit in digest.agents}
    made: list[Example] = []
    seen: set[str] = set()
    for system, agent, dialog, turn, value in rows.iter_rows():
        _, text = texts.get((dialog, turn), ("", ""))
        plain = " ".join(text.split())
        if not plain or plain.lower() in seen or any(dialog == each.dialog for each in made):
            continue
        seen.add(plain.lower())
        unit = numbers[system, agent]
        made.append(
            Example(
                unit.name,
                dialog,
                _cut(_before(texts, dialog, turn), _LONGEST_BEFORE),
                _cut(plain, _LONGEST),
                digest.scales[name].text(value),
                _place(scores, name, value, lengths.get((dialog, turn))),
                unit.number,
            )
        )
        if len(made) == _EACH:
            break
    return made


def _before(texts: dict[tuple[str, int], tuple[str, str]], dialog: str, turn: int) -> str:
    for place in range(turn - 1, -1, -1):
        role, text = texts.get((dialog, place), ("", ""))
        if text and role != "agent":
            return " ".join(text.split())
    return ""


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most].rsplit(' ', 1)[0]} …"


def _place(scores: Scores, name: str, value: float, words: float | None) -> str:
    known = reference_values().fitting({name: scores.signatures[name]})
    if known.why_not(name, scores.signatures[name]) is not None:
        return ""
    distributions = known.distributions(name, "turn", PEOPLE)
    if not distributions:
        return ""
    band = 0 if words is None else int(bands_of(distributions, np.array([words]))[0])
    percentile = float(distributions[band].percentiles(np.array([value]))[0])
    return f"higher than {place_words(PlaceAmong(percentile), brief=True)} of replies by people"
