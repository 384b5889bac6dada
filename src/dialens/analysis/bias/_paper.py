"""The tables and figures of the anchoring study (Santhanam, Karduni & Shaikh 2020), for any study.

Numbers of tables and figures are those of the paper. A study without the columns that one needs
gets the reason instead.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from dialens.analysis.bias._answers import preferred, ranking
from dialens.analysis.bias._cells import USUAL, CellMeans, Resampling
from dialens.analysis.bias._consistency import HEADLINE, consistency
from dialens.analysis.bias._contrasts import contrast_weights
from dialens.analysis.bias._data import NONE, StudyData, splits
from dialens.analysis.bias._scales import is_choice
from dialens.analysis.bias._scope_model import ALL
from dialens.analysis.people import rows_key
from dialens.statistics import TESTED, Floats, corrected

DESIGN = ("anchor", "layout")
MEANS = pl.Schema(
    {
        "anchor": pl.String,
        "layout": pl.String,
        "group": pl.String,
        "quality": pl.String,
        "mean": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "n_raters": pl.Int64,
        "reason": pl.String,
    }
)
SPLIT_EFFECTS = pl.Schema(
    {
        "split": pl.String,
        "group": pl.String,
        "layout": pl.String,
        **TESTED,
        "n_raters": pl.Int64,
        "reason": pl.String,
    }
)
"""Anchor minus none, all qualities, within each group of raters and layout (null is both)."""

_NO_TIME = "no times were recorded (active_ms, or shown_at and answered_at)"
_NO_QUESTION = "no question of the questionnaires was answered with yes and no"
_QUESTIONS = 2


@dataclass(frozen=True)
class PaperTable:
    """A table or figure of the paper for this study.

    Attributes:
        key: For file names, e.g. `table5`.
        label: e.g. `Table 5`.
        title: What it shows.
        table: The numbers; empty if it could not be made.
        reason: Why it could not be made.
    """

    key: str
    label: str
    title: str
    table: pl.DataFrame
    reason: str | None = None


def paper_tables(data: StudyData, *, draws: Resampling = USUAL) -> list[PaperTable]:
    """Tables 2 to 8 and figures 3 to 9, and the preferred scale.

    Further yes/no questions give further tables, numbered after those of the paper's two.

    Examples:
        >>> from dialens.analysis.bias._data import study_data
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> data = study_data(*SimulatedStudy(raters=6, items=5).run())
        >>> [result.key for result in paper_tables(data, draws=Resampling(resamples=100))][:4]
        ['table2', 'table3', 'table4', 'table5']
    """
    groupings = splits(data)
    rated = data.points()
    time = groupings.pop("time", None)
    names = [*groupings, *[None] * (_QUESTIONS - len(groupings))]

    def means(groups: pl.DataFrame | None = None, *, by_quality: bool = False) -> pl.DataFrame:
        return cell_means(rated, groups=groups, by_quality=by_quality, draws=draws)

    def agreement(groups: pl.DataFrame | None = None) -> pl.DataFrame:
        return consistency(rated, groups=groups, draws=draws)

    def by_experience(make: Callable[[pl.DataFrame], pl.DataFrame], what: str) -> list[PaperTable]:
        kind = "figure" if make is means else "table"
        result = []
        for number, name in enumerate(names, start=7):
            if name is None:
                result.append(_missing(f"{kind}{number}", f"{what} by experience", _NO_QUESTION))
            else:
                title = f"{what} by answer to “{name.replace('_', ' ')}”"
                result.append(_table(f"{kind}{number}", title, make(groupings[name])))
        return result

    def timed(key: str, title: str, make: Callable[[pl.DataFrame], pl.DataFrame]) -> PaperTable:
        return _missing(key, title, _NO_TIME) if time is None else _table(key, title, make(time))

    experience = [
        _counts(data, groups).with_columns(question=pl.lit(name))
        for name, groups in groupings.items()
    ]
    ranked, liked = ranking(data, draws=draws), preferred(data, confidence=draws.confidence)
    title3, title9 = "Participants by experience", "How important participants find each quality"
    return [
        _table("table2", "Participants in each condition", _counts(data)),
        _table("table3", title3, pl.concat(experience))
        if experience
        else _missing("table3", title3, _NO_QUESTION),
        timed("table4", "Participants and mean rating by time spent", means),
        _table("table5", f"Agreement, {HEADLINE}, in each condition", agreement()),
        timed("table6", f"Agreement, {HEADLINE}, by time spent", agreement),
        *by_experience(agreement, f"Agreement, {HEADLINE},"),
        _table("figure3", "Mean rating in each condition", means()),
        _table("figure4", "Mean rating by condition and quality", means(by_quality=True)),
        timed("figure5", "Minutes spent in each condition", lambda _: _minutes(data, draws)),
        timed("figure6", "Mean rating by time spent", means),
        *by_experience(means, "Mean rating"),
        _table("figure9", title9, ranked)
        if ranked.height
        else _missing("figure9", title9, "no question asked for a ranking"),
        _table("preferred", "Which scale participants prefer", liked)
        if liked.height
        else _missing("preferred", "Which scale participants prefer", "no question asked for it"),
    ]


def cell_means(
    data: StudyData,
    *,
    groups: pl.DataFrame | None = None,
    by_quality: bool = False,
    draws: Resampling = USUAL,
) -> pl.DataFrame:
    """The mean of every condition with its interval over participants.

    Args:
        data: The study.
        groups: A grouping of raters (`rater`, `group`) to split by as well.
        by_quality: Each quality by itself; all together if not, and if they share a scale.
        draws: Whose confidence level the intervals have.
    """
    if not data.ratings.height:
        return MEANS.to_frame()
    means = CellMeans.of(data, _design(data), groups=groups, confidence=draws.confidence)
    scopes: list[tuple[str, int | None]] = [(ALL, None)]
    if by_quality or not data.share_a_scale:
        scopes = [(name, at) for at, name in enumerate(means.qualities)]
    rows: list[dict[str, object]] = []
    for quality, at in scopes:
        for cell, key in enumerate(means.cells.iter_rows(named=True)):
            found = means.mean(cell, at)
            rows.append(
                {
                    **{name: key.get(name) for name in (*DESIGN, "group")},
                    "quality": quality,
                    "mean": found.value,
                    "low": found.low,
                    "high": found.high,
                    "n_raters": int(means.counts[cell]),
                    "reason": found.reason,
                }
            )
    return pl.DataFrame(rows, schema=MEANS)


def split_effects(data: StudyData, *, draws: Resampling = USUAL) -> pl.DataFrame:
    """Whether the anchor works on slow and fast, experienced and new raters alike."""
    data = data.points()
    if "anchor" not in data.factors or NONE not in data.levels("anchor"):
        return SPLIT_EFFECTS.to_frame()
    shown = [level for level in data.levels("anchor") if level != NONE]
    settings: list[str | None] = [None]
    if "layout" in data.factors:
        settings += data.levels("layout")
    rows: list[dict[str, object]] = []
    alike = data.share_a_scale
    for split, groups in splits(data).items():
        means = CellMeans.of(data, _design(data), groups=groups, confidence=draws.confidence)
        for group in sorted(means.cells["group"].unique().to_list()):
            for layout in settings:
                rows.append(
                    {
                        "split": split,
                        "group": group,
                        "layout": layout,
                        **(
                            _anchor_within(means, group, layout, shown)
                            if alike
                            else {"reason": "qualities were rated on different scales"}
                        ),
                    }
                )
    return corrected(pl.DataFrame(rows, schema=SPLIT_EFFECTS))


def _anchor_within(
    means: CellMeans, group: str, layout: str | None, shown: Sequence[str]
) -> dict[str, object]:
    here = means.cells["group"] == group
    if layout is not None:
        here &= means.cells["layout"] == layout
    weights = contrast_weights(means.cells.filter(here), "anchor", shown, [NONE])
    if weights is None:
        return {"reason": "one of the two conditions has nobody of this group"}
    inside = here.to_numpy().nonzero()[0]

    def difference(values: Floats) -> Floats:
        result: Floats = values.mean(axis=-1)[..., inside] @ weights
        return result

    used = inside[weights != 0]
    drawn = means.interval(difference, cells=used.tolist())
    return {
        "value": drawn.value,
        "low": drawn.low,
        "high": drawn.high,
        "p": drawn.p,
        "n_raters": means.raters_in(used),
        "reason": drawn.reason,
    }


def _counts(data: StudyData, groups: pl.DataFrame | None = None) -> pl.DataFrame:
    """Raters and their answers; the rows of a choice are one."""
    names = _design(data)
    table = data.ratings if groups is None else data.ratings.join(groups, on="rater")
    keys = [*names, *(["group"] if groups is not None else [])]
    table = table.with_columns(is_choice(table).alias("_chosen"))
    same = dict.fromkeys(["quality", *rows_key(table.filter("_chosen"))])
    answer = pl.struct(list(same))
    chosen = answer.filter("_chosen").n_unique()
    counts = (
        pl.col("rater").n_unique().cast(pl.Int64).alias("n_raters"),
        ((~pl.col("_chosen")).sum() + chosen).cast(pl.Int64).alias("n_ratings"),
    )
    if not keys:
        return table.select(*counts)
    ranks = [
        pl.col(name).replace_strict({level: at for at, level in enumerate(data.levels(name))})
        for name in names
    ]
    return table.drop_nulls(keys).group_by(keys).agg(*counts).sort(*ranks, *keys[len(names) :])


def _minutes(data: StudyData, draws: Resampling) -> pl.DataFrame:
    """Minutes of participants per condition, and of all together."""
    timed = data.raters.drop_nulls("minutes")
    table = data.ratings.join(timed.select("rater", "minutes"), on="rater").with_columns(
        value=pl.col("minutes"), quality=pl.lit("minutes")
    )
    study = StudyData(table, timed, data.answers, data.factors, {}, ())
    everyone = StudyData(table, timed, data.answers, (), {}, ())
    whole = cell_means(everyone, draws=draws).with_columns(group=pl.lit("all conditions"))
    return pl.concat([cell_means(study, draws=draws), whole]).with_columns(
        quality=pl.lit("minutes")
    )


def _design(data: StudyData) -> list[str]:
    return [name for name in DESIGN if name in data.factors]


def _table(key: str, title: str, table: pl.DataFrame) -> PaperTable:
    return PaperTable(key, _label(key), title, table)


def _missing(key: str, title: str, reason: str) -> PaperTable:
    return PaperTable(key, _label(key), title, pl.DataFrame(), reason)


def _label(key: str) -> str:
    """`table5` as people write it.

    Examples:
        >>> _label("table5"), _label("preferred")
        ('Table 5', 'Preferred scale')
    """
    if key == "preferred":
        return "Preferred scale"
    return key.replace("table", "Table ").replace("figure", "Figure ")
