"""`dialens study model`: a mixed model of ratings, from a formula."""

import json
import re
from collections.abc import Callable, Sequence
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
    for_spreadsheet,
    interval,
    listed,
    number,
    p_value,
    sha256_file,
)
from dialens.cli._options import Force, OnErrorOption, shown
from dialens.cli._rating_options import (
    ColumnOption,
    ParticipantsOption,
    RatingFormat,
    ScaleOption,
    ratings_from,
    scales_given,
)
from dialens.corpus import OnError
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
    parse_formula,
)

_MOST_LINES = 20
_MANY_DEGREES = 10_000
_NAME = re.compile(r"`([^`]+)`|([^\W\d][\w.]*)")
_LEVEL = re.compile(r"([^\[\]:]+)\[(.*)\]")
_COLUMNS = ("value", "error", "low", "high", "degrees", "t", "p")
_NORMAL = "intervals from the normal distribution (Wald)"
_SATTERTHWAITE = (
    "intervals from the t distribution with Satterthwaite’s degrees of freedom, after a step of "
    "the variances towards their restricted estimates"
)


class Family(StrEnum):
    """What the response is."""

    GAUSSIAN = "gaussian"
    ORDINAL = "ordinal"
    BINOMIAL = "binomial"


_FITS: dict[Family, Callable[[pl.DataFrame, str], MixedFit | LatentFit]] = {
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
    column: ColumnOption = None,
    scale: ScaleOption = None,
    participants: ParticipantsOption = None,
    format: RatingFormat = None,
    on_error: OnErrorOption = OnError.STOP,
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
    formulas = [formula] if against is None else [formula, against]
    for written in formulas:
        parse_formula(written)  # a slip there is told before anything about the ratings
    arguments: dict[str, Any] = {
        "ratings": ratings,
        "formula": formula,
        "family": str(family),
        "where": where or [],
        "against": against,
        "column": column,
        "scale": scale,
        "participants": participants,
        "format": format,
    }
    if ratings.is_file():
        arguments["sha256"] = sha256_file(ratings)
    recorder = Recorder("study model", arguments)
    with recorder.step("read"):
        load = ratings_from(
            ratings,
            columns=column,
            orders=scales_given(scale, kinds=())[0],
            format=format,
            on_error=str(on_error),
            participants=participants,
        )
        table = _own(_read(load()), " ".join([formula, against or "", *(where or [])]))
        table = _kept(table, where or [])
        for written in formulas:
            _known(written, table)
        _one_quality(table, formula)
    with recorder.step("fit"):
        fit = _FITS[family](table, formula)
        other = _FITS[family](table, against) if against else None
        effects = _effects(fit)
    if other is None or against is None:
        test = None
        print(_answer(fit, effects, table))
    else:
        test = _compared(fit, other)
        print(_answer_of_two(fit, other, formula, against, test))
    _print(fit, effects)
    if output is not None:
        with atomic_folder(output, inputs=[ratings], force=force) as scratch:
            _write(fit, effects, test, formula, against, scratch)
            recorder.finish(scratch / RUN)
        print(f"\n{shown(output)}: fixed.csv, variance.csv, model.json, {RUN}")


def _known(formula: str, table: pl.DataFrame) -> None:
    """Refuse a name that is no column, before anything is asked about qualities.

    Examples:
        >>> _known("value ~ agnet", pl.DataFrame({"value": [1], "agent": ["a"]}))
        Traceback (most recent call last):
        ...
        dialens.DialensError: There is no column 'agnet'. Did you mean agent? Columns: value, agent.
    """
    for quoted, plain in _NAME.findall(formula):
        name = quoted or plain
        if name not in table.columns:
            raise DialensError(
                f"There is no column {name!r}. {did_you_mean(name, table.columns)}"
                f"Columns: {', '.join(table.columns)}."
            )


def _read(table: pl.DataFrame) -> pl.DataFrame:
    """The ratings, with what was rated as `item` and columns of numbers as numbers.

    Columns that ratings may have and these have not are left out.
    """
    if "item" not in table.columns:
        item = pl.concat_str(
            "dialog", pl.col("turn").cast(pl.String), ignore_nulls=True, separator=" / "
        )
        table = table.with_columns(item=item)
    kept = ("value", "rater", "quality")
    table = table.select(c for c in table if c.name in kept or c.null_count() < len(c))
    texts = [c for c in table.columns if table[c].dtype == pl.String and c not in ("rater", "item")]
    numbers = [c for c in texts if _is_number(table[c])]
    return table.with_columns(pl.col(c).cast(pl.Float64) for c in numbers)


def _own(table: pl.DataFrame, named: str) -> pl.DataFrame:
    """Without columns that reading made and nobody names: one level, items as dialogues again."""
    made = []
    if "level" in table.columns and table["level"].n_unique() == 1:
        made.append("level")
    if "dialog" in table.columns and table["dialog"].equals(table["item"]):
        made.append("dialog")
    return table.drop(name for name in made if name not in named)


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


def _effects(fit: MixedFit | LatentFit) -> tuple[FixedEffect, ...]:
    """The fixed effects, tested so that few raters or items do not make them too certain."""
    if isinstance(fit, MixedFit):
        return fit.fixed
    return tuple(
        fit.contrast({effect.name: 1.0}, effect.name, degrees="satterthwaite")
        for effect in fit.fixed
    )


def _method(fit: MixedFit | LatentFit) -> str:
    if isinstance(fit, MixedFit):
        return fit.method
    return fit.method.replace(_NORMAL, _SATTERTHWAITE)


def _compared(fit: MixedFit | LatentFit, other: MixedFit | LatentFit) -> LikelihoodRatio:
    smaller, larger = sorted((fit, other), key=lambda each: each.parameters)
    return likelihood_ratio(smaller, larger)


def _answer_of_two(
    fit: MixedFit | LatentFit,
    other: MixedFit | LatentFit,
    formula: str,
    against: str,
    test: LikelihoodRatio,
) -> str:
    """Whether the larger of two models explains more, in one sentence."""
    fits = (formula, against) if fit.parameters > other.parameters else (against, formula)
    larger, smaller = fits
    if test.p < 0.05:
        return f"{larger} explains {fit.response} better than {smaller}: {test}."
    return f"No clear gain of {larger} over {smaller}: {test}."


def _answer(fit: MixedFit | LatentFit, effects: Sequence[FixedEffect], table: pl.DataFrame) -> str:
    """What the model says, in one sentence."""
    telling = [effect for effect in effects if effect.name != INTERCEPT and effect.error > 0]
    if not telling:
        largest = max(fit.components, key=lambda part: part.share)
        share = number(largest.share, percent=True)
        return f"{largest.term} holds {share} of the variance of {fit.response}."
    first = min(telling, key=lambda effect: (effect.p, -abs(effect.t)))
    if first.p >= 1 - fit.confidence:
        words = _words(fit, first)
        return f"No effect on {fit.response} is clear; the largest is {first.name}: {words}."
    way = "higher" if first.value > 0 else "lower"
    noun = "success less likely" if way == "lower" else "success more likely"
    reference = _reference(first.name, effects, table)
    if isinstance(fit, MixedFit):
        than = "" if reference is None else f" than with {reference}"
        return f"{fit.response} is {way} with {first.name}{than}: {_words(fit, first)}."
    if fit.family == "ordinal":
        noun = f"{way} answers more likely"
    than = "" if reference is None else f" than {reference} does"
    return f"{first.name} makes {noun}{than}: {_words(fit, first)}."


def _reference(name: str, effects: Sequence[FixedEffect], table: pl.DataFrame) -> str | None:
    """The level that a level of a factor is compared with; None for what is no such level.

    Examples:
        >>> from dialens.statistics.mixed import fit_mixed
        >>> table = pl.DataFrame({"agent": list("ababab"), "value": [1.0, 2, 1, 3, 2, 2]})
        >>> _reference("agent[b]", fit_mixed(table, "value ~ agent").fixed, table)
        'a'
    """
    match = _LEVEL.fullmatch(name)
    if match is None or match[1] not in table.columns:
        return None
    levels = table[match[1]].cast(pl.String).drop_nulls().unique().sort().to_list()
    first = str(levels[0])
    return None if f"{match[1]}[{first}]" in {effect.name for effect in effects} else first


def _words(fit: MixedFit | LatentFit, effect: FixedEffect) -> str:
    """An effect with interval and test; odds ratios for logistic models."""
    level = f"{number(fit.confidence, percent=True)} interval"
    p = f"p {p_value(effect.p, equals=True)}"
    if isinstance(fit, LatentFit):
        low, high = np.exp([effect.low, effect.high])
        return f"odds ratio {number(np.exp(effect.value))} ({level} {interval(low, high)}), {p}"
    return f"{number(effect.value)} ({level} {interval(effect.low, effect.high)}), {p}"


def _print(fit: MixedFit | LatentFit, effects: Sequence[FixedEffect]) -> None:
    left = f", {counted(fit.n_missing, 'row')} left out for missing values" if fit.n_missing else ""
    print(f"\n{counted(fit.n, 'rating')}{left}; −2 log likelihood {number(fit.criterion, 2)}")
    latent = isinstance(fit, LatentFit)
    titles = f"{'estimate':>10} {'error':>8} {'interval':>20} {'df':>8} {'t':>8} {'p':>8}"
    print(f"\n{'fixed effect':28}{titles}" + (f" {'odds ratio':>11}" if latent else ""))
    for effect in effects[:_MOST_LINES]:
        cells = (
            f"{number(effect.value, 3):>10} {number(effect.error, 3):>8} "
            f"{interval(effect.low, effect.high, 3):>20} {_degrees(effect):>8} "
            f"{number(effect.t, 2):>8} {p_value(effect.p):>8}"
        )
        print(
            f"{effect.name:28}{cells}"
            + (f" {number(np.exp(effect.value), 2):>11}" if latent else "")
        )
    if len(effects) > _MOST_LINES:
        print(f"… and {len(effects) - _MOST_LINES} more (with -o, in fixed.csv)")
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
    print(f"\n{_method(fit)}")


def _degrees(effect: FixedEffect) -> str:
    if np.isnan(effect.degrees):
        return "–"
    return "∞" if effect.degrees > _MANY_DEGREES else number(effect.degrees, 1)


def _write(
    fit: MixedFit | LatentFit,
    effects: Sequence[FixedEffect],
    test: LikelihoodRatio | None,
    formula: str,
    against: str | None,
    folder: Path,
) -> None:
    fixed = [_row(effect) for effect in effects]
    table = pl.DataFrame(fixed, infer_schema_length=None)
    for_spreadsheet(table).write_csv(folder / "fixed.csv")
    for_spreadsheet(fit.variance_table()).write_csv(folder / "variance.csv")
    latent = fit if isinstance(fit, LatentFit) else None
    result = {
        "formula": formula,
        "method": _method(fit),
        "n": fit.n,
        "n_missing": fit.n_missing,
        "loglik": fit.loglik,
        "aic": fit.aic,
        "singular": fit.singular,
        "fixed": fixed,
        "thresholds": [_row(threshold) for threshold in latent.thresholds] if latent else [],
        "components": fit.variance_table().to_dicts(),
        "correlations": fit.correlations,
        "dropped": dict(fit.dropped),
        "notes": latent.notes if latent else [],
        "against": None if test is None else {"formula": against, **vars(test)},
    }
    text = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "model.json").write_text(text + "\n", encoding="utf-8")


def _row(effect: FixedEffect) -> dict[str, str | float | None]:
    """An effect for a table; infinite degrees of freedom are null there."""
    numbers = {name: getattr(effect, name) for name in _COLUMNS}
    finite = {name: value if np.isfinite(value) else None for name, value in numbers.items()}
    return {"name": effect.name, **finite}
