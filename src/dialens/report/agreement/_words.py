"""What agreement comes to in sentences, and the paragraph for a paper."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dialens.base import capitalised, counted, in_brackets, interval, listed, number
from dialens.report._page import Finding

_SHARED = "ICC(2,k)", "ICC(2,1)"
_UNKNOWN = "ICC(1,k)", "ICC(1,1)"
_WORDS = ((0.5, "poor"), (0.75, "moderate"), (0.9, "good"))
_TARGET = 0.8
_MOST = 12
_PARADOX = 0.3
_FEW_RATERS = 5
_FACETS = (
    "Variances of facets come from sums of squares (Henderson’s first method; in balanced designs "
    "the analysis of variance), coefficients from them as in Brennan (2001), negative variances "
    "counting as none. Intervals are generalised ones (Weerahandi 1993), for balanced designs only."
)


def reliability_word(value: float) -> str:
    """The usual word for an intraclass correlation (Koo & Li 2016).

    Examples:
        >>> [reliability_word(x) for x in (-0.1, 0.3, 0.6, 0.8, 0.95)]
        ['poor', 'poor', 'moderate', 'good', 'excellent']
    """
    return next((word for limit, word in _WORDS if value < limit), "excellent")


def reliability_words(low: float | None, high: float | None) -> str:
    """Koo and Li's words for an interval, which is what they judge; none without an interval.

    Examples:
        >>> reliability_words(0.62, 0.8), reliability_words(0.1, 0.3), reliability_words(None, None)
        ('moderate to good', 'poor', 'not known')
    """
    if low is None or high is None:
        return "not known"
    words = reliability_word(low), reliability_word(high)
    return words[0] if words[0] == words[1] else f"{words[0]} to {words[1]}"


def place(quality: str, group: str) -> str:
    """A quality and its group in one name.

    Examples:
        >>> place("fluency", "all"), place("fluency", "anchor=none")
        ('fluency', 'fluency, anchor=none')
    """
    return quality if group == "all" else f"{quality}, {group}"


def scope(rows: pl.DataFrame) -> str:
    """How much was measured."""
    groups = rows.unique(["quality", "group"], maintain_order=True)
    qualities = groups["quality"].n_unique()
    several = groups["group"].n_unique()
    within = f" in {counted(several, 'group')}" if several > 1 else ""
    return (
        f"{counted(int(groups['n_ratings'].sum()), 'rating')} of "
        f"{counted(qualities, 'quality', 'qualities')}{within}"
    )


def answer(rows: pl.DataFrame, findings: Sequence[Finding]) -> str:
    """How reliable mean ratings are, from the least to the most reliable group."""
    mean = rows.filter(pl.col("statistic") == _SHARED[0], pl.col("value").is_not_null())
    if not mean.height:
        mean = rows.filter(pl.col("statistic") == _UNKNOWN[0], pl.col("value").is_not_null())
    if mean.height < 2:
        return findings[0].claim
    ordered = mean.sort("value", maintain_order=True)
    ends = (ordered.row(0, named=True), ordered.row(-1, named=True))
    bounds = (mean["low"].min(), mean["high"].max())
    word = reliability_words(*(None if end is None else float(end) for end in bounds))  # type: ignore[arg-type]
    least, most = (f"{number(r['value'], 2)} ({place(r['quality'], r['group'])})" for r in ends)
    name = ends[0]["statistic"]
    return f"The reliability of an item’s mean rating is {word}: {name} from {least} to {most}"


def findings(
    rows: pl.DataFrame, panel: pl.DataFrame, raters: pl.DataFrame
) -> tuple[list[Finding], str]:
    """A claim with its numbers for each quality and group; and what did not fit."""
    found = []
    for (quality, group), part in rows.group_by("quality", "group", maintain_order=True):
        by_name = {row["statistic"]: row for row in part.iter_rows(named=True)}
        here = (pl.col("quality") == quality) & (pl.col("group") == group)
        where = place(str(quality), str(group))
        found.append(_finding(where, by_name, panel.filter(here), raters.filter(here)))
    rest = len(found) - _MOST
    more = f"{counted(rest, 'further group')} in the table below." if rest > 0 else ""
    return found[:_MOST], more


def _finding(
    where: str,
    rows: Mapping[str, Mapping[str, Any]],
    panel: pl.DataFrame,
    raters: pl.DataFrame,
) -> Finding:
    names = _SHARED if rows["ICC(2,k)"]["value"] is not None else _UNKNOWN
    mean, single = (rows[name] for name in names)
    alpha = rows["alpha_ordinal"]
    if alpha["value"] is None:
        alpha = rows["alpha_nominal"]
    same = _same(rows, "label" if rows["alpha_ordinal"]["value"] is None else "rating")
    if mean["value"] is None:
        kappa = rows["fleiss_kappa"]
        known = [row for row in (kappa, alpha) if row["value"] is not None]
        if not known:
            claim = same or "agreement cannot be computed"
            return Finding(f"{where}: {claim}", capitalised(alpha["reason"]))
        numbers = "; ".join(_coefficient(row["also"], row) for row in known)
        text = f"{numbers}. {_prevalence(rows)}{_of(mean)}"
        return Finding(f"{where}: {same or _chance(known[0])}", text)
    coefficients = [_coefficient(names[0], mean), _coefficient(names[1], single)]
    if alpha["value"] is not None:
        coefficients.append(_coefficient(alpha["also"], alpha))
    parts = (
        "; ".join(coefficients) + ".",
        _prevalence(rows).strip(),
        _of(mean),
        _needed(panel, names),
        _odd(raters),
    )
    return Finding(
        f"{where}: {same or _reliability(mean, single)}",
        " ".join(part for part in parts if part),
    )


def _coefficient(name: str, row: Mapping[str, Any]) -> str:
    return f"{name} {number(row['value'], 2)}{in_brackets(row['low'], row['high'])}"


def _reliability(mean: Mapping[str, Any], single: Mapping[str, Any]) -> str:
    """What the intervals of the two coefficients say.

    Examples:
        >>> mean, single = {"k": 3.02, "low": 0.7, "high": 0.85}, {"low": 0.4, "high": 0.62}
        >>> _reliability(mean, single)
        'reliability is moderate to good for the mean of an item’s 3 or so ratings, poor to \
moderate for a single one'
        >>> _reliability({"k": 3, "low": 0.1, "high": 0.4}, {"low": 0.0, "high": 0.2})
        'reliability is poor, both for the mean of an item’s 3 ratings and for a single one'
    """
    k = mean["k"]
    size = f"{k:g}" if k == int(k) else f"{k:.0f} or so" if k > 2 else f"{k:.1f} or so"
    words = [reliability_words(row["low"], row["high"]) for row in (mean, single)]
    if words[0] == words[1]:
        return (
            f"reliability is {words[0]}, both for the mean of an item’s {size} ratings and for a "
            "single one"
        )
    return (
        f"reliability is {words[0]} for the mean of an item’s {size} ratings, {words[1]} for a "
        "single one"
    )


def _same(rows: Mapping[str, Mapping[str, Any]], what: str) -> str:
    """What to say where no two ratings of an item differ; nothing where some do.

    Examples:
        >>> _same({"percent_agreement": {"value": 1.0}}, "label")
        'all raters gave the same label, item by item'
        >>> _same({"percent_agreement": {"value": 0.9}}, "label")
        ''
    """
    whole = rows["percent_agreement"]["value"] == 1
    return f"all raters gave the same {what}, item by item" if whole else ""


def _chance(row: Mapping[str, Any]) -> str:
    """A coefficient with what its interval says; without one, what cannot be said.

    Examples:
        >>> kappa = {"also": "Fleiss' kappa", "value": 0.49, "low": -0.34, "n_raters": 3}
        >>> _chance({**kappa, "high": 0.81})
        "Fleiss' kappa is 0.49, but with only 3 raters its interval goes from −0.34 to 0.81: no \
more than chance cannot be ruled out"
        >>> _chance({**kappa, "low": 0.3, "high": 0.6})
        "Fleiss' kappa is 0.49 (0.30 to 0.60): more than chance, less than the 0.67 that is \
usually asked for"
    """
    low, high = row["low"], row["high"]
    claim = f"{row['also']} is {number(row['value'], 2)}"
    if low is None or high is None:
        return f"{claim}, and how far that holds cannot be told"
    ends = interval(low, high, 2)
    if low > 0:
        return f"{claim} ({ends}): {_more_than_chance(low, high)}"
    if row["value"] <= 0:
        return f"{claim} ({ends}): no sign of more agreement than by chance"
    few = row["n_raters"] is not None and row["n_raters"] <= _FEW_RATERS
    why = f"with only {counted(row['n_raters'], 'rater')} " if few else ""
    return (
        f"{claim}, but {why}its interval goes from {ends}: no more than chance cannot be ruled out"
    )


def _more_than_chance(low: float, high: float) -> str:
    if low >= 0.8:
        return "raters agree well"
    if low >= 0.667:
        return "raters agree well enough for tentative conclusions"
    if high < 0.667:
        return "more than chance, less than the 0.67 that is usually asked for"
    return "more than chance; whether as well as is usually asked for (0.67) is open"


def _prevalence(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """A word of warning where kappa is low only because nearly everything gets one value."""
    same, kappa, ac1 = (
        rows[name]["value"] for name in ("percent_agreement", "fleiss_kappa", "gwet_ac1")
    )
    if same is None or kappa is None or ac1 is None or ac1 - kappa < _PARADOX:
        return ""
    return (
        f"Two ratings of an item are the same in {number(same, percent=True)}, yet Fleiss’ kappa "
        f"is {number(kappa, 2)}: one value is so common that kappa takes most agreement for "
        f"chance. Gwet’s AC1, which does not, is {number(ac1, 2)}. "
    )


def _of(row: Mapping[str, Any]) -> str:
    who = "raters not known"
    if row["n_raters"] is not None:
        who = counted(row["n_raters"], "rater")
    gaps = ""
    if row["n_missing"] and row["n_raters"] is not None:
        share = row["n_missing"] / (row["n_items"] * row["n_raters"])
        gaps = f", {share:.0%} of the cells empty"
    return f"{counted(row['n_ratings'], 'rating')}, {counted(row['n_items'], 'item')}, {who}{gaps}."


def _needed(panel: pl.DataFrame, names: tuple[str, str]) -> str:
    basis = "g_absolute" if names == _SHARED else "spearman_brown"
    row = panel.filter((pl.col("basis") == basis) & (pl.col("target") == _TARGET))
    if not row.height or row["needed"][0] is None:
        return ""
    needed, now = row["needed"][0], row["now"][0]
    low, high = row["needed_low"][0], row["needed_high"][0]
    if low is None or high is None:
        least = f": it may be {low:,} or any number" if low is not None else ""
        return (
            f"How many ratings an item a reliability of {_TARGET:g} needs cannot be told from "
            f"these{least}."
        )
    return (
        f"A reliability of {_TARGET:g} needs {counted(needed, 'rating')} an item ({low:,} to "
        f"{high:,}); there {'is' if now == 1 else 'are'} {now:,.3g}."
    )


def _odd(raters: pl.DataFrame) -> str:
    odd = raters.filter("at_odds")
    if odd.height:
        names = listed(odd["rater"].head(4).to_list()) if odd.height < 5 else ""
        who = f" ({names})" if names else ""
        family = odd["family"][0]
        verb = "is" if odd.height == 1 else "are"
        return (
            f"{counted(odd.height, 'rater')}{who} {verb} at odds with the rest (corrected over "
            f"{family:,} raters)."
        )
    unrelated = raters.filter((pl.col("low") <= 0) & (pl.col("n_items") >= 20)).height
    if not unrelated:
        return ""
    return (
        f"{counted(unrelated, 'rater')} with 20 items or more "
        f"{'shows' if unrelated == 1 else 'show'} no clear agreement with the rest."
    )


def method(rows: pl.DataFrame, *, normalise: str | None, facets: bool = False) -> Sequence[str]:
    """Paragraphs that can go into a paper."""
    complete = bool((rows["n_missing"] == 0).all())
    how = (
        "Every rater judged every item: intraclass correlations, F tests and their intervals come "
        "from the analysis of variance (Shrout & Fleiss 1979; McGraw & Wong 1996)."
        if complete
        else "Where every rater judged every item, intraclass correlations, F tests and intervals "
        "come from the analysis of variance (Shrout & Fleiss 1979; McGraw & Wong 1996). Where "
        "cells are empty, variance components were estimated by restricted maximum likelihood "
        "without holding that of items above zero, intervals come from their information on "
        "Fisher’s scale, and k is the harmonic mean of the number of ratings an item has (ten "
        "Hove, Jorgensen & van der Ark 2022); nobody was left out."
    )
    logs = (
        " Ratings were normalised as log10(rating / modulus) where a modulus was shown, otherwise "
        "by taking each rater’s own mean log off."
        if normalise == "log"
        else ""
    )
    tests = rows["family"].drop_nulls()
    corrected = (
        f" P-values of the tests that items do not differ are corrected over {tests[0]:,} tests "
        "(Benjamini & Hochberg 1995)."
        if len(tests)
        else ""
    )
    return (
        how + logs,
        "Other 95 % intervals are Student’s t on the jackknife: items are left out in turn, raters "
        "are left out in turn, and the variance of the single ratings, which both hold, is taken "
        "off once (Cameron, Gelbach & Miller 2011); degrees of freedom are Satterthwaite’s, ends "
        "are taken on the scale −log(1 − x). With fewer than five items there is no interval, with "
        "fewer than three raters it is over items alone, and none is given for kappa and alpha "
        "where hardly any item departs from the commonest value."
        f"{corrected} Krippendorff’s alpha, Fleiss’ kappa and Gwet’s AC1 and AC2 (2014) need not "
        "know who rated. The words poor, moderate, good and excellent are those of Koo & Li "
        "(2016), with borders at 0.5, 0.75 and 0.9, for the ends of the interval.",
        "How many ratings an item needs follows from the variance components of a "
        "generalisability study with raters crossed with items (Brennan 2001), or, where raters "
        "are not known, from the formula of Spearman and Brown. A rater is called at odds with the "
        "rest where the correlation with the others’ mean is lower than the spread of the other "
        "raters lets expect, p-values corrected over the raters of the group.",
        *((_FACETS,) if facets else ()),
    )
