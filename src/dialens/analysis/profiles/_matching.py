"""Whether an agent matches the partner it talks to more than it would match anybody.

Two people who speak the same language match to some degree whatever they say. So an agent's side of
each dialogue is also held against the partners of its *other* dialogues; what the true pairs have
above these is the excess. With m the match of the true pair, r the mean of this side of the agent
with other partners, c the mean of this partner with the agent's other sides, and g the mean of all
false pairs, a dialogue's own excess is

    e = m − r − c + g

so that an agent who always speaks like everybody, or a partner whom anybody would match, adds
nothing. The mean of e is that of m less g, and the values of e vary as the influence of a dialogue
on it does (Hoeffding's projection of a two-sample statistic): Student's interval may be taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dialens.metrics import Metric, state_of
from dialens.statistics import Floats, Ints

MOST_OTHERS = 20
"""With how many other partners each side is held against at most."""

_ROWS_AT_ONCE = 200_000
_SAME = 1e-12


@dataclass(frozen=True)
class PartnerMatch:
    """How an agent matches its partners, and other people's.

    Attributes:
        match: Mean over its dialogues.
        others: Mean with the partners of its other dialogues.
        excess: The one less the other.
        low: Lower end of the excess's interval.
        high: Upper end.
        p: Two-sided, that there is no excess; None as well where there is no interval.
        dialogs: How many dialogues have a value.
        reason: Why there is no answer.
    """

    match: float | None = None
    others: float | None = None
    excess: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    dialogs: int = 0
    reason: str | None = None


def partner_match(
    metric: Metric,
    columns: Mapping[str, Floats],
    rows: Ints,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> PartnerMatch:
    """An agent's match against that with the partners of its other dialogues.

    Args:
        metric: One that needs a partner.
        columns: Columns of the states (see `Scores.states`), one row a dialogue.
        rows: The agent's dialogues.
        rng: Picks the other partners where there are more than `MOST_OTHERS`.
        confidence: Of the interval.
    """
    own = _values(metric, columns, rows, rows)
    known = rows[~np.isnan(own)]
    count = len(known)
    if not count:
        return PartnerMatch(reason=_why(metric, columns, rows))
    match = own[~np.isnan(own)]
    if count < 2:
        return PartnerMatch(
            match=float(match[0]), dialogs=1, reason="there is no other dialogue to compare with"
        )
    excess = own_excess(metric, columns, known, match, rng)
    mean, spread = float(excess.mean()), float(excess.std(ddof=1))
    found = float(match.mean())
    if np.abs(excess).max() <= _SAME:
        return PartnerMatch(
            found, found, 0.0, dialogs=count, reason="all its partners count alike here"
        )
    half = float(stats.t.ppf((1 + confidence) / 2, count - 1)) * spread / np.sqrt(count)
    p = 0.0 if spread <= _SAME else float(stats.ttest_1samp(excess, 0.0).pvalue)
    return PartnerMatch(found, found - mean, mean, mean - half, mean + half, p, count)


def own_excess(
    metric: Metric,
    columns: Mapping[str, Floats],
    rows: Ints,
    match: Floats,
    rng: np.random.Generator,
) -> Floats:
    """The excess of each dialogue, all of which have a match.

    The dialogues stand in a ring in random order, and each is held against the next ones: every
    side of the agent and every partner occurs equally often, and with few dialogues these are all
    the pairs there are.
    """
    count = len(rows)
    order = rng.permutation(count)
    others = min(count - 1, MOST_OTHERS)
    by_own, by_partner = np.zeros(count), np.zeros(count)
    for step in range(1, others + 1):
        partners = np.roll(order, -step)
        false = _values(metric, columns, rows[order], rows[partners])
        by_own[order] += false
        by_partner[partners] += false
    by_own /= others
    by_partner /= others
    excess: Floats = match - by_own - by_partner + by_own.mean()
    return excess


def _values(metric: Metric, columns: Mapping[str, Floats], own: Ints, partners: Ints) -> Floats:
    """The metric of some sides of an agent with some partners."""
    made = []
    for start in range(0, len(own), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        state = state_of(
            {
                name: numbers[own[part] if name.startswith("own|") else partners[part]]
                for name, numbers in columns.items()
            }
        )
        made.append(metric.definition.compute(state).value)
    return np.concatenate(made) if made else np.empty(0)


def _why(metric: Metric, columns: Mapping[str, Floats], rows: Ints) -> str:
    """The commonest reason for which dialogues have no match."""
    state = state_of({name: numbers[rows] for name, numbers in columns.items()})
    values = metric.definition.compute(state)
    return values.reasons[int(np.bincount(values.code)[1:].argmax())]
