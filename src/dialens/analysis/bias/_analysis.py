"""The whole analysis of a rating study in one call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import polars as pl

from dialens.analysis.bias._agreement_differences import (
    agreement_differences,
)
from dialens.analysis.bias._beside_people import few_items, judge_tables
from dialens.analysis.bias._categories import category_agreement, item_labels, label_raters
from dialens.analysis.bias._cells import FEWEST_RATERS, USUAL, Resampling
from dialens.analysis.bias._consistency import consistency_differences
from dialens.analysis.bias._data import StudyData, only_models
from dialens.analysis.bias._effects import effects
from dialens.analysis.bias._judge_effects import JUDGE_EFFECTS, effects_over_items
from dialens.analysis.bias._leanings import leanings
from dialens.analysis.bias._paper import PaperTable, paper_tables, split_effects
from dialens.analysis.bias._raters import flag_raters, robustness
from dialens.analysis.bias._response_biases import response_biases
from dialens.analysis.bias._retest import FEW_ITEMS, retest
from dialens.analysis.bias._scales import LOG, Note, scale_kind
from dialens.analysis.bias._study_analysis import StudyAnalysis
from dialens.analysis.judges import (
    BESIDE,
    JUDGE_PANEL,
    JUDGES,
    MODELS,
    changed_behind,
    judge_designs,
    judge_drift,
    judged_agents,
    judges_joining,
    later_raters,
    with_judge,
)
from dialens.analysis.people import People, what_people_said
from dialens.base import DialensError, one_thread
from dialens.statistics.mixed import fit_mixed

VARIANCE = pl.Schema(
    {
        "quality": pl.String,
        "level": pl.String,
        "variance": pl.Float64,
        "share": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "n_levels": pl.Int64,
        "reason": pl.String,
    }
)
"""`low` and `high` are the interval of `share`."""

_FEW_RATERS = 8
_PEOPLE = "people"
_LEVELS = ("system", "agent", "dialog", "turn")


def analyse_study(
    data: StudyData,
    *,
    draws: Resampling = USUAL,
    smallest: float | Mapping[str, float] | None = None,
    scales: Mapping[str, str] | None = None,
    lower: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> StudyAnalysis:
    """Analyse a study: what people said of agents, effects of the design, agreement, biases.

    Language models that took the study are never taken together with people: where both rated,
    everything is about people, and models stand beside them (`judges`, `beside`).

    Args:
        data: What `read_study` or `study_data` gives.
        draws: How participants are drawn.
        smallest: The smallest difference between agents that matters, as in `what_people_said`.
        scales: The kind of answer of a quality, as in `what_people_said`.
        lower: Qualities of which less is better.
        progress: Called with the name of each step before it begins.

    Examples:
        >>> from dialens.analysis.bias._data import study_data
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> data = study_data(*SimulatedStudy(raters=6, items=6).run())
        >>> found = analyse_study(data, draws=Resampling(resamples=100))
        >>> found.table("table2")["n_raters"].to_list()
        [6, 6, 6, 6]
    """
    report = progress or (lambda _: None)
    drift = judge_drift(data.ratings, confidence=draws.confidence)
    data = _first_occasion(data)
    with one_thread():
        models = _models(data)
        if only_models(data.ratings):
            found = _described(data.judges_as_raters(), smallest, scales, lower, draws, report)
            found = replace(found, effects=_of_models(data, found, draws))
        else:
            people = data.without(models) if models else data
            found = _described(people, smallest, scales, lower, draws, report)
        found = replace(found, drift=drift)
        if not models:
            return found
        report("people and judges")
        found = _with_steadiness(_with_judges(found, data, draws), data)
        if only_models(data.ratings):
            return found
        compared = judged_agents(
            data.ratings, scales=scales, confidence=draws.confidence, seed=draws.seed
        )
        return replace(found, judged_agents=compared)


def _described(
    data: StudyData,
    smallest: float | Mapping[str, float] | None,
    scales: Mapping[str, str] | None,
    lower: Sequence[str],
    draws: Resampling,
    report: Callable[[str], None],
) -> StudyAnalysis:
    """Everything about one kind of raters."""
    report("what people said")
    people = what_people_said(
        data.ratings, smallest=smallest, scales=scales, lower=lower, confidence=draws.confidence
    )
    return _analysed(data, people, draws, report)


def _of_models(data: StudyData, found: StudyAnalysis, draws: Resampling) -> pl.DataFrame:
    """Effects on models alone: a sample of models from five on, else these few, over items."""
    if found.data.raters.height >= FEWEST_RATERS:
        return found.effects
    return effects_over_items(data, draws=draws)


def _with_judges(found: StudyAnalysis, whole: StudyData, draws: Resampling) -> StudyAnalysis:
    """The same with what language models did, each by itself and beside people."""
    models, people = whole, dict[str, pl.DataFrame]()
    if not only_models(whole.ratings):
        models = whole.without(found.data.raters["rater"].to_list())
        kinds = ("effects", "leanings", "equal_length", "response_biases")
        people = {name: getattr(found, name) for name in kinds}
    tables = judge_tables(whole, models, draws, people)
    notes = (*found.notes, *few_items(tables.effects))
    return replace(
        found,
        judges=tables.judges,
        judge_effects=tables.effects,
        beside=tables.beside,
        leanings=tables.leanings,
        equal_length=tables.equal_length,
        notes=tuple(dict.fromkeys(notes)),
    )


def _first_occasion(data: StudyData) -> StudyData:
    """The study without what judges said when they were asked again."""
    later = later_raters(data.ratings)
    data = data.without(later) if later else data
    behind = [Note(f"judge {name}", why) for name, why in changed_behind(data.ratings).items()]
    return replace(data, notes=(*data.notes, *behind))


def _with_steadiness(found: StudyAnalysis, whole: StudyData) -> StudyAnalysis:
    """The same with what makes judges vary, and what they do to a panel of people."""
    data = whole.points()
    machine = pl.col("rater_kind").is_in(MODELS).fill_null(value=False)
    judged = with_judge(data.ratings.filter(machine))
    scales = data.ratings.select("quality", "scale").unique(maintain_order=True)
    kinds = {quality: scale_kind(scale) for quality, scale in scales.iter_rows()}
    logs = [quality for quality, how in data.normalise.items() if how == LOG]
    confidence = found.draws.confidence
    asked = data.ratings.filter(~machine)
    return replace(
        found,
        judge_designs=judge_designs(
            judged, logs=logs, confidence=confidence, seed=found.draws.seed
        ),
        judge_panel=judges_joining(asked, judged, kinds=kinds, confidence=confidence)
        if asked.height
        else JUDGE_PANEL.to_frame(),
    )


def _models(data: StudyData) -> list[str]:
    """The raters that are language models."""
    if "rater_kind" not in data.ratings.columns:
        return []
    machines = data.ratings.filter(pl.col("rater_kind").is_in(MODELS))
    return machines["rater"].unique(maintain_order=True).to_list()


def _analysed(
    data: StudyData, people: People, draws: Resampling, report: Callable[[str], None]
) -> StudyAnalysis:
    report("effects of the design")
    main = effects(data, draws=draws)
    report("tables and figures")
    paper = paper_tables(data, draws=draws)
    report("differences of agreement")
    differences = consistency_differences(data, draws=draws)
    groups = split_effects(data, draws=draws)
    categories = category_agreement(data, draws=draws)
    report("response biases")
    others = response_biases(data, draws=draws)
    moved, equal = leanings(data, raters=_PEOPLE, confidence=draws.confidence)
    flags = flag_raters(data)
    report("robustness")
    robust = robustness(data, flags, draws=draws)
    report("variance by level")
    shares = variance_shares(data, confidence=draws.confidence)
    missing = [Note(table.title, table.reason) for table in paper if table.reason]
    silent = others.filter(pl.col("value").is_null() & pl.col("reason").is_not_null())
    unknown = [Note(f"{r['bias']} ({r['of']})", r["reason"]) for r in silent.iter_rows(named=True)]
    left_out = [Note(f"quality {quality}", reason) for quality, reason in people.notes]
    again = retest(data.ratings, data.again, dict(data.normalise), confidence=draws.confidence)
    known = (*_few_with_holes(paper), *_few_again(again))
    notes = (*data.notes, *left_out, *missing, *unknown, *known, *flags.notes)
    return StudyAnalysis(
        data,
        draws,
        main,
        tuple(paper),
        differences,
        groups,
        others,
        flags,
        robust,
        shares,
        tuple(dict.fromkeys(notes)),
        categories,
        item_labels(data),
        label_raters(data),
        people,
        again,
        JUDGES.to_frame(),
        BESIDE.to_frame(),
        JUDGE_EFFECTS.to_frame(),
        moved,
        equal,
        agreement_differences=agreement_differences(data, draws=draws),
    )


def _few_with_holes(paper: Sequence[PaperTable]) -> list[Note]:
    """Says where intervals of agreement are known to be too narrow (docs/inference.md)."""
    table = next(one.table for one in paper if one.key == "table5")
    if "n_missing" not in table.columns:
        return []
    few = (pl.col("n_missing") > 0) & (pl.col("n_raters") < _FEW_RATERS)
    if not table.filter(few, pl.col("low").is_not_null()).height:
        return []
    return [
        Note(
            "agreement",
            f"intervals of conditions with fewer than {_FEW_RATERS} raters and items that some of "
            "them did not rate are a little too narrow: 92 % instead of 95 % hold",
        )
    ]


def _few_again(again: pl.DataFrame) -> list[Note]:
    """Says where intervals of test–retest agreement are known to be too narrow."""
    if not again.filter(pl.col("n_items") < FEW_ITEMS, pl.col("low").is_not_null()).height:
        return []
    told = f"intervals from fewer than {FEW_ITEMS} items are too narrow: 87 to 90 % instead of 95 %"
    return [Note("test–retest agreement", f"{told} hold")]


def variance_shares(data: StudyData, *, confidence: float = 0.95) -> pl.DataFrame:
    """How the variance of each quality is shared between raters and System > Agent > Dialog > Turn.

    Conditions are taken out as fixed effects; magnitudes are taken as logarithms, choices left out.
    """
    data = data.points()
    table = data.ratings
    present = [name for name in _LEVELS if name in table.columns and table[name].n_unique() > 1]
    path = "/".join(present) or "item"
    rows: list[dict[str, object]] = []
    for quality in data.qualities:
        part = table.filter(pl.col("quality") == quality)
        if data.normalise[quality] == LOG:
            part = part.filter(pl.col("value") > 0).with_columns(pl.col("value").log10())
        fixed = [f for f in data.factors if part[f].drop_nulls().n_unique() > 1]
        try:
            fit = fit_mixed(
                part,
                "value",
                ["*".join(fixed)] if fixed else [],
                ["rater", path],
                confidence=confidence,
            )
        except DialensError as error:
            rows.append({"quality": quality, "level": "all", "reason": str(error)})
            continue
        for component in fit.components:
            rows.append(
                {
                    "quality": quality,
                    "level": component.term.rsplit("/", 1)[-1],
                    "variance": component.variance,
                    "share": component.share,
                    "low": component.share_low,
                    "high": component.share_high,
                    "n_levels": component.levels,
                    "reason": None
                    if component.share_low is not None
                    else "no interval at the edge",
                }
            )
        rows += [
            {"quality": quality, "level": term, "reason": why} for term, why in fit.dropped.items()
        ]
    return pl.DataFrame(rows, schema=VARIANCE)
