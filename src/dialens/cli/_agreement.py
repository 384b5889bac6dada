"""`dialens agreement`: how far raters agree, from any table of ratings."""

import json
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from dialens.analysis.judges import raters_of_kinds
from dialens.base import (
    RUN,
    DialensError,
    Recorder,
    atomic_folder,
    for_spreadsheet,
    interval,
    number,
    progress,
    sha256_file,
)
from dialens.cli._agreement_printing import ends, folding_grid, print_differences, print_study
from dialens.cli._options import Figures, Force, OnErrorOption, Seed, names, reads_anything, shown
from dialens.cli._rating_options import (
    ColumnOption,
    ParticipantsOption,
    RatersOption,
    RatingFormat,
    ScaleOption,
    kinds_given,
    ratings_from,
    scales_given,
)
from dialens.cli._tables_and_figures import FIGURES, print_figures, write_asked
from dialens.cli._terminal import plain_console
from dialens.corpus import OnError
from dialens.report import agreement_apa, paper_text, write_agreement_handover
from dialens.report.agreement import method, write_agreement
from dialens.statistics.agreement import (
    TARGETS,
    Agreement,
    GeneralizabilityStudy,
    analysed_ratings,
    generalizability,
    measure_agreement,
)

PAPER = "text.md"
_FEW_GROUPS = 2
_RELIABILITY = (("ICC(2,1)", "ICC(2,k)"), ("ICC(1,1)", "ICC(1,k)"))
_ALPHA = ("alpha_ordinal", "alpha_nominal")
_LABELS = ("percent_agreement", "gwet_ac1", "fleiss_kappa", "light_kappa", "cohen_kappa")
_MOST_GROUPS = 30


@reads_anything("ratings")
def agreement(
    ratings: Annotated[
        Path, typer.Argument(metavar="RATINGS", help="A corpus, rated units, or a table.")
    ],
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", help="Measure agreement separately for each level of these columns or factors."
        ),
    ] = None,
    normalise: Annotated[
        str | None,
        typer.Option("--normalise", help="`log` normalises magnitude estimates."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")] = Path(
        "agreement"
    ),
    quality: Annotated[
        list[str] | None, typer.Option("--quality", "-q", help="Only these qualities.")
    ] = None,
    modulus: Annotated[
        float | None,
        typer.Option(
            min=1e-300, help="The modulus that raters saw, if the ratings do not contain it."
        ),
    ] = None,
    target: Annotated[
        list[float] | None,
        typer.Option(
            "--target", help="Reliability to reach: how many raters it takes is reported."
        ),
    ] = None,
    facets: Annotated[
        list[str] | None,
        typer.Option(
            "--facets",
            help="Columns of a generalisability study, e.g. rater,occasion; rater:task for raters "
            "within tasks.",
        ),
    ] = None,
    column: ColumnOption = None,
    scale: ScaleOption = None,
    participants: ParticipantsOption = None,
    raters: RatersOption = None,
    seed: Seed = 0,
    format: RatingFormat = None,
    on_error: OnErrorOption = OnError.STOP,
    figures: Figures = None,
    force: Force = False,
) -> None:
    """Measure how far raters agree: ICC, alpha, kappa, AC1 and W, each with an interval.

    A table of ratings (CSV, TSV, JSONL, Parquet) needs the columns dialog (or item) and value;
    rater, quality and factors are used where they are there. Wide tables, matrices and exports of
    Qualtrics, Label Studio and Potato are recognised. People and language models (rater_kind) are
    never taken together: people are measured, or models where there are no people. Writes
    agreement.json and .csv (one row a statistic), raters.json (each rater against the rest),
    pairs.json (every two raters), categories.json (each category by itself), panel.json (how many
    raters are enough) and agreement.html (to look at) into the output folder; with --by also
    differences.json (whether groups differ in kappa and alpha), with --facets variances.json and
    decisions.json.

    [bold]Examples[/]

      dialens agreement corpus -o out
      dialens agreement ratings.csv --by condition --normalise log -o out
      dialens agreement units.jsonl.gz --by scale --quality fluency --target 0.85
      dialens agreement ratings.csv --facets rater,occasion -o out
      dialens agreement ratings.csv --raters llm
      dialens agreement survey.csv --participants prolific.csv --by Sex
      dialens agreement ratings.csv --scale "Disagree,Neutral,Agree" --column value=Answer
    """
    factors = names(by) or []
    targets = tuple(target or TARGETS)
    if not all(0 < wanted < 1 for wanted in targets):
        raise DialensError(f"--target lies between 0 and 1; seen: {', '.join(map(str, targets))}.")
    wanted = names(facets) or []
    if wanted and normalise:
        raise DialensError("--facets takes ratings as they are: leave --normalise away.")
    kinds = kinds_given(raters)
    arguments: dict[str, Any] = {
        "ratings": ratings,
        "by": factors,
        "normalise": normalise,
        "quality": quality,
        "modulus": modulus,
        "target": targets,
        "facets": wanted,
        "column": column,
        "scale": scale,
        "participants": participants,
        "raters": kinds,
        "format": format,
    }
    if ratings.is_file():
        arguments["sha256"] = sha256_file(ratings)
    recorder = Recorder("agreement", arguments, seed=seed).read_from(ratings)
    with atomic_folder(output, inputs=[ratings], force=force) as scratch:
        with recorder.step("read"):
            columns = [*factors, *(part for name in wanted for part in name.split(":"))]
            orders, _ = scales_given(scale, kinds=())
            load = ratings_from(
                ratings,
                columns=column,
                orders=orders,
                format=format,
                on_error=str(on_error),
                participants=participants,
                keep_words=True,
            )
            chosen = raters_of_kinds(load(factors=columns), kinds, occasions="occasion" in columns)
            table = chosen.ratings
        with recorder.step("measure"), progress("Measuring", unit="groups") as advance:
            result = measure_agreement(
                table,
                by=factors,
                qualities=names(quality),
                normalise=normalise,
                modulus=modulus,
                targets=targets,
                advance=advance,
            )
            study = (
                generalizability(table, wanted, by=factors, qualities=names(quality), seed=seed)
                if wanted
                else None
            )
        with recorder.step("write"):
            _write(result, study, scratch)
            write_agreement_handover(
                analysed_ratings(
                    table,
                    by=factors,
                    qualities=names(quality),
                    normalise=normalise,
                    modulus=modulus,
                ),
                scratch,
            )
            name = ratings.name.split(".")[0]
            summary = write_agreement(
                result,
                scratch / "agreement.html",
                title=f"Agreement: {name}",
                study=study,
                normalise=normalise,
                whom=chosen.said,
            )
            text = _for_a_paper(result, f"Agreement: {name}", normalise, chosen.said)
            (scratch / PAPER).write_text(text, encoding="utf-8")
            drawn = write_asked(summary, scratch / FIGURES, figures)
        recorder.finish(scratch / RUN)
    print(f"{summary.answer}.\n{summary.scope}.")
    _print(result)
    print_differences(result)
    if study is not None:
        print_study(study)
    _print_raters(result)
    print(f"\nPage: {shown(output / 'agreement.html')}   (open it in a browser)")
    print(
        f"Rows: {shown(output / 'agreement.json')}   For a paper: {shown(output / PAPER)}   "
        f"For R and SPSS: {shown(output / 'analysis.R')}, ratings.sps   "
        f"Run record: {shown(output / RUN)}"
    )
    print_figures(output / FIGURES, drawn)


def _write(result: Agreement, study: GeneralizabilityStudy | None, folder: Path) -> None:
    tables = {
        "agreement": result.rows,
        "raters": result.raters,
        "panel": result.panel,
        "pairs": result.pairs,
        "categories": result.categories,
    }
    if result.differences.height:
        tables["differences"] = result.differences
    if study is not None:
        tables |= {"variances": study.components, "decisions": study.decisions}
    apa = [agreement_apa(r) if r["value"] is not None else None for r in result.rows.to_dicts()]
    tables["agreement"] = result.rows.with_columns(apa=pl.Series(apa, dtype=pl.String))
    for name, table in tables.items():
        text = json.dumps(table.to_dicts(), indent=1, ensure_ascii=False, allow_nan=False)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    for_spreadsheet(result.rows).write_csv(folder / "agreement.csv")


def _for_a_paper(result: Agreement, title: str, normalise: str | None, whom: str) -> str:
    """The main statistics of every quality and group in APA style."""
    parts: dict[str, list[str]] = {}
    for (quality, group), part in result.rows.group_by("quality", "group", maintain_order=True):
        rows = {row["statistic"]: row for row in part.iter_rows(named=True)}
        chosen = [row["statistic"] for row in _main(part)]
        chosen += [n for n in ("kendall_w",) if rows[n]["value"] is not None]
        head = f"{quality}" if group == "all" else f"{quality}, {group}"
        parts[head] = [agreement_apa(rows[name]) for name in chosen]
    notes = [*([f"{whom}."] if whom else []), *method(result.rows, normalise=normalise)]
    return paper_text(title, parts, notes)


def _print(result: Agreement) -> None:
    """The main statistics: a table for few groups, a line each for many."""
    groups = result.rows.select("quality", "group").unique(maintain_order=True)
    few = groups.height <= _FEW_GROUPS
    for quality, group in groups.head(_MOST_GROUPS).iter_rows():
        part = result.rows.filter((pl.col("quality") == quality) & (pl.col("group") == group))
        first = part.row(0, named=True)
        raters = (
            "raters not known" if first["n_raters"] is None else f"{first['n_raters']:,} raters"
        )
        print(
            f"\n{quality}{'' if group == 'all' else f', {group}'}: {first['n_ratings']:,} ratings "
            f"of {first['n_items']:,} items, {raters}, {first['n_missing']:,} cells empty"
        )
        if few:
            _print_table(part)
        else:
            _print_line(part)
    if groups.height > _MOST_GROUPS:
        print(f"… and {groups.height - _MOST_GROUPS:,} more groups")
    print()
    _print_reasons(result.rows)
    for note in result.notes:
        print(f"Note: {note}")


def _main(part: pl.DataFrame) -> list[dict[str, Any]]:
    """Reliability, one alpha, and agreement on labels, as far as there are any."""
    rows = {row["statistic"]: row for row in part.iter_rows(named=True)}
    known = {name for name, row in rows.items() if row["value"] is not None}
    chosen = [
        *next((pair for pair in _RELIABILITY if known.issuperset(pair)), ()),
        *[name for name in _ALPHA if name in known][:1],
        *(name for name in _LABELS if name in known),
    ]
    same = {"light_kappa"} if "cohen_kappa" in chosen else set()  # of two raters
    return [rows[name] for name in chosen if name not in same]


def _print_table(part: pl.DataFrame) -> None:
    rows = _main(part)
    tested = any(row["f"] is not None for row in rows)
    grid = folding_grid(
        "statistic", "value", "95 % interval", "from", *(["test"] if tested else [])
    )
    for row in rows:
        coefficient = row["statistic"].startswith("ICC")
        test = ""
        if row["f"] is not None:
            test = f"F({row['df1']:g}, {row['df2']:g}) {row['f']:.2f}"
        grid.add_row(
            f"{row['statistic']} {row['also']}" if coefficient else row["statistic"],
            number(row["value"], 3),
            interval(row["low"], row["high"], 3),
            _over(row),
            *([test] if tested else []),
        )
    if grid.row_count:
        plain_console().print(grid)
    missing = [row for row in rows if row["low"] is None]
    for reason, which in _by_reason(missing).items():
        print(f"{', '.join(which)}: {reason}.")


def _over(row: dict[str, Any]) -> str:
    """What an interval comes from, and over what it is."""
    basis = row["interval"] or ""
    if basis not in ("F", "REML"):
        return basis
    raters = "items" if row["statistic"].startswith(("ICC(1", "ICC(3")) else "items and raters"
    return f"{'F' if basis == 'F' else 'likelihood'} over {raters}"


def _by_reason(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["reason"], []).append(row["statistic"])
    return found


def _print_line(part: pl.DataFrame) -> None:
    parts = [
        f"{row['statistic']} {number(row['value'], 2)} ({ends(row)})" for row in _main(part)[:4]
    ]
    if parts:
        print("  " + "   ".join(parts))


def _print_reasons(rows: pl.DataFrame) -> None:
    """Why statistics are missing; reasons that differ in their numbers only are printed once."""
    missing = (
        rows.filter(pl.col("value").is_null())
        .with_columns(pl.col("reason").str.replace_all(r"\d[\d,.]*", "#").alias("_kind"))
        .group_by("_kind", maintain_order=True)
        .agg(
            pl.col("reason").first(),
            pl.col("statistic").unique(maintain_order=True),
            pl.struct("quality", "group").n_unique().alias("groups"),
        )
    )
    groups = rows.select("quality", "group").n_unique()
    for _, reason, which, count in missing.iter_rows():
        everything = len(which) == rows["statistic"].n_unique()
        listed = "everything" if everything else ", ".join(which)
        within = f" (in {count:,} of {groups:,} groups)" if groups > 1 else ""
        print(f"Not computed: {listed}: {reason}{within}.")


def _print_raters(result: Agreement) -> None:
    odd = result.raters.filter("at_odds")
    if odd.height:
        some = odd.head(8).iter_rows(named=True)
        who = ", ".join(
            f"{row['rater']} ({row['quality']}, r = {number(row['agreement'], 2)})" for row in some
        )
        more = f" and {odd.height - 8:,} more" if odd.height > 8 else ""
        print(f"At odds with the rest, corrected over the raters of each group: {who}{more}.")
    needed = result.panel.filter(
        (pl.col("basis") == "g_absolute")
        & (pl.col("more") > 0)
        & pl.col("needed_low").is_not_null()
        & pl.col("needed_high").is_not_null()
    )
    wanted = needed.group_by("quality", "group", maintain_order=True).first()
    for row in wanted.head(6).iter_rows(named=True):
        group = "" if row["group"] == "all" else f", {row['group']}"
        print(
            f"{row['quality']}{group}: a reliability of {row['target']:g} needs {row['needed']:,} "
            f"ratings an item ({row['needed_low']:,} to {row['needed_high']:,}); there are "
            f"{row['now']:.3g}."
        )
