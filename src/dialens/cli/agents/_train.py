"""`dialens agents train`: a Seq2Seq, HRED or THRED of one's own, from conversations."""

import shlex
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from dialens.base import RUN, DialensError, Recorder, atomic_folder, open_state, progress
from dialens.cli._options import Force, Seed, shown, told_if_stopped
from dialens.cli._terminal import plain_console

if TYPE_CHECKING:
    from dialens.agents.neural import Trained

SAMPLES = "samples.tsv"
_SHIPPED = "shipped"
_SHOWN = 5


def train(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="seq2seq, hred or thred.")],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A corpus in any format, a folder of `dialens engagement ingest`, or lines of "
            "turns separated by tabs.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the agent.")],
    format: Annotated[
        str | None,
        typer.Option(
            "--format", "-f", help="Format of the corpus, or `tabbed`; detected if not given."
        ),
    ] = None,
    topic_column: Annotated[
        Literal["auto", "last", "none"],
        typer.Option(
            help="Topic words of tab-separated lines: after '  |  ' (auto), the last column, none."
        ),
    ] = "auto",
    topics: Annotated[
        str | None,
        typer.Option(
            "--topics",
            help="Your own topic table for THRED; default: the one that ships with dialens.",
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the data; the best epoch is kept.")] = 8,
    batch: Annotated[int, typer.Option(help="Replies in a training step.")] = 128,
    rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 1e-3,
    warm_up: Annotated[
        int, typer.Option(help="Warm-up steps, over which the learning rate rises.")
    ] = 300,
    dropout: Annotated[
        float, typer.Option(help="Dropout: share of units left out in training.")
    ] = 0.3,
    decay: Annotated[float, typer.Option(help="Weight decay.")] = 0.01,
    minutes: Annotated[
        float | None,
        typer.Option(help="Time limit; the learning rate falls with time as well as with epochs."),
    ] = None,
    begin_with: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Start from the weights and subwords of an agent of the same kind and sizes; "
            "`shipped` for the one that ships with dialens.",
        ),
    ] = None,
    vocabulary: Annotated[int, typer.Option(help="Size of the subword vocabulary.")] = 8000,
    embedding: Annotated[int, typer.Option(help="Width of the subword embeddings.")] = 384,
    hidden: Annotated[int, typer.Option(help="Width of the hidden states.")] = 640,
    context_turns: Annotated[int, typer.Option(help="Turns of context that are read.")] = 4,
    turn_tokens: Annotated[int, typer.Option(help="Longest turn read, in subwords.")] = 48,
    reply_tokens: Annotated[int, typer.Option(help="Longest reply, in subwords.")] = 40,
    held_out: Annotated[
        float, typer.Option(help="Share of threads held out for evaluation.")
    ] = 0.03,
    check_every: Annotated[
        int,
        typer.Option(
            help="Steps between evaluations on held-out threads; 0: at the end of each epoch."
        ),
    ] = 0,
    checkpoint_every: Annotated[int, typer.Option(help="Steps between checkpoints.")] = 500,
    samples: Annotated[
        int, typer.Option(min=1, help="Sample replies to write, for held-out contexts.")
    ] = 200,
    licence: Annotated[str, typer.Option(help="Licence of the data, for the card.")] = "not stated",
    seed: Seed = 0,
    restart: Annotated[
        bool, typer.Option("--restart", help="Delete the checkpoints of an interrupted run.")
    ] = False,
    force: Force = False,
) -> None:
    """Train an agent on conversations (extra `train`); on a GPU if there is one.

    Data is split by thread: perplexity is measured on threads that nothing was learned from, and
    so is how much of the replies is new (distinct-1, distinct-2). The folder talks without
    PyTorch: `dialens agents chat KIND:FOLDER`. A run that was interrupted resumes where it was if
    you give the same command; --begin-with teaches an agent that is there already more.

    [bold]Examples[/]

      dialens agents train seq2seq talks.jsonl -o bot
      dialens agents train thred work -o topical --epochs 10 --minutes 60
      dialens agents train thred talks.jsonl -o mine --begin-with shipped --rate 3e-4
      dialens agents train hred train.txt -o hred --format tabbed --context-turns 2
    """
    from dialens.agents.neural import (
        SHIPPED,
        Shape,
        Source,
        TrainingPlan,
        depends_on,
        read_beginning,
        require_training,
        train_agent,
    )

    sizes = {"vocabulary": vocabulary, "embedding": embedding, "hidden": hidden}
    lengths = {
        "context_turns": context_turns,
        "turn_tokens": turn_tokens,
        "reply_tokens": reply_tokens,
    }
    shape = Shape(kind, **sizes, **lengths)
    require_training()
    plan = TrainingPlan(
        epochs=epochs,
        batch=batch,
        rate=rate,
        warm_up=warm_up,
        dropout=dropout,
        decay=decay,
        seed=seed,
        check_every=check_every,
        checkpoint_every=checkpoint_every,
        seconds=None if minutes is None else minutes * 60,
    )
    source = Source(data, format, topic_column, held_out, topics, licence)
    if not data.exists():
        raise DialensError(f"{data} does not exist: name a corpus, a folder or a file.")
    arguments: dict[str, object] = {
        "kind": kind,
        "data": data,
        "format": format,
        "topic_column": topic_column,
        "topics": topics,
        **sizes,
        **lengths,
    }
    arguments |= {"epochs": epochs, "batch": batch, "rate": rate, "warm_up": warm_up}
    arguments |= {"dropout": dropout, "decay": decay, "minutes": minutes}
    arguments |= {"held_out": held_out, "check_every": check_every, "begin_with": begin_with}
    begin = None
    if begin_with is not None:
        ours = str(begin_with) == _SHIPPED
        begin = read_beginning(SHIPPED / kind if ours else begin_with, shape)
    recorder = Recorder("agents train", arguments, seed=seed)
    state = output.with_name(f"{output.name}.training")
    with (
        told_if_stopped("What was learned up to the last checkpoint is", state),
        atomic_folder(output, inputs=[data], force=force) as scratch,
    ):
        if open_state(state, depends_on(source, shape, plan, begin), restart=restart):
            print(f"Going on with what {shown(state)} holds.")
        with recorder.step("train"), ExitStack() as stack:
            preparing = stack.enter_context(progress("Preparing"))
            learning = stack.enter_context(progress("Learning", unit="replies"))
            trained = train_agent(
                source,
                shape,
                plan,
                state=state,
                folder=scratch,
                name=output.name,
                command=_command(arguments, seed),
                begin=begin,
                samples=samples,
                preparing=preparing,
                learning=learning,
            )
        _write_samples(trained, scratch / SAMPLES)
        recorder.finish(scratch / RUN)
    shutil.rmtree(state)
    _print(trained, output, kind)


def _command(arguments: dict[str, object], seed: int) -> str:
    words = ["dialens", "agents", "train", str(arguments["kind"]), "DATA", "-o", "FOLDER"]
    for key, value in arguments.items():
        if key not in ("kind", "data") and value is not None:
            # Cards travel: they name folders, not where these were on a machine.
            word = value.name if isinstance(value, Path) else value
            words += [f"--{key.replace('_', '-')}", str(word)]
    return shlex.join([*words, "--seed", str(seed)])


def _write_samples(trained: "Trained", file: Path) -> None:
    lines = ["context\tperson\tagent"]
    lines += [
        f"{' / '.join(sample.context)}\t{sample.person}\t{sample.agent}"
        for sample in trained.samples
    ]
    file.write_text("\n".join(lines) + "\n", "utf-8")


def _print(trained: "Trained", output: Path, kind: str) -> None:
    perplexity = trained.perplexity
    console = plain_console()
    grid = Table(box=None, show_header=False)
    grid.add_row("learned from", f"{trained.facts['replies']:,} replies")
    grid.add_row(
        "held-out perplexity",
        f"{perplexity.value:.2f} per subword "
        f"({perplexity.tokens:,} subwords of {perplexity.replies:,} replies)",
    )
    for distinct in trained.distinct:
        value = "–" if distinct.value is None else f"{distinct.value:.3f}"
        grid.add_row(f"distinct-{distinct.n}", f"{value} ({distinct.of:,} n-grams)")
    if trained.held_back:
        grid.add_row("held back by the guard", f"{trained.held_back:,} replies")
    console.print(grid)
    for sample in trained.samples[:_SHOWN]:
        console.print(f"\n  > {sample.context[-1]}", style="dim", highlight=False)
        console.print(f"  {sample.agent}", highlight=False)
    print(f"\nAgent: {shown(output)}   Talk: dialens agents chat {kind}:{shown(output)}")
