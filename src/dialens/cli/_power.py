"""`dialens power`: how many raters, items and dialogues a study needs."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import typer

from dialens.base import (
    RUN,
    DialensError,
    Recorder,
    atomic_folder,
    for_spreadsheet,
    number,
    progress,
)
from dialens.cli._options import Force, Seed, shown
from dialens.cli._power_judge import JudgeAsked, mixes_with_judge, refuse_judge
from dialens.cli._power_options import (
    counts_of,
    effects_of,
    fitted_to,
    mean_of,
    numbers_of,
    parts_of,
    pilot_of,
    scale_of,
)
from dialens.cli._power_question import Outcome, Question
from dialens.cli._power_study import print_power_of_study
from dialens.cli._terminal import plain_console, plain_table
from dialens.report import PowerPlan, write_power
from dialens.statistics.power import SIMULATIONS, Advice, Design, cheapest

POWER = "power.json"
_FOLDER = Path("power")


def power(
    ratings: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RATINGS]", help="Ratings of an earlier study, to take the variances from."
        ),
    ] = None,
    outcome: Annotated[
        Outcome,
        typer.Option(
            "--outcome",
            help="What is measured: mean ratings, shares (yes or no), who wins a comparison, or "
            "the reliability of ratings.",
        ),
    ] = "mean",
    design: Annotated[
        Literal["within", "between"],
        typer.Option(
            "--design",
            help="Two agents that all raters see, or two conditions (cells) of a study, each with "
            "raters of its own.",
        ),
    ] = "within",
    study: Annotated[
        Path | None,
        typer.Option("--study", help="A study: the power of its cells, targets and items."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder to write.", show_default=str(_FOLDER)),
    ] = None,
    quality: Annotated[
        str | None, typer.Option("--quality", "-q", help="Which quality of those ratings.")
    ] = None,
    condition: Annotated[
        str | None,
        typer.Option("--condition", help="Which condition, if there are several scales."),
    ] = None,
    rater_sd: Annotated[
        float | None, typer.Option("--rater-sd", help="How much raters differ in severity.")
    ] = None,
    item_sd: Annotated[
        float | None, typer.Option("--item-sd", help="How much items (prompts) differ.")
    ] = None,
    dialog_sd: Annotated[
        float | None, typer.Option("--dialog-sd", help="How much dialogues on an item differ.")
    ] = None,
    residual_sd: Annotated[
        float | None, typer.Option("--residual-sd", help="Residual variation of a single rating.")
    ] = None,
    rater_agent_sd: Annotated[
        float | None,
        typer.Option("--rater-agent-sd", help="How much raters differ in which agent they prefer."),
    ] = None,
    item_cell_sd: Annotated[
        float | None,
        typer.Option("--item-cell-sd", help="How unequally a condition moves items (between)."),
    ] = None,
    effect: Annotated[
        list[str] | None,
        typer.Option(
            "--effect",
            help="Difference between two agents to detect, in points; with commas or repeated.",
        ),
    ] = None,
    shares: Annotated[
        list[str] | None,
        typer.Option("--shares", help="Binary: the share of the first agent, then of the second."),
    ] = None,
    win_rate: Annotated[
        list[str] | None,
        typer.Option("--win-rate", help="Pairwise: share of decided comparisons that one wins."),
    ] = None,
    ties: Annotated[
        float, typer.Option("--ties", min=0, max=0.99, help="Pairwise: share of ties.")
    ] = 0.0,
    icc: Annotated[
        list[str] | None, typer.Option("--icc", help="ICC: the reliability of one rating.")
    ] = None,
    rater_share: Annotated[
        float,
        typer.Option("--rater-share", min=0, help="ICC: share of variance from raters' levels."),
    ] = 0.0,
    raters: Annotated[
        list[str] | None,
        typer.Option("--raters", help="Numbers of raters per dialogue, or per cell, to try."),
    ] = None,
    items: Annotated[
        list[str] | None, typer.Option("--items", help="Numbers of items to try.")
    ] = None,
    each: Annotated[
        int | None,
        typer.Option("--each", min=1, help="Items each rater rates (between); all if not given."),
    ] = None,
    dialogs: Annotated[
        list[str] | None, typer.Option("--dialogs", help="Numbers of dialogues per item to try.")
    ] = None,
    shared_raters: Annotated[
        bool,
        typer.Option(
            "--shared-raters/--own-raters",
            help="The same raters rate everything, or each dialogue has its own.",
        ),
    ] = False,
    paired: Annotated[
        bool,
        typer.Option("--paired/--unpaired", help="Both agents answer the same items, or not."),
    ] = True,
    scale: Annotated[
        str | None,
        typer.Option("--scale", help="LOW,HIGH of a scale of whole numbers, e.g. 1,5."),
    ] = None,
    mean: Annotated[
        float | None, typer.Option("--mean", help="Mean rating; matters on a scale only.")
    ] = None,
    wanted_power: Annotated[
        float, typer.Option("--power", min=0.01, max=0.999, help="Power to reach.")
    ] = 0.8,
    width: Annotated[
        float | None,
        typer.Option("--width", help="Width of the interval of a difference, or ICC, to reach."),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            "--equivalence",
            help="Smallest difference that matters: the power to show that it is smaller.",
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option("--alpha", min=0.0001, max=0.5, help="Level of the tests.")
    ] = 0.05,
    comparisons: Annotated[
        int, typer.Option("--comparisons", min=1, help="How many tests share that level.")
    ] = 1,
    price: Annotated[
        float | None, typer.Option("--price", min=0, help="Price of one rating, in money.")
    ] = None,
    judge_r: Annotated[
        float | None,
        typer.Option(
            "--judge-r",
            min=-1,
            max=1,
            help="A judge’s correlation with people: the cheapest mix of both. From RATINGS if a "
            "language model rated there too.",
        ),
    ] = None,
    judge_price: Annotated[
        float | None,
        typer.Option("--judge-price", min=0, help="Price of one rating by the judge, in money."),
    ] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", help="Which judge of RATINGS, if there are several.")
    ] = None,
    simulations: Annotated[
        int, typer.Option("--simulations", min=100, help="Studies simulated for each design.")
    ] = SIMULATIONS,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Plan a rating study: its power, and what more raters or more items would bring.

    Variances are stated, or fitted to ratings of an earlier study, or both (what is stated wins);
    for shares and comparisons they are in logits. What has a closed form is computed, the rest is
    simulated, with the error of the simulation. With a judge, the cheapest mix of people and judge
    comes first, or that the judge is better left out. Writes power.json, power.csv and report.html
    into the output folder.

    [bold]Examples[/]

      dialens power --item-sd 0.5 --dialog-sd 0.4 --rater-sd 0.4 --residual-sd 0.8 --effect 0.3
      dialens power pilot.jsonl --quality engaging --effect 0.2,0.4 --raters 1,3,5
      dialens power pilot.jsonl -q overall --width 0.3 --scale 1,5
      dialens power --design between --rater-sd 0.6 --residual-sd 0.9 --effect 0.4 --raters 20
      dialens power --outcome binary --shares 0.5,0.65 --rater-sd 0.8 --item-sd 0.8
      dialens power --outcome pairwise --win-rate 0.6 --ties 0.2 --item-sd 1 --raters 3
      dialens power --outcome icc --icc 0.6 --width 0.1
      dialens power --residual-sd 0.8 --equivalence 0.3 --comparisons 3
      dialens power --study anchoring --rater-sd 0.5 --residual-sd 0.9 --effect 0.4
      dialens power --dialog-sd 0.6 --effect 0.3 --price 0.5 --judge-r 0.7 --judge-price 0.01
      dialens power export -q engaging --effect 0.3 --price 0.5 --judge-price 0.01
    """
    stated = {
        "rater": rater_sd,
        "item": item_sd,
        "dialog": dialog_sd,
        "residual": residual_sd,
        "rater_agent": rater_agent_sd,
        "item_cell": item_cell_sd,
    }
    pilot = pilot_of(ratings)
    fitted = None if pilot is None else fitted_to(pilot, outcome, quality, condition)
    parts = parts_of(stated, outcome, fitted)
    base = numbers_of(shares, "--shares")
    effects = effects_of(
        outcome,
        numbers_of(effect, "--effect"),
        base,
        numbers_of(win_rate, "--win-rate"),
        numbers_of(icc, "--icc"),
    )
    question = Question(
        outcome,
        parts,
        Design(
            1,
            2,
            shared_raters=shared_raters,
            paired=paired,
            between=design == "between",
            scale=scale_of(scale),
            mean=mean_of(mean, scale, fitted),
        ),
        first=base[0] if base else 0.5,
        ties=ties,
        rater_share=rater_share,
        each=each,
        width=width,
        margin=margin,
        alpha=alpha / comparisons,
        simulations=simulations,
        seed=seed,
    )
    question.refuse_what_does_not_belong(of_study=study is not None, dialogs=bool(dialogs))
    asked = JudgeAsked(judge_r, judge_price, judge)
    refuse_judge(asked, question, of_study=study is not None)
    if study is not None:
        if raters or items or dialogs or each or outcome != "mean":
            raise DialensError(
                "--study takes raters and items from the study, for mean ratings; leave --raters, "
                "--items, --dialogs, --each and --outcome out."
            )
        if output is not None:
            raise DialensError(
                "--study prints its sentences and writes no folder; leave -o out, or send what it "
                "prints to a file (> power.txt)."
            )
        print_power_of_study(study, question, effects, wanted=wanted_power, price=price)
        return
    output = output or _FOLDER
    mixes = mixes_with_judge(
        asked,
        question,
        effects,
        pilot=pilot,
        fitted=fitted,
        raters=counts_of(raters, "--raters"),
        dialogs=counts_of(dialogs, "--dialogs"),
        price=price,
        wanted=wanted_power,
    )
    planned = [mix.raters for mix in mixes.values()][:1]
    grid = {
        "raters": counts_of(raters, "--raters") or planned or question.default_raters,
        "items": counts_of(items, "--items") or [10, 20, 40, 80, 160, 320],
        "dialogs": counts_of(dialogs, "--dialogs") or [1],
    }
    arguments = {**grid, "effects": effects, "parts": question.stated, "ratings": ratings}
    recorder = Recorder("power", arguments, seed=seed).read_from(ratings)
    designs = len(effects) * len(grid["raters"]) * len(grid["items"]) * len(grid["dialogs"])
    with atomic_folder(output, inputs=[ratings] if ratings else [], force=force) as scratch:
        with (
            recorder.step("simulate"),
            progress("Planning", total=designs, unit="designs") as advance,
        ):
            table = question.table(**grid, effects=effects, advance=advance)
            advice = _advice(question, table, wanted_power)
        plan = PowerPlan(
            table,
            outcome,
            question.stated,
            question.design,
            question.alpha,
            wanted_power,
            comparisons=comparisons,
            width=width,
            margin=margin,
            first=question.first,
            settings={"ties": ties, "rater_share": rater_share, "each": each},
            advice=advice,
            price=price,
            fitted=fitted,
            mixes=mixes,
        )
        text = json.dumps(plan.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        (scratch / POWER).write_text(text + "\n", encoding="utf-8")
        for_spreadsheet(table).write_csv(scratch / "power.csv")
        summary = write_power(plan, scratch / "report.html", title="Planning a rating study")
        recorder.finish(scratch / RUN)
    for finding in summary.findings:
        print(finding.text)
    print(f"{summary.scope}.\n")
    _print(table, plan)
    print(f"\nReport: {shown(output / 'report.html')}   (open it in a browser)")
    print(f"Tables: {shown(output / POWER)}, {shown(output / 'power.csv')}")


def _advice(question: Question, table: pl.DataFrame, wanted: float) -> dict[float, Advice]:
    """For each thing looked for that no design sees with the power wanted, what would."""
    advice: dict[float, Advice] = {}
    if question.outcome == "icc":
        return advice
    for effect in table["effect"].unique(maintain_order=True):
        row = cheapest(table, effect, wanted)
        if row is None or row["known"] >= wanted:
            continue
        found = question.advice(row, wanted)
        if found is not None:
            advice[effect] = found
    return advice


def _print(table: pl.DataFrame, plan: PowerPlan) -> None:
    """The table; the closed form stands in a column of its own only beside simulations."""
    tested = bool(table["power"].is_not_null().any())
    simulated = bool((table["simulations"] > 0).any())
    counts = ["raters", "items", "dialogs", "ratings"]
    if (table["dialogs"] == 1).all():
        counts.remove("dialogs")
    powers = ["power", "± sim.", "exact"] if simulated else ["power"]
    if plan.outcome == "icc":
        powers[0] = "assurance"
    looked_for = {"binary": "difference", "pairwise": "win rate", "icc": "ICC"}
    varied = tested or plan.outcome == "icc"
    means = bool(table["mean_width"].is_not_null().any())
    grid = plain_table(
        numbers=[
            *counts,
            *([looked_for.get(plan.outcome, "effect")] if varied else []),
            *(powers if tested else []),
            "width",
            *(["width of a mean"] if means else []),
        ]
    )
    for row in table.iter_rows(named=True):
        cells = [f"{row[name]:,}" for name in counts]
        start = 0.5 if plan.outcome == "pairwise" else 0.0
        cells += [f"{start + row['effect']:.4g}"] if varied else []
        cells += _power_cells(row)[: len(powers)] if tested else []
        cells += [number(row["width"], 3)]
        cells += [number(row["mean_width"], 3)] if means else []
        grid.add_row(*cells)
    plain_console().print(grid)


def _power_cells(row: dict[str, Any]) -> list[str]:
    if row["power"] is None:
        return ["–"] * 3
    low, high = row["power_low"], row["power_high"]
    error = None if low is None else (high - low) / 2
    return [f"{row['power']:.3f}", number(error, 3), number(row["power_exact"], 3)]
