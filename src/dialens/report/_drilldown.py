"""The dialogues a reader can open: a fair sample, every turn's scores, and the words behind them.

The values are those of the scores; where a run kept no turns, only dialogues have values. The words
are marked anew: the tokens are those of the tokeniser, the weights those of the lexicons that were
counted with.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dialens.base import DialensError
from dialens.corpus import Corpus
from dialens.metrics import MetricCard, Resources, Scores
from dialens.text import is_word, spans_of_texts

_OF_FUNCTION_WORDS = 0.9
_MOST_TURNS = 200
_MOST_CHARACTERS = 6_000
_MOST_UNFOLDED = 12
_FEWEST_FOLDED = 3
_WORD, _CONTENT, _QUESTION = 1, 2, 4
_LENSES = ("emotion", "style", "content", "question")


@dataclass(frozen=True)
class Sample:
    """Which dialogues a report holds.

    Attributes:
        dialogs: Their names, in the order of the corpus.
        total: How many there are in all.
    """

    dialogs: Sequence[str]
    total: int

    @property
    def whole(self) -> bool:
        """Whether nothing was left out."""
        return len(self.dialogs) == self.total


def sample_dialogs(dialogs: pl.DataFrame, most: int, seed: int) -> Sample:
    """Draw dialogues, as many of every agent as there is room for.

    Args:
        dialogs: Columns `agent` and `dialog`, one row a dialogue.
        most: How many at most.
        seed: Of the draw.

    Examples:
        >>> frame = pl.DataFrame({"agent": [0, 0, 0, 0, 1], "dialog": list("abcde")})
        >>> drawn = sample_dialogs(frame, 3, seed=0)
        >>> len(drawn.dialogs), "e" in drawn.dialogs, drawn.total
        (3, True, 5)
    """
    if dialogs.height <= most:
        return Sample(dialogs["dialog"].to_list(), dialogs.height)
    rng = np.random.default_rng([seed, 1])
    # Dialogues of an agent in random order, then one of each agent in turn until the room is full.
    drawn = (
        dialogs.select("agent", "dialog")
        .with_row_index("row")
        .with_columns(chance=pl.Series(rng.random(dialogs.height)))
        .with_columns(place=pl.col("chance").rank("ordinal").over("agent"))
        .sort("place", "chance")
        .head(most)
        .sort("row")
    )
    return Sample(drawn["dialog"].to_list(), dialogs.height)


def drilldown(
    scores: Scores,
    corpus: Corpus,
    sample: Sample,
    numbers: Mapping[tuple[str, str], int],
    *,
    headline: Sequence[str],
    resources: Resources,
) -> dict[str, Any]:
    """The sampled dialogues with their scores and counted words, ready to be written as JSON.

    Args:
        scores: Of the whole run; says which metrics there are.
        corpus: The conversations.
        sample: Which of them.
        numbers: The number of an agent by its system and name.
        headline: Metrics by which dialogues can be sorted.
        resources: What the run was scored with; other ones are refused.
    """
    _check_resources(scores, resources)
    turns = (
        corpus.turns.filter(pl.col("dialog").is_in(list(sample.dialogs)))
        .select("system", "agent", "dialog", "turn", "speaker", "role", "text")
        .collect(engine="streaming")
    )
    rows = _turn_rows(scores, sample)
    kept = set(rows["metric"].unique())
    per_turn = [card for name, card in scores.cards.items() if name in kept]
    reasons = rows["reason"].drop_nulls().unique(maintain_order=True).sort().to_list()
    turn_values = _turn_values(rows, [card.name for card in per_turn], reasons)
    chosen = scores.dialog_values(headline).filter(pl.col("dialog").is_in(list(sample.dialogs)))
    of_dialog = {row[2]: row[3:] for row in chosen.rows()}
    words = _Words(resources)
    dialogs = []
    for key, talk in turns.group_by("system", "agent", "dialog", maintain_order=True):
        system, agent, dialog = (str(part) for part in key)
        shown = talk.head(_MOST_TURNS)
        texts = [text or "" for text in shown["text"]]
        cut = [text[:_MOST_CHARACTERS] for text in texts]
        counted = words.of(cut, [len(text) > _MOST_CHARACTERS for text in texts])
        made = [
            _turn(row, text, tokens, len(full) - len(text), turn_values.get((dialog, row["turn"])))
            for row, text, tokens, full in zip(
                shown.iter_rows(named=True), cut, counted, texts, strict=True
            )
        ]
        values = [_short(value) for value in of_dialog.get(dialog, [None] * len(headline))]
        entry = {"id": dialog, "agent": numbers[system, agent], "values": values, "turns": made}
        if talk.height > _MOST_TURNS:
            entry["more"] = talk.height - _MOST_TURNS
        dialogs.append(entry)
    return {
        "dialogs": dialogs,
        "words": words.table(),
        "emotions": list(resources.emotion.categories),
        "least": round(marked_from(resources), 3),
        "styles": [name.replace("_", " ") for name in resources.style.categories],
        "turnMetrics": _turn_metrics(per_turn, headline),
        "sortMetrics": [{"name": n, "label": scores.cards[n].label} for n in headline],
        "reasons": reasons,
        "prompt": resources.prompt,
        "lenses": _lenses(list(scores.cards.values()), per_turn),
    }


def marked_from(resources: Resources) -> float:
    """The weight from which an emotion word is marked: what function words hardly reach.

    A lexicon learned from text gives small weights to nearly every word, "the" included. What nine
    of ten function words stay below says nothing of an emotion, whatever the word; such words still
    count towards the scores. Where function words weigh as much as any, nothing is left out.

    Examples:
        >>> weights = Resources().emotion.weights(pl.Series(["the", "monday", "afraid"]))
        >>> (weights.max(axis=1) >= marked_from(Resources())).tolist()
        [False, False, True]
    """
    function_words = resources.stop.entries["term"].unique().sort()
    weights = np.abs(resources.emotion.weights(function_words)).max(axis=1, initial=0.0)
    weighing = weights[weights > 0]
    if not len(weighing):
        return 0.0
    bound = float(np.quantile(weighing, _OF_FUNCTION_WORDS))
    heaviest = float(resources.emotion.entries["weight"].abs().max() or 0.0)  # type: ignore[arg-type]
    return bound if bound < heaviest else 0.0


def _turn_rows(scores: Scores, sample: Sample) -> pl.DataFrame:
    chosen = (pl.col("level") == "turn") & pl.col("dialog").is_in(list(sample.dialogs))
    columns = ("metric", "dialog", "turn", "value", "reason")
    return scores.table.filter(chosen).select(columns).collect(engine="streaming")


def _turn_metrics(metrics: Sequence[MetricCard], headline: Sequence[str]) -> list[dict[str, str]]:
    """Metrics of a turn with the family they are folded under: none for those that come first.

    Nothing is folded where there are few metrics, and no family of one or two.
    """
    sizes = Counter(card.family for card in metrics if card.name not in headline)
    few = len(metrics) <= _MOST_UNFOLDED

    def group(card: MetricCard) -> str:
        first = card.name in headline or sizes[card.family] < _FEWEST_FOLDED
        return "" if few or first else card.family_label

    return [{"name": card.name, "label": card.long_label, "group": group(card)} for card in metrics]


def _check_resources(scores: Scores, resources: Resources) -> None:
    """Refuse other lexicons, another prompt or seed than the signatures name."""
    lexicons = (resources.emotion, resources.style, resources.stop)
    allowed = {
        "lex": {f"{lexicon.name}@{lexicon.sha256[:8]}" for lexicon in lexicons},
        "prompt": {resources.prompt},
        "seed": {str(resources.seed)},
    }
    for name, signature in scores.signatures.items():
        for part in signature.split("|")[2:]:
            key, _, value = part.partition(":")
            if value not in allowed.get(key, {value}):
                raise DialensError(
                    f"The report was given other resources than the scores: {name} was scored as "
                    f"{signature}, and now has {key}:{' or '.join(sorted(allowed[key]))}. "
                    "Give the same lexicons, prompt and seed, or score again."
                )


def _lenses(
    metrics: Sequence[MetricCard], per_turn: Sequence[MetricCard]
) -> dict[str, dict[str, Any]]:
    """What can be marked, whether the other side's words count as well, and the values beside it.

    `parts` and `wholes` are places in `turnMetrics`.
    """
    lenses = {}
    for lens in _LENSES:
        members = [card for card in metrics if card.lens == lens]
        shown = [(place, card) for place, card in enumerate(per_turn) if card.lens == lens]
        if members:
            lenses[lens] = {
                "partner": any("partner" in card.needs for card in members),
                "parts": [place for place, card in shown if card.part_of],
                "wholes": [place for place, card in shown if not card.part_of],
            }
    return lenses


def _turn(
    row: Mapping[str, Any],
    text: str,
    tokens: list[int],
    left_out: int,
    values: tuple[list[float | None], dict[int, int]] | None,
) -> dict[str, Any]:
    turn: dict[str, Any] = {"speaker": row["speaker"] or "", "text": text, "tokens": tokens}
    if row["role"] == "agent":
        turn["own"] = 1
    if values is not None:
        turn["values"], why = values
        if why:
            turn["why"] = why
    if left_out:
        turn["cut"] = left_out
    return turn


def _turn_values(
    rows: pl.DataFrame, names: Sequence[str], reasons: Sequence[str]
) -> dict[tuple[str, int], tuple[list[float | None], dict[int, int]]]:
    """Values of a turn in the order of `names`, and for those that are missing the reason."""
    place = {name: number for number, name in enumerate(names)}
    code = {reason: number for number, reason in enumerate(reasons)}
    made: dict[tuple[str, int], tuple[list[float | None], dict[int, int]]] = {}
    for metric, dialog, turn, value, reason in rows.iter_rows():
        values, why = made.setdefault((dialog, turn), ([None] * len(names), {}))
        values[place[metric]] = _short(value)
        if reason is not None:
            why[place[metric]] = code[reason]
    return made


def _short(value: float | None) -> float | None:
    """Five significant digits: what is shown has fewer."""
    return None if value is None else float(f"{value:.5g}")


class _Words:
    """The distinct counted words of all embedded turns, numbered in order of appearance."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._numbers: dict[str, int | None] = {}
        self._rows: list[list[Any]] = []

    def of(self, texts: Sequence[str], was_cut: Sequence[bool]) -> list[list[int]]:
        """For each text start, length and word number of each counted word, one after another.

        Places are in UTF-16 units, as JavaScript counts. The last token of a text that was cut
        may be half a word, and is left alone.
        """
        found = spans_of_texts(texts)
        found = [spans[:-1] if half else spans for spans, half in zip(found, was_cut, strict=True)]
        self._learn([token for spans in found for _, _, token in spans])
        made = []
        for text, spans in zip(texts, found, strict=True):
            place = _utf16_places(text)
            flat: list[int] = []
            for start, end, token in spans:
                number = self._numbers[token]
                if number is not None:
                    flat += [place[start], place[end] - place[start], number]
            made.append(flat)
        return made

    def _learn(self, tokens: Sequence[str]) -> None:
        fresh = [token for token in dict.fromkeys(tokens) if token not in self._numbers]
        if not fresh:
            return
        words = pl.Series("w", fresh, dtype=pl.String)
        about = words.to_frame().select(
            word=is_word("w"), mark=pl.col("w").str.contains("?", literal=True) & ~is_word("w")
        )
        emotion = self._resources.emotion.weights(words)
        style = self._resources.style.weights(words)
        stopped = (self._resources.stop.weights(words) != 0).any(axis=1)
        for token, weights, kinds, is_stop, (word, mark) in zip(
            fresh, emotion, style, stopped.tolist(), about.iter_rows(), strict=True
        ):
            felt = {int(i): round(float(weights[i]), 3) for i in np.flatnonzero(weights)}
            categories = [int(i) for i in np.flatnonzero(kinds)]
            flags = _WORD * word + _CONTENT * (word and not is_stop) + _QUESTION * mark
            if not (felt or categories or flags & (_CONTENT | _QUESTION)):
                self._numbers[token] = None
                continue
            self._numbers[token] = len(self._rows)
            self._rows.append([token, felt, categories, flags])

    def table(self) -> list[list[Any]]:
        """One row a word: the word, its emotions with weights, its kinds of function word, flags.

        Flags: 1 a word, 2 a content word, 4 a question mark.
        """
        return self._rows


def _utf16_places(text: str) -> Sequence[int]:
    """The place of each character, and of the end, as JavaScript counts.

    Examples:
        >>> list(_utf16_places("a😀b"))
        [0, 1, 3, 4]
    """
    if text.isascii() or max(text) <= "\uffff":
        return range(len(text) + 1)
    places = [0]
    for character in text:
        places.append(places[-1] + (2 if character > "\uffff" else 1))
    return places
