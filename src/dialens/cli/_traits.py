"""`dialens traits`: models of personality and empathy from your own labelled text."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from dialens.base import RUN, Recorder, atomic_folder, progress, sha256_file
from dialens.cli._options import Force, Seed, names, shown
from dialens.models import topics as topic_tables
from dialens.models import traits
from dialens.models.traits import read_labelled

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Trait models from your own labelled text."
)

REPORT = "report.json"
PREDICTIONS = "predictions.parquet"


@app.callback()
def root() -> None:
    """Trait models from your own labelled text."""


@app.command("fit")
def fit(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="CSV, TSV, JSONL or Parquet; one row a text.")
    ],
    text: Annotated[str, typer.Option("--text", help="Column of texts.")],
    target: Annotated[str, typer.Option("--target", help="Column of numbers to predict.")],
    group: Annotated[
        str,
        typer.Option(
            "--group", help="Column that says whose text it is; folds are over these people."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder to write; traits_TARGET by default."),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            min=2, help="Folds of the cross-validation; a person's texts stay in one fold."
        ),
    ] = 10,
    features: Annotated[
        list[str] | None,
        typer.Option("--features", help="ngrams, topics, or both (the default), with commas."),
    ] = None,
    longest: Annotated[int, typer.Option(min=1, max=3, help="Words in the longest n-gram.")] = 3,
    min_persons: Annotated[
        int, typer.Option(min=1, help="People who must use an n-gram for it to become a feature.")
    ] = 5,
    topics: Annotated[
        str | None,
        typer.Option(help="Your own topic table: TSV, CSV, a folder, or FILE::TABLE of DLATK."),
    ] = None,
    licence: Annotated[str, typer.Option(help="Licence of the data, for the card.")] = "not stated",
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Fit a trait model and say, by folds over people, what it is worth.

    Where the target is the same in all texts of a person it is a trait: their texts are pooled.
    Otherwise it is a state, and every text counts by itself. Nobody is ever in both training and
    test part. Writes the model (model.npz, card.json), report.json, the out-of-fold predictions
    and run.json; people appear there as numbers, not by name.

    [bold]Examples[/]

      dialens traits fit essays.csv --text essay --target agreeableness --group writer
      dialens traits fit posts.jsonl --text body --target warmth --group user -o warmth --folds 5
      dialens traits fit t.parquet --text text --target empathy --group id --features topics
    """
    chosen = names(features) or ["ngrams", "topics"]
    folder = output or Path(f"traits_{re.sub(r'[^A-Za-z0-9_.-]+', '_', target)}")
    arguments: dict[str, Any] = {
        "table": table,
        "text": text,
        "target": target,
        "group": group,
        "folds": folds,
        "features": chosen,
        "longest": longest,
        "min_persons": min_persons,
        "topics": topics,
    }
    if table.is_file():
        arguments["sha256"] = sha256_file(table)
    recorder = Recorder("traits fit", arguments, seed=seed)
    with atomic_folder(folder, inputs=[table], force=force) as scratch:
        with recorder.step("read"):
            rows = read_labelled(table, text=text, target=target, group=group)
            own = topic_tables.load(topics) if topics is not None else None
        with recorder.step("fit"), progress("Fitting", total=folds, unit="folds") as advance:
            result = traits.fit(
                rows,
                text=text,
                target=target,
                group=group,
                seed=seed,
                folds=folds,
                features=chosen,
                topics=own,
                longest=longest,
                min_persons=min_persons,
                on_fold=_steps(advance),
            )
        with recorder.step("write"):
            card = _card(result.report, table, licence, recorder.record().arguments)
            if topics is not None:
                card["topics_file"] = topics
            traits.save(result.model, scratch, card=card)
            report = json.dumps(result.report.as_dict(), indent=2, ensure_ascii=False)
            (scratch / REPORT).write_text(report + "\n", encoding="utf-8")
            people = result.predictions["group"].rank("dense").alias("person")
            result.predictions.drop("group").insert_column(0, people).write_parquet(
                scratch / PREDICTIONS
            )
        recorder.observe(rejected=dict(result.report.dropped)).finish(scratch / RUN)
    _print(result.report, result.model, folder)


def _steps(advance: Callable[[int], None]) -> Callable[[int, int], None]:
    def on_fold(done: int, of: int) -> None:
        advance(1)

    return on_fold


def _card(report: traits.TraitReport, table: Path, licence: str, arguments: Any) -> dict[str, Any]:
    words = ["dialens", "traits", "fit", "TABLE"]
    for key in ("text", "target", "group", "folds", "longest", "min_persons", "topics"):
        if arguments[key] is not None:
            words += [f"--{key.replace('_', '-')}", str(arguments[key])]
    words += ["--features", ",".join(arguments["features"]), "--seed", str(report.seed)]
    name = report.target.replace("_", " ")
    about = "their texts joined" if report.unit == "person" else "each text by itself"
    return {
        "labels": [report.target],
        "licence": f"follows the data's: {licence}",
        "data": [
            {
                "name": table.name,
                "sha256": sha256_file(table),
                "licence": licence,
                "n": report.n_texts,
                "persons": report.n_persons,
            }
        ],
        "command": shlex.join(words),
        "seed": report.seed,
        "validation": f"{report.folds} folds by person, penalty chosen inside the training part",
        "features": "+".join(report.features),
        "headline": report.headline,
        "metrics": report.as_metrics(),
        "per_fold": list(report.per_fold),
        "intended_use": f"Scores of {name} for people and texts like those it was fitted on, "
        f"from {about}.",
        "limits": f"Fitted on {report.n_texts:,} texts of {report.n_persons:,} people in "
        f"{table.name}; other people and other kinds of text may shift the scores."
        + (f" {report.weakness}" if report.weakness else ""),
        "research_grade": bool(report.weakness),
    }


def _print(report: traits.TraitReport, model: traits.TraitModel, folder: Path) -> None:
    print(report)
    if report.weakness:
        print(f"  {report.weakness}")
    telling = model.strongest(12)
    if telling.height:
        up = [term for term, weight in telling.rows() if weight > 0]
        down = [term for term, weight in telling.rows() if weight < 0]
        print(f"  raised by    {_quoted(up)}")
        print(f"  lowered by   {_quoted(down[::-1])}")
    print(f"\nModel:  {shown(folder)}   Report: {shown(folder / REPORT)}")
    print(f"Card:   dialens models {shown(folder)}")
    print(f'Python: dialens.models.traits.load("{shown(folder)}").predict(["…"])')


def _quoted(terms: list[str]) -> str:
    return " ".join(f"“{term}”" for term in terms) or "nothing"
