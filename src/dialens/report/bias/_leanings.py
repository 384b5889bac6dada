"""What tags, variants, length and place did, in sentences and tables."""

from collections.abc import Iterator, Mapping
from typing import Any

from dialens.analysis.bias import StudyAnalysis
from dialens.base import capitalised, interval, number, p_value
from dialens.report._page import Finding
from dialens.report._table import Table
from dialens.report.bias._wording import bounds, is_clear, with_family

_SHARE = "share"
_PEOPLE = "people"


def leaning_findings(analysis: StudyAnalysis) -> Iterator[Finding]:
    """A sentence for every clear leaning, and for flips; agents at equal length if it matters."""
    for row in analysis.leanings.drop_nulls("value").iter_rows(named=True):
        if row["bias"] == "order":
            if _several(row):  # those of one judge stand under “Judges”
                yield _flips(row)
        elif is_clear(row):
            yield Finding(_claim(row), _numbers(row), topic="pushes")
    matters = {
        (row["raters"], row["quality"])
        for row in analysis.leanings.filter(bias="length").iter_rows(named=True)
        if is_clear(row)
    }
    for row in analysis.equal_length.drop_nulls("value").iter_rows(named=True):
        if is_clear(row) and (row["raters"], row["quality"]) in matters:
            yield _at_equal_length(row)


def _several(row: Mapping[str, Any]) -> bool:
    """Whether a row is of people, or of models as a sample."""
    return str(row["raters"]).startswith((_PEOPLE, "all "))


def _who(row: Mapping[str, Any]) -> str:
    return capitalised(row["raters"]) if _several(row) else str(row["raters"])


def _numbers(row: Mapping[str, Any]) -> str:
    share = row["measure"] == _SHARE
    flip = row["value"] < 0 and not share
    return f"{bounds(row, percent=share, flip=flip)}; {with_family(row)}"


def _claim(row: Mapping[str, Any]) -> str:
    level, _, other = str(row["of"]).partition(" against ")
    what = {
        "tag": f"tagged “{level}” instead of “{other}”",
        "variant": f"in the form “{level}” instead of “{other}”",
        "length": "twice as long",
        "position": "a place further down",
    }.get(row["bias"], "")
    on = row["quality"]
    if row["measure"] == _SHARE:
        share = number(row["value"], percent=True)
        if row["bias"] == "first place":
            return f"{_who(row)} preferred what stood first in {share} of verdicts on {on}"
        return f"{_who(row)} chose a response {share} of the time on {on} when it was {what}"
    more = "more" if row["value"] > 0 else "less"
    points = number(abs(row["value"]))
    return f"{_who(row)} gave a response {points} points {more} on {on} when it was {what}"


def _flips(row: Mapping[str, Any]) -> Finding:
    share = number(row["value"], percent=True)
    claim = (
        f"{_who(row)} changed their verdict on {row['quality']} in {share} of pairs when the "
        "same two came in the other order"
    )
    return Finding(claim, bounds(row, percent=True), topic="pushes")


def _at_equal_length(row: Mapping[str, Any]) -> Finding:
    share = row["measure"] == _SHARE
    up = row["value"] > (0.5 if share else 0.0)
    best, other = (row["agent"], row["other"]) if up else (row["other"], row["agent"])
    ends = dict(row)
    if not up and row["low"] is not None:
        whole = 1.0 if share else 0.0
        plain = row["uncontrolled"]
        ends |= {
            "value": whole - row["value"],
            "low": whole - row["high"],
            "high": whole - row["low"],
            "uncontrolled": None if plain is None else whole - plain,
        }
    size = number(ends["value"], percent=share)
    claim = f"At equal length {best} is {size} points higher than {other} on {row['quality']}"
    if share:
        claim = f"At equal length {best} wins {size} of choices against {other} on {row['quality']}"
    plain = ends["uncontrolled"]
    beside = "" if plain is None else f"; {number(plain, percent=share)} without regard to length"
    return Finding(
        claim, f"{bounds(ends, percent=share)}{beside}; {with_family(row)}", topic="pushes"
    )


def leaning_tables(analysis: StudyAnalysis) -> dict[str, Table]:
    """All leanings, and agents at equal length; nothing where none was looked at."""
    tables = {}
    moved, equal = analysis.leanings, analysis.equal_length
    if moved.height:
        rows = [
            (
                row["raters"], row["bias"], row["of"], row["quality"], row["measure"],
                *_estimate(row), row["reason"] or "",
            )
            for row in moved.iter_rows(named=True)
        ]  # fmt: skip
        heads = ("Raters", "Bias", "Of", "Quality", "Measure", *_HEADS, "Why not")
        note = (
            "A share is that of choices between two responses that differ in nothing else: one "
            "half if it does not matter."
        )
        title = "Tag, form, length and place"
        tables["leanings"] = Table("leanings", title, heads, rows, note, moved)
    if equal.height:
        compared = [
            (
                row["raters"], row["quality"], f"{row['agent']} against {row['other']}",
                *_estimate(row),
                number(row["uncontrolled"], percent=row["measure"] == _SHARE),
                row["reason"] or "",
            )
            for row in equal.iter_rows(named=True)
        ]  # fmt: skip
        columns = ("Raters", "Quality", "Agents", *_HEADS, "Length ignored", "Why not")
        note = (
            "Length (doublings of characters) is a covariate; the difference is that of equally "
            "long responses, in points or as the share of choices."
        )
        title = "Agents at equal length"
        tables["equal_length"] = Table("equal_length", title, columns, compared, note, equal)
    return tables


_HEADS = ("Estimate", "95 % interval", "p", "Corrected p")


def _estimate(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    share = str(row["measure"]).startswith(_SHARE)
    return (
        number(row["value"], percent=share),
        interval(row["low"], row["high"], percent=share),
        p_value(row["p"]),
        p_value(row["p_adjusted"]),
    )
