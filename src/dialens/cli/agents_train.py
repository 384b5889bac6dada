"""`dialens agents train`: a Seq2Seq, HRED or THRED of one's own, from conversations."""

import shlex
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from dialens.cli.options import Force, Seed, shown
from dialens.errors import DialensError
from dialens.progress import progress
from dialens.report import RUN, Recorder
from dialens.storage import atomic_folder

if TYPE_CHECKING:
    from dialens.agents.neural.training import Trained

SAMPLES = "samples.tsv"
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
        typer.Option("--format", "-f", help="Of the corpus, or tabbed; sniffed if not given."),
    ] = None,
    topic_column: Annotated[
        Literal["auto", "last", "none"],
        typer.Option(
            help="Topic words of tab-separated lines: after '  |  ' (auto), the last column, none."
        ),
    ] = "auto",
    topics: Annotated[
        str | None,
        typer.Option("--topics", help="A topic table of your own for THRED; ours by default."),
    ] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the data; the best is kept.")] = 8,
    batch: Annotated[int, typer.Option(help="Replies a step.")] = 128,
    rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 1e-3,
    dropout: Annotated[float, typer.Option(help="Hidden while learning.")] = 0.3,
    vocabulary: Annotated[int, typer.Option(help="Subwords.")] = 8000,
    embedding: Annotated[int, typer.Option(help="Numbers a subword.")] = 384,
    hidden: Annotated[int, typer.Option(help="Numbers of a state.")] = 640,
    context_turns: Annotated[int, typer.Option(help="Turns that are read.")] = 4,
    turn_tokens: Annotated[int, typer.Option(help="Subwords read of a turn.")] = 48,
    reply_tokens: Annotated[int, typer.Option(help="Subwords of a reply.")] = 40,
    held_out: Annotated[float, typer.Option(help="Share of threads to measure on.")] = 0.03,
    checkpoint_every: Annotated[int, typer.Option(help="Steps between checkpoints.")] = 500,
    samples: Annotated[int, typer.Option(min=1, help="Held-out contexts to answer.")] = 200,
    licence: Annotated[str, typer.Option(help="Of the data, for the card.")] = "not stated",
    seed: Seed = 0,
    restart: Annotated[
        bool, typer.Option("--restart", help="Throw away what an interrupted run has left.")
    ] = False,
    force: Force = False,
) -> None:
    """Train an agent on conversations (extra `train`); on a GPU if there is one.

    Data is split by thread: perplexity is measured on threads that nothing was learned from, and
    so is how much of the replies is new (distinct-1, distinct-2). The folder talks without
    PyTorch: `dialens agents chat KIND:FOLDER`. A run that was interrupted goes on where it was if
    you give the same command.

    [bold]Examples[/]

      dialens agents train seq2seq talks.jsonl -o bot
      dialens agents train thred work -o topical --epochs 10
      dialens agents train hred train.txt -o hred --format tabbed --context-turns 2
    """
    from dialens.agents.neural.shape import LearningPlan, Shape
    from dialens.agents.neural.training import (
        Source,
        depends_on,
        open_state,
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
    plan = LearningPlan(
        epochs=epochs,
        batch=batch,
        rate=rate,
        dropout=dropout,
        seed=seed,
        checkpoint_every=checkpoint_every,
    )
    source = Source(data, format, topic_column, held_out, topics, licence)
    if not data.exists():
        raise DialensError(f"{data} does not exist: name a corpus, a folder or a file.")
    arguments: dict[str, object] = {
        "kind": kind,
        "data": data,
        "format": format,
        **sizes,
        **lengths,
    }
    arguments |= {"epochs": epochs, "batch": batch, "rate": rate, "dropout": dropout}
    recorder = Recorder("agents train", arguments, seed=seed)
    state = output.with_name(f"{output.name}.training")
    with atomic_folder(output, marker="card.json", force=force) as scratch:
        if open_state(state, depends_on(source, shape, plan), restart=restart):
            print(f"Going on with what {shown(state)} holds.")
        with recorder.step("train"), ExitStack() as stack:
            preparing = stack.enter_context(progress("Preparing"))
            learning = stack.enter_context(progress("Learning", unit="replies"))
            found = train_agent(
                source,
                shape,
                plan,
                state=state,
                folder=scratch,
                name=output.name,
                command=_command(arguments, seed),
                samples=samples,
                preparing=preparing,
                learning=learning,
            )
        _write_samples(found, scratch / SAMPLES)
        recorder.finish(scratch / RUN)
    shutil.rmtree(state)
    _print(found, output, kind)


def _command(arguments: dict[str, object], seed: int) -> str:
    words = ["dialens", "agents", "train", str(arguments["kind"]), "DATA", "-o", "FOLDER"]
    for key, value in arguments.items():
        if key not in ("kind", "data") and value is not None:
            words += [f"--{key.replace('_', '-')}", str(value)]
    return shlex.join([*words, "--seed", str(seed)])


def _write_samples(found: "Trained", file: Path) -> None:
    lines = ["context\tperson\tagent"]
    lines += [f"{' / '.join(one.context)}\t{one.person}\t{one.agent}" for one in found.samples]
    file.write_text("\n".join(lines) + "\n", "utf-8")


def _print(found: "Trained", output: Path, kind: str) -> None:
    held = found.perplexity
    console = Console()
    grid = Table(box=None, show_header=False)
    grid.add_row("learned from", f"{found.facts['replies']:,} replies")
    grid.add_row(
        "held-out perplexity",
        f"{held.value:.2f} per subword ({held.tokens:,} subwords of {held.replies:,} replies)",
    )
    for one in found.distinct:
        value = "–" if one.value is None else f"{one.value:.3f}"
        grid.add_row(f"distinct-{one.n}", f"{value} ({one.of:,} n-grams)")
    if found.held_back:
        grid.add_row("held back by the guard", f"{found.held_back:,} replies")
    console.print(grid)
    for sample in found.samples[:_SHOWN]:
        console.print(f"\n  > {sample.context[-1]}", style="dim", markup=False, highlight=False)
        console.print(f"  {sample.agent}", markup=False, highlight=False)
    print(f"\nAgent: {shown(output)}   Talk: dialens agents chat {kind}:{shown(output)}")
