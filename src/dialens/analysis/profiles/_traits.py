"""Traits of agents: how stable within an agent, how different between the agents of a system.

A trait (personality, empathy) should stay the same from dialogue to dialogue of one agent and may
differ between agents. Both are shares of the same variance, that of dialogues' values:

- **stability of a system's agents**: ICC(1), how alike two dialogues of one agent are. An ICC needs
  agents to compare with: a single agent, however steady, says nothing on whether its dialogues lie
  closer together than those of others. With one agent it is null, and the reason says so.
- **stability of one agent**: the system's variance between agents, over that plus *this* agent's
  own variance within. Agents share the yardstick and differ by how steady they are themselves; for
  an agent of average steadiness it is the ICC.
- **reliability of an agent's mean** over its n dialogues: the same with its variance within divided
  by n (Spearman–Brown): how far one may trust the order of the agents.

Every dialogue counts once, whatever its length. Weighting by words would be right if variation
within an agent were sampling noise alone, which falls with length; but agents also adapt to what
is talked about, and that does not. Short dialogues are noisy all the same, which lowers stability:
`words` gives the median, and where it is low the stability speaks of the words as much as of the
agent. Where agents answered the same contexts, differences between contexts count as variation
within agents.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from dialens.analysis.comparison import RESAMPLES
from dialens.analysis.profiles._variance import OneWay, f_test, resampled
from dialens.base import DialensError, atomic_file
from dialens.metrics import Scores
from dialens.statistics import Floats, corrected

FILE = "trait_profile.parquet"
_MOST_UNDEFINED = 0.05
_CHANCE = 0.05
_WORDS = "own|words|0"

TRAIT_PROFILE = pl.Schema(
    {
        "level": pl.String,
        "system": pl.String,
        "agent": pl.String,
        "trait": pl.String,
        "mean": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "sd_within": pl.Float64,
        "sd_between": pl.Float64,
        "sd_of_means": pl.Float64,
        "between_variance": pl.Float64,
        "stability": pl.Float64,
        "stability_low": pl.Float64,
        "stability_high": pl.Float64,
        "f": pl.Float64,
        "df1": pl.Int64,
        "df2": pl.Int64,
        "p": pl.Float64,
        "f_low": pl.Float64,
        "f_high": pl.Float64,
        "reliability": pl.Float64,
        "n_agents": pl.Int64,
        "n_dialogs": pl.Int64,
        "n_missing": pl.Int64,
        "words": pl.Float64,
        "reason": pl.String,
    }
)
"""One row a system and trait, and one an agent and trait.

| column | system | agent |
|---|---|---|
| mean, low, high | mean of its agents' means, t interval over agents | mean of its dialogues, t interval over dialogues |
| sd_within | of dialogues within agents, pooled | of its own dialogues |
| sd_between | of agents, sampling noise taken off; 0 where nothing is left | |
| between_variance | its square before it is held at 0 | |
| sd_of_means | of the agents' means as they are | |
| stability | ICC(1) | against the system's variance between agents |
| stability_low, _high | these agents, dialogues drawn anew (bootstrap) | |
| f, df1, df2, p | test that agents do not differ | |
| f_low, f_high | interval of the ICC for agents drawn at random | |
| reliability | of a mean over n0 dialogues | of the mean over its dialogues |
| n_dialogs, n_missing | dialogues with and without a value | the same |
| words | median words of the agents' sides; null unless words were counted | the same |
"""  # noqa: E501


@dataclass(frozen=True)
class TraitProfile:
    """Traits of a run.

    Attributes:
        table: One row a unit and trait; columns as `TRAIT_PROFILE`.
        dialogs: One row a dialogue, not yet read: `system`, `agent`, `dialog`, a column a trait,
            and `words`.
        traits: Their names, in the order in which they were scored.
        within: What agents were compared within: each `system`, or the whole `corpus`.
    """

    table: pl.DataFrame
    dialogs: pl.LazyFrame
    traits: Sequence[str]
    within: str

    @property
    def known(self) -> list[str]:
        """The traits of which some dialogue has a value."""
        there = set(self.table.filter(pl.col("n_dialogs") > 0)["trait"])
        return [name for name in self.traits if name in there]


def traits_of(scores: Scores) -> list[str]:
    """The traits that a run has scored, those of the moment among them."""
    return [name for name, card in scores.cards.items() if card.is_trait]


def lasting_traits(scores: Scores) -> list[str]:
    """The traits of a run without those of the moment: empathy as a state is none."""
    return [name for name, card in scores.cards.items() if card.describes == "trait"]


def trait_profile(
    scores: Scores,
    *,
    traits: Sequence[str] | None = None,
    within: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> TraitProfile:
    """How stable traits are within agents, and how much they vary between the agents of a system.

    Args:
        scores: What `dialens.score` or `Scores.open` gives.
        traits: Names of metrics; those that describe a trait if not given. Any metric that
            dialogues have will do.
        within: `system` compares the agents of each system; `corpus` takes all agents together. If
            not given, systems are kept apart only where each of them has two agents or more, so
            that every agent is compared with some other.
        resamples: How many times the dialogues are drawn for the intervals of the ICC.
        seed: Of the draw.
        confidence: Of all intervals.

    Examples:
        >>> from dialens import Corpus, score
        >>> from dialens.corpus import Dialogue, Turn
        >>> def said(agent, number, text):
        ...     return Dialogue("s", agent, f"{agent}{number}", [Turn("B", "agent", text)])
        >>> talks = [said("brief", n, "Yes." + " Sure." * n) for n in range(3)]
        >>> talks += [said("wordy", n, "Well, " * (8 + n)) for n in range(3)]
        >>> scores = score(Corpus.of(talks), metrics=["length"])
        >>> found = trait_profile(scores, traits=["length"]).table
        >>> found.select("level", "agent", "mean", "sd_within", pl.col("stability").round(3)).rows()
        [('system', None, 5.5, 1.0, 0.96), ('agent', 'brief', 2.0, 1.0, 0.96),
         ('agent', 'wordy', 9.0, 1.0, 0.96)]
    """
    if within not in (None, "system", "corpus"):
        raise DialensError(
            f"Agents are compared within a `system` or the `corpus`, not {within!r}."
        )
    names = list(traits) if traits is not None else traits_of(scores)
    lacking = [name for name in names if name not in scores.signatures]
    if lacking:
        raise DialensError(
            f"These scores do not hold the trait {lacking[0]!r}. They hold: "
            f"{', '.join(scores.signatures)}. Score again with --metrics, or choose another."
        )
    if not names:
        return TraitProfile(TRAIT_PROFILE.to_frame(), pl.LazyFrame(), [], within or "system")
    words = _words(scores)
    if within is None:
        systems = scores.agents()["system"].to_list()
        within = "corpus" if compared_over_systems(systems) else "system"
    keys = ["system"] if within == "system" else [pl.lit("all").alias("system")]
    counted = words.collect(engine="streaming").to_series()
    found: dict[tuple[int, int], list[dict[str, object]]] = {}
    for place, name in enumerate(names):
        dialogs = _dialog_values(scores, name).hstack([counted])
        for number, (key, part) in enumerate(dialogs.group_by(keys, maintain_order=True)):
            system = str(key[0]) if within == "system" else None
            rng = np.random.default_rng([seed, number, place])
            found[number, place] = list(_Unit(system, name, part).rows(resamples, rng, confidence))
    rows = [row for place in sorted(found) for row in found[place]]
    shown = pl.concat([scores.dialog_columns(names), words], how="horizontal")
    return TraitProfile(pl.DataFrame(rows, schema=TRAIT_PROFILE), shown, names, within)


def compared_over_systems(systems: Sequence[str]) -> bool:
    """Whether agents are compared over all systems; `systems` holds that of each agent.

    An agent that is alone in its system would be compared with nobody else.

    Examples:
        >>> compared_over_systems(["a", "a", "b", "b"]), compared_over_systems(["a", "a", "b"])
        (False, True)
        >>> compared_over_systems(["a"])
        False
    """
    return len(set(systems)) > 1 and min(Counter(systems).values()) == 1


def write_trait_profile(scores: Scores, folder: Path, *, seed: int = 0) -> TraitProfile:
    """Write the profile beside the scores as `trait_profile.parquet`, if traits were scored."""
    profile = trait_profile(scores, seed=seed)
    if profile.traits:
        with atomic_file(folder / FILE) as scratch:
            profile.table.write_parquet(scratch)
    return profile


def systems_apart(profile: TraitProfile) -> dict[str, list[str]]:
    """The systems whose agents differ more than chance would make them, by trait.

    Corrected over traits and systems (Benjamini & Hochberg 1995). Traits without any test are left
    out.
    """
    tested = corrected(profile.table.filter(pl.col("p").is_not_null()), family=None)
    apart: dict[str, list[str]] = {trait: [] for trait in tested["trait"].unique()}
    for row in tested.filter(pl.col("p_adjusted") < _CHANCE).iter_rows(named=True):
        apart[row["trait"]].append(str(row["system"]))
    return apart


def _words(scores: Scores) -> pl.LazyFrame:
    """The words of each dialogue, in the order of the dialogues; null where not counted."""
    known = _WORDS in scores.states.collect_schema().names()
    words = pl.col(_WORDS) if known else pl.lit(None)
    return scores.states.with_columns(words=words.cast(pl.Float64)).select("words")


def _dialog_values(scores: Scores, name: str) -> pl.DataFrame:
    """Whose each dialogue is, its value on a trait, and if it has none, `why`."""
    owner = pl.col("system", "agent").cast(pl.Categorical)
    values = scores.dialog_columns([name]).select(owner, name)
    why = scores.dialog_reasons([name]).select(why=pl.col(name).cast(pl.Categorical))
    return values.collect(engine="streaming").hstack(why.collect(engine="streaming"))


@dataclass(frozen=True)
class _Unit:
    """A trait of the agents that are compared with each other."""

    system: str | None
    trait: str
    dialogs: pl.DataFrame

    def rows(
        self, resamples: int, rng: np.random.Generator, confidence: float
    ) -> Iterator[dict[str, object]]:
        """The row of the whole, then those of its agents in the order of the corpus."""
        there = self.dialogs.drop_nulls(self.trait)
        agents = there.select("system", "agent").unique(maintain_order=True).with_row_index("place")
        joined = there.join(agents, on=["system", "agent"], maintain_order="left")
        values = joined[self.trait].to_numpy().astype(np.float64)
        places = joined["place"].to_numpy().astype(np.int64)
        table = OneWay.of(values, places) if len(values) else None
        why = "no dialogue has a value" if table is None else table.why_not()
        yield self._whole(table, why, values, places, resamples, rng, confidence)
        between = None if table is None or why else max(table.between, 0.0)
        for (system, agent), part in self.dialogs.group_by(
            ["system", "agent"], maintain_order=True
        ):
            yield self._agent(str(system), str(agent), part, between, why, confidence)

    def _whole(
        self,
        table: OneWay | None,
        why: str | None,
        values: Floats,
        places: np.ndarray[tuple[int], np.dtype[np.int64]],
        resamples: int,
        rng: np.random.Generator,
        confidence: float,
    ) -> dict[str, object]:
        row = self._counts("system", self.system, None, self.dialogs)
        row["n_agents"] = 0 if table is None else table.agents
        if table is not None:
            row |= _mean(table.means, confidence)
            if table.dialogs > table.agents:
                row["sd_within"] = float(np.sqrt(table.within))
        if table is None or why:
            return row | {"reason": why}
        between, within = table.between, table.within
        row |= {
            "sd_between": float(np.sqrt(max(between, 0.0))),
            "sd_of_means": float(table.means.std(ddof=1)),
            "between_variance": between,
            "stability": table.icc,
            "reliability": 1 - within / table.mean_square_between
            if table.mean_square_between > 0
            else None,
        }
        test = f_test(table, confidence)
        row |= {
            "f": test.f if np.isfinite(test.f) else None,
            "df1": test.df1,
            "df2": test.df2,
            "p": test.p,
            "f_low": test.low,
            "f_high": test.high,
        }
        drawn = resampled(values, places, resamples, rng)
        if drawn.undefined > _MOST_UNDEFINED:
            return row | {"reason": f"not defined in {drawn.undefined:.0%} of the resamples"}
        low, high = drawn.interval(confidence)
        return row | {"stability_low": low, "stability_high": high}

    def _agent(
        self,
        system: str,
        agent: str,
        part: pl.DataFrame,
        between: float | None,
        why: str | None,
        confidence: float,
    ) -> dict[str, object]:
        row = self._counts("agent", system, agent, part)
        values = part[self.trait].drop_nulls().to_numpy().astype(np.float64)
        missing = _commonest(part["why"])
        if not len(values):
            return row | {"reason": missing or why}
        row |= _mean(values, confidence)
        if len(values) < 2:
            return row | {"reason": why or "one dialogue only"}
        own = float(values.var(ddof=1))
        row["sd_within"] = float(np.sqrt(own))
        if between is None:
            return row | {"reason": why}
        if between + own <= 0:
            return row | {"reason": "neither agents nor its own dialogues differ"}
        row["stability"] = between / (between + own)
        row["reliability"] = between / (between + own / len(values))
        return row | {
            "reason": f"{row['n_missing']} without a value: {missing}" if missing else None
        }

    def _counts(
        self, level: str, system: str | None, agent: str | None, part: pl.DataFrame
    ) -> dict[str, object]:
        missing = part[self.trait].null_count()
        return {
            "level": level,
            "system": system,
            "agent": agent,
            "trait": self.trait,
            "n_dialogs": part.height - missing,
            "n_missing": missing,
            "words": part["words"].median(),
        }


def _mean(values: Floats, confidence: float) -> dict[str, object]:
    """A mean with the interval of Student's t; none for a single value."""
    mean = float(values.mean())
    if len(values) < 2:
        return {"mean": mean}
    error = float(values.std(ddof=1)) / np.sqrt(len(values))
    half = error * float(stats.t.ppf((1 + confidence) / 2, len(values) - 1))
    return {"mean": mean, "low": mean - half, "high": mean + half}


def _commonest(reasons: pl.Series) -> str | None:
    """The reason that stands there most often, of several the first; None where there is none."""
    known = reasons.drop_nulls().to_frame("why")
    counts = known.group_by("why", maintain_order=True).len()
    first = counts.filter(pl.col("len") == pl.col("len").max()).head(1)
    return str(first["why"].item()) if counts.height else None
