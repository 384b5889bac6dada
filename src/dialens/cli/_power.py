"""`dialens power`: how many raters, items and dialogues a study needs."""

import json
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from dialens.base import RUN, DialensError, Recorder, atomic_folder, number, progress
from dialens.cli._options import Force, Seed, names, shown
from dialens.cli._terminal import plain_console, plain_table
from dialens.report import PowerPlan, Summary, write_power
from dialens.statistics import load_ratings
from dialens.statistics.power import (
    SIMULATIONS,
    Design,
    FittedParts,
    VarianceParts,
    fitted_parts,
    power_curve,
)

POWER = "power.json"
_PARTS = ("rater", "item", "dialog", "residual", "rater_agent")


def power(
    ratings: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RATINGS]", help="Ratings of an earlier study, to take the variances from."
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")] = Path(
        "power"
    ),
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
    effect: Annotated[
        list[str] | None,
        typer.Option(
            "--effect",
            help="Difference between two agents to detect, in points; with commas or repeated.",
        ),
    ] = None,
    raters: Annotated[
        list[str] | None, typer.Option("--raters", help="Numbers of raters per dialogue to try.")
    ] = None,
    items: Annotated[
        list[str] | None, typer.Option("--items", help="Numbers of items to try.")
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
        typer.Option("--width", help="Width of the interval of a difference to reach."),
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", min=0.0001, max=0.5)] = 0.05,
    simulations: Annotated[
        int, typer.Option("--simulations", min=100, help="Studies simulated for each design.")
    ] = SIMULATIONS,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Plan a rating study: power and interval widths over numbers of raters, items, dialogues.

    Variances are stated, or fitted to ratings of an earlier study, or both (what is stated wins).
    Studies are simulated and analysed; the error of the simulation is shown. Writes power.json,
    power.csv and report.html into the output folder.

    [bold]Examples[/]

      dialens power --item-sd 0.5 --dialog-sd 0.4 --rater-sd 0.4 --residual-sd 0.8 --effect 0.3
      dialens power pilot.jsonl --quality engaging --effect 0.2,0.4 --raters 1,3,5
      dialens power pilot.jsonl -q overall --width 0.3 --scale 1,5
    """
    stated = {
        "rater": rater_sd,
        "item": item_sd,
        "dialog": dialog_sd,
        "residual": residual_sd,
        "rater_agent": rater_agent_sd,
    }
    fitted = None
    if ratings is not None:
        fitted = _fitted(ratings, quality, condition)
    elif all(value is None for value in stated.values()):
        raise DialensError(
            "Give ratings of an earlier study, or state variances: --rater-sd, --item-sd, "
            "--dialog-sd, --residual-sd."
        )
    parts = _parts(stated, fitted)
    design = Design(
        1,
        2,
        shared_raters=shared_raters,
        paired=paired,
        scale=_scale(scale),
        mean=_mean(mean, scale, fitted),
    )
    effects = _numbers(effect, "--effect") or [0.0]
    grid: dict[str, Any] = {
        "raters": _counts(raters, "--raters") or [1, 2, 3, 5, 10],
        "items": _counts(items, "--items") or [10, 20, 40, 80, 160, 320],
        "dialogs": _counts(dialogs, "--dialogs") or [1],
    }
    arguments = {**grid, "effects": effects, "parts": vars(parts), "ratings": ratings}
    recorder = Recorder("power", arguments, seed=seed)
    with atomic_folder(output, inputs=[ratings] if ratings else [], force=force) as scratch:
        with recorder.step("simulate"), progress("Simulating", unit="designs"):
            table = power_curve(
                parts,
                **grid,
                effects=effects,
                design=design,
                simulations=simulations,
                alpha=alpha,
                seed=seed,
            )
        plan = PowerPlan(table, parts, design, alpha, wanted_power, width, fitted)
        text = json.dumps(plan.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        (scratch / POWER).write_text(text + "\n", encoding="utf-8")
        table.write_csv(scratch / "power.csv")
        summary = write_power(plan, scratch / "report.html", title="Planning a rating study")
        recorder.finish(scratch / RUN)
    print(f"{summary.answer}.\n{summary.scope}.\n")
    _print(table, summary)
    print(f"\nReport: {shown(output / 'report.html')}   (open it in a browser)")
    print(f"Tables: {shown(output / POWER)}, {shown(output / 'power.csv')}")


def _fitted(path: Path, quality: str | None, condition: str | None) -> FittedParts:
    try:
        table = load_ratings(path, factors=["dialog_id"])
    except DialensError as error:
        if "dialog_id" not in str(error):
            raise
        table = load_ratings(path)
    return fitted_parts(table, quality=quality, condition=condition)


def _parts(stated: dict[str, float | None], fitted: FittedParts | None) -> VarianceParts:
    defaults = vars(fitted.parts) if fitted else {**dict.fromkeys(_PARTS, 0.0), "residual": 1.0}
    return VarianceParts(
        **{
            name: defaults[name] if stated[name] is None else float(stated[name] or 0.0)
            for name in _PARTS
        }
    )


def _numbers(entries: list[str] | None, option: str) -> list[float]:
    numbers = []
    for text in names(entries) or []:
        try:
            numbers.append(float(text))
        except ValueError as error:
            raise DialensError(f"{option} takes numbers with commas; seen: {text!r}.") from error
    return numbers


def _counts(entries: list[str] | None, option: str) -> list[int]:
    numbers = _numbers(entries, option)
    for count in numbers:
        if count != int(count) or count < 1:
            raise DialensError(f"{option} takes whole numbers from 1; seen: {count:g}.")
    return [int(count) for count in numbers]


def _scale(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    ends = _numbers([text], "--scale")
    if len(ends) != 2 or ends[0] >= ends[1]:
        raise DialensError(f"--scale takes LOW,HIGH, for instance 1,5; seen: {text!r}.")
    return ends[0], ends[1]


def _mean(stated: float | None, scale: str | None, fitted: FittedParts | None) -> float:
    if stated is not None:
        return stated
    if fitted is not None:
        return fitted.mean
    ends = _scale(scale)
    return sum(ends) / 2 if ends else 0.0


def _print(table: pl.DataFrame, summary: Summary) -> None:
    tested = table["power"].is_not_null().any()
    heads = ["raters", "items", "dialogs", "ratings"]
    heads += ["effect", "power", "± sim.", "exact"] if tested else []
    heads += ["width of difference", "width of a mean"]
    grid = plain_table(*heads)
    for row in table.iter_rows(named=True):
        cells = [f"{row[name]:,}" for name in ("raters", "items", "dialogs", "ratings")]
        if tested:
            cells += [f"{row['effect']:g}", *_power_cells(row)]
        grid.add_row(*cells, number(row["width"], 3), number(row["mean_width"], 3))
    plain_console().print(grid, "")
    for finding in summary.findings:
        print(f"• {finding.text}")


def _power_cells(row: dict[str, Any]) -> tuple[str, str, str]:
    if row["power"] is None:
        return "–", "–", "–"
    error = (row["power_high"] - row["power_low"]) / 2
    return f"{row['power']:.3f}", f"{error:.3f}", number(row["power_exact"], 3)
