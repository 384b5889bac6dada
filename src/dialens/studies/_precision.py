"""How precisely a study knows what it compares, by an interval that holds however often one looks.

People are the units: each gives one mean, or one difference of means where everybody judges all
agents. What is known holds for other people and these items. An interval at any moment, the one at
which the study stops included, is that of a confidence sequence (`dialens.statistics`), and all
differences that are compared hold together (Bonferroni).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dialens.base import interval, number
from dialens.statistics import Floats, gains, sequence_reach
from dialens.studies._study import Study
from dialens.studies.design import AGENT, compared

PRECISE, AT_MOST = "precise", "at_most"
CLOSED = "closed by precision"
"""How a cell is called that is open, in a study that has stopped."""
_NOBODY = "nobody new is let in"
_ALIKE = 0.1
"""Of a scale's length: a standard deviation of people's means that is rarely met."""
CONFIDENCE = 0.95
_PLANNED = 50.0
"""People in a cell at which intervals are narrowest; fixed, since it may not follow the data."""


@dataclass(frozen=True)
class PersonMeans:
    """What one participant said of a quality.

    Attributes:
        cell: The condition.
        overall: Mean of all their ratings.
        agents: Means by agent.
    """

    cell: str
    overall: float
    agents: Mapping[str, float]


@dataclass(frozen=True)
class Comparison:
    """A difference, or the mean where nothing is compared.

    Attributes:
        name: `both − none`.
        value: The estimate.
        low: End of the interval that holds at all times.
        high: The other end.
    """

    name: str
    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """How far either end lies from the estimate."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        ends = interval(self.low, self.high, 2)
        return f"{self.name}: {number(self.value, 2)} ({ends}, ± {number(self.half_width, 2)})"


@dataclass(frozen=True)
class Precision:
    """What a study knows, and whether it is enough.

    Attributes:
        quality: Of what.
        half_width: What is wanted.
        at_most: People after whom nobody new is let in, whatever is known.
        people: People who count, by cell.
        comparisons: What is known; empty before there are enough people.
        missing: Why nothing is known yet; empty if something is.
        stopped: `precise` or `at_most`; none while more people are let in.
        needs: By cell, how much a further person would tell, but for how many there are.
    """

    quality: str
    half_width: float
    at_most: int
    people: Mapping[str, int]
    comparisons: tuple[Comparison, ...]
    missing: str
    stopped: str | None
    needs: Mapping[str, float]

    def state_of(self, state: str) -> str:
        """The state of a cell in words: an open one takes nobody once the study has stopped."""
        return CLOSED if self.stopped is not None and state == "open" else state

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same in words, for researchers and reports."""
        total = sum(self.people.values())
        if self.missing:
            wanted = f"{self.quality} is to be known to ± {self.half_width:g}: {self.missing}."
            over = f"The most people that are wanted have come ({total:,} completed): {_NOBODY}."
            return (wanted, over) if self.stopped == AT_MOST else (wanted,)
        wide = max(one.half_width for one in self.comparisons)
        ends = {
            PRECISE: f"which is enough: {_NOBODY} ({total:,} people)",
            AT_MOST: f"and the most people that are wanted have come ({total:,}): {_NOBODY}",
            None: f"± {self.half_width:g} is wanted, and {total:,} of at most {self.at_most:,} "
            "people have completed the study",
        }
        return (
            f"{self.quality} is known to ± {number(wide, 2)}, {ends[self.stopped]}.",
            "95 % confidence sequence, valid however often one looks, for other people and these "
            f"items: {'; '.join(map(str, self.comparisons))}.",
        )


PRECISION_METHOD = (
    "Participants were allocated and the study stopped by precision: the next place went to the "
    "cell where it told most about what is compared, and nobody new was let in once every interval "
    "was narrow enough, or the most people wanted had come. Intervals are those of an asymptotic "
    "confidence sequence (Waudby-Smith et al. 2024; normal mixture, people as units, Bonferroni "
    "over differences), which holds at all times at once and so at the time of stopping."
)


def precision(study: Study, people: Sequence[PersonMeans], taken: int) -> Precision:
    """How precisely a study knows what it compares.

    Args:
        study: As it is run now, with `allocation.kind: precision`.
        people: Who completed it and counts.
        taken: Places that are taken, by those who completed and those under way.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> wanted = {"kind": "precision", "quality": "warmth", "half_width": 0.5}
        >>> likert = {"warmth": {"instrument": {"kind": "likert", "points": 7}}}
        >>> two = {"layout": {"levels": ["together", "separate"]}}
        >>> changes = {"qualities": likert, "factors": two, "presentation": {}}
        >>> tea = study_of(TEA | changes | {"allocation": wanted})
        >>> means = [PersonMeans(c.name, 3 + n % 2, {}) for c in tea.cells for n in range(30)]
        >>> print(*precision(tea, means, taken=60).comparisons)
        together − separate: 0.00 (−0.42 to 0.42, ± 0.42)
    """
    wanted = study.design.allocation
    assert wanted.quality is not None
    assert wanted.half_width is not None
    cells = [cell.name for cell in study.cells]
    counts = {name: sum(one.cell == name for one in people) for name in cells}
    at_most = wanted.at_most or sum(study.targets.values())
    found = [] if min(counts.values()) < 2 else list(_contrasts(study, people, cells))
    least = max(wanted.at_least, 2)
    missing = ""
    if min(counts.values()) < least:
        missing = f"nothing is said before each cell has {least:,} people"
    elif not found:
        missing = "too few people have judged two agents"
    else:
        same = [one.name for one in found if not (one.weights**2 @ one.variance) > 0]
        if same:
            missing = f"everybody says the same ({same[0]}), so how far others differ is not seen"
    comparisons = () if missing else tuple(_comparison(one, len(found)) for one in found)
    stopped = None
    if comparisons and max(one.half_width for one in comparisons) <= wanted.half_width:
        stopped = PRECISE
    elif taken >= at_most:
        stopped = AT_MOST
    needs = {} if missing else _needs(found, cells)
    return Precision(
        wanted.quality, wanted.half_width, at_most, counts, comparisons, missing, stopped, needs
    )


def too_few_people(study: Study, length: float | None) -> list[str]:
    """Why `at_most` people cannot make a study as precise as is wanted, if they cannot.

    Args:
        study: As it is run.
        length: Of the scale, in points; none if it has no ends.
    """
    wanted = study.design.allocation
    if wanted.kind != "precision":
        return []
    assert wanted.half_width is not None
    cells, at_most = len(study.cells), wanted.at_most or sum(study.targets.values())
    needed = wanted.at_least * cells
    if at_most < needed:
        return [
            f"allocation: at most {at_most:,} people are let in, but nothing is said before each "
            f"of {cells:,} cells has {wanted.at_least:,} (at_least), {needed:,} in all: it cannot "
            "stop by precision. Raise at_most, or lower at_least."
        ]
    contrasts = _between(study) or [("", np.full(cells, 1 / cells))]
    each = np.full(cells, at_most / cells)
    reach = max(
        float(
            sequence_reach(
                weights,
                each,
                np.ones(cells),
                planned=_PLANNED * np.count_nonzero(weights),
                confidence=1 - (1 - CONFIDENCE) / len(contrasts),
            )
        )
        for _, weights in contrasts
    )
    alike = wanted.half_width / reach
    if length is None or alike >= _ALIKE * length:
        return []
    return [
        f"allocation: with at most {at_most:,} people ± {wanted.half_width:g} is reached only if "
        f"people's means have a standard deviation of {number(alike, 2)} points or less, which is "
        f"little on a scale of {length:g}. Raise at_most or half_width, or it stops before that."
    ]


@dataclass(frozen=True)
class _Contrast:
    """Weights of the cells, and the values of people in each."""

    name: str
    weights: Floats
    values: tuple[Floats, ...]

    @property
    def n(self) -> Floats:
        return np.array([len(own) for own in self.values], dtype=np.float64)

    @property
    def variance(self) -> Floats:
        return np.array([own.var(ddof=1) for own in self.values])


def _contrasts(
    study: Study, people: Sequence[PersonMeans], cells: Sequence[str]
) -> list[_Contrast]:
    between = _between(study)
    if between:
        values = tuple(_of(people, cell, None) for cell in cells)
        return [_Contrast(name, weights, values) for name, weights in between]
    evenly = np.full(len(cells), 1 / len(cells))
    agents = sorted({agent for one in people for agent in one.agents})
    if compared(study.design) == AGENT and len(agents) > 1:
        pairs = combinations(agents, 2)
        made = [
            _Contrast(f"{a} − {b}", evenly, tuple(_of(people, cell, (a, b)) for cell in cells))
            for a, b in pairs
        ]
        return [one for one in made if one.n.min() > 1]
    return [_Contrast("mean", evenly, tuple(_of(people, cell, None) for cell in cells))]


def _between(study: Study) -> list[tuple[str, Floats]]:
    """Differences of levels that different people meet, and weights of the cells in each."""
    what = compared(study.design)
    levels = {cell.name: cell.levels.get(what) for cell in study.cells}
    between = dict.fromkeys(level for level in levels.values() if level is not None)
    return [
        (f"{a} − {b}", _mean_of(levels, a) - _mean_of(levels, b))
        for a, b in combinations(between, 2)
    ]


def _of(people: Sequence[PersonMeans], cell: str, pair: tuple[str, str] | None) -> Floats:
    """A value of each person of a cell: their mean, or their difference of two agents."""
    own = [one for one in people if one.cell == cell]
    if pair is None:
        return np.array([one.overall for one in own])
    first, second = pair
    both = [one.agents for one in own if first in one.agents and second in one.agents]
    return np.array([agents[first] - agents[second] for agents in both])


def _mean_of(levels: Mapping[str, str | None], level: str) -> Floats:
    """Weights of the cells of a level, which count alike."""
    own = np.array([one == level for one in levels.values()], dtype=np.float64)
    weights: Floats = own / own.sum()
    return weights


def _comparison(contrast: _Contrast, together: int) -> Comparison:
    means = np.array([own.mean() for own in contrast.values])
    value = float(contrast.weights @ means)
    planned = _PLANNED * np.count_nonzero(contrast.weights)
    reach = float(
        sequence_reach(
            contrast.weights,
            contrast.n,
            contrast.variance,
            planned=planned,
            confidence=1 - (1 - CONFIDENCE) / together,
        )
    )
    return Comparison(contrast.name, value, value - reach, value + reach)


def _needs(found: Sequence[_Contrast], cells: Sequence[str]) -> dict[str, float]:
    """What a further person of each cell tells, times n(n + 1) of the people there."""
    told = np.zeros(len(cells))
    for one in found:
        told += gains(one.weights[None], one.n, one.variance) * one.n * (one.n + 1)
    return dict(zip(cells, told.tolist(), strict=True))
