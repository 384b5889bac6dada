"""`dialens engagement train`: a model of engagement from labelled posts."""

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.table import Table

from dialens.base import (
    RUN,
    DialensError,
    Recorder,
    atomic_folder,
    open_state,
    progress,
    sha256_file,
)
from dialens.cli._options import Force, names, shown, told_if_stopped
from dialens.cli._terminal import plain_console
from dialens.cli.engagement._evaluate import Quality, read_rated
from dialens.cli.engagement._negatives import RandomReplies, Share, make_recipe
from dialens.engagement import (
    CARD,
    PARTS,
    POST_COLUMNS,
    POSTS,
    TRAINING,
    RatedReplies,
    TrainingData,
    TrainingPlan,
    best_seed,
    check_encoder,
    depends_on,
    export_model,
    read_parts,
    read_posts,
    require_training,
    summarise,
    train_seeds,
)

Seeds = Annotated[
    list[str] | None,
    typer.Option("--seeds", help="Random seeds, one model each: 0,1,2 or 0-9; repeatable."),
]
Epochs = Annotated[
    int, typer.Option("--epochs", help="Passes over the data; the best epoch is kept.")
]
Rate = Annotated[float, typer.Option("--rate", help="Highest learning rate.")]
Batch = Annotated[int, typer.Option("--batch", help="Pairs in a training step.")]
Restart = Annotated[
    bool, typer.Option("--restart", help="Delete the checkpoints of an interrupted run.")
]
Corpora = Annotated[
    list[Path] | None,
    typer.Option("--corpus", help="Rated conversations to evaluate every seed on; repeatable."),
]


def train(
    red: Annotated[
        Path,
        typer.Argument(
            metavar="RED", help="A folder that `engagement label`, `negatives` or `ablate` wrote."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the model.")],
    encoder: Annotated[
        Path,
        typer.Option("--encoder", help="Folder of a BERT or MPNet encoder to start from."),
    ],
    epochs: Epochs = 2,
    rate: Rate = 5e-5,
    batch: Batch = 64,
    seeds: Seeds = None,
    context_turns: Annotated[
        int, typer.Option("--context-turns", help="Turns of context, where known.")
    ] = 1,
    negatives: Annotated[
        list[str] | None,
        typer.Option(
            "--negatives",
            help="Mix in generated negatives, anew for every seed: insert,delete,copy,generic "
            "(`paper` for these four).",
        ),
    ] = None,
    random: RandomReplies = False,
    share: Share = 0.4,
    corpus: Corpora = None,
    quality: Quality = None,
    restart: Restart = False,
    force: Force = False,
) -> None:
    """Train models of engagement and export the best (extra `train`).

    Every seed is evaluated on validation threads and on the rated corpora you name: mean, standard
    deviation and best, as the paper's Table 2. The best seed on validation becomes a model folder
    for `dialens score --model engagement=FOLDER` and `dialens engagement evaluate`. To resume an
    interrupted run, run the same command again.

    [bold]Examples[/]

      dialens engagement train red -o model --encoder all-MiniLM-L6-v2
      dialens engagement train red -o model --encoder mpnet --seeds 0-9 --negatives paper \
--corpus better.jsonl.gz
    """
    require_training()
    check_encoder(encoder)
    chosen = seed_numbers(seeds)
    recipe = None
    if negatives or random:
        rules = None if names(negatives) == ["paper"] or not negatives else negatives
        recipe = make_recipe(rules, random=random, share=share, seed=0)
    plan = TrainingPlan(epochs, rate, batch, context_turns, recipe)
    arguments = {"red": red, "encoder": encoder.name, "plan": asdict(plan), "seeds": chosen}
    recorder = Recorder("engagement train", arguments | {"corpus": corpus}, seed=chosen[0])
    state = output.with_name(f"{output.name}.training")
    with (
        told_if_stopped("What was learned up to the last checkpoint is", state),
        atomic_folder(output, inputs=[red, *(corpus or [])], force=force) as scratch,
    ):
        with recorder.step("read"):
            data = training_data(red, context_turns)
            rated = rated_sets(corpus, names(quality), context_turns)
        about = depends_on(data, encoder, plan, chosen, rated)
        if open_state(state, about, restart=restart):
            print(f"Resuming the interrupted run in {shown(state)}.")
        with recorder.step("train"):
            total = data.train.height * epochs * len(chosen)
            with progress("Training", total=total, unit="pairs") as advance:
                results = train_seeds(
                    data, encoder, plan, chosen, state, rated=rated, advance=advance
                )
        with recorder.step("export"):
            files = {name: sha256_file(red / file) for name, file in PARTS.items()}
            rows = {name: getattr(data, name).height for name in PARTS}
            export_model(
                results,
                state,
                scratch,
                name=output.name,
                data=data,
                encoder=encoder,
                plan=plan,
                sources={"rows": rows, "sha256": files},
            )
        recorder.finish(scratch / RUN)
    shutil.rmtree(state)
    best = best_seed(results).seed
    print(f"{shown(output)} holds the model that did best on validation, that of seed {best}.\n")
    print_summary(summarise(results))
    print(f"\n{shown(output)}: model with {CARD}, {TRAINING}, {RUN}")


def training_data(red: Path, context_turns: int) -> TrainingData:
    """The parts of a RED folder, and its posts where longer contexts are needed."""
    parts = read_parts(red)
    posts = None
    if context_turns > 1:
        posts = read_posts(red / POSTS, needed=POST_COLUMNS)
    return TrainingData(parts["train"], parts["validation"], posts)


def rated_sets(
    corpora: list[Path] | None, quality: list[str] | None, turns: int
) -> list[RatedReplies]:
    """The rated replies of all corpora, one set a quality."""
    return [
        replies
        for path in corpora or []
        for replies in read_rated(path, quality=quality).replies(turns)
    ]


def seed_numbers(entries: list[str] | None) -> list[int]:
    """Seeds from numbers and ranges.

    Examples:
        >>> seed_numbers(["0-2", "7"]), seed_numbers(None)
        ([0, 1, 2, 7], [0])
    """
    numbers: list[int] = []
    for entry in names(entries) or ["0"]:
        first, dash, last = entry.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise DialensError(f"--seeds takes whole numbers and ranges like 0-9; seen: {entry!r}.")
        numbers += range(int(first), int(last if dash else first) + 1)
    if not numbers:
        raise DialensError(f"--seeds {', '.join(entries or [])} holds no number.")
    return list(dict.fromkeys(numbers))


def print_summary(table: pl.DataFrame, lead: Sequence[str] = ("measure",)) -> None:
    """Mean ± standard deviation and best over seeds."""
    grid = Table(*lead, "mean", "sd", "best", "seeds", box=None, header_style="bold")
    for row in table.iter_rows(named=True):
        numbers = ["–" if row[k] is None else f"{row[k]:.3f}" for k in ("mean", "sd", "best")]
        grid.add_row(*(str(row[name]) for name in lead), *numbers, str(row["seeds"]))
    plain_console().print(grid)
