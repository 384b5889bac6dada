"""`dialens engagement label`: ingested shards into a labelled, documented dataset."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dialens.base import RUN, read_memory
from dialens.cli._completion import among
from dialens.cli._options import DEVICES, Force, Seed, shown
from dialens.cli._terminal import plain_console, plain_table
from dialens.engagement.curation import (
    WEIGHTS,
    EngineOptions,
    Labelled,
    LabelOptions,
    Models,
    available_threads,
    emotion_scorer,
    planned_steps,
    read_subreddits,
    read_weights,
    toxicity_scorer,
)
from dialens.engagement.curation import label as label_work
from dialens.models import chosen_device

_WEIGHTS = ",".join(f"{name}={value:g}" for name, value in WEIGHTS.items())


class EngineChoice(StrEnum):
    """What runs the SQL."""

    DUCKDB = "duckdb"
    SPARK = "spark"


class AlphaChoice(StrEnum):
    """Where α of x / (x + α) comes from."""

    DATA = "data"
    PAPER = "paper"


def label(
    work: Annotated[
        Path, typer.Argument(metavar="WORK", help="The folder that `engagement ingest` wrote.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="RED", help="Folder for the dataset.")
    ] = Path("red"),
    engine: Annotated[
        EngineChoice, typer.Option("--engine", help="DuckDB on this machine, or Spark.")
    ] = EngineChoice.DUCKDB,
    master: Annotated[
        str | None,
        typer.Option(
            "--master", help="Spark master: local[4] or spark://host:7077; default: local."
        ),
    ] = None,
    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            help="Memory limit without the models; with Spark, of driver and each executor.",
        ),
    ] = "4GB",
    threads: Annotated[
        int | None,
        typer.Option("--threads", help="Threads and processes; default: all processors."),
    ] = None,
    alpha: Annotated[
        AlphaChoice,
        typer.Option("--alpha", help="Normalise by medians of the data, or the paper's."),
    ] = AlphaChoice.DATA,
    weights: Annotated[
        str, typer.Option("--weights", help="Weight of each dimension in the score.")
    ] = _WEIGHTS,
    kappa: Annotated[
        float, typer.Option("--kappa", help="Label posts beyond this many standard deviations.")
    ] = 1.0,
    min_replies: Annotated[
        int, typer.Option("--min-replies", help="Replies a post must have.")
    ] = 1,
    subreddits: Annotated[
        Path | None, typer.Option("--subreddits", help="File with subreddits to use, one a line.")
    ] = None,
    english: Annotated[bool, typer.Option("--english", help="Leave out other languages.")] = False,
    toxicity: Annotated[
        str, typer.Option("--toxicity", help="Model that finds toxic posts, or none.")
    ] = "toxicity",
    toxic_above: Annotated[
        float | None,
        typer.Option(
            "--toxic-above",
            help="Leave posts above this probability out; default: from the model card.",
        ),
    ] = None,
    emotion: Annotated[
        str,
        typer.Option(
            "--emotion", help="Model that scores the emotion of replies, lexicon or none."
        ),
    ] = "emotion",
    device: Annotated[
        str,
        typer.Option(
            "--device",
            help="Where models run: auto (a GPU if PyTorch sees one), cpu, cuda; with Spark auto "
            "is cpu, and cuda means that every worker has a GPU.",
            autocompletion=among(*DEVICES),
        ),
    ] = "auto",
    validation_share: Annotated[
        float, typer.Option("--validation-share", help="Share of threads for validation.")
    ] = 0.2,
    seed: Seed = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the steps with estimated rows; write nothing.")
    ] = False,
    force: Force = False,
) -> None:
    """Label posts by how people reacted to them.

    Finds posts (comments with a parent and a reply in the data), filters them, measures four
    dimensions of their reactions, adjusts them for popularity, and labels what lies beyond κ
    standard deviations. Writes posts, train and validation tables, rejected comments with their
    reason, a data card and the run record. To resume an interrupted run, run the same command
    again.

    [bold]Examples[/]

      dialens engagement label work -o red
      dialens engagement label work -o red --memory 2GB --subreddits mine.txt --english
      dialens engagement label work -o red --alpha paper --weights re=3,ae=3,ee=2,be=0
      dialens engagement label work -o red --engine spark --master spark://host:7077
    """
    options = LabelOptions(
        alpha=alpha.value,
        weights=read_weights(weights),
        kappa=kappa,
        min_replies=min_replies,
        subreddits=read_subreddits(subreddits) if subreddits else (),
        english=english,
        toxic_above=0.5 if toxic_above is None else toxic_above,
        validation_share=validation_share,
        seed=seed,
    )
    running = EngineOptions(
        engine=engine.value,
        memory=read_memory(memory),
        threads=available_threads() if threads is None else threads,
        master=master,
    )
    if dry_run:
        _print_plan(planned_steps(work), work)
        return
    on = "cpu" if device == "auto" and running.engine == "spark" else device
    if running.engine != "spark":
        chosen_device(on)
    toxic = toxicity_scorer(toxicity, on)
    if toxic is not None and toxic_above is None:
        options = options.with_threshold(toxic.threshold)
    models = Models(emotion_scorer(emotion, on), toxic)
    _print(label_work(work, output, models=models, options=options, engine=running, force=force))


def _print_plan(steps: list[tuple[str, str, int | None]], work: Path) -> None:
    table = plain_table("", "step", "what it makes", "rows, about")
    table.columns[3].justify = "right"
    for number, (name, about, rows) in enumerate(steps, start=1):
        table.add_row(f"{number:02d}", name, about, "a few" if rows is None else f"{rows:,}")
    plain_console().print(table)
    print(f"\nRows are estimates from other months. Nothing of {shown(work)} was changed.")


def _print(done: Labelled) -> None:
    counts = done.card.content["counts"]
    if not done.fresh:
        print("This dataset was finished by an earlier run; --force makes it again.")
    print(
        f"{counts['posts']:,} posts of {counts['comments']:,} comments: "
        f"{counts['engaging']:,} engaging, {counts['not_engaging']:,} not, "
        f"{counts['between']:,} between."
    )
    for reason, number in list(done.card.content["reasons"].items())[:5]:
        print(f"  left out, {reason}: {number:,}")
    print(f"Train {counts['train']:,}, validation {counts['validation']:,}; no thread in both.")
    print(f"\nCard: {shown(done.folder / 'card.md')}   (card.json to compute with)")
    print(
        f"Tables: posts.parquet, train.parquet, validation.parquet, rejected/ in "
        f"{shown(done.folder)}; record: {RUN}"
    )
