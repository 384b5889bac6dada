"""Before a long run: which models it uses, what is missing, and about how long it will take.

The rate of each encoder, and of each automatic metric that is slow enough for its results to be
kept, is measured on a small sample of the corpus itself (what it says is kept, so nothing is
computed for the estimate alone) and carried over to all turns. A graphics card is slow until it has
compiled its programs and its batches are full, so the sample grows there until it is no faster.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from dialens.corpus import Corpus
from dialens.metrics._batch import TurnBatch, Words
from dialens.metrics._engine import open_scorers
from dialens.metrics._family import Family, NamedModel, Unit
from dialens.metrics._parts import UNITS, ScoringPlan
from dialens.metrics._scorers import ScorerSet
from dialens.metrics._units import Units

_LOOKED_AT = 2_000  # turns at the beginning, of which the sample is drawn
_SAMPLE = 64
_WARM_UP = 8
_SAMPLED_UNITS = 16
_WORTH_A_HINT = 60.0  # seconds
_MUCH_FASTER = 0.7
_NAMED = 3  # more are counted


@dataclass(frozen=True)
class EncoderUse:
    """An encoder in a run.

    Attributes:
        tasks: What it answers.
        size: Which one it is.
        inputs: How many texts or pairs it reads, at most.
        seconds: About how long that takes.
    """

    tasks: tuple[str, ...]
    size: str
    inputs: int
    seconds: float


@dataclass(frozen=True)
class ScorerUse:
    """A family of automatic metrics in a run.

    Attributes:
        name: Of the family.
        replies: How many it scores, at most.
        seconds: About how long that takes; nothing to speak of, if it was not measured.
    """

    name: str
    replies: int
    seconds: float


@dataclass(frozen=True)
class Forecast:
    """What a run with models will do.

    Attributes:
        encoders: The encoders in use.
        traits: The trait models in use.
        turns: Turns of the corpus.
        missing: What cannot be used, and why, with the metrics that it leaves without values.
        faster: Seconds with `--models small`, where that is worth saying.
        scorers: The automatic metrics in use, by family.
        measured: Whether the seconds were measured, and mean something.
    """

    encoders: tuple[EncoderUse, ...]
    traits: tuple[str, ...]
    turns: int
    missing: tuple[tuple[str, tuple[str, ...]], ...]
    faster: float | None = None
    scorers: tuple[ScorerUse, ...] = ()
    measured: bool = True

    @property
    def seconds(self) -> float:
        """About how long the encoders take."""
        return sum(use.seconds for use in self.encoders)

    def lines(self) -> list[str]:
        r"""What a person should know before it begins.

        Examples:
            >>> use = EncoderUse(("emotion", "toxicity"), "small, int8", 12_300, 240.0)
            >>> print(*Forecast((use,), (), 12_300, (), 70.0).lines(), sep="\n")
            Models: emotion and toxicity (small, int8); about 4 min for 12,300 turns. Faster:
            --models small (about 1 min), without: --models none.
        """
        lines = []
        by_size: dict[str, list[str]] = {}
        for use in self.encoders:
            by_size.setdefault(use.size, []).extend(use.tasks)
        used = [f"{_listed(tasks)} ({size})" for size, tasks in by_size.items()]
        if self.traits:
            some = (
                _listed(self.traits) if len(self.traits) <= _NAMED else f"{len(self.traits)} traits"
            )
            used.append(f"{some} (linear)")
        if used:
            about = f"; {duration(self.seconds)} for {self.turns:,} turns"
            told = self.encoders and self.measured
            lines.append(f"Models: {', '.join(used)}{about if told else ''}.")
        if self.seconds > _WORTH_A_HINT:
            small = "Without"
            if self.faster is not None:
                small = f"Faster: --models small ({duration(self.faster)}), without"
            lines[-1] += f" {small}: --models none."
        if self.scorers:
            families = _listed([use.name for use in self.scorers])
            slow = sum(use.seconds for use in self.scorers)
            about = f"; {duration(slow)} for {self.scorers[0].replies:,} replies" if slow else ""
            lines.append(f"Automatic metrics: {families}{about}.")
        for reason, metrics in self.missing:
            named = list(metrics[:_NAMED])
            if len(metrics) > _NAMED:
                named.append(f"{len(metrics) - _NAMED} more")
            lines.append(f"No values for {_listed(named)}: {reason}.")
        return lines


def forecast(
    corpus: Corpus,
    plan: ScoringPlan,
    *,
    measured: bool = True,
    timer: Callable[[], float] = time.perf_counter,
) -> Forecast | None:
    """Open the scorers of a plan and measure them; None if it uses none.

    Args:
        corpus: What will be scored.
        plan: The metrics, bound to the resources that they will be scored with.
        measured: Whether to measure; not where other machines score, whose pace is not known here.
        timer: The clock.
    """
    if not plan.families:
        return None
    turns, spoken = (
        corpus.turns.select(turns=pl.len(), spoken=(pl.col("role") == "agent").sum())
        .collect(engine="streaming")
        .row(0)
    )
    measure = _Measure(corpus, plan, turns, spoken, timer if measured else None)
    scorers = plan.scorers
    families = [family for family in plan.families.values() if scorers.ready(family)]
    uses = measure.encoders(families, scorers)
    result = Forecast(
        uses,
        tuple(family.name for family in families if family.kind == "words"),
        turns,
        _missing(plan),
        scorers=measure.others(families, scorers),
        measured=measured,
    )
    if result.seconds > _WORTH_A_HINT and scorers.context.models.size == "default":
        small = scorers.of_size("small")
        ready = [family for family in families if family.model and small.ready(family)]
        faster = sum(use.seconds for use in measure.encoders(ready, small))
        if faster < result.seconds * _MUCH_FASTER:
            return replace(result, faster=faster)
    return result


class _Measure:
    """A look at the beginning of a corpus, through scorers against the clock, if there is one."""

    def __init__(
        self,
        corpus: Corpus,
        plan: ScoringPlan,
        turns: int,
        spoken: int,
        timer: Callable[[], float] | None,
    ) -> None:
        frame = corpus.turns.select(*UNITS, "role", "text", "meta").head(_LOOKED_AT).collect()
        references = open_scorers(corpus, plan)
        self._batch = TurnBatch(frame, Words({}), references) if frame.height else None
        self._both_sides = plan.both_sides
        self._counts = {True: turns, False: spoken}
        self._timer = timer

    def encoders(self, families: Sequence[Family], scorers: ScorerSet) -> tuple[EncoderUse, ...]:
        """What each encoder has to do; families that share one are measured by the widest."""
        groups: dict[NamedModel, list[Family]] = {}
        for family in families:
            if family.model is not None and family.kind == "units":
                groups.setdefault(family.model(scorers.context), []).append(family)
        uses = []
        for model, group in groups.items():
            widest = max(
                group, key=lambda member: (self._everyone(member), "background" in member.reads)
            )
            count = self._counts[self._everyone(widest)]
            rate = self._rate(widest, scorers, sample=_SAMPLE, warm_up=_WARM_UP)
            names = tuple(sorted(family.name for family in group))
            uses.append(EncoderUse(names, model.label, count, rate * count))
        return tuple(sorted(uses, key=lambda use: use.tasks))

    def others(self, families: Sequence[Family], scorers: ScorerSet) -> tuple[ScorerUse, ...]:
        """What each family without a model that ships has to do; fast ones are not measured."""
        count = self._counts[False]
        uses = []
        for family in families:
            if family.model is None:
                rate = 0.0
                if family.cached:
                    rate = self._rate(family, scorers, sample=_SAMPLED_UNITS, warm_up=1)
                uses.append(ScorerUse(family.name, count, rate * count))
        return tuple(uses)

    def _everyone(self, family: Family) -> bool:
        return family.name in self._both_sides

    def _rate(self, family: Family, scorers: ScorerSet, *, sample: int, warm_up: int) -> float:
        """Seconds a turn, after a short warm-up; what comes out is kept, not computed for this."""
        if self._batch is None or self._timer is None:
            return 0.0
        units = Units(self._batch, family, everyone=self._everyone(family))
        which = units.scored
        if not which.any():
            return 0.0
        chosen = list(dict.fromkeys(units.of(which)))
        places = np.linspace(0, len(chosen) - 1, min(sample, len(chosen))).astype(int)
        tried = [chosen[place] for place in places.tolist()]
        scorers.try_out(family, tried[:warm_up])
        measured = tried[warm_up:] or tried
        if not scorers.ready(family):
            return 0.0
        timer = self._timer

        def seconds(units: Sequence[Unit]) -> float:
            """Of a unit."""
            started = timer()
            scorers.try_out(family, units)
            return (timer() - started) / len(units)

        pace = seconds(measured)
        if scorers.context.on_card:
            rest = np.delete(np.arange(len(chosen)), places)
            mixed = np.random.default_rng(0).permutation(rest).tolist()
            pace = _pace_of_larger(seconds, [chosen[place] for place in mixed], pace, 2 * sample)
        return pace * float(which.mean())


def _pace_of_larger(
    seconds: Callable[[Sequence[Unit]], float], units: Sequence[Unit], pace: float, size: int
) -> float:
    """Seconds a unit of samples that double, until the next is hardly faster."""
    while len(units) >= size:
        before, pace = pace, seconds(units[:size])
        if pace > before * _MUCH_FASTER:
            return min(pace, before)
        units, size = units[size:], 2 * size
    return pace


def _missing(plan: ScoringPlan) -> tuple[tuple[str, tuple[str, ...]], ...]:
    by_reason: dict[str, list[str]] = {}
    for name, reason in plan.failures.items():
        by_reason.setdefault(reason, []).append(name)
    return tuple((reason, tuple(names)) for reason, names in by_reason.items())


def duration(seconds: float) -> str:
    """A time as people say it.

    Examples:
        >>> [duration(s) for s in (3, 41, 100, 250, 9000)]
        ['a few seconds', 'about 40 s', 'about 2 min', 'about 4 min', 'about 2.5 h']
    """
    if seconds < 10:
        return "a few seconds"
    if seconds < 55:
        return f"about {round(seconds, -1):.0f} s"
    if seconds < 3600 * 1.5:
        return f"about {max(1, round(seconds / 60))} min"
    return f"about {seconds / 3600:.1f} h"


def _listed(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
