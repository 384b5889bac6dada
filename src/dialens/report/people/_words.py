"""Which agent people preferred, on what and by how much, in sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dialens.analysis.people import People
from dialens.base import counted, interval, listed, number, p_value

_ALPHA = 0.05
_MOST_NAMED = 4
_NARROW = 5  # on scales below that, a tenth of a point is much
_CHOSEN = "win probability"


@dataclass(frozen=True)
class Said:
    """A difference between two agents, told from the side of the one that people liked better.

    Attributes:
        quality: On what.
        better: The agent with the higher value; with the lower one where less is better.
        worse: The other.
        size: By how much, in words: `0.62 points of 5`.
        ends: The 95 % interval in words; empty if there is none.
        clear: Whether the corrected p is below 0.05.
        strength: The size of the effect, to order differences by.
        row: The row of `agent_differences`.
        share: Of choices between just these two the share that `better` won, ties as halves;
            None where nobody was asked to choose between them, and for ratings.
    """

    quality: str
    better: str
    worse: str
    size: str
    ends: str
    clear: bool
    strength: float
    row: Mapping[str, Any]
    share: float | None = None

    @property
    def modelled(self) -> bool:
        """Whether nobody compared the two, so that a model of choices says how they stand."""
        return self.row["effect"] == _CHOSEN and self.share is None

    @property
    def told(self) -> str:
        """By how much, with the words that say whether a percentage is counted or modelled."""
        if self.row["effect"] != _CHOSEN:
            return self.size
        if self.modelled:
            return f"{self.size} of choices by the model, since nobody compared them directly"
        plain = number(self.share, percent=True)
        if plain == self.size:
            return f"{self.size} of choices"
        return f"{self.size} of choices by the model, {plain} as counted"

    @property
    def effect(self) -> tuple[float | None, float | None, float | None]:
        """The effect size with its interval, from the same side."""
        size, low, high = (self.row[f"effect_{part}"] for part in ("size", "low", "high"))
        if self.better == self.row["first"]:  # also where less is better: then it is negative
            return size, low, high
        whole = 1.0 if self.row["effect"] == _CHOSEN else 0.0
        turned = (None if x is None else whole - x for x in (size, high, low))
        return next(turned), next(turned), next(turned)

    @property
    def numbers(self) -> str:
        """Interval and raters, as they stand in brackets."""
        reach = f"95 % interval {self.ends}; " if self.ends else ""
        return f"{reach}{counted(self.row['n_raters'], 'rater')}"


def said(people: People) -> list[Said]:
    """Every difference that has a value, in the order of the table."""
    rows = people.agent_differences.drop_nulls("difference").iter_rows(named=True)
    return [_said(people, row) for row in rows]


def why_not(people: People) -> str:
    """Why no difference was tested, after a colon; empty where that is not known."""
    reasons = people.agent_differences["reason"].drop_nulls()
    return f": {reasons[0].rstrip('.')}" if len(reasons) else ""


def people_answer(people: People, who: str = "People") -> str | None:
    """What a study of several agents shows, in one sentence; None if it compares none.

    Args:
        people: What raters said.
        who: What raters are called, as the first word of a sentence.
    """
    names = people.agent_differences["quality"].unique(maintain_order=True).to_list()
    if not names:
        return None
    every = said(people)
    tested = [one for one in every if one.row["p_adjusted"] is not None]
    if not tested:
        return f"The agents cannot be compared{why_not(people)}"
    clear = [one for one in tested if one.clear]
    if not clear:
        return _no_difference(people, tested)
    names = list(dict.fromkeys(one.quality for one in tested))
    main = headline(names)
    first = _best(people, [one for one in clear if one.quality == main])
    if first is None:
        lead = f"No clear difference on {main}, but " if len(names) > 1 else ""
        strongest = max(clear, key=lambda one: one.strength)
        first = _best(people, [one for one in clear if one.quality == strongest.quality])
        assert first is not None
        return lead + _rest(
            people, first, clear, [n for n in names if n != main], start=_inside(who)
        )
    return _rest(people, first, clear, names, start=who)


def one_agent_answer(people: People, who: str = "People") -> str | None:
    """What people thought of the only agent, in one sentence; None if there are several or none."""
    rows = people.agents.drop_nulls("mean")
    if rows["agent"].n_unique() != 1:
        return None
    main = headline(rows["quality"].unique(maintain_order=True).to_list())
    row = rows.row(by_predicate=pl.col("quality") == main, named=True)
    size = f"{counted(row['n_raters'], 'rater')}, {counted(row['n_items'], 'item')}"
    if row["unit"] == "share":
        ends = interval(_100(row["low"]), _100(row["high"]), 0)
        told = f"{who} said yes to {main} in {number(100 * row['mean'], 0)} % of ratings of"
        reach = f"95 % interval {ends} %; " if row["low"] is not None else ""
        return f"{told} {row['agent']} ({reach}{size})"
    scale = people.scales.get(main)
    of = "" if scale is None or scale.high is None else f" of {scale.high:g}"
    reach = f"95 % interval {interval(row['low'], row['high'], 2)}; " if row["low"] else ""
    mean = number(row["mean"], 2)
    return f"{who} rated {row['agent']} {mean}{of} on {main} ({reach}{size})"


def headline(names: Sequence[str]) -> str:
    """The quality that stands for all: the one called overall, else the first.

    Examples:
        >>> headline(["tone", "Overall quality"]), headline(["tone", "style"])
        ('Overall quality', 'tone')
    """
    return next((name for name in names if "overall" in name.lower()), names[0])


def _said(people: People, row: Mapping[str, Any]) -> Said:
    size, low, high = row["difference"], row["low"], row["high"]
    better, worse = row["first"], row["second"]
    middle = 1.0 if row["unit"] == "ratio" else 0.0
    turned = size < middle
    lower = row["quality"] in people.lower
    if row["effect"] == _CHOSEN:
        chance = (row["effect_size"], row["effect_low"], row["effect_high"])
        size, low, high = chance
        if turned:
            size, low, high = (None if x is None else 1 - x for x in (size, high, low))
        if lower:
            size, low, high = (None if x is None else 1 - x for x in (size, high, low))
        words, ends = number(size, percent=True), interval(low, high, percent=True)
    else:
        if turned and row["unit"] == "ratio":
            size, low, high = (None if x is None else 1 / x for x in (size, high, low))
        elif turned:
            size, low, high = (None if x is None else -x for x in (size, high, low))
        words, ends = _measured(people, row, size, low, high)
        words = f"{words} less" if lower else words
    if turned != lower:
        better, worse = worse, better
    clear = row["p_adjusted"] is not None and row["p_adjusted"] < _ALPHA
    strength = abs(row["effect_size"] or 0.0)
    if row["effect"] == _CHOSEN:
        strength = abs(strength - 0.5) * 4
    ends = "" if row["low"] is None else ends
    won = _won(people, row["quality"], better, worse) if row["effect"] == _CHOSEN else None
    return Said(row["quality"], better, worse, words, ends, clear, strength, row, won)


def _won(people: People, quality: str, better: str, worse: str) -> float | None:
    """The share of choices between two agents that the first of them won, ties as halves."""
    for row in people.wins.filter(pl.col("quality") == quality).iter_rows(named=True):
        if {row["first"], row["second"]} == {better, worse} and row["n"]:
            won = row["wins"] if row["first"] == better else row["losses"]
            return float(won + row["ties"] / 2) / float(row["n"])
    return None


def _measured(
    people: People, row: Mapping[str, Any], size: float, low: float | None, high: float | None
) -> tuple[str, str]:
    if row["unit"] == "share":
        return f"{number(100 * size, 0)} percentage points", interval(_100(low), _100(high), 0)
    if row["unit"] == "ratio":
        return f"a factor of {number(size, 2)}", interval(low, high, 2)
    scale = people.scales.get(row["quality"])
    top = None if scale is None else scale.high
    width = None if scale is None else scale.width
    narrow = width is not None and width < _NARROW
    digits = 2 if narrow or (top is not None and top <= 20) else 1
    of = "" if top is None else f" of {top:g}"
    return f"{number(size, digits)} points{of}", interval(low, high, digits)


def _100(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _best(people: People, clear: Sequence[Said]) -> list[Said] | None:
    """The clear wins of the best agent that has any, the smallest first."""
    if not clear:
        return None
    quality = clear[0].quality
    ranked = people.agents.filter(pl.col("quality") == quality).sort(
        "mean", descending=quality not in people.lower
    )
    for agent in ranked["agent"]:
        wins = [one for one in clear if one.better == agent]
        if wins:
            return sorted(wins, key=lambda one: one.strength)
    return None


def _rest(
    people: People, wins: list[Said], clear: Sequence[Said], names: Sequence[str], *, start: str
) -> str:
    """The headline, and what holds for the other qualities."""
    quality, agent = wins[0].quality, wins[0].better
    text = f"{start} preferred {agent} to {_losers(people, wins)}"
    beaten = {one.worse for one in wins}
    same, only, over, between, none = [], dict[str, list[str]](), list[str](), [], []
    for name in (name for name in names if name != quality):
        found = [one for one in clear if one.quality == name]
        there = [one.worse for one in found if one.better == agent]
        above = any(one.worse == agent for one in found)
        if beaten <= set(there):
            same.append(name)
        elif there:
            only.setdefault(some(there), []).append(name)
        elif found and not above:
            between.append(name)
        elif not found:
            none.append(name)
        over += [name] if above else []
    parts = [f"also on {some(same)}"] if same else []
    parts += [f"on {some(kept)} only to {losers}" for losers, kept in only.items()]
    high = [name for name in over if name not in people.lower]
    low = [name for name in over if name in people.lower]
    higher = {one.better for one in clear if one.worse == agent and one.quality in over}
    who = higher.pop() if len(higher) == 1 else "another agent"
    parts += [f"{who} was rated higher on {some(high)}"] if high else []
    parts += [f"{who} was rated lower, which is better, on {some(low)}"] if low else []
    parts += [f"on {some(between)} clear differences only between others"] if between else []
    parts += [f"no clear difference on {some(none)}"] if none else []
    return "; ".join([text, *parts])


def _losers(people: People, wins: list[Said]) -> str:
    closest = wins[0]
    count = people.agents.filter(pl.col("quality") == closest.quality)["agent"].n_unique()
    by = _by(closest)
    if len(wins) == 1:
        rest = f", with no clear difference from {counted(count - 2, 'other')}" if count > 2 else ""
        return f"{closest.worse} on {closest.quality} {by}{rest}"
    if len(wins) == count - 1:
        both = "both others" if count == 3 else f"all {count - 1} others"
        return f"{both} on {closest.quality}, to {closest.worse}, the next best, {by}"
    beaten = some([one.worse for one in reversed(wins)])
    return f"{beaten} on {closest.quality}, to {closest.worse} {by}"


def _by(one: Said) -> str:
    if one.row["effect"] == _CHOSEN:
        return f"in {one.told} ({one.numbers})"
    return f"by {one.size} ({one.numbers})"


def _no_difference(people: People, tested: Sequence[Said]) -> str:
    agents = people.agents["agent"].n_unique()
    qualities = list(dict.fromkeys(one.quality for one in tested))
    # What people compared comes first: a model alone can be far off where answers are few.
    largest = max(tested, key=lambda one: (not one.modelled, one.strength))
    where = f"any of {len(qualities)} qualities" if len(qualities) > 1 else qualities[0]
    on = f" on {largest.quality}" if len(qualities) > 1 else ""
    p = p_value(largest.row["p_adjusted"], equals=True)
    return (
        f"No clear difference between the {agents} agents on {where}; the largest is "
        f"{largest.better} over {largest.worse}{on} {_by(largest)[:-1]}, corrected p {p})"
    )


def _inside(who: str) -> str:
    """The same words where they do not begin the sentence."""
    return who[:1].lower() + who[1:]


def some(names: Sequence[str]) -> str:
    """A few names; the rest is counted."""
    if len(names) <= _MOST_NAMED:
        return listed(names)
    return listed([*names[: _MOST_NAMED - 1], f"{len(names) - _MOST_NAMED + 1} more"])
