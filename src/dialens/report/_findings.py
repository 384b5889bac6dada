"""What stands out, in sentences that say no more than the numbers do."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from dialens.base import Estimate, capitalised, counted, listed
from dialens.metrics import in_sentence
from dialens.report._digest import Digest, Unit
from dialens.report._page import End, Finding
from dialens.report._table import Place
from dialens.statistics import AgentValue, standouts

_FEW_DIALOGS = 10
_MOST = 5
_MOST_JUDGED = 3
_MOST_ANSWERED = 2
_MUCH_MISSING = 0.2


@dataclass(frozen=True)
class Gap:
    """Two agents that lie further apart on a metric than chance would put them.

    Attributes:
        metric: Name of the metric.
        label: What it is called.
        higher: The agent with the highest value.
        lower: The one with the lowest.
        dialogs: How many dialogues they rest on, in words.
        meaning: What was measured.
        axis: What the drawing spans.
    """

    metric: str
    label: str
    higher: End
    lower: End
    dialogs: str
    meaning: str
    axis: tuple[str, str]

    @property
    def finding(self) -> Finding:
        """As a page shows it."""
        a, b = self.higher, self.lower
        claim = f"{a.name} {a.value} ({a.interval}) differs from {b.name} {b.value} ({b.interval})"
        return Finding(
            claim,
            self.dialogs,
            heading=self.label,
            ends=(b, a),
            meaning=self.meaning,
            axis=self.axis,
        )


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


def gaps(digest: Digest) -> list[Gap]:
    """In each family of headline metrics the widest gap that stands out.

    Those that say who is better come first, in the order of the metrics; then the widest.
    """
    names = _looked_at(digest)
    apart = standouts(
        {name: [_value(unit, name) for unit in digest.agents] for name in names},
        digest.spread,
        {name: digest.cards[name].family for name in names},
    )
    judged = _judged(digest)
    first = sorted(
        (pair for pair in apart if pair.metric in judged), key=lambda p: judged.index(p.metric)
    )[:_MOST_JUDGED]
    ordered = [*first, *(pair for pair in apart if pair not in first)]
    return [
        _gap(digest, pair.metric, digest.agents[pair.higher], digest.agents[pair.lower])
        for pair in ordered[:_MOST]
    ]


def several_answer(digest: Digest, found: Sequence[Gap]) -> str:
    """Who is better in what, and by how much; then what else tells the agents apart.

    Args:
        digest: Of the run.
        found: The gaps between its agents.
    """
    if not found:
        return f"Nothing tells {counted(len(digest.agents), 'agent')} apart more than chance would"
    judged = _judged(digest)
    better = [_clause(digest, gap) for gap in found if gap.metric in judged]
    others = [_clause(digest, gap) for gap in found if gap.metric not in judged]
    parts = [_joined(list(same)) for _, same in groupby(better, key=lambda each: each[:2])]
    if judged and not better:
        parts = [f"No agent is clearly ahead in {_any_of(digest, judged)}"]
    if len(better) < _MOST_ANSWERED:
        parts += [_joined([each]) for each in others[:1]]
    return "; ".join(parts)


_Clause = tuple[str, str, str, str]
"""Who, than whom, does what, and the sizes of both."""


def _clause(digest: Digest, gap: Gap) -> _Clause:
    """The better agent first where one is better, else the higher."""
    card = digest.cards[gap.metric]
    first, second, verb = gap.higher, gap.lower, card.higher_reads
    if card.higher_is_better is False:
        first, second = second, first
        verb = f"scores lower on {in_sentence(card.long_label)}"
    quality = f"{in_sentence(gap.label)} " if card.higher_is_better else ""
    return first.name, second.name, verb, f"({quality}{first.value} against {second.value})"


def _joined(clauses: Sequence[_Clause]) -> str:
    """What one agent does more than another, in one sentence."""
    (first, second, verb, sizes), *rest = clauses
    parts = [f"{verb} than {second} {sizes}", *(f"{verb} {sizes}" for *_, verb, sizes in rest)]
    return f"{first} {listed(parts)}"


def _any_of(digest: Digest, names: Sequence[str]) -> str:
    if len(names) > _MOST_JUDGED:
        return f"any of {len(names)} qualities"
    *some, last = [digest.label(name).lower() for name in names]
    return f"{', '.join(some)} or {last}" if some else last


def _judged(digest: Digest) -> list[str]:
    """Headline metrics of which it is known which end is better."""
    return [n for n in _looked_at(digest) if digest.cards[n].higher_is_better is not None]


def _value(unit: Unit, name: str) -> AgentValue:
    estimate = unit.estimates[name]
    return AgentValue(estimate.value, estimate.low, estimate.high, unit.dialogs)


def _looked_at(digest: Digest) -> list[str]:
    return [name for name in digest.headline if not digest.cards[name].is_baseline]


def _known(number: float | None) -> float:
    assert number is not None
    return number


def _gap(digest: Digest, name: str, top: Unit, bottom: Unit) -> Gap:
    dialogs = (
        f"{counted(top.dialogs, 'dialogue')} each"
        if top.dialogs == bottom.dialogs
        else f"{top.dialogs:,} and {counted(bottom.dialogs, 'dialogue')}"
    )
    higher, lower = (_end(digest, name, unit) for unit in (top, bottom))
    scale = digest.scales[name]
    axis = (scale.text(scale.low), scale.text(scale.high))
    meaning = digest.cards[name].meaning
    return Gap(name, digest.label(name), higher, lower, dialogs, meaning, axis)


def _end(digest: Digest, name: str, unit: Unit) -> End:
    scale, estimate = digest.scales[name], unit.estimates[name]
    at, low, high = (scale.place(_known(x)) for x in (estimate.value, estimate.low, estimate.high))
    place = Place(at, low, high)
    interval = scale.interval(estimate.low, estimate.high)
    return End(unit.name, scale.text(estimate.value), interval, place)


def caution(digest: Digest, found: Sequence[Gap]) -> str:
    """How the differences were picked, and what that means."""
    if len(digest.agents) < 2:
        return ""
    looked_at = counted(len(_looked_at(digest)), "headline metric")
    agents = counted(len(digest.agents), "agent")
    if not found:
        return (
            f"On none of {looked_at} do the highest and the lowest of {agents} lie further apart "
            "than chance can put them: nothing stands out."
        )
    traits = any(digest.cards[gap.metric].is_trait for gap in found)
    return (
        f"These are the widest gaps of their kind among {looked_at} and {agents}, and wider than "
        "looking at so many pairs would bring about by chance. The numbers in brackets are 95 % "
        f"intervals over dialogues. {_which_is_better(digest, found)}"
        + ("Traits are research-grade: see Character for what they are worth. " if traits else "")
        + "For every pair with a corrected test, run dialens compare."
    )


def _which_is_better(digest: Digest, found: Sequence[Gap]) -> str:
    higher, lower, neither = (
        [gap.label.lower() for gap in found if digest.cards[gap.metric].higher_is_better is way]
        for way in (True, False, None)
    )
    if not higher and not lower:
        return "They say that agents differ, not which is better. "
    parts = [f"higher is better in {listed(higher)}"] if higher else []
    parts += [f"lower is better in {listed(lower)}"] if lower else []
    rest = f"; neither is in {listed(neither)}" if neither else ""
    return f"{capitalised(' and '.join(parts))}{rest}. "


def missing_values(digest: Digest) -> str:
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
    sentences = _silent(digest)
    if parts:
        sentences.append(
            f"Mind the gaps: {'; '.join(parts)}. That share of the turns has no value, and the "
            "scores rest on the others."
        )
    return " ".join(sentences)


def _silent(digest: Digest) -> list[str]:
    """Which metrics nobody has a value of, each with the reason, in one sentence."""
    if not digest.silent:
        return []
    parts = []
    for name in digest.silent:
        # A reason may come with how often it was met, "no emotion word ×3": here it is always.
        why = (digest.agents[0].estimates[name].reason or "").split("; ")[0].split(" ×")[0]
        parts.append(f"{digest.label(name).lower()} ({why.replace(' (', ': ').rstrip(')')})")
    return [f"Not shown, since no agent has a value: {'; '.join(parts)}."]


def _share_missing(estimate: Estimate) -> float:
    missing = estimate.n_missing or 0
    total = (estimate.n or 0) + missing
    return missing / total if total else 0.0
