"""The tables of a rating study."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from dialens.analysis.bias import FLAGS, PaperTable, StudyAnalysis
from dialens.base import counted, interval, number, p_value
from dialens.report._table import Table


def study_tables(analysis: StudyAnalysis) -> dict[str, Table]:
    """Every table of the analysis, by key."""
    tables = [
        _effects(analysis),
        *_paper(analysis.paper),
        _differences(analysis),
        *_labelled(analysis),
        _splits(analysis),
        _pushes(analysis),
        _flags(analysis),
        _robustness(analysis),
        _variance(analysis),
    ]
    return {table.key: table for table in tables}


def _labelled(analysis: StudyAnalysis) -> Iterator[Table]:
    """Tables that only studies with later waves or with categories have."""
    if analysis.retest.height:
        yield _retest(analysis)
    if analysis.categories.height:
        yield _categories(analysis)
    if analysis.labels.height:
        yield _labels(analysis)
        yield _label_raters(analysis)


def _retest(analysis: StudyAnalysis) -> Table:
    data = analysis.retest
    rows = [
        (
            row["quality"],
            f"{row['wave']}",
            row["statistic"],
            number(row["value"], 2),
            interval(row["low"], row["high"], 2),
            f"{row['n_raters']:,} of {row['awaited']:,}",
            f"{row['n_items']:,}",
            f"{row['n_pairs']:,}",
            number(row["days"], 1),
            row["reason"] or "",
        )
        for row in data.iter_rows(named=True)
    ]
    heads = ("Quality", "Wave", "Statistic", "Value", "95 % interval", "Raters", "Items", "Pairs")
    note = (
        "Each rater against their own first ratings, absolute agreement; `same` is the share of "
        "choices made the same way. Intervals over raters and items."
    )
    title = "Agreement of raters with themselves"
    return Table("retest", title, (*heads, "Days", "Why not"), rows, note, data)


def _categories(analysis: StudyAnalysis) -> Table:
    data = analysis.categories
    rows = [
        (
            row["quality"],
            row["also"] or row["statistic"],
            number(row["value"], 2),
            interval(row["low"], row["high"], 2),
            f"{row['n_items'] or 0:,}",
            f"{row['n_ratings'] or 0:,}",
            row["reason"] or "",
        )
        for row in data.iter_rows(named=True)
    ]
    heads = ("Quality", "Statistic", "Value", "95 % interval", "Items", "Ratings", "Why not")
    note = "Intervals over items and raters. 1 is perfect agreement, 0 what chance would give."
    return Table("categories", "Agreement on categories", heads, rows, note, data)


def _labels(analysis: StudyAnalysis) -> Table:
    data = analysis.labels
    rows = [
        (
            row["item"],
            row["quality"],
            "split" if row["label"] is None else f"{row['label']:g}",
            number(row["share"], percent=True),
            f"{row['n_raters']:,}",
            _label(row["dawid_skene"], row["dawid_skene_p"]),
            _label(row["mace"], row["mace_p"]),
        )
        for row in data.iter_rows(named=True)
    ]
    heads = ("Item", "Quality", "Label", "Said so", "Raters", "Dawid–Skene", "MACE")
    differ = int(data["differs"].sum())
    note = (
        "Dawid–Skene and MACE trust raters by how well they do; in brackets how sure they are. "
        f"{counted(differ, 'item')} of {data.height:,} come out differently from the majority."
    )
    return Table("labels", "What most raters said", heads, rows, note, data)


def _label(label: float | None, sure: float | None) -> str:
    return "–" if label is None else f"{label:g} ({number(sure, percent=True)})"


def _label_raters(analysis: StudyAnalysis) -> Table:
    data = analysis.label_raters
    rows = [
        (
            row["rater"] or "",
            row["quality"],
            "–" if row["n_ratings"] is None else f"{row['n_ratings']:,}",
            number(row["dawid_skene"], percent=True),
            interval(row["dawid_skene_low"], row["dawid_skene_high"], percent=True),
            number(row["mace"], percent=True),
            interval(row["mace_low"], row["mace_high"], percent=True),
            row["reason"] or "",
        )
        for row in data.sort("dawid_skene", nulls_last=True).iter_rows(named=True)
    ]
    first = ("Rater", "Quality", "Ratings", "Right (Dawid–Skene)", "95 % interval")
    heads = (*first, "Knows (MACE)", "95 % interval", "Why not")
    note = (
        "Right: the share of items labelled as they are. Knows: the share of ratings in which the "
        "rater knew rather than answered by habit. The least trusted first."
    )
    return Table("label_raters", "How far raters of labels are trusted", heads, rows, note, data)


def _effects(analysis: StudyAnalysis) -> Table:
    rows = []
    for row in analysis.effects.iter_rows(named=True):
        percent = row["unit"] == "share"
        rows.append(
            (
                row["effect"],
                row["quality"],
                number(row["value"], percent=percent),
                interval(row["low"], row["high"], percent=percent),
                p_value(row["p"]),
                p_value(row["p_adjusted"]),
                number(row["raw_value"]),
                row["reason"] or "",
            )
        )
    first = ("Effect", "Quality", "Difference", "95 % interval", "p", "Corrected p")
    heads = (*first, "Participants’ means", "Why not")
    note = (
        "Differences from a mixed model with raters and items random; beside them the plain "
        f"difference of participants’ means. {_family(analysis.effects)}"
    )
    return Table("effects", "Effects of the design", heads, rows, note, analysis.effects)


def _family(table: pl.DataFrame) -> str:
    sizes = table["family"].drop_nulls().unique().to_list() if table.height else []
    if not sizes:
        return "Nothing was tested."
    return f"Corrected over a family of {sizes[0]} tests (Benjamini–Hochberg)."


def _paper(paper: Sequence[PaperTable]) -> Iterator[Table]:
    for paper_table in paper:
        title = paper_table.title
        if paper_table.reason or not paper_table.table.height:
            note = f"Could not be made: {paper_table.reason or 'no data'}."
            yield Table(paper_table.key, title, ("",), [], note, paper_table.table)
        elif "form" in paper_table.table.columns:
            yield _agreement(paper_table.key, title, paper_table.table)
        elif "mean" in paper_table.table.columns:
            yield _means(paper_table.key, title, paper_table.table)
        elif paper_table.key == "figure9":
            yield _plain(paper_table.key, title, paper_table.table, _RANKING)
        elif paper_table.key == "preferred":
            yield _plain(paper_table.key, title, paper_table.table, _PREFERRED)
        else:
            yield _counts(paper_table.key, title, paper_table.table)


_Columns = Mapping[str, Callable[[Mapping[str, Any]], str]]
_RANKING: _Columns = {
    "Quality": lambda r: r["quality"],
    "Mean rank": lambda r: number(r["mean_rank"], 2),
    "95 % interval": lambda r: interval(r["low"], r["high"], 2),
    "Ranked first": lambda r: number(r["share_first"], percent=True),
    "Among the first two": lambda r: number(r["share_top_two"], percent=True),
    "Participants": lambda r: str(r["n_raters"]),
}
_PREFERRED: _Columns = {
    "Scale": lambda r: r["answer"],
    "Participants": lambda r: f"{r['n_raters']} of {r['of']}",
    "Share": lambda r: number(r["share"], percent=True),
    "95 % interval": lambda r: interval(r["low"], r["high"], percent=True),
}


def _plain(key: str, title: str, table: pl.DataFrame, columns: _Columns, note: str = "") -> Table:
    rows = [[make(row) for make in columns.values()] for row in table.iter_rows(named=True)]
    return Table(key, title, tuple(columns), rows, note, table)


def _condition(row: Mapping[str, Any]) -> tuple[str, str]:
    """The condition in words, and the group of raters.

    Examples:
        >>> _condition({"anchor": "none", "layout": "together"})
        ('together, no anchor', '')
    """
    anchor = row.get("anchor")
    words = {"none": "no anchor", "both": "anchor", "shown": "anchor"}
    parts = [row["layout"]] if row.get("layout") else []
    parts += [words.get(anchor, f"{anchor} anchor")] if anchor else []
    return ", ".join(parts) or "all conditions", row.get("group") or ""


def _agreement(key: str, title: str, table: pl.DataFrame) -> Table:
    """Conditions as rows, qualities as columns, the headline form; all forms are in the CSV."""
    main = table.filter(pl.col("form") == "ICC(2,k)")

    def text(row: Mapping[str, Any]) -> str:
        if row["value"] is None:
            return "–"
        weak = row["p_adjusted"] is None or row["p_adjusted"] >= 0.05
        reach = interval(row["low"], row["high"], 2)
        return f"{number(row['value'], 2)} ({reach})" + (" †" if weak else "")

    note = (
        f"95 % intervals for other raters and items. † corrected p not below 0.05. {_family(main)}"
    )
    return _pivoted(key, title, main, text, note, table)


def _means(key: str, title: str, table: pl.DataFrame) -> Table:
    def text(row: Mapping[str, Any]) -> str:
        return f"{number(row['mean'])} ({interval(row['low'], row['high'])})"

    return _pivoted(key, title, table, text, "95 % intervals over participants.", table)


def _pivoted(
    key: str,
    title: str,
    table: pl.DataFrame,
    text: Callable[[Mapping[str, Any]], str],
    note: str,
    data: pl.DataFrame,
) -> Table:
    """Conditions as rows, qualities as columns."""
    qualities = table["quality"].unique(maintain_order=True).to_list()
    cells: dict[tuple[str, str], dict[str, str]] = {}
    counts: dict[tuple[str, str], list[int]] = {}
    for row in table.iter_rows(named=True):
        cells.setdefault(_condition(row), {})[row["quality"]] = text(row)
        counts.setdefault(_condition(row), []).append(row["n_raters"])
    grouped = any(group for _, group in cells)
    rows = []
    for where, of_quality in cells.items():
        least, most = min(counts[where]), max(counts[where])
        raters = f"{least}" if least == most else f"{least}–{most}"
        first = where if grouped else where[:1]
        rows.append((*first, raters, *(of_quality.get(quality, "–") for quality in qualities)))
    names = ("Condition", "Group") if grouped else ("Condition",)
    heads = ["Mean" if quality == "all" else quality.capitalize() for quality in qualities]
    return Table(key, title, (*names, "Raters", *heads), rows, note, data)


def _counts(key: str, title: str, table: pl.DataFrame) -> Table:
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {}
    if "question" in table.columns:
        columns["Question"] = lambda r: str(r["question"]).replace("_", " ")
    columns["Condition"] = lambda r: _condition(r)[0]
    if "group" in table.columns:
        columns["Answer"] = lambda r: str(r["group"])
    columns["Raters"] = lambda r: f"{r['n_raters']:,}"
    columns["Ratings"] = lambda r: f"{r['n_ratings']:,}"
    return _plain(key, title, table, columns)


def _differences(analysis: StudyAnalysis) -> Table:
    table = analysis.consistency_differences
    columns: _Columns = {
        "Comparison": lambda r: r["comparison"],
        "Quality": lambda r: r["quality"],
        "Form": lambda r: r["form"],
        "Difference": lambda r: number(r["value"], 2),
        "95 % interval": lambda r: interval(r["low"], r["high"], 2),
        "p": lambda r: p_value(r["p"]),
        "Corrected p": lambda r: p_value(r["p_adjusted"]),
        "Why not": lambda r: r["reason"] or "",
    }
    return _plain("icc_differences", "Differences of agreement", table, columns, _family(table))


def _splits(analysis: StudyAnalysis) -> Table:
    table = analysis.split_effects
    columns: _Columns = {
        "Split by": lambda r: r["split"].replace("_", " "),
        "Group": lambda r: r["group"],
        "Layout": lambda r: r["layout"] or "all",
        "Anchor − none": lambda r: number(r["value"]),
        "95 % interval": lambda r: interval(r["low"], r["high"]),
        "p": lambda r: p_value(r["p"]),
        "Corrected p": lambda r: p_value(r["p_adjusted"]),
        "Raters": lambda r: "–" if r["n_raters"] is None else str(r["n_raters"]),
        "Why not": lambda r: r["reason"] or "",
    }
    title = "The anchor’s effect by time and experience"
    return _plain("split_effects", title, table, columns, _family(table))


def _pushes(analysis: StudyAnalysis) -> Table:
    table = analysis.response_biases
    columns: _Columns = {
        "Bias": lambda r: r["bias"],
        "On": lambda r: r["of"],
        "What it measures": lambda r: r["measure"],
        "Estimate": lambda r: number(r["value"], percent=r["bias"] == "heaping"),
        "95 % interval": lambda r: interval(r["low"], r["high"], percent=r["bias"] == "heaping"),
        "p": lambda r: p_value(r["p"]),
        "Corrected p": lambda r: p_value(r["p_adjusted"]),
        "Why not": lambda r: r["reason"] or "",
    }
    return _plain("pushes", "What else biases ratings", table, columns, _family(table))


def _flags(analysis: StudyAnalysis) -> Table:
    table = analysis.flags.raters
    marked = table.filter(pl.col("rater").is_in(analysis.flags.any_flag))
    columns: _Columns = {
        "Rater": lambda r: r["rater"],
        "Flags": lambda r: ", ".join(f.replace("_", " ") for f in FLAGS if r[f]),
        "Ratings": lambda r: str(r["n_ratings"]),
        "Seconds a rating": lambda r: number(r["median_seconds"]),
        "Most frequent number": lambda r: number(r["same_share"], percent=True),
        "Longest run": lambda r: str(r["longest_run"]),
        "Multiples of ten": lambda r: number(r["round_share"], percent=True),
    }
    rows = [[make(row) for make in columns.values()] for row in marked.iter_rows(named=True)]
    meanings = "; ".join(f"{flag.replace('_', ' ')}: {text}" for flag, text in FLAGS.items())
    note = f"{meanings[0].upper()}{meanings[1:]}. The CSV holds every rater."
    return Table("raters", "Raters to look at twice", tuple(columns), rows, note, table)


def _robustness(analysis: StudyAnalysis) -> Table:
    table = analysis.robustness
    if "effect" not in table.columns:
        table = table.with_columns(
            *(pl.lit(None).alias(n) for n in ("effect", "quality", "value", "low", "high", "unit"))
        )
    columns: _Columns = {
        "Left out": lambda r: r["left_out"].replace("_", " "),
        "Raters left": lambda r: str(r["n_raters"]),
        "Effect": lambda r: r["effect"] or "–",
        "Quality": lambda r: r["quality"] or "–",
        "Estimate": lambda r: number(r["value"], percent=r["unit"] == "share"),
        "95 % interval": lambda r: interval(r["low"], r["high"], percent=r["unit"] == "share"),
        "Why not": lambda r: r["reason"] or "",
    }
    note = "Shown to see what hangs on whom; nothing here is tested."
    return _plain("robustness", "Main effects without flagged raters", table, columns, note)


def _variance(analysis: StudyAnalysis) -> Table:
    columns: _Columns = {
        "Quality": lambda r: r["quality"],
        "Level": lambda r: r["level"],
        "Share": lambda r: number(r["share"], percent=True),
        "95 % interval": lambda r: interval(r["low"], r["high"], percent=True),
        "Groups": lambda r: "–" if r["n_levels"] is None else f"{r['n_levels']:,}",
        "Note": lambda r: r["reason"] or "",
    }
    note = "Linear mixed model (restricted likelihood), conditions as fixed effects."
    title = "How the variance is shared between levels"
    return _plain("variance", title, analysis.variance, columns, note)
