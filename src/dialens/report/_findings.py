"""What stands out, in sentences that say no more than the numbers do."""

from collections.abc import Sequence
from dataclasses import dataclass

from dialens.report._digest import Digest, Estimate, Unit
from dialens.report._wording import counted, listed
from dialens.statistics import AgentValue, standouts

_FEW_DIALOGS = 10
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
    """In each family of headline metrics the widest gap that stands out, the widest first."""
    names = _looked_at(digest)
    apart = standouts(
        {name: [_value(unit, name) for unit in digest.agents] for name in names},
        digest.spread,
        {name: digest.cards[name].family for name in names},
    )
    return [
        _finding(digest, gap.metric, digest.agents[gap.higher], digest.agents[gap.lower], gap.size)
        for gap in apart[:_MOST]
    ]


def _value(unit: Unit, name: str) -> AgentValue:
    estimate = unit.estimates[name]
    return AgentValue(estimate.value, estimate.low, estimate.high, unit.dialogs)


def _looked_at(digest: Digest) -> list[str]:
    return [name for name in digest.headline if not digest.cards[name].is_baseline]


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
    return Finding(name, digest.label(name), sentence, higher, lower, size)


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
    looked_at = counted(len(_looked_at(digest)), "headline metric")
    agents = counted(len(digest.agents), "agent")
    if not found:
        return (
            f"On none of {looked_at} do the highest and the lowest of {agents} lie further apart "
            "than chance can put them: nothing stands out."
        )
    traits = any(digest.cards[finding.metric].is_trait for finding in found)
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
            parts.append(f"{digest.label(name).lower()} for {listed([*named, *more])}")
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
        parts.append(f"{digest.label(name).lower()} ({why.replace(' (', ': ').rstrip(')')})")
    return [f"Not shown, since no agent has a value: {'; '.join(parts)}."]


def _share_missing(estimate: Estimate) -> float:
    total = (estimate.n or 0) + estimate.missing
    return estimate.missing / total if total else 0.0
