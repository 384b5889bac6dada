"""A methods paragraph and a codebook that can go into a paper."""

import polars as pl

from dialens.analysis.bias import FEWEST_RATERS, UNFINISHED, StudyAnalysis, StudyData
from dialens.base import capitalised, counted, listed
from dialens.report.bias._remarks import all_models, rater_word
from dialens.report.bias._wording import answers_counted

CODEBOOK: dict[str, str] = {
    "effect": "name of a difference or ratio; question says what it asks",
    "quality": "what was rated; all is the mean over qualities",
    "value": "the estimate, in points of the scale or as a share (unit)",
    "low, high": "ends of the 95 % interval",
    "p": "two-sided, uncorrected",
    "p_adjusted": "after Benjamini and Hochberg (1995) over family tests",
    "family": "how many tests p_adjusted was corrected over: all of the same table",
    "degrees": "Satterthwaite’s degrees of freedom of an effect",
    "random": "random terms of the model that an effect comes from",
    "raw_value": "the plain difference of participants’ means",
    "anchor": "level of the anchor factor: none, numerical, textual, both",
    "layout": "level of the layout factor",
    "leanings": "what tags, variants, length and place did, to people and to each judge",
    "equal_length": "differences between agents with the length of responses taken out",
    "group": "group of raters: time below or above the mean of all, or a yes/no answer",
    "form, also": "form of the ICC after Shrout & Fleiss (1979) and McGraw & Wong (1996)",
    "f, df1, df2": "F test that items do not differ",
    "statistic, also": "name of a coefficient of agreement on categories",
    "label, share": "what most raters said of an item, and how many of them (table labels)",
    "awaited, days": "raters who judged the quality the first time, and the median number of days "
    "until they did again (table retest)",
    "dawid_skene, mace": "label by a model, and _p its probability (table labels); of a rater the "
    "share right and the share known (table label_raters)",
    "n_raters, n_items, n_ratings": "how many the number rests on",
    "n_missing": "cells of raters × items without a rating",
    "mean": "mean of participants’ means",
    "share, low, high": "share of the variance, with its interval (table variance)",
    "relative, absolute": "Eρ² and Φ of a design of judges: would differences between items, and "
    "their means, repeat with other judges, prompts and repeats (table judge_designs)",
    "price_item, price": "of a design, for an item and for n_items items, from recorded costs",
    "than, other": "with whom people and a judge are compared, and that agreement (judge_panel)",
    "first, second, paired": "agreement in two conditions; whether most items are the same (table "
    "agreement_differences)",
    "same_share": "share of a rater’s most frequent number, within quality and scale",
    "longest_run": "longest series of one and the same number",
    "round_share": "share of multiples of ten",
    "median_seconds": "median time per rating, without hidden tabs where that was recorded",
    "left_out": "which raters were left out in this view",
    "n_people, n_judged, effective": "human ratings, replies that only the judge rated, and the "
    "human ratings that would be as precise without the judge (table judged_agents)",
    "reason": "why a number is missing",
}
"""Columns of the tables and what they mean."""


_REPEATED = (
    " The anchor’s number stood beside the standard and again below each question that it was "
    "about, so that its effect is that of several looks."
)


def _labels(analysis: StudyAnalysis) -> str:
    if not analysis.categories.height:
        return ""
    return (
        "Where ratings are categories, agreement is also given as Fleiss’ kappa (Fleiss 1971) and "
        "Krippendorff’s alpha, with intervals from the jackknife over items and raters. Labels of "
        "items are given by majority, by the model of Dawid and Skene (1979) and by MACE (Hovy et "
        "al. 2013). "
    )


def _scale(data: StudyData) -> str:
    """How the ratings of each quality were taken."""
    logged = [quality for quality, way in data.normalise.items() if way == "log"]
    given = [quality for quality, way in data.normalise.items() if way != "log"]
    told = ""
    if logged:
        told = (
            f"For agreement, ratings of {listed(logged)} were log-normalised: log10 of the rating "
            "divided by the modulus where a number was shown, otherwise the log10 rating minus "
            "the rater’s mean for that quality (Bard et al. 1996). "
        )
    if given:
        told += f"Ratings of {listed(given)} were taken as given. "
    if data.choices:
        told += f"Choices ({listed(data.choices)}) enter none of this. "
    return told


def methods(analysis: StudyAnalysis) -> list[str]:
    """How the numbers came about, in sentences for a paper."""
    parts = (
        _study(analysis),
        _people(analysis),
        _effects(analysis),
        _agreement(analysis),
        _retest(analysis),
        _judged_agents(analysis),
        _judges(analysis),
    )
    flagged = len(analysis.flags.any_flag)
    last = (
        "P-values were corrected within each table (differences between agents, effects, "
        "differences of agreement, groups of raters, other biases) after Benjamini and Hochberg "
        "(1995); the size of the family stands beside every corrected p. No rater was removed"
    )
    if flagged:
        were = "was" if flagged == 1 else "were"
        last += (
            f"; {flagged} with unusual answering behaviour {were} left out in a separate view of "
            "the main effects"
        )
    last += "."
    return [part for part in (*parts, last, _over_careful(analysis)) if part]


_OVER_ITEMS = (
    "items compared with themselves, repeats and prompts of a model averaged, answers to one "
    "request counted once, Student’s t on the jackknife over items"
)


def _judges(analysis: StudyAnalysis) -> str:
    """How the numbers of single models came about."""
    if not analysis.judge_effects.height or all_models(analysis.data):
        return ""
    return (
        f"Effects on each language model have intervals over items ({_OVER_ITEMS}): one model is "
        "no sample of models. Differences from people are tested with Welch’s t."
    )


def _retest(analysis: StudyAnalysis) -> str:
    if not analysis.retest.height:
        return ""
    return (
        "Raters who came back in a later wave and judged the same things again are compared with "
        "themselves: ICC(A,1) over pairs of rater and item, with intervals from the jackknife over "
        "raters and items; all else rests on first ratings."
    )


def _judged_agents(analysis: StudyAnalysis) -> str:
    if not analysis.judged_agents["estimate"].is_not_null().any():
        return ""
    return (
        "Agents were also compared by prediction-powered inference (Angelopoulos et al. 2023) from "
        "people’s ratings of a part of the replies and a language model’s of these and others, the "
        "model’s weight being the one with the smallest variance; variances are over dialogues and "
        "raters (Cameron et al. 2011), with Student’s t. Where there were several models or "
        "prompts, each fifth of the dialogues had the one that fitted people best on the others."
    )


def _over_careful(analysis: StudyAnalysis) -> str:
    """Which tests err less often than they say, from simulations (docs/inference.md)."""
    halo = analysis.response_biases.filter(pl.col("bias") == "halo")
    told = []
    if halo["p"].is_not_null().any():
        told.append(
            "The test of halo is over-careful: it finds one where there is none in 1 to 2 % of "
            "simulated studies rather than 5 %."
        )
    if analysis.consistency_differences["p"].is_not_null().any():
        told.append(
            "Tests of differences of agreement (ICC) are over-careful: 0 to 2 % rather than 5 %."
        )
    return " ".join(told)


def _study(analysis: StudyAnalysis) -> str:
    data = analysis.data
    factors = [f"{name} ({', '.join(data.levels(name))})" for name in data.factors]
    design = f" The design varied {listed(factors)}." if factors else ""
    halfway = [f" {capitalised(n.reason)}." for n in data.notes if n.part == UNFINISHED]
    return (
        f"{counted(data.raters.height, rater_word(data))} gave "
        f"{answers_counted(analysis)}, on "
        f"{listed(data.qualities)}.{''.join(halfway)}{design}"
    )


def _people(analysis: StudyAnalysis) -> str:
    """How agents were compared, each way once."""
    table = analysis.people.agents.drop_nulls("method")
    if not analysis.people.agent_differences.height:
        return ""
    ways: dict[str, list[str]] = {}
    for quality, method in table.select("quality", "method").unique(maintain_order=True).rows():
        ways.setdefault(method, []).append(quality)
    told = [f"on {listed(qualities)} by {method}" for method, qualities in ways.items()]
    return f"Agents were compared {'; '.join(told)}."


def _anchor_repeated(data: StudyData) -> bool:
    """Whether the study showed the anchor's number again below each question."""
    if "factors" not in data.ratings.columns:
        return False
    return bool(data.ratings["factors"].str.contains('"anchor_repeated"', literal=True).any())


def _effects(analysis: StudyAnalysis) -> str:
    draws = analysis.draws
    if all_models(analysis.data) and analysis.data.raters.height < FEWEST_RATERS:
        if not analysis.data.factors:
            return ""
        pulled = ", that of a pull after Fieller" if "anchor" in analysis.data.factors else ""
        return (
            f"Effects are those on these language models, with intervals over items ({_OVER_ITEMS}"
            f"{pulled}): few models are no sample of models."
        )
    effects = (
        "Effects are contrasts of a linear mixed model with crossed random effects of raters and "
        "items, and of their own response to factors that vary within them, fitted by restricted "
        "maximum likelihood, with Satterthwaite’s degrees of freedom; they average evenly over the "
        "other factors. "
    )
    pull = (
        " The anchor’s pull is the difference between anchored and unanchored means divided by the "
        "distance from the unanchored mean to the anchor’s value, with Fieller’s interval."
    )
    shown = f"{_REPEATED if _anchor_repeated(analysis.data) else ''}{pull}"
    return (
        f"{effects if analysis.data.factors else ''}Means are means of participants’ means with "
        "Student’s t over participants. Drifts are slopes within raters and items, place and "
        "progress together; their intervals and those of correlations come from Student’s t on the "
        f"jackknife over raters. Bootstraps drew {draws.resamples:,} times (seed {draws.seed})."
        f"{shown if 'anchor' in analysis.data.factors else ''}"
    )


def _agreement(analysis: StudyAnalysis) -> str:
    if analysis.data.raters.height < 2:
        return ""
    if not analysis.table("table5").height:
        return _scale(analysis.data)
    return (
        f"{_scale(analysis.data)}Agreement is the intraclass correlation ICC(2,k) with missing "
        "cells by variance components; its interval is that of F where the table is complete and "
        "of the likelihood elsewhere. All six forms are in the tables. "
        f"{_labels(analysis)}Because ICC(2,k) grows with the number of raters and counts "
        "differences of level, which normalisation removes only where no modulus was shown, "
        "conditions are compared by ICC(2,1) and ICC(3,1) as well."
    )
