"""Where agents stand in another order among people than their typical dialogues, and why.

A place differs from a typical value in two ways (`metrics/_placing.py`): every dialogue is held
against people who wrote about as much, and the place is a mean over dialogues where the typical one
is their median. Which of the two turned the order is computed, not assumed.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from dialens.base import listed
from dialens.metrics import PEOPLE, SizedValues, bands_of, reference_values, turned_by_length
from dialens.report._charts import FEW_AGENTS
from dialens.report._digest import Digest, Unit
from dialens.statistics import FEWEST

_APART = 5.0
"""Percent of people, from which on the order of two agents is worth a word."""


def reordered(digest: Digest, names: Sequence[str]) -> list[str]:
    """A sentence for each reason why agents stand in another order than their typical dialogues."""
    if len(digest.agents) > FEW_AGENTS:
        return []
    known = reference_values().fitting(digest.signatures)
    by_length: dict[str, str] = {}
    by_mean: list[str] = []
    for name in names:
        turned = list(_turned(digest, name))
        sized = digest.sized(name) if turned else {}
        for lower, upper in turned:
            one, other = sized[lower.number], sized[upper.number]
            if turned_by_length(known, name, PEOPLE, one, other):
                bands = known.distributions(name, "dialog", PEOPLE)
                words = [_typical_words(each) for each in (one, other)]
                apart = len(set(bands_of(bands, np.array(words)))) > 1
                amounts = (
                    f"{lower.name} wrote {words[0]:,.0f} words in its typical dialogue, "
                    f"{upper.name} {words[1]:,.0f}"
                )
                by_length[name] = by_length.get(name) or (amounts if apart else "")
            elif name not in by_mean:
                by_mean.append(name)
    return [*_length_words(digest, by_length), *_mean_words(digest, by_mean)]


def _turned(digest: Digest, name: str) -> Iterator[tuple[Unit, Unit]]:
    """Pairs of which the first stands clearly below, though its typical value is the higher."""
    places = {
        unit.number: percentile
        for unit in digest.agents
        if (percentile := digest.place(unit.number, name).percentile) is not None
    }
    many = [unit for unit in digest.agents if unit.number in places and unit.dialogs >= FEWEST]
    for pair in combinations(many, 2):
        lower, upper = sorted(pair, key=lambda unit: places[unit.number])
        values = [digest.typical(unit.number, name) or 0.0 for unit in (lower, upper)]
        shown = {digest.scales[name].text(value) for value in values}
        apart = places[upper.number] - places[lower.number] >= _APART
        if values[0] > values[1] and len(shown) > 1 and apart:
            yield lower, upper


def _typical_words(sized: SizedValues) -> float:
    return 0.0 if sized.words is None else float(np.median(sized.words))


def _length_words(digest: Digest, amounts: dict[str, str]) -> list[str]:
    if not amounts:
        return []
    example = next(filter(None, amounts.values()), "")
    return [
        f"In {_labels(digest, list(amounts))} agents stand in another order here than by their "
        "typical dialogues, since each dialogue is held against people who wrote about as much"
        f"{': ' if example else ''}{example}."
    ]


def _mean_words(digest: Digest, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [
        f"In {_labels(digest, names)} agents stand in another order here than by their typical "
        "dialogues: a place is the average over all dialogues, a typical dialogue the middle one."
    ]


def _labels(digest: Digest, names: Sequence[str]) -> str:
    return listed([digest.label(name).lower() for name in names])
