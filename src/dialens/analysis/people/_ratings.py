"""Ratings as the models of people's judgements take them: who, of which agent, of what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from dialens.analysis.people._scales import YES_NO, AnswerScale, answer_scale
from dialens.base import counted

FEWEST_RATERS: Final = 3
FEWEST_ITEMS: Final = 3
"""With two raters and twenty items a tenth of all tests would be clear by chance."""
_SMALL = 8
"""Below so many raters or items of an agent tests err a little too often (docs/inference.md)."""
_RARE = 0.1
"""Below such a share of yes (or no), tests err less often than they say (docs/inference.md)."""
_TERMS = ("rater", "dialog", "rater:agent", "dialog:agent", "rater:dialog:agent", "response")
_FEWEST_EACH = 2  # ratings of a rater on average, before sameness says anything
_REPEATED = 1.2  # ratings that a level needs on average, or it cannot be told from the residual


@dataclass(frozen=True)
class RatedQuality:
    """The ratings of one quality on one scale.

    Attributes:
        quality: Its name; with the scale in brackets where a quality has several.
        asked: The quality as the table names it.
        scale: The kind of answer.
        ratings: rater, agent, dialog, response, value; nothing is missing.
        left_out: How many ratings cannot be used, by what they lack.
    """

    quality: str
    asked: str
    scale: AnswerScale
    ratings: pl.DataFrame
    left_out: Mapping[str, int]

    @property
    def agents(self) -> list[str]:
        """In the order of the alphabet."""
        return self.ratings["agent"].unique().sort().to_list()

    @property
    def random(self) -> list[str]:
        """The random terms that the design carries, raters and items first.

        Ratings of one context go together, ratings of one response more so; a rater may like one
        agent better than others do, and an agent may do better in one context. A term whose
        levels hold hardly more than one rating each is left to the residual.
        """
        table = self.ratings
        kept = []
        for term in _TERMS:
            levels = table.select(term.split(":")).n_unique()
            if levels >= 2 and table.height >= _REPEATED * levels:
                kept.append(term)
        return kept

    def only(self, agents: Sequence[str]) -> "RatedQuality":
        """The ratings of some agents."""
        return replace(self, ratings=self.ratings.filter(pl.col("agent").is_in(list(agents))))

    def units(self) -> pl.DataFrame:
        """How many ratings, raters and items each agent has."""
        return (
            self.ratings.group_by("agent")
            .agg(
                n=pl.len(), n_raters=pl.col("rater").n_unique(), n_items=pl.col("dialog").n_unique()
            )
            .sort("agent")
        )


def no_variance(ratings: pl.DataFrame) -> str | None:
    """Why ratings cannot be tested if every rater gave everything the same one; else None.

    A model of such ratings has no residual: its means drift and its intervals are those of
    rounding errors.

    Examples:
        >>> no_variance(
        ...     pl.DataFrame({"rater": ["r", "r", "s", "s"], "value": [5.0, 5.0, 6.0, 6.0]})
        ... )
        'every rater gave everything the same rating: there is no variance, and no test'
        >>> no_variance(pl.DataFrame({"rater": ["r", "s"], "value": [5.0, 6.0]})) is None
        True
    """
    each = ratings.group_by("rater").agg(n=pl.len(), kinds=pl.col("value").n_unique())
    if ratings.height < _FEWEST_EACH * each.height or (each["kinds"] > 1).any():
        return None
    return "every rater gave everything the same rating: there is no variance, and no test"


def agent_names(ratings: pl.DataFrame) -> pl.Series:
    """The agent of each rating, by a name that no two agents share.

    Examples:
        >>> table = pl.DataFrame({"system": ["a", "b"], "agent": ["bot", "bot"]})
        >>> agent_names(table).to_list()
        ['a / bot', 'b / bot']
    """
    empty = pl.Series("agent", [None], dtype=pl.String).new_from_index(0, ratings.height)
    agent = ratings["agent"].cast(pl.String) if "agent" in ratings.columns else empty
    if "system" not in ratings.columns or ratings["system"].null_count() == ratings.height:
        return agent
    system = ratings["system"].cast(pl.String)
    if agent.null_count() == len(agent):
        return system.alias("agent")
    pairs = pl.DataFrame({"system": system, "agent": agent}).drop_nulls("agent")
    if pairs.n_unique() == pairs["agent"].n_unique():
        return agent
    both = pl.concat_str(["system", "agent"], separator=" / ", ignore_nulls=True)
    named = pl.DataFrame({"system": system, "agent": agent})
    return named.select(pl.when(pl.col("agent").is_not_null()).then(both).alias("agent"))["agent"]


def rated_qualities(
    ratings: pl.DataFrame, kinds: Mapping[str, str] | None = None
) -> list[RatedQuality]:
    """Ratings by quality and scale: points of two scales are never pooled.

    A quality that is judged on turns and on whole dialogues is two qualities as well.

    Args:
        ratings: The columns of a corpus's ratings.
        kinds: The kind of answer of a quality, where somebody named it.

    Examples:
        >>> table = pl.DataFrame(
        ...     {
        ...         "rater": ["r", "s"],
        ...         "dialog": ["d", "d"],
        ...         "agent": ["x", "y"],
        ...         "value": [3.0, 40.5],
        ...         "quality": ["tone", "tone"],
        ...         "scale": ["[1,5]", '{"kind": "slider"}'],
        ...     }
        ... )
        >>> [found.quality for found in rated_qualities(table)]
        ['tone (likert 1 to 5)', 'tone (slider)']
    """
    needed = {"scale": pl.String, "level": pl.String, "turn": pl.Int64}
    missing = [
        pl.lit(None, dtype=t).alias(c) for c, t in needed.items() if c not in ratings.columns
    ]
    table = ratings.with_columns(*missing).with_columns(agent_names(ratings))
    table = table.with_columns(
        response=pl.concat_str(["dialog", "agent", "turn"], separator=" / ", ignore_nulls=True)
    )
    found: list[tuple[str, str | None, AnswerScale, pl.DataFrame]] = []
    for (quality,), part in table.group_by(["quality"], maintain_order=True):
        given = (kinds or {}).get(str(quality))
        for (_, level), piece in part.group_by(["scale", "level"], maintain_order=True):
            found.append((str(quality), level, answer_scale(piece, given), piece))
    return [_named(one, found) for one in _pooled(found)]


_Found = tuple[str, str | None, AnswerScale, pl.DataFrame]


def _pooled(found: list[_Found]) -> list[_Found]:
    """One entry a quality, level and scale: entries that say the same in other words are one."""
    merged: dict[tuple[str, str | None, str], _Found] = {}
    for quality, level, scale, part in found:
        key = (quality, level, scale.name)
        before = [merged[key][3]] if key in merged else []
        merged[key] = (quality, level, scale, pl.concat([*before, part]))
    return list(merged.values())


def _named(one: _Found, found: list[_Found]) -> RatedQuality:
    quality, level, scale, part = one
    others = [other for other in found if other[0] == quality]
    beside = [scale.name] if len({other[2].name for other in others}) > 1 else []
    if level is not None and len({other[1] for other in others}) > 1:
        beside.append(f"{level}s")
    name = f"{quality} ({', '.join(beside)})" if beside else quality
    columns = ["rater", "agent", "dialog", "response", "value"]
    shaped = part.select(
        *(pl.col(column).cast(pl.String) for column in columns[:-1]),
        pl.col("value").cast(pl.Float64),
    )
    kept = shaped.drop_nulls()
    left_out = {
        column: shaped[column].null_count()
        for column in ("agent", "rater", "value")
        if shaped[column].null_count()
    }
    span = kept.select(pl.col("value").max() - pl.col("value").min()).item()
    return RatedQuality(name, quality, replace(scale, span=span), kept, left_out)


def too_few(quality: RatedQuality) -> str | None:
    """Why ratings cannot carry intervals and tests; None if they can.

    Examples:
        >>> table = pl.DataFrame({"rater": ["r"], "agent": ["x"], "dialog": ["d"], "value": [1.0]})
        >>> scale = AnswerScale("likert", 1, 5, "")
        >>> too_few(RatedQuality("tone", "tone", scale, table.with_columns(response="dialog"), {}))
        'an agent with 1 rater: at least 3 are needed'
    """
    if not quality.units().height:
        return "no rating says which agent it is about"
    return next(iter(thin_agents(quality).values()), None)


def thin_agents(quality: RatedQuality) -> dict[str, str]:
    """Agents that too few raters judged, or on too few items, and the reason."""
    found = {}
    for row in quality.units().iter_rows(named=True):
        raters, items = row["n_raters"], row["n_items"]
        if raters < FEWEST_RATERS:
            why = f"an agent with {counted(raters, 'rater')}: at least {FEWEST_RATERS} are needed"
        elif items < FEWEST_ITEMS:
            why = f"an agent with {counted(items, 'item')}: at least {FEWEST_ITEMS} are needed"
        else:
            continue
        found[row["agent"]] = why
    return found


def small_design(quality: RatedQuality) -> str | None:
    """A warning where raters or items are so few that tests err more often than they say.

    Examples:
        >>> rows = [(f"r{r}", "xy"[r % 2], f"d{d}", 1.0) for r in range(10) for d in range(9)]
        >>> table = pl.DataFrame(rows, ["rater", "agent", "dialog", "value"], orient="row")
        >>> scale = AnswerScale("likert", 1, 5, "")
        >>> rated = RatedQuality("tone", "tone", scale, table.with_columns(response="dialog"), {})
        >>> small_design(rated)
        'with 5 raters of an agent, up to 8 of 100 tests find a difference where there is none'
    """
    units = quality.units().select(pl.col("n_raters", "n_items").min()).row(0, named=True)
    few = [
        (n, word)
        for n, word in ((units["n_raters"], "rater"), (units["n_items"], "item"))
        if n < _SMALL
    ]
    if not few or len(quality.agents) < 2:
        return None
    number, word = min(few)
    return (
        f"with {counted(number, word)} of an agent, up to {10 if number < 5 else 8} of 100 tests "
        "find a difference where there is none"
    )


def rare_answers(quality: RatedQuality) -> str | None:
    """That tests are over-careful where nearly all answers are the same of yes and no.

    Examples:
        >>> rows = [(f"r{n}", "xy"[n % 2], "d", float(n == 3)) for n in range(20)]
        >>> table = pl.DataFrame(rows, ["rater", "agent", "dialog", "value"], orient="row")
        >>> scale = AnswerScale("yes_no", 0, 1, "")
        >>> rare_answers(RatedQuality("rude", "rude", scale, table, {}))
        'yes is rare (1 of 20 answers): the test is over-careful, and finds a difference where \
there is none in as few as 0.9 % of studies rather than 5 %'
    """
    if quality.scale.kind != YES_NO or len(quality.agents) < 2:
        return None
    total, yes = quality.ratings.height, int((quality.ratings["value"] > 0).sum())
    seldom, count = ("yes", yes) if 2 * yes <= total else ("no", total - yes)
    if count >= _RARE * total:
        return None
    return (
        f"{seldom} is rare ({count:,} of {counted(total, 'answer')}): the test is over-careful, "
        "and finds a difference where there is none in as few as 0.9 % of studies rather than 5 %"
    )
