"""`dialens study model`: a mixed model of ratings, from a formula."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from dialens.base import (
    RUN,
    DialensError,
    Recorder,
    atomic_folder,
    counted,
    did_you_mean,
    interval,
    listed,
    number,
    p_value,
    sha256_file,
)
from dialens.cli._options import Force, shown
from dialens.statistics import load_ratings
from dialens.statistics.mixed import (
    INTERCEPT,
    FixedEffect,
    LatentFit,
    LikelihoodRatio,
    MixedFit,
    fit_binomial,
    fit_mixed,
    fit_ordinal,
    likelihood_ratio,
)

_MOST_LINES = 20


class Family(StrEnum):
    """What the response is."""

    GAUSSIAN = "gaussian"
    ORDINAL = "ordinal"
    BINOMIAL = "binomial"


_FITS = {
    Family.GAUSSIAN: fit_mixed,
    Family.ORDINAL: fit_ordinal,
    Family.BINOMIAL: fit_binomial,
}


def model(
    ratings: Annotated[
        Path,
        typer.Argument(metavar="RATINGS", help="A table of ratings, an export, or a corpus."),
    ],
    formula: Annotated[
        str,
        typer.Argument(
            metavar="FORMULA", help="As in lme4: 'value ~ agent + (1 | rater) + (1 | item)'."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for tables and numbers.")
    ] = None,
    family: Annotated[
        Family,
        typer.Option(
            help="gaussian for numbers, ordinal for a scale of few answers, binomial for 0 and 1."
        ),
    ] = Family.GAUSSIAN,
    where: Annotated[
        list[str] | None, typer.Option(help="COLUMN=VALUE: keep only these ratings.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FORMULA", help="Another formula; a likelihood-ratio test compares the two."
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Fit a mixed model to ratings: fixed effects, variance components, likelihood ratios.

    Columns of text are factors, coded against their first level; columns of numbers are
    covariates. (x | g) lets the effect of x differ between the levels of g, (x || g) without
    correlations, a/b nests, a:b combines, 0 + leaves the intercept out. Ratings go by the names
    value, rater and quality, and item is what was rated; other columns keep their names. With -o,
    fixed.csv, variance.csv and model.json are written with a record of the run.

    [bold]Examples[/]

      dialens study model ratings.csv 'value ~ agent + (1 | rater) + (1 | item)'
      dialens study model ratings.csv 'value ~ agent + (1 + agent | rater) + (1 | item)' -o model
      dialens study model export 'value ~ anchor * layout + (1 | rater) + (1 | system/dialog)'
      dialens study model ratings.csv 'value ~ agent + (1 | rater)' --family ordinal
        --where quality=fluency --against 'value ~ 1 + (1 | rater)'
    """
    arguments: dict[str, Any] = {
        "ratings": ratings,
        "formula": formula,
        "family": str(family),
        "where": where or [],
        "against": against,
    }
    if ratings.is_file():
        arguments["sha256"] = sha256_file(ratings)
    recorder = Recorder("study model", arguments)
    with recorder.step("read"):
        table = _kept(_read(ratings), where or [])
        _one_quality(table, formula)
    with recorder.step("fit"):
        fit = _FITS[family](table, formula)
        other = _FITS[family](table, against) if against else None
        test = None if other is None else _compared(fit, other)
    print(_answer(fit, formula, against, other, test))
    _print(fit)
    if output is not None:
        with atomic_folder(output, inputs=[ratings], force=force) as scratch:
            _write(fit, test, formula, against, scratch)
            recorder.finish(scratch / RUN)
        print(f"\n{shown(output)}: fixed.csv, variance.csv, model.json, {RUN}")


def _read(path: Path) -> pl.DataFrame:
    """The ratings, with what was rated as `item` and columns of numbers as numbers."""
    table = load_ratings(path)
    if "item" not in table.columns:
        item = pl.concat_str(
            "dialog", pl.col("turn").cast(pl.String), ignore_nulls=True, separator=" / "
        )
        table = table.with_columns(item=item)
    texts = [c for c in table.columns if table[c].dtype == pl.String and c not in ("rater", "item")]
    numbers = [c for c in texts if _is_number(table[c])]
    return table.with_columns(pl.col(c).cast(pl.Float64) for c in numbers)


def _is_number(column: pl.Series) -> bool:
    given = column.drop_nulls()
    return len(given) > 0 and given.cast(pl.Float64, strict=False).null_count() == 0


def _kept(table: pl.DataFrame, where: list[str]) -> pl.DataFrame:
    """The rows that every COLUMN=VALUE keeps."""
    for entry in where:
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not equals or not name or not value:
            raise DialensError(f"--where takes COLUMN=VALUE; seen: {entry!r}.")
        if name not in table.columns:
            raise DialensError(
                f"--where {entry}: there is no column {name!r}. {did_you_mean(name, table.columns)}"
                f"Columns: {', '.join(table.columns)}."
            )
        kept = table.filter(_matches(table[name], value))
        if not kept.height:
            levels = [str(level) for level in table[name].drop_nulls().unique().sort()[:12]]
            raise DialensError(f"--where {entry} keeps no rating. {name} is {listed(levels)}.")
        table = kept
    return table


def _matches(column: pl.Series, value: str) -> pl.Series:
    if not column.dtype.is_numeric():
        return column.cast(pl.String) == value
    try:
        return column.cast(pl.Float64) == float(value)
    except ValueError:
        raise DialensError(f"--where: {column.name} is a number, {value!r} is not.") from None


def _one_quality(table: pl.DataFrame, formula: str) -> None:
    qualities = [str(quality) for quality in table["quality"].drop_nulls().unique().sort()]
    if len(qualities) > 1 and "quality" not in formula:
        raise DialensError(
            f"The table holds {len(qualities)} qualities: {listed(qualities)}. Choose one with "
            f"--where quality={qualities[0]}, or name quality in the formula."
        )


def _compared(fit: MixedFit | LatentFit, other: MixedFit | LatentFit) -> LikelihoodRatio:
    smaller, larger = sorted((fit, other), key=lambda each: each.parameters)
    return likelihood_ratio(smaller, larger)


def _answer(
    fit: MixedFit | LatentFit,
    formula: str,
    against: str | None,
    other: MixedFit | LatentFit | None,
    test: LikelihoodRatio | None,
) -> str:
    """What the model says, in one sentence."""
    if test is not None and other is not None:
        larger, smaller = (
            (formula, against) if fit.parameters > other.parameters else (against, formula)
        )
        if test.p < 0.05:
            return f"{larger} explains {fit.response} better than {smaller}: {test}."
        return f"No clear gain of {larger} over {smaller}: {test}."
    effects = [effect for effect in fit.fixed if effect.name != INTERCEPT and effect.error > 0]
    if not effects:
        largest = max(fit.components, key=lambda part: part.share)
        share = number(largest.share, percent=True)
        return f"{largest.term} holds {share} of the variance of {fit.response}."
    first = max(effects, key=lambda effect: abs(effect.t))
    if first.p >= (1 - fit.confidence):
        words = _words(fit, first)
        return f"No effect on {fit.response} is clear; the largest is {first.name}: {words}."
    way = "higher" if first.value > 0 else "lower"
    noun = "success less likely" if way == "lower" else "success more likely"
    if isinstance(fit, MixedFit):
        return f"{fit.response} is {way} with {first.name}: {_words(fit, first)}."
    if fit.family == "ordinal":
        noun = f"{way} answers more likely"
    return f"{first.name} makes {noun}: {_words(fit, first)}."


def _words(fit: MixedFit | LatentFit, effect: FixedEffect) -> str:
    """An effect with interval and test; odds ratios for logistic models."""
    level = f"{number(fit.confidence, percent=True)} interval"
    p = f"p {p_value(effect.p, equals=True)}"
    if isinstance(fit, LatentFit):
        low, high = np.exp([effect.low, effect.high])
        return f"odds ratio {number(np.exp(effect.value))} ({level} {interval(low, high)}), {p}"
    return f"{number(effect.value)} ({level} {interval(effect.low, effect.high)}), {p}"


def _print(fit: MixedFit | LatentFit) -> None:
    left = f", {counted(fit.n_missing, 'row')} left out for missing values" if fit.n_missing else ""
    print(f"\n{counted(fit.n, 'rating')}{left}; −2 log likelihood {number(fit.criterion, 2)}")
    latent = isinstance(fit, LatentFit)
    titles = f"{'estimate':>10} {'error':>8} {'interval':>20} {'df':>8} {'t':>8} {'p':>8}"
    print(f"\n{'fixed effect':28}{titles}" + (f" {'odds ratio':>11}" if latent else ""))
    for effect in fit.fixed[:_MOST_LINES]:
        cells = (
            f"{number(effect.value, 3):>10} {number(effect.error, 3):>8} "
            f"{interval(effect.low, effect.high, 3):>20} {_degrees(effect):>8} "
            f"{number(effect.t, 2):>8} {p_value(effect.p):>8}"
        )
        print(
            f"{effect.name:28}{cells}"
            + (f" {number(np.exp(effect.value), 2):>11}" if latent else "")
        )
    if len(fit.fixed) > _MOST_LINES:
        print(f"… and {len(fit.fixed) - _MOST_LINES} more (with -o, in fixed.csv)")
    print(f"\n{'variance component':28}{'sd':>10} {'interval':>20} {'share':>8} {'levels':>8}")
    for part in fit.components:
        name = part.term if part.effect in ("", INTERCEPT) else f"{part.effect} | {part.term}"
        print(
            f"{name:28}{number(part.sd, 3):>10} {interval(part.low, part.high, 3):>20} "
            f"{number(part.share, percent=True):>8} {part.levels:>8,}"
        )
    for name, reason in fit.dropped.items():
        print(f"left out: {name} {reason}")
    notes = fit.notes if isinstance(fit, LatentFit) else ()
    edge = ("a variance is zero, or a correlation ±1 (singular)",) if fit.singular else ()
    for note in (*notes, *edge):
        print(f"note: {note}")
    print(f"\n{fit.method}")


def _degrees(effect: FixedEffect) -> str:
    return "∞" if np.isinf(effect.degrees) else number(effect.degrees, 1)


def _write(
    fit: MixedFit | LatentFit,
    test: LikelihoodRatio | None,
    formula: str,
    against: str | None,
    folder: Path,
) -> None:
    columns = ("name", "value", "error", "low", "high", "degrees", "t", "p")
    effects = [{name: _finite(getattr(e, name)) for name in columns} for e in fit.fixed]
    pl.DataFrame(effects, infer_schema_length=None).write_csv(folder / "fixed.csv")
    fit.variance_table().write_csv(folder / "variance.csv")
    latent = fit if isinstance(fit, LatentFit) else None
    result = {
        "formula": formula,
        "method": fit.method,
        "n": fit.n,
        "n_missing": fit.n_missing,
        "loglik": fit.loglik,
        "aic": fit.aic,
        "singular": fit.singular,
        "fixed": effects,
        "thresholds": [{n: _finite(getattr(e, n)) for n in columns} for e in latent.thresholds]
        if latent
        else [],
        "components": fit.variance_table().to_dicts(),
        "correlations": fit.correlations,
        "dropped": dict(fit.dropped),
        "notes": latent.notes if latent else [],
        "against": None if test is None else {"formula": against, **vars(test)},
    }
    text = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "model.json").write_text(text + "\n", encoding="utf-8")


def _finite(value: str | float) -> str | float | None:
    """Infinite degrees of freedom are null in a table."""
    return value if isinstance(value, str) or np.isfinite(value) else None
