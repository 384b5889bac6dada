"""How the options of `dialens power` are read."""

from pathlib import Path

import polars as pl

from dialens.analysis.judges import MODELS
from dialens.base import DialensError
from dialens.cli._options import names
from dialens.cli._power_question import Outcome
from dialens.statistics import load_ratings
from dialens.statistics.power import FittedParts, LogitParts, VarianceParts, fitted_parts

_PARTS = ("rater", "item", "dialog", "residual", "rater_agent", "item_cell")
_LOGITS = ("rater", "item", "dialog", "rater_agent")


def effects_of(
    outcome: Outcome,
    effect: list[float],
    shares: list[float],
    win_rate: list[float],
    icc: list[float],
) -> list[float]:
    """What is looked for, as the functions take it, or an error that names the option."""
    given = {"mean": effect, "binary": shares, "pairwise": win_rate, "icc": icc}
    option = {
        "mean": "--effect",
        "binary": "--shares",
        "pairwise": "--win-rate",
        "icc": "--icc",
    }
    for name, values in given.items():
        if values and name != outcome:
            raise DialensError(
                f"{option[name]} belongs to --outcome {name}, but --outcome is {outcome}."
            )
    if outcome == "mean":
        return effect or [0.0]
    if outcome == "binary":
        if len(shares) < 2:
            raise DialensError("--shares takes the share of each agent, for instance 0.5,0.65.")
        return [share - shares[0] for share in shares[1:]]
    if not given[outcome]:
        needed = option[outcome]
        raise DialensError(f"--outcome {outcome} needs {needed}, for instance {needed} 0.6.")
    return [rate - 0.5 for rate in win_rate] if outcome == "pairwise" else icc


def pilot_of(path: Path | None) -> pl.DataFrame | None:
    """Ratings of an earlier study, where there are any."""
    if path is None:
        return None
    try:
        return load_ratings(path, factors=["dialog_id"])
    except DialensError as error:
        if "dialog_id" not in str(error):
            raise
        return load_ratings(path)


def fitted_to(
    pilot: pl.DataFrame, outcome: Outcome, quality: str | None, condition: str | None
) -> FittedParts:
    """Variances of an earlier study, of people alone where language models rated too."""
    if outcome != "mean":
        raise DialensError(
            f"Variances for --outcome {outcome} cannot be fitted to ratings of an earlier study. "
            "State them: --rater-sd and --item-sd, in logits."
        )
    people = pilot.filter(~pl.col("rater_kind").is_in(MODELS).fill_null(value=False))
    if not people.height:
        raise DialensError(
            "All these ratings come from language models; a study of people is planned with "
            "ratings of people. State variances: --rater-sd, --item-sd, --dialog-sd, --residual-sd."
        )
    return fitted_parts(people, quality=quality, condition=condition)


def parts_of(
    stated: dict[str, float | None], outcome: Outcome, fitted: FittedParts | None
) -> VarianceParts | LogitParts:
    """Variances: what is stated wins over what was fitted."""
    if outcome != "mean":
        extra = [name for name in ("residual", "item_cell") if stated[name] is not None]
        if extra:
            raise DialensError(
                f"--{extra[0].replace('_', '-')}-sd belongs to --outcome mean: the chance of a yes "
                "or no follows from its share."
            )
        return LogitParts(**{name: stated[name] or 0.0 for name in _LOGITS})
    if fitted is None and all(value is None for value in stated.values()):
        raise DialensError(
            "Give ratings of an earlier study, or state variances: --rater-sd, --item-sd, "
            "--dialog-sd, --residual-sd."
        )
    defaults = vars(fitted.parts) if fitted else vars(VarianceParts())
    return VarianceParts(
        **{
            name: defaults[name] if stated[name] is None else float(stated[name] or 0.0)
            for name in _PARTS
        }
    )


def numbers_of(entries: list[str] | None, option: str) -> list[float]:
    """Numbers of an option that takes several, with commas or repeated."""
    numbers = []
    for text in names(entries) or []:
        try:
            numbers.append(float(text))
        except ValueError as error:
            raise DialensError(f"{option} takes numbers with commas; seen: {text!r}.") from error
    return numbers


def counts_of(entries: list[str] | None, option: str) -> list[int]:
    """Whole numbers of an option that takes several."""
    numbers = numbers_of(entries, option)
    for count in numbers:
        if count != int(count) or count < 1:
            raise DialensError(f"{option} takes whole numbers from 1; seen: {count:g}.")
    return [int(count) for count in numbers]


def scale_of(text: str | None) -> tuple[float, float] | None:
    """Both ends of a scale of whole numbers."""
    if text is None:
        return None
    ends = numbers_of([text], "--scale")
    if len(ends) != 2 or ends[0] >= ends[1]:
        raise DialensError(f"--scale takes LOW,HIGH, for instance 1,5; seen: {text!r}.")
    return ends[0], ends[1]


def mean_of(stated: float | None, scale: str | None, fitted: FittedParts | None) -> float:
    """The mean rating: stated, fitted, or the middle of the scale."""
    if stated is not None:
        return stated
    if fitted is not None:
        return fitted.mean
    ends = scale_of(scale)
    return sum(ends) / 2 if ends else 0.0
