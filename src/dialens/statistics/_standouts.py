"""Which differences between agents stand out among all that a reader looks at."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

from dialens.statistics._few_units import FEWEST

_FEW_DIALOGS = 10
_CHANCE = 0.05
_Z = 1.96


@dataclass(frozen=True)
class AgentValue:
    """An agent's value of a metric with its 95 % interval, and how many dialogues it rests on."""

    value: float | None
    low: float | None
    high: float | None
    dialogs: int


@dataclass(frozen=True)
class Standout:
    """The two agents at the ends of a metric, which lie further apart than chance can put them.

    Attributes:
        metric: Its name.
        higher: The place of the agent with the highest value.
        lower: That of the one with the lowest.
        size: Their difference in standard deviations of single dialogues.
    """

    metric: str
    higher: int
    lower: int
    size: float


@dataclass(frozen=True)
class _Sound:
    """A value within its own interval."""

    place: int
    value: float
    low: float
    high: float
    dialogs: int

    @property
    def error(self) -> float:
        """The standard error that the interval stands for, widened for few dialogues."""
        width = self.high - self.low
        return width / (2 * _Z) * math.sqrt(self.dialogs / (self.dialogs - 1))


def standouts(
    values: Mapping[str, Sequence[AgentValue]],
    spreads: Mapping[str, float | None],
    families: Mapping[str, str],
) -> list[Standout]:
    """In each family of metrics the widest gap between agents whose intervals do not overlap.

    Of every metric the highest and the lowest agent are compared. The two ends of many agents lie
    apart by chance alone: a gap counts only if it would still be surprising among all pairs and
    metrics that were looked at (Bonferroni).

    Args:
        values: By metric, one an agent, in the same order for all metrics.
        spreads: The standard deviation of each metric over single dialogues.
        families: The family of each metric.

    Returns:
        The widest first.

    Examples:
        >>> low, high = AgentValue(1.0, 0.9, 1.1, 20), AgentValue(3.0, 2.8, 3.2, 20)
        >>> standouts({"length": [low, high]}, {"length": 0.5}, {"length": "surface"})
        [Standout(metric='length', higher=1, lower=0, size=4.0)]
    """
    agents = max((len(row) for row in values.values()), default=0)
    looks = len(values) * agents * (agents - 1) // 2
    apart = []
    for metric, row in values.items():
        ends = _ends(row, looks)
        if ends is not None:
            top, bottom = ends
            spread = spreads[metric]
            size = (top.value - bottom.value) / spread if spread else 0.0
            apart.append(Standout(metric, top.place, bottom.place, size))
    apart.sort(key=lambda standout: -standout.size)
    widest = {families[standout.metric]: standout for standout in reversed(apart)}
    return [standout for standout in apart if standout in widest.values()]


def _ends(row: Sequence[AgentValue], looks: int) -> tuple[_Sound, _Sound] | None:
    sound = [agent for place, value in enumerate(row) if (agent := _sound(place, value))]
    large = [agent for agent in sound if agent.dialogs >= _FEW_DIALOGS]
    sound = large if len(large) > 1 else sound
    if len(sound) < 2:
        return None
    top = max(sound, key=lambda agent: agent.value)
    bottom = min(sound, key=lambda agent: agent.value)
    return (top, bottom) if _apart(top, bottom, looks) else None


def _sound(place: int, agent: AgentValue) -> _Sound | None:
    """None with too few dialogues, or where the value lies outside its own interval."""
    value, low, high = agent.value, agent.low, agent.high
    if value is None or low is None or high is None or agent.dialogs < FEWEST:
        return None
    return _Sound(place, value, low, high, agent.dialogs) if low <= value <= high else None


def _apart(top: _Sound, bottom: _Sound, looks: int) -> bool:
    if top.low <= bottom.high:
        return False
    error = math.hypot(top.error, bottom.error)
    needed = float(stats.t.isf(_CHANCE / (2 * looks), top.dialogs + bottom.dialogs - 2))
    return top.value - bottom.value > needed * error
