"""`dialens engagement evaluate`: a model's scores against human ratings of replies."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from dialens.analysis.comparison import RESAMPLES
from dialens.analysis.validation import RatedUnits, human_ratings, rated_units
from dialens.base import (
    RUN,
    DialensError,
    Estimate,
    Recorder,
    atomic_folder,
    for_spreadsheet,
    progress,
)
from dialens.cli._options import Force, Format, Resamples, Seed, names, shown
from dialens.cli._terminal import plain_console, plain_table
from dialens.corpus import Corpus, Intake, read
from dialens.engagement import (
    RatedReplies,
    engagement_scores,
    open_scorer,
    reply_backgrounds,
    reply_pairs,
    turns_read,
)
from dialens.metrics import Resources, score
from dialens.statistics import ClusterDraws, Floats
from dialens.statistics.correlation import correlate, partial_correlation

EVALUATION = "evaluation.json"
BASELINES = ("specificity", "question", "random")
_LENGTH = "length"
_ENGAGING = "engag"
_WRITTEN = ("value", "low", "high", "p", "basis", "reason")

Quality = Annotated[
    list[str] | None,
    typer.Option(
        "--quality",
        "-q",
        help="Rated quality; default: every quality whose name begins with “engag”.",
    ),
]


@dataclass(frozen=True)
class Rated:
    """Rated turns of one corpus, with the baselines' scores of them."""

    name: str
    corpus: Corpus
    units: RatedUnits

    def replies(self, turns: int) -> list[RatedReplies]:
        """One set a quality, with contexts of so many turns."""
        pairs = reply_pairs(self.corpus, self.units.frame, turns)
        replies = []
        for quality, ratings in self.units.ratings.items():
            rows = np.flatnonzero(np.isfinite(ratings.mean))
            inputs = [pairs[row] for row in rows]
            replies.append(RatedReplies(f"{self.name}: {quality}", inputs, ratings.mean[rows]))
        return replies


def evaluate(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A model's folder, or a name of `dialens models`."),
    ],
    corpora: Annotated[
        list[Path], typer.Argument(metavar="CORPUS…", help="Conversations with ratings of turns.")
    ],
    quality: Quality = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for evaluation.json and .csv.")
    ] = None,
    turns: Annotated[
        int | None,
        typer.Option(
            "--context-turns", min=0, help="Turns of context; default: from the model card."
        ),
    ] = None,
    resamples: Resamples = RESAMPLES,
    seed: Seed = 0,
    format: Format = None,
    force: Force = False,
) -> None:
    """Correlate a model of engagement with human ratings, beside baselines that need no model.

    Pearson's and Spearman's correlation with the mean rating of each turn, and Pearson's with log
    length held constant. Confidence intervals resample whole contexts or dialogues, as `dialens
    validate` does. Replies are scored as by `dialens score`: after the turns before them, and after
    the background (persona, fact) where the corpus has one.
    A model that does not beat Specificity only counts words.

    [bold]Examples[/]

      dialens engagement evaluate engagement better.jsonl.gz
      dialens engagement evaluate my-model usr.json fed.json --quality engaging -o evaluation
    """
    scorer = open_scorer(model)
    turns = turns_read(scorer) if turns is None else turns
    arguments = {
        "model": model,
        "corpora": corpora,
        "quality": names(quality),
        "context_turns": turns,
        "resamples": resamples,
    }
    recorder = Recorder("engagement evaluate", arguments, seed=seed)
    rows: list[dict[str, Any]] = []
    with recorder.step("read"):  # all of them first: a corpus without ratings is reported at once
        sets = [
            read_rated(path, quality=names(quality), seed=seed, format=format) for path in corpora
        ]
    for rated in sets:
        with recorder.step("model"):
            pairs = reply_pairs(rated.corpus, rated.units.frame, turns)
            backgrounds = reply_backgrounds(rated.corpus, rated.units.frame)
            label = f"Scoring {rated.name}"
            scores = engagement_scores(scorer, pairs, label=label, backgrounds=backgrounds)
        with recorder.step("correlate"):
            rows += correlations(rated, scores, resamples=resamples, seed=seed)
    header = {"model": str(model), "signature": scorer.model.signature, "context_turns": turns}
    if output is not None:
        with atomic_folder(output, inputs=corpora, force=force) as folder:
            _write(header, rows, folder)
            recorder.finish(folder / RUN)
    _print(rows)
    if output is not None:
        print(f"\n{shown(output / EVALUATION)}, evaluation.csv, {RUN}")


def read_rated(
    path: Path,
    *,
    quality: list[str] | None = None,
    seed: int = 0,
    format: str | None = None,
) -> Rated:
    """Read a corpus and join the ratings of its turns with the baselines' scores.

    Raises:
        DialensError: If no turn was rated for these qualities; names the corpus.
    """
    with progress(f"Reading {path.name}") as advance:
        corpus = read(path, format=format, intake=Intake(), advance=advance)
    try:
        ratings = human_ratings(corpus, qualities=quality)
        ratings = ratings.filter(pl.col("level") == "turn")
        if quality is None:
            qualities = sorted(ratings["quality"].unique())
            ratings = ratings.filter(
                pl.col("quality").str.to_lowercase().str.starts_with(_ENGAGING)
            )
            if not ratings.height:
                raise DialensError(
                    "no turn was rated for engagement. Name another quality with --quality: "
                    f"{', '.join(qualities) or 'none of its turns was rated'}."
                )
        resources = Resources(seed=seed)
        scores = score(corpus, metrics=[*BASELINES, _LENGTH], levels=("turn",), resources=resources)
        units = rated_units(ratings, corpus, scores, "turn")
    except DialensError as error:
        raise DialensError(f"{path}: {error}") from error
    return Rated(path.name.split(".")[0] or path.name, corpus, units)


def correlations(
    rated: Rated, scores: np.ndarray, *, resamples: int, seed: int
) -> list[dict[str, Any]]:
    """One row a quality and scorer: the model first, then the baselines."""
    units = rated.units
    x: Floats = np.column_stack([scores, *(units.column(name) for name in BASELINES)])
    y = units.means()
    draws = ClusterDraws.of(units.clusters, resamples, np.random.default_rng(seed))
    result = correlate(x, y, draws)
    length = np.log1p(units.column(_LENGTH))
    rows = []
    for column, quality in enumerate(units.ratings):
        for place, scorer in enumerate(("model", *BASELINES)):
            partial = partial_correlation(x[:, place], y[:, column], length, draws)
            rows.append(
                {
                    "corpus": rated.name,
                    "quality": quality,
                    "scorer": scorer,
                    "n": int(result.n[place, column]),
                    "clusters": int(result.n_clusters[place, column]),
                    "clustered_by": units.clustered_by,
                    "pearson": _fields(result.estimates["pearson"][place][column]),
                    "spearman": _fields(result.estimates["spearman"][place][column]),
                    "pearson_given_log_length": _fields(partial),
                }
            )
    return rows


def _fields(estimate: Estimate) -> dict[str, Any]:
    """What evaluation.json holds of an estimate; the number of units stands beside it."""
    return {name: getattr(estimate, name) for name in _WRITTEN}


def _write(header: dict[str, Any], rows: Sequence[dict[str, Any]], folder: Path) -> None:
    text = json.dumps({**header, "rows": rows}, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / EVALUATION).write_text(text + "\n", encoding="utf-8")
    flat = []
    for row in rows:
        line: dict[str, Any] = {}
        for key, value in row.items():
            if isinstance(value, dict):
                line |= {key: value["value"], f"{key}_low": value["low"]}
                line |= {f"{key}_high": value["high"], f"{key}_p": value["p"]}
            else:
                line[key] = value
        flat.append(line)
    table = pl.DataFrame(flat, infer_schema_length=None)
    for_spreadsheet(table).write_csv(folder / "evaluation.csv")


def _print(rows: Sequence[dict[str, Any]]) -> None:
    console = plain_console()
    for (corpus, quality, n), group in groupby(rows, lambda r: (r["corpus"], r["quality"], r["n"])):
        grid = plain_table()
        for head in (f"{corpus}: {quality}", "Pearson", "Spearman", "given log length"):
            grid.add_column(head, overflow="fold", no_wrap=head != f"{corpus}: {quality}")
        listed_rows = list(group)
        ours = next((row for row in listed_rows if row["scorer"] == "model"), None)
        if ours is not None:
            found = _coefficient(Estimate(**ours["spearman"]))
            print(f"The model and {quality} in {corpus}: Spearman {found}, {n:,} replies.")
        for row in listed_rows:
            kinds = ("pearson", "spearman", "pearson_given_log_length")
            numbers = [_coefficient(Estimate(**row[kind])) for kind in kinds]
            grid.add_row(row["scorer"], *numbers, style="bold" if row["scorer"] == "model" else "")
        console.print(grid)
        console.print()
    for clusters in dict.fromkeys(row["clustered_by"] for row in rows):
        print(f"Intervals (95 %) over {clusters}.")


def _coefficient(estimate: Estimate) -> str:
    """A coefficient with its interval, or why there is none.

    Examples:
        >>> (
        ...     _coefficient(Estimate(0.5, 0.25, 0.75)),
        ...     _coefficient(Estimate(reason="no unit has a value")),
        ... )
        ('.500 [.250, .750]', 'no unit has a value')
    """
    if estimate.value is None:
        return estimate.reason or "–"
    value = _short(estimate.value)
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} [{_short(estimate.low)}, {_short(estimate.high)}]"


def _short(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1).replace("-", "−")
