"""What stands out, in sentences that say no more than the numbers do."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from dialens.analysis.profiles import TRAIT_FAMILIES
from dialens.report._digest import Digest, Estimate, Unit
from dialens.report._wording import cards, counted, is_baseline, label, listed

_FEW_DIALOGS = 10
_TOO_FEW_DIALOGS = 5
_CHANCE = 0.05
_Z = 1.96
_MOST = 3
_MUCH_MISSING = 0.2


@dataclass(frozen=True)
class End:
    """One of the two agents of a finding, with its place on the metric's axis in percent."""

    name: str
    number: int
    value: str
    interval: str
    dialogs: int
    at: float
    low: float
    high: float


@dataclass(frozen=True)
class Finding:
    """Two agents whose intervals lie apart, the ends of a metric's range."""

    metric: str
    heading: str
    sentence: str
    higher: End
    lower: End
    size: float


def headline(digest: Digest, agent_turns: int | None = None) -> str:
    """Who was scored, in one sentence."""
    agents, systems = len(digest.agents), len(digest.systems) or 1
    turns = agent_turns or sum(unit.turns or 0 for unit in digest.agents)
    dialogs = sum(unit.dialogs for unit in digest.agents)
    who = counted(agents, "agent")
    if agents == 1:
        who = digest.agents[0].name
    elif systems > 1:
        who = f"{who} of {counted(systems, 'system')}"
    spoken = (
        f"{counted(turns, 'turn')} of {'its' if agents == 1 else 'their'} own in " if turns else ""
    )
    return (
        f"{who}, {spoken}{counted(dialogs, 'dialogue')}, "
        f"scored on {counted(len(digest.metrics), 'metric')}"
    )


def findings(digest: Digest) -> list[Finding]:
    """In each family of metrics the widest gap between agents whose intervals do not overlap.

    For every headline metric its highest and lowest agents are held against each other; the size
    is their difference in standard deviations of single dialogues, so that metrics with different
    units can be ranked. The two ends of many agents lie apart by chance alone: a gap counts only
    if it would still be surprising among all pairs and metrics that were looked at (Bonferroni).
    """
    found = []
    looks = _looked_at(digest) * len(digest.agents) * (len(digest.agents) - 1) // 2
    for name in digest.headline:
        if is_baseline(name):
            continue
        pair = _ends(digest.agents, name, looks)
        if pair is None:
            continue
        top, bottom = pair
        a, b = top.estimates[name], bottom.estimates[name]
        gap = (a.value or 0.0) - (b.value or 0.0)
        spread = digest.spread[name]
        size = gap / spread if spread else 0.0
        found.append(_finding(digest, name, top, bottom, size))
    found.sort(key=lambda finding: -finding.size)
    known = cards(digest.headline)
    family = {name: known[name].family if name in known else name for name in digest.headline}
    widest = {family[finding.metric]: finding for finding in reversed(found)}
    return [finding for finding in found if finding in widest.values()][:_MOST]


def _looked_at(digest: Digest) -> int:
    return sum(not is_baseline(name) for name in digest.headline)


def _ends(agents: Sequence[Unit], name: str, looks: int) -> tuple[Unit, Unit] | None:
    sure = [u for u in agents if u.dialogs >= _TOO_FEW_DIALOGS and _sound(u.estimates[name])]
    large = [unit for unit in sure if unit.dialogs >= _FEW_DIALOGS]
    sure = large if len(large) > 1 else sure
    if len(sure) < 2:
        return None
    top = max(sure, key=lambda unit: _known(unit.estimates[name].value))
    bottom = min(sure, key=lambda unit: _known(unit.estimates[name].value))
    return (top, bottom) if _apart(top, bottom, name, looks) else None


def _sound(estimate: Estimate) -> bool:
    """Whether the value lies within its own interval, as it may not where dialogues are few."""
    return estimate.sure and _known(estimate.low) <= _known(estimate.value) <= _known(estimate.high)


def _apart(top: Unit, bottom: Unit, name: str, looks: int) -> bool:
    a, b = top.estimates[name], bottom.estimates[name]
    if _known(a.low) <= _known(b.high):
        return False
    error = math.hypot(_error(a, top.dialogs), _error(b, bottom.dialogs))
    needed = float(stats.t.isf(_CHANCE / (2 * looks), top.dialogs + bottom.dialogs - 2))
    return _known(a.value) - _known(b.value) > needed * error


def _error(estimate: Estimate, dialogs: int) -> float:
    """The standard error that an interval stands for, widened for a small number of dialogues."""
    width = _known(estimate.high) - _known(estimate.low)
    return width / (2 * _Z) * math.sqrt(dialogs / (dialogs - 1))


def _known(number: float | None) -> float:
    assert number is not None
    return number


def _finding(digest: Digest, name: str, top: Unit, bottom: Unit, size: float) -> Finding:
    higher, lower = (_end(digest, name, unit) for unit in (top, bottom))
    dialogs = (
        f"{counted(higher.dialogs, 'dialogue')} each"
        if higher.dialogs == lower.dialogs
        else f"{higher.dialogs:,} and {counted(lower.dialogs, 'dialogue')}"
    )
    sentence = (
        f"{higher.name} {higher.value} ({higher.interval}) differs from "
        f"{lower.name} {lower.value} ({lower.interval}); {dialogs}"
    )
    return Finding(name, label(name), sentence, higher, lower, size)


def _end(digest: Digest, name: str, unit: Unit) -> End:
    scale, estimate = digest.scales[name], unit.estimates[name]
    return End(
        unit.name,
        unit.number,
        scale.text(estimate.value),
        scale.interval(estimate.low, estimate.high),
        unit.dialogs,
        scale.place(_known(estimate.value)),
        scale.place(_known(estimate.low)),
        scale.place(_known(estimate.high)),
    )


def caution(digest: Digest, found: Sequence[Finding]) -> str:
    """How the differences were picked, and what that means."""
    if len(digest.agents) < 2:
        return "With one agent there is nothing to compare; its values stand in the table below."
    looked_at = counted(_looked_at(digest), "headline metric")
    agents = counted(len(digest.agents), "agent")
    if not found:
        return (
            f"On none of {looked_at} do the highest and the lowest of {agents} lie further apart "
            "than chance can put them: nothing stands out."
        )
    known = cards(finding.metric for finding in found)
    traits = any(card.family in TRAIT_FAMILIES for card in known.values())
    return (
        f"These are the widest gaps of their kind among {looked_at} and {agents}, and wider than "
        "looking at so many pairs would bring about by chance. The numbers in brackets are 95 % "
        "intervals over dialogues. They say that agents differ, not which is better. "
        + ("Traits are research-grade: see Character for what they are worth. " if traits else "")
        + "For every pair with a corrected test, run dialens compare."
    )


def gaps(digest: Digest) -> str:
    """Which metrics have no value, and where many turns gave none; empty if nowhere."""
    parts = []
    for name in digest.headline:
        lacking = [
            (unit, _share_missing(unit.estimates[name]))
            for unit in digest.agents
            if _share_missing(unit.estimates[name]) > _MUCH_MISSING
            and (unit.dialogs >= _FEW_DIALOGS or len(digest.agents) == 1)
        ]
        worst = sorted(lacking, key=lambda pair: -pair[1])
        named = [f"{unit.name} ({share:.0%})".replace("%", " %") for unit, share in worst[:3]]
        more = [f"{len(worst) - 3} more"] if len(worst) > 3 else []
        if worst:
            parts.append(f"{label(name).lower()} for {listed([*named, *more])}")
    told = _silent(digest)
    if parts:
        told.append(
            f"Mind the gaps: {'; '.join(parts)}. That share of the turns has no value, and the "
            "scores rest on the others."
        )
    return " ".join(told)


def _silent(digest: Digest) -> list[str]:
    """Which metrics nobody has a value of, each with the reason, in one sentence."""
    if not digest.silent:
        return []
    parts = []
    for name in digest.silent:
        # A reason may come with how often it was met, "no emotion word ×3": here it is always.
        why = digest.agents[0].estimates[name].why.split("; ")[0].split(" ×")[0]
        parts.append(f"{label(name).lower()} ({why.replace(' (', ': ').rstrip(')')})")
    return [f"Not shown, since no agent has a value: {'; '.join(parts)}."]


def _share_missing(estimate: Estimate) -> float:
    total = (estimate.n or 0) + estimate.missing
    return estimate.missing / total if total else 0.0
