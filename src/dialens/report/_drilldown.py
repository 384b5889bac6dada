"""The dialogues a reader can open: a fair sample, every turn's scores, and the words behind them.

The values are those of the scores; where a run kept no turns, only dialogues have values. The words
are marked anew.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dialens.corpus import Corpus
from dialens.metrics import MetricCard, Resources, Scores
from dialens.report._word_marks import CountedWords, check_resources, counts_partner, marked_from
from dialens.statistics import Floats

_MOST_TURNS = 200
_MOST_CHARACTERS = 6_000
_MOST_UNFOLDED = 12
_FEWEST_FOLDED = 3


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


def sample_dialogs(dialogs: pl.LazyFrame, most: int, seed: int) -> Sample:
    """Draw dialogues, as many of every agent as there is room for.

    Args:
        dialogs: Columns `agent` and `dialog`, one row a dialogue.
        most: How many at most.
        seed: Of the draw.

    Examples:
        >>> frame = pl.DataFrame({"agent": [0, 0, 0, 0, 1], "dialog": list("abcde")})
        >>> drawn = sample_dialogs(frame.lazy(), 3, seed=0)
        >>> len(drawn.dialogs), "e" in drawn.dialogs, drawn.total
        (3, True, 5)
    """
    agents = dialogs.select("agent").collect(engine="streaming")["agent"]
    total = len(agents)
    if total <= most:
        return Sample(dialogs.select("dialog").collect()["dialog"].to_list(), total)
    chances = np.random.default_rng([seed, 1]).random(total)
    # Dialogues of an agent in random order, then one of each agent in turn until the room is full.
    drawn = (
        pl.concat(_first_drawn(agents, chances, most))
        .with_columns(place=pl.col("chance").rank("ordinal").over("agent"))
        .sort("place", "chance")
        .head(most)
    )
    here = pl.col("row").is_in(drawn["row"].implode())
    chosen = dialogs.select("dialog").with_row_index("row").filter(here)
    return Sample(chosen.collect(engine="streaming")["dialog"].to_list(), total)


def _first_drawn(agents: pl.Series, chances: Floats, most: int) -> list[pl.DataFrame]:
    """For each agent, the dialogues with the smallest chances: no other can be in the sample."""
    parts = []
    rows_of = agents.to_frame("agent").with_row_index("row").group_by("agent").agg("row")
    for agent, rows in zip(rows_of["agent"], rows_of["row"], strict=True):
        own = rows.to_numpy()
        if len(own) > most:
            own = own[np.argpartition(chances[own], most - 1)[:most]]
        parts.append(
            pl.DataFrame({"agent": agent, "row": own, "chance": chances[own]}).cast(
                {"agent": agents.dtype, "row": pl.UInt32}
            )
        )
    return parts


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
    check_resources(scores.signatures, resources)
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
    sampled = pl.col("dialog").is_in(list(sample.dialogs))
    chosen = scores.dialog_columns(headline).filter(sampled).collect(engine="streaming")
    of_dialog = {row[2]: row[3:] for row in chosen.rows()}
    words = CountedWords(resources)
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


def _lenses(
    metrics: Sequence[MetricCard], per_turn: Sequence[MetricCard]
) -> dict[str, dict[str, Any]]:
    """What can be marked, whether the other side's words count as well, and the values beside it.

    `parts` and `wholes` are places in `turnMetrics`.
    """
    lenses = {}
    for lens, partner in counts_partner(metrics).items():
        shown = [(place, card) for place, card in enumerate(per_turn) if card.lens == lens]
        lenses[lens] = {
            "partner": partner,
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
