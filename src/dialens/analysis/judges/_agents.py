"""Agents compared by people on a random part of the replies, and by a judge on many more.

Means and differences are those of people's ratings, whatever the judge is like: it only says how
the replies that people saw differ from those they did not (Angelopoulos et al. 2023, tuned as in
PPI++). Dialogues are the clusters, contexts that two agents share make pairs, and raters are a
sample too.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from dialens.analysis.judges._against_people import PEOPLE
from dialens.analysis.judges._answers import MODELS
from dialens.analysis.judges._candidates import Beside, few_dialogs, judge_beside
from dialens.analysis.people import (
    MAGNITUDE,
    RATED,
    YES_NO,
    RatedQuality,
    agent_names,
    name_choices,
    rated_qualities,
    with_kinds,
)
from dialens.base import Estimate, counted
from dialens.corpus import kind_of_rater
from dialens.statistics import Floats, corrected
from dialens.statistics.judges import (
    FEWEST_RATED,
    FEWEST_TRUSTED,
    HELPFUL,
    Arm,
    Arms,
    PredictionPowered,
    powered_by_judge,
)

JUDGED_AGENTS = pl.Schema(
    {
        "quality": pl.String,
        "agent": pl.String,
        "other": pl.String,
        "unit": pl.String,
        "estimate": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "family": pl.Int64,
        "people": pl.Float64,
        "people_low": pl.Float64,
        "people_high": pl.Float64,
        "judge": pl.String,
        "r": pl.Float64,
        "n_people": pl.Int64,
        "n_raters": pl.Int64,
        "n_dialogs": pl.Int64,
        "n_judged": pl.Int64,
        "effective": pl.Float64,
        "needed": pl.Int64,
        "saving": pl.Float64,
        "paired": pl.Boolean,
        "note": pl.String,
        "reason": pl.String,
    }
)
"""A row an agent (`other` is null: its mean), then a row a pair (`agent` − `other`). `people` is
the same from people alone, on the same replies. `n_people` counts their ratings, `n_dialogs` the
dialogues or contexts they rated, `n_judged` the replies that only the judge rated; `r` is the
correlation of both over these dialogues (of differences, for a pair). `effective` is the number of
human ratings that would be as precise without the judge, by the same people on more dialogues;
`needed` the same rounded up."""

_FEW_RATERS = 3
_NOT_RANDOM, _SHIFTED = 0.001, 0.5
"""From which p and which difference on people's part is no random one (in standard deviations)."""
_NOTHING_MORE = "the judge rated nothing that people did not: there is nothing to gain"


def judged_agents(
    ratings: pl.DataFrame,
    *,
    scales: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Means and differences of agents, from people on a part and a judge on more.

    Args:
        ratings: rater, `rater_kind` (human, llm), agent, dialog, quality, value; perhaps `turn`,
            `judge` and `prompt`.
        scales: The kind of answer of a quality, where somebody named it.
        confidence: Of all intervals.
        seed: Of the parts by which one of several judges is chosen.

    Returns:
        In the columns of `JUDGED_AGENTS`; no row if people or judges did not rate agents.

    Examples:
        A judge that knows what people think of two agents, on 40 contexts and 160 more:

        >>> rng = np.random.default_rng(0)
        >>> rows = []
        >>> for d in range(200):
        ...     for agent, better in (("x", 1.0), ("y", 0.0)):
        ...         truth = better + rng.normal()
        ...         rows.append((f"d{d}", agent, "m", "llm", truth + rng.normal(0, 0.3)))
        ...         if d < 40:
        ...             rows.append((f"d{d}", agent, f"p{d}", "human", truth))
        >>> names = ["dialog", "agent", "rater", "rater_kind", "value"]
        >>> table = pl.DataFrame(rows, names, orient="row").with_columns(quality=pl.lit("tone"))
        >>> row = judged_agents(table).row(-1, named=True)
        >>> row["agent"], row["other"], row["n_people"], row["n_judged"], row["needed"] > 200
        ('x', 'y', 80, 320, True)
    """
    kinds = dict(scales or {})
    if "rater_kind" not in ratings.columns:
        return JUDGED_AGENTS.to_frame()
    table = name_choices(with_kinds(ratings.cast({"value": pl.Float64}), kinds))
    table = table.with_columns(agent_names(table)).drop("system", strict=False)
    kind = kind_of_rater()
    people, machines = table.filter(kind.is_in(PEOPLE)), table.filter(kind.is_in(MODELS))
    if not people.height or not machines.height:
        return JUDGED_AGENTS.to_frame()
    rows: list[dict[str, object]] = []
    judged = rated_qualities(machines, kinds)
    for part in rated_qualities(people, kinds):
        same = [one for one in judged if one.quality == part.quality]
        same = same or [one for one in judged if one.asked == part.asked]
        if part.scale.kind in RATED and part.ratings.height and same:
            said = pl.concat(one.ratings for one in same).join(_who(machines), on="rater")
            if said.height:
                rows += _Quality(part, said, confidence, seed).rows()
    found = pl.DataFrame(rows, schema={k: v for k, v in JUDGED_AGENTS.items() if k not in _ADDED})
    return corrected(found, where=pl.col("other").is_not_null()).select(JUDGED_AGENTS.names())


_ADDED = ("p_adjusted", "family")


def _who(machines: pl.DataFrame) -> pl.DataFrame:
    """The judge and the prompt behind each rater."""
    named = pl.col("rater")
    if "judge" in machines.columns:
        named = pl.col("judge").cast(pl.String).fill_null(pl.col("rater"))
    prompt = pl.lit(None, pl.String)
    if "prompt" in machines.columns:
        prompt = pl.col("prompt").cast(pl.String)
    return machines.select(
        pl.col("rater").cast(pl.String), judge=named, prompt=prompt
    ).unique("rater", maintain_order=True)  # fmt: skip


class _Quality:
    """One quality: people's ratings, the judge beside them, and a row an agent and pair."""

    def __init__(
        self, part: RatedQuality, machines: pl.DataFrame, confidence: float, seed: int
    ) -> None:
        self.part, self.confidence = part, confidence
        people = part.ratings
        self.logs = part.scale.kind == MAGNITUDE
        if self.logs:
            people, machines = (
                one.filter(pl.col("value") > 0).with_columns(pl.col("value").log())
                for one in (people, machines)
            )
        self.beside: Beside = judge_beside(people, machines, seed=seed)
        replies = self.beside.replies
        self.rated = people.join(replies.select("response", "score"), on="response")
        self.unjudged = people.height - self.rated.height
        self.alone = replies.filter(~pl.col("rated"))
        self.agents: list[str] = replies["agent"].unique().sort().to_list()
        self.whys: dict[str, str] = {}

    def rows(self) -> list[dict[str, object]]:
        found = []
        for agent in self.agents:
            found.append(self._row(agent, None, Arms((self._arm(agent),)), paired=False))
        for first, second in combinations(self.agents, 2):
            arms, paired = self._pair(first, second)
            found.append(self._row(first, second, arms, paired=paired))
        return found

    def _arm(self, agent: str, contexts: pl.Series | None = None) -> Arm:
        """People's ratings of an agent, every reply (or every context) weighing the same."""
        rated, alone = (one.filter(pl.col("agent") == agent) for one in (self.rated, self.alone))
        by = ["response"]
        if contexts is not None:
            rated = rated.filter(pl.col("dialog").is_in(contexts.implode()))
            others = self.beside.replies.filter(pl.col("agent") == agent)
            alone = others.filter(~pl.col("dialog").is_in(contexts.implode()))
            alone = alone.group_by("dialog", maintain_order=True).agg(pl.col("score").mean())
            by = ["dialog", "response"]
        share = pl.lit(1.0)
        for at in range(len(by)):
            within = by[:at]
            count = pl.col(by[at]).n_unique()
            share = share / (count.over(within) if within else count)
        rated = rated.with_columns(share=share / pl.len().over("response"))
        return Arm(
            rated["value"].to_numpy(), rated["score"].to_numpy(), rated["share"].to_numpy(),
            rated["dialog"].to_list(), alone["score"].to_numpy(), alone["dialog"].to_list(),
            rated["rater"].to_list(),
        )  # fmt: skip

    def _pair(self, first: str, second: str) -> tuple[Arms, bool]:
        """Two agents, on the contexts that people rated of both where these are most of them."""
        own = [
            self.rated.filter(pl.col("agent") == one)["dialog"].unique() for one in (first, second)
        ]
        shared = own[0].filter(own[0].is_in(own[1].implode())).sort()
        either = pl.concat(own).n_unique()
        if len(shared) < FEWEST_RATED or 2 * len(shared) < either:
            return Arms((self._arm(first), self._arm(second))), False
        arms = [self._arm(one, shared) for one in (first, second)]
        both = set(arms[0].clusters_alone) & set(arms[1].clusters_alone)
        return Arms(tuple(_only(arm, both) for arm in arms)), True

    def _row(self, agent: str, other: str | None, arms: Arms, *, paired: bool) -> dict[str, object]:
        raters = {name for arm in arms.arms for name in arm.raters}
        row: dict[str, object] = {
            "quality": self.part.quality, "agent": agent, "other": other,
            "unit": self._unit(other), "judge": self.beside.judge,
            "n_people": sum(len(arm.people) for arm in arms.arms), "n_raters": len(raters),
            "n_judged": sum(len(arm.alone) for arm in arms.arms), "paired": paired,
        }  # fmt: skip
        unseen = [
            name
            for name, arm in zip((agent, other), arms.arms, strict=False)
            if not len(arm.people)
        ]
        if unseen:
            return row | {"reason": f"people rated nothing of {unseen[0]}"}
        done = powered_by_judge(arms, most=np.inf, confidence=self.confidence)
        own = self._shown(done.people, other, "people", "people_low", "people_high")
        row |= own | {"r": done.r, "n_dialogs": len(arms.rated)}
        reason = self._why_not(agent, other, arms, done)
        if reason is not None:
            return row | {"reason": reason}
        row |= self._shown(done.estimate, other, "estimate", "low", "high")
        row |= {
            "p": None if other is None else done.estimate.p,
            "effective": done.effective, "needed": done.needed, "saving": done.saving,
            "reason": done.estimate.reason,
        }  # fmt: skip
        return row | {"note": "; ".join(self._notes(arms, done, len(raters))) or None}

    def _unit(self, other: str | None) -> str:
        if self.logs:
            return "magnitude" if other is None else "ratio"
        return "share" if self.part.scale.kind == YES_NO else "points"

    def _shown(self, found: Estimate, other: str | None, *names: str) -> dict[str, object]:
        values: list[Any] = [found.value, found.low, found.high]
        if self.logs:
            values = [None if value is None else float(np.exp(value)) for value in values]
        return dict(zip(names, values, strict=True))

    def _why_not(
        self, agent: str, other: str | None, arms: Arms, done: PredictionPowered
    ) -> str | None:
        if self.beside.reason is not None:
            return self.beside.reason
        if not any(len(arm.alone) for arm in arms.arms):
            return _NOTHING_MORE
        p, shift = done.shift.p, done.shift.value or 0.0
        if other is None and p is not None and p < _NOT_RANDOM and abs(shift) > _SHIFTED:
            self.whys[agent] = (
                f"people’s part is not random: the judge rates what they rated of {agent} "
                f"{'higher' if shift < 0 else 'lower'} than the rest, by {abs(shift):.2f} standard "
                "deviations"
            )
        return next((self.whys[one] for one in (agent, other) if one in self.whys), None)

    def _notes(self, arms: Arms, done: PredictionPowered, raters: int) -> list[str]:
        found = list(self.beside.notes)
        few = few_dialogs(len(arms.rated), FEWEST_TRUSTED)
        if few and done.estimate.has_interval:
            found.append(few)
        if raters < _FEW_RATERS:
            found.append(f"the interval is about {counted(raters, 'rater')}, who are no sample")
        if done.r is not None and max(done.r, 0.0) ** 2 < HELPFUL:
            found.append("the judge goes so little with people that it is better left out")
        elif done.effective is not None and done.effective <= done.n_rated:
            found.append("the judge does not help: the interval with it is no narrower")
        totals = arms.totals()[0]
        if done.estimate.has_interval and _is_skewed(totals):
            found.append(
                "people’s ratings are very skewed: intervals miss more often than they say"
            )
        if self.unjudged:
            found.append(
                f"{counted(self.unjudged, 'human rating')} of replies that no judge rated left out"
            )
        return found


def _is_skewed(totals: Floats) -> bool:
    """Whether units lie so lopsided that Student's t errs: Cochran's rule of 25 times the square.

    Examples:
        >>> _is_skewed(np.arange(20.0)), _is_skewed(np.exp(np.arange(20.0)))
        (False, True)
    """
    skew, n = abs(float(stats.skew(totals))), len(totals)
    return bool(skew > 2 * np.sqrt(6 / n) and n < 25 * skew**2)


def _only(arm: Arm, contexts: set[object]) -> Arm:
    """The same with those contexts alone that both agents have beside people's part."""
    kept = np.array([name in contexts for name in arm.clusters_alone], dtype=bool)
    names = [name for name in arm.clusters_alone if name in contexts]
    alone = arm.alone[kept] if len(kept) else arm.alone
    return Arm(
        arm.people, arm.judge, arm.weights, arm.clusters, alone, names, arm.raters
    )  # fmt: skip
