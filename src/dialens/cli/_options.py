"""Options that several commands share, and how their values are read.

Whatever takes long to import is imported where it is used: help and completion load this module.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Literal, ParamSpec

import typer

from dialens.base import DialensError, read_memory
from dialens.cli._completion import among, format_names, metric_names, model_sizes, model_tasks
from dialens.corpus import OnError, ReadOptions

P = ParamSpec("P")
DEVICES = ("auto", "cpu", "cuda")
_LEAST_MEMORY = 10**9


class FigureFormat(StrEnum):
    """What figures can be written as."""

    SVG = "svg"
    PDF = "pdf"
    PNG = "png"


Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        help="Format of the input; detected if not given.",
        autocompletion=format_names,
    ),
]
OnErrorOption = Annotated[
    OnError,
    typer.Option(
        "--on-error", help="At a record that cannot be read: stop, or skip it, count and list it."
    ),
]
AgentName = Annotated[
    str | None,
    typer.Option(
        "--agent", metavar="NAME", help="Call the agent so, whatever the input says or leaves open."
    ),
]
SystemName = Annotated[
    str | None,
    typer.Option(
        "--system", metavar="NAME", help="Call the system so: all inputs count as one system."
    ),
]
ColumnNames = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="OURS=THEIRS",
        help="Which column of a table is which: text=Message, dialog='Conversation ID', "
        "speaker=Who; also role, turn, created_at, agent, system, prompt, response.",
    ),
]
RoleNames = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="ROLE=NAME",
        help="Who speaks as what in a table or transcript: agent=Bot, user=Customer.",
    ),
]
AnyLanguage = Annotated[
    bool,
    typer.Option(
        "--any-language",
        help="Compute metrics that only know English although an agent speaks another language.",
    ),
]
WholeTurns = Annotated[
    bool,
    typer.Option(
        "--whole-turns",
        help="Leave out replies that were cut off (`finish` in their meta); they stay context.",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Write into a folder that holds other files; those are kept."),
]
Seed = Annotated[
    int, typer.Option("--seed", help="Random seed; the same seed gives the same numbers.")
]
Resamples = Annotated[
    int,
    typer.Option("--resamples", min=100, help="Bootstrap resamples; more make intervals steadier."),
]

Models = Annotated[
    str,
    typer.Option(
        "--models",
        autocompletion=model_sizes,
        help="Size of the models that score: default, small, base, or none to do without.",
    ),
]
OwnModels = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        autocompletion=model_tasks,
        metavar="TASK=FOLDER",
        help="A model of your own (folder or name) for emotion, toxicity, engagement, relevance "
        "or a trait.",
    ),
]
Weights = Annotated[
    list[str] | None,
    typer.Option(
        "--weights",
        metavar="NAME=FOLDER",
        help="Weights of an automatic metric: a folder, or hub:ORGANISATION/NAME@REVISION.",
    ),
]
MetricOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--metric-option",
        metavar="FAMILY.OPTION=VALUE",
        help="A setting of an automatic metric; `dialens metrics FAMILY` lists them.",
    ),
]
Device = Annotated[
    str,
    typer.Option(
        "--device",
        help="Where models run: auto (a GPU if PyTorch sees one), cpu, cuda.",
        autocompletion=among(*DEVICES),
    ),
]
PrecisionName = Annotated[
    Literal["int8", "fp32"],
    typer.Option(
        "--precision",
        help="What the models that ship compute in on processors: int8 (fast), or fp32, whose "
        "scores are those of a GPU to 0.0001.",
    ),
]
AllowPickle = Annotated[
    bool,
    typer.Option(
        "--allow-pickle", help="Load weights that are pickles: they can run code on this machine."
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        help="Where results of automatic metrics are kept, so that a killed run goes on; "
        "dialens in the user's cache folder by default.",
    ),
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Do not cache results of automatic metrics.")
]
Lexicons = Annotated[
    list[str] | None,
    typer.Option(
        "--lexicon", help="KIND=FILE: your own lexicon, with KIND emotion, style or stop."
    ),
]
Prompt = Annotated[
    str,
    typer.Option(
        "--prompt", help="What a turn answers: the whole `context` before it, or the `last` turn."
    ),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Batches worked on at once; one a core by default."),
]
Memory = Annotated[
    str,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory that may be taken without the models; what does not fit is read in parts.",
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics", "-m", help="Only these metrics or families.", autocompletion=metric_names
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors; see the exit status.")
]
NoReport = Annotated[
    bool, typer.Option("--no-report", help="Write no HTML page, which takes most of a small run.")
]
Figures = Annotated[
    FigureFormat | None,
    typer.Option(
        "--figures", help="Write the report's charts as files, too, into a folder of figures."
    ),
]
Csv = Annotated[
    bool,
    typer.Option("--csv", help="Write the table of all rows as CSV, too, for R and spreadsheets."),
]


def memory_bytes(size: str) -> int:
    """What `--memory` allows, in bytes.

    Examples:
        >>> memory_bytes("2GB")
        2000000000
    """
    return read_memory(size, least=_LEAST_MEMORY)


def names(entries: list[str] | None) -> list[str] | None:
    """Names from repeated options and commas alike.

    Examples:
        >>> names(["a,b", "c"]), names(None)
        (['a', 'b', 'c'], None)
    """
    if not entries:
        return None
    return [name.strip() for part in entries for name in part.split(",") if name.strip()]


def level_names(entries: list[str] | None) -> list[str]:
    """Levels by name, all of them if none is given."""
    from dialens.corpus import LEVELS

    chosen = names(entries) or list(LEVELS)
    for level in chosen:
        if level not in LEVELS:
            raise DialensError(f"There is no level {level!r}. Levels: {', '.join(LEVELS)}.")
    return chosen


def read_options(
    agent: str | None = None,
    system: str | None = None,
    columns: list[str] | None = None,
    roles: list[str] | None = None,
) -> ReadOptions:
    """What `--agent`, `--system`, `--column` and `--role` say of the input.

    Examples:
        >>> options = read_options(columns=["text=Message"], roles=["agent=Bot", "user=Ann"])
        >>> options.columns, options.roles
        ({'text': 'Message'}, {'Bot': 'agent', 'Ann': 'partner'})
    """
    for option, name in (("--agent", agent), ("--system", system)):
        if name is not None and not name.strip():
            raise DialensError(f"{option} takes a name; seen: {name!r}.")
    return ReadOptions(system, agent).with_columns(columns or ()).with_roles(roles or ())


def reads_anything(
    parameter: str, *, result: str | None = None
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Let a command read `-`, pipes and addresses: for it, they are files until it ends.

    Args:
        parameter: The parameter with the path to read.
        result: Names the output (`stdin-RESULT`) of a command that else writes beside its input.
    """

    def decorate(command: Callable[P, None]) -> Callable[P, None]:
        @wraps(command)
        def with_files(*positional: P.args, **options: P.kwargs) -> None:
            from dialens.corpus import local_file

            path = options[parameter]
            if not isinstance(path, Path):
                raise TypeError(f"{parameter} is no path: {path!r}")
            with local_file(path) as here:
                options[parameter] = here.path
                if result is not None and here.path != path and options.get("output") is None:
                    options["output"] = Path(f"{here.path.name.split('.')[0]}-{result}")
                command(*positional, **options)

        return with_files

    return decorate


def shown(path: Path) -> str:
    """A path as short as it can be said."""
    try:
        return str(Path(os.path.realpath(path)).relative_to(Path.cwd()))
    except ValueError:
        return str(path)


@contextmanager
def told_if_stopped(what: str, place: Path) -> Iterator[None]:
    """Say after Ctrl-C what is kept where, and that the same command resumes from there.

    Examples:
        >>> from contextlib import suppress
        >>> with suppress(KeyboardInterrupt), told_if_stopped("Dialogues are", Path("/")):
        ...     raise KeyboardInterrupt
        <BLANKLINE>
        Stopped. Dialogues are kept in /; the same command resumes from there.
    """
    try:
        yield
    except KeyboardInterrupt:
        if place.exists():
            kept = f"{what} kept in {shown(place)}"
            print(f"\nStopped. {kept}; the same command resumes from there.")
        raise


@contextmanager
def extra(what: str, name: str) -> Iterator[None]:
    """Turn a missing package of an extra into an error that says how to get it.

    Examples:
        >>> with extra("Studies", "studies"):
        ...     raise ModuleNotFoundError("No module named 'x'", name="x")
        Traceback (most recent call last):
        ...
        dialens.DialensError: Studies need the package x: pip install 'dialens[studies]'.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise DialensError(
            f"{what} need the package {error.name}: pip install 'dialens[{name}]'."
        ) from error
