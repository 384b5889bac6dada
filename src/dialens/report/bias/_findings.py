"""What a study's analysis says, in plain sentences: a claim, and the numbers it rests on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dialens.analysis.bias import FLAGS, StudyAnalysis, StudyData
from dialens.base import capitalised, counted, listed, number, p_value
from dialens.corpus import RATINGS
from dialens.report._page import Finding
from dialens.report.bias._agreement import agreement_findings, retest_findings
from dialens.report.bias._remarks import rater_word
from dialens.report.bias._wording import (
    answers_counted,
    bounds,
    is_clear,
    with_family,
)

_ALL = "all"
_FLAG_WORDS = {
    "straight_lining": "gave nearly always the same number",
    "speeding": "answered in less than a third of the usual time, or faster than anybody reads",
    "failed_checks": "failed a check",
    "round_numbers": "used nothing but multiples of ten",
    "few_ratings": "gave fewer than half of the usual number of ratings",
}
_OTHERS = {
    "design": "effects of the design",
    "agreement": "differences of agreement",
    "pushes": "biases",
}
_OF_EXPORTS = (
    "screen", "session_state", "version", "pair", "judge", "prompt", "memory", "think",
    "answer_mode", "ask", "language", "tag", "variant",
)  # fmt: skip
_MOST_NAMED = 4
_MOST_LEVELS = 8


@dataclass(frozen=True)
class _Tested:
    """A tested number in words: its sentence, what it is called, and its row."""

    finding: Finding
    name: str
    row: Mapping[str, Any]


def findings(analysis: StudyAnalysis) -> list[Finding]:
    """What is clear, in sentences, the design's effects first; what is not is counted by kind."""
    return [
        *_clear_first(_design(analysis)),
        *agreement_findings(analysis),
        *retest_findings(analysis),
        *_clear_first(_agreement_differences(analysis)),
        *_clear_first(_pushes(analysis)),
        *_heaping(analysis),
        *_raters(analysis),
        *_opinions(analysis),
    ]


def _clear_first(tested: Iterable[_Tested]) -> Iterator[Finding]:
    """The clear ones, then one sentence for all others: their numbers are in the table."""
    every = list(tested)
    yield from (one.finding for one in every if one.finding.clear)
    doubtful = [one for one in every if not one.finding.clear]
    untested = [one for one in doubtful if one.row["p_adjusted"] is None]
    yield from _untested(untested)
    doubtful = [one for one in doubtful if one.row["p_adjusted"] is not None]
    if len(doubtful) < 2:
        yield from (one.finding for one in doubtful)
        return
    topic = doubtful[0].finding.topic
    names = [one.name for one in doubtful]
    more = len(names) - _MOST_NAMED
    shown = [*names[:_MOST_NAMED], f"{more} more"] if more > 0 else names
    claim = f"{len(names)} {_OTHERS[topic]} cannot be told from chance"
    least = min((one.row for one in doubtful), key=lambda row: row["p_adjusted"])
    numbers = (
        f"corrected p {p_value(least['p_adjusted'])} or more, "
        f"family of {counted(least['family'], 'test')}"
    )
    yield Finding(claim, f"{listed(shown)}; {numbers}", clear=False, topic=topic)


def _untested(untested: Sequence[_Tested]) -> Iterator[Finding]:
    """What has a value and no test: said as that, not as an effect that is not clear."""
    if not untested:
        return
    names = [one.name for one in untested]
    more = len(names) - _MOST_NAMED
    shown = [*names[:_MOST_NAMED], f"{more} more"] if more > 0 else names
    whys = dict.fromkeys(str(one.row["reason"] or "no interval") for one in untested)
    claim = f"Not tested: {listed(shown)}"
    topic = untested[0].finding.topic
    yield Finding(claim, "; ".join(whys), clear=False, topic=topic)


def answer(told: Sequence[Finding]) -> str:
    """What the study shows, in one sentence: its clearest effect, or that there is none.

    Examples:
        >>> answer([Finding("No clear effect of the anchor", clear=False, topic="design")])
        'No effect of the design can be told from chance'
    """
    design = [finding for finding in told if finding.topic == "design"]
    effects = [finding for finding in design if finding.clear]
    if not design:
        agreement = [finding for finding in told if finding.topic == "agreement"]
        if agreement:
            return f"{agreement[0].claim} ({agreement[0].numbers})"
        return "The ratings allow no comparison of conditions and no measure of agreement"
    if not effects and all(finding.claim.startswith("Not tested") for finding in design):
        return f"No effect of the design could be tested ({design[0].numbers})"
    if not effects:
        return "No effect of the design can be told from chance"
    return f"{effects[0].claim} ({effects[0].numbers.partition(';')[0]})"


def _design(analysis: StudyAnalysis) -> Iterator[_Tested]:
    rows = analysis.effects.drop_nulls("value")
    together = _ALL in rows["quality"]
    for row in rows.iter_rows(named=True):
        single = row["quality"] != _ALL and row["effect"] != "anchor × quality"
        if (single and together) or ", layout " in row["effect"]:
            continue
        name = row["effect"] if row["quality"] == _ALL else f"{row['effect']} on {row['quality']}"
        yield _Tested(_effect(row), name, row)


def _effect(row: Mapping[str, Any]) -> Finding:
    up = row["value"] > 0
    size = number(abs(row["value"]))
    more = "higher" if up else "lower"
    effect = row["effect"]
    on = "" if row["quality"] == _ALL else f" on {row['quality']}"
    ratings = "ratings" if row["quality"] == _ALL else f"ratings of {row['quality']}"
    if effect == "anchor pull":
        share = number(row["value"], percent=True)
        claim = f"The anchor pulled {ratings} {share} of the way to its own value"
        doubt = f"No clear pull of the anchor towards its own value{on}"
        return _finding("design", row, claim, doubt, percent=True)
    if effect == "anchoring index":
        ends = ("value", "low", "high")
        tenfold = {**row, **{k: None if row[k] is None else 10 * row[k] for k in ends}}
        way = "moved" if up else "moved the other way by"
        size = number(abs(tenfold["value"]))
        claim = f"For every 10 points more on the anchor, {ratings} {way} {size}"
        doubt = f"{capitalised(ratings)} do not clearly follow the number shown"
        what = "for every 10 points more they move"
        return _finding("design", tenfold, claim, doubt, what=what)
    if effect == "anchor":
        claim = f"Raters who saw the anchor rated {size} points {more}{on}"
        doubt = f"No clear effect of the anchor{on}"
    elif effect == "anchor × quality":
        first, other = row["quality"].split(" − ")
        most, least = (first, other) if up else (other, first)
        claim = f"The anchor moved {most} {size} points further up than {least}"
        doubt = f"No clear difference in how the anchor moved {first} and {other}"
    elif effect.startswith("anchor × "):
        where = row["question"].removeprefix("whether the anchor works differently ")
        change = "larger" if up else "smaller"
        claim = f"The anchor’s effect{on} was {size} points {change} {where}"
        doubt = f"No clear sign that the anchor works differently {where}{on}"
    else:
        a, _, b = row["question"].partition(" against ")
        if effect == "own_answer_first":
            a, b = "an answer of one’s own first", "none"
        claim = f"With {a} instead of {b}, {ratings} were {size} points {more}"
        doubt = f"No clear difference between {a} and {b}{on}"
    return _finding("design", row, claim, doubt)


def _finding(
    topic: str,
    row: Mapping[str, Any],
    claim: str,
    doubt: str,
    *,
    percent: bool = False,
    what: str = "difference",
) -> Finding:
    """The claim if the corrected p is below 0.05; else that nothing can be said, with the sign."""
    if is_clear(row):
        # A claim says the direction in words, so the interval is that of the size.
        reach = bounds(row, percent=percent, flip=row["value"] < 0 and not percent)
        return Finding(claim, f"{reach}; {with_family(row)}", topic=topic)
    size = number(row["value"], percent=percent)
    numbers = f"{what} {size}, {bounds(row, percent=percent)}; {with_family(row)}"
    return Finding(doubt, numbers, clear=False, topic=topic)


def _agreement_differences(analysis: StudyAnalysis) -> Iterator[_Tested]:
    rows = analysis.consistency_differences
    single = rows.filter(
        pl.col("form") == "ICC(3,1)", ~pl.col("comparison").str.contains(r"\("),
        pl.col("value").is_not_null(),
    )  # fmt: skip
    for row in single.iter_rows(named=True):
        word = "more" if row["value"] > 0 else "less"
        size = f"ICC(3,1) {number(abs(row['value']), 2)} {'higher' if word == 'more' else 'lower'}"
        a, _, b = row["comparison"].partition(" − ")
        quality = row["quality"]
        if row["comparison"] == quality:
            claim = f"Raters agree {word} on {a} than on {b}"
            doubt = f"No clear difference in agreement between {a} and {b}"
            name = f"{a} against {b}"
        elif b == "none":
            which = "an anchor" if a in ("anchor", "shown anchor") else f"a {a}"
            claim = f"With {which} raters agree {word} on {quality}"
            doubt = f"No clear difference in agreement on {quality} between {which} and none"
            name = f"{which} on {quality}"
        else:
            setting = a.partition(": ")[2] or a
            claim = f"With “{setting}” raters agree {word} on {quality} than with “{b}”"
            doubt = f"No clear difference in agreement on {quality}: “{setting}” against “{b}”"
            name = f"“{setting}” on {quality}"
        what = "ICC(3,1) differs by"
        finding = _finding("agreement", row, f"{claim}: {size}", doubt, what=what)
        yield _Tested(finding, name, row)


def _pushes(analysis: StudyAnalysis) -> Iterator[_Tested]:
    for row in analysis.response_biases.drop_nulls("value").iter_rows(named=True):
        if row["bias"] != "heaping":
            yield _push(row)


def _push(row: Mapping[str, Any]) -> _Tested:
    size = number(abs(row["value"]))
    up = row["value"] > 0
    word = "rise" if up else "fall"
    of = row["of"]
    if row["bias"] == "position":
        name = f"place on the screen, {of}"
        claim = f"Each place further down the screen, {of} {word} by {size} points"
        doubt = f"No clear effect of the place on the screen on {of}"
    elif row["bias"] == "halo":
        name = f"halo between {of}"
        claim = (
            f"Ratings of {of} correlate {number(row['value'], 2)} beyond items and raters: a halo, "
            "or opinions that both qualities share"
        )
        doubt = f"Ratings of {of} do not clearly go together beyond items and raters"
    elif of == "time":
        return _pace(row)
    elif of.startswith("scatter"):
        name = f"{of} over the session"
        rated = of.replace("scatter", "ratings")
        where = "further from" if up else "closer to"
        claim = f"Over the session, {rated} move {size} points {where} what others gave"
        doubt = f"{capitalised(rated)} do not clearly scatter more with time"
    else:
        name = f"drift of {of}"
        claim = f"From the first to the last item of a session, {of} {word} by {size} points"
        doubt = f"No clear drift of {of} over the session"
    what = "correlation" if row["bias"] == "halo" else "change"
    return _Tested(_finding("pushes", row, claim, doubt, what=what), name, row)


def _pace(row: Mapping[str, Any]) -> _Tested:
    """Doublings of time as percent, the interval too."""
    ends = {key: _percent(row[key]) for key in ("value", "low", "high")}
    told = {**row, **ends}
    if row["value"] < 0 and row["low"] is not None:
        told |= {"low": -_percent(row["high"]), "high": -_percent(row["low"])}
    share = number(abs(told["value"]), percent=True)
    claim = f"Over the session, raters become {share} {'slower' if row['value'] > 0 else 'faster'}"
    doubt = "Raters do not clearly become faster or slower"
    shown = told if is_clear(row) else {**row, **ends}
    finding = _finding("pushes", shown, claim, doubt, percent=True, what="time changes by")
    return _Tested(finding, "pace", row)


def _percent(doublings: Any) -> Any:
    """By what share something grows that doubles so often; None stays None."""
    return None if doublings is None else 2**doublings - 1


def _heaping(analysis: StudyAnalysis) -> Iterator[Finding]:
    rows = analysis.response_biases.filter(bias="heaping", of="all ratings").drop_nulls("value")
    for row in rows.iter_rows(named=True):
        claim = f"{number(row['value'], percent=True)} of all ratings are multiples of ten"
        yield Finding(claim, bounds(row, percent=True), topic="pushes")


def _raters(analysis: StudyAnalysis) -> Iterator[Finding]:
    flags = analysis.flags
    total = analysis.data.raters.height
    parts = [
        f"{counted(len(flags.flagged(flag)), 'rater')} {_FLAG_WORDS[flag]}"
        for flag in FLAGS
        if flags.flagged(flag)
    ]
    flagged = flags.any_flag
    if not parts:
        yield Finding("No rater stands out", "by the checks that the data allow", topic="raters")
        return
    claim = f"{len(flagged)} of {counted(total, 'rater')} should be looked at twice"
    yield Finding(claim, listed(parts), topic="raters")
    rows = analysis.robustness
    if "effect" not in rows.columns:
        return
    scopes = rows["quality"].drop_nulls().unique(maintain_order=True).to_list()
    if not scopes:
        return
    scope = _ALL if _ALL in scopes else scopes[0]
    for effect in ("anchor", "layout"):
        part = rows.filter(pl.col("effect") == effect, pl.col("quality") == scope)
        everybody = part.filter(pl.col("left_out") == "nobody")
        without = part.filter(pl.col("left_out") == "all of them")
        if everybody.height and without.height and without["value"][0] is not None:
            before, after = everybody.row(0, named=True), without.row(0, named=True)
            claim = f"Without them the effect of the {effect} is {number(after['value'])} points"
            numbers = f"{bounds(after)}; with everybody it is {number(before['value'])}"
            yield Finding(claim, numbers, topic="raters")


def _opinions(analysis: StudyAnalysis) -> Iterator[Finding]:
    ranked = analysis.table("figure9")
    if ranked.height:
        first, second = ranked["quality"][0], ranked["quality"][1]
        claim = f"Participants find {first} most important, then {second}"
        row = ranked.row(0, named=True)
        numbers = f"mean rank {number(row['mean_rank'])}, {bounds(row)}"
        yield Finding(claim, f"{numbers}; {row['n_raters']} participants", topic="opinions")
    liked = analysis.table("preferred")
    if liked.height:
        row = liked.row(0, named=True)
        claim = f"{row['n_raters']} of {row['of']} participants prefer {row['answer']}"
        yield Finding(claim, bounds(row, percent=True), topic="opinions")


def _perhaps(data: StudyData) -> str:
    """The column that may be a factor, with the option that makes it one."""
    known = {*RATINGS, *_OF_EXPORTS, "item", "seconds", "anchor_value", "label"} - {"condition"}
    for column in data.ratings:
        levels = column.drop_nulls().n_unique()
        if column.name not in known and column.dtype == pl.String and 2 <= levels <= _MOST_LEVELS:
            return f"; if {column.name} is one, add --factor {column.name}={column.name}"
    return ""


def scope(analysis: StudyAnalysis) -> str:
    """How large the study is, and how many of the design's effects stand out."""
    data = analysis.data
    rows = analysis.effects
    tests = int(rows["p_adjusted"].is_not_null().sum())
    below = int((rows["p_adjusted"] < 0.05).sum())
    size = f"{counted(data.raters.height, rater_word(data))}, {answers_counted(analysis)}"
    if not tests and data.factors and rows.height:
        why = next((row["reason"] for row in rows.to_dicts() if row["reason"]), "no interval")
        return f"{size}; no effect of the design could be tested: {why.rstrip('.')}"
    if not tests and analysis.people.agent_differences.height:
        return size
    if not tests:
        return f"{size}; no factor of the design has two levels, so none was tested{_perhaps(data)}"
    return (
        f"{size}: {below} of {counted(tests, 'test')} of the design’s effects "
        f"{'has' if below == 1 else 'have'} a corrected p below 0.05"
    )
