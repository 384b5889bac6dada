"""Options that several commands share, and how their values are read."""

from pathlib import Path
from typing import Annotated

import typer

from dialens.corpus import LEVELS, OnError
from dialens.errors import DialensError
from dialens.metrics import ModelSet, Resources
from dialens.text import Lexicon, read_emotion_lexicon, read_lexicon

Format = Annotated[
    str | None,
    typer.Option("--format", "-f", help="Format of the input; sniffed if not given."),
]
OnErrorOption = Annotated[
    OnError,
    typer.Option(
        "--on-error", help="At a record that cannot be read: stop, or skip it, count and list it."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the output even if it is not ours.")]
Seed = Annotated[int, typer.Option("--seed", help="Of everything that is drawn.")]
Resamples = Annotated[
    int, typer.Option("--resamples", min=100, help="How many times dialogues are drawn.")
]

Models = Annotated[
    str,
    typer.Option(
        "--models",
        help="Size of the models that score: default, small, base, or none to do without.",
    ),
]
OwnModels = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="TASK=FOLDER",
        help="A model of your own (folder or name) for emotion, toxicity, engagement, relevance "
        "or a trait.",
    ),
]


def names(given: list[str] | None) -> list[str] | None:
    """Names from repeated options and commas alike.

    Examples:
        >>> names(["a,b", "c"]), names(None)
        (['a', 'b', 'c'], None)
    """
    if not given:
        return None
    return [name.strip() for part in given for name in part.split(",") if name.strip()]


def level_names(given: list[str] | None) -> list[str]:
    """Levels by name, all of them if none is given."""
    chosen = names(given) or list(LEVELS)
    for level in chosen:
        if level not in LEVELS:
            raise DialensError(f"There is no level {level!r}. Levels: {', '.join(LEVELS)}.")
    return chosen


def make_resources(
    lexicons: list[str] | None,
    prompt: str,
    seed: int,
    *,
    models: str = "default",
    own_models: list[str] | None = None,
    threads: int | None = None,
) -> Resources:
    """What `--lexicon`, `--prompt`, `--seed` and `--models` ask for, defaults for the rest."""
    given: dict[str, Lexicon] = {}
    for entry in lexicons or []:
        kind, equals, path = entry.partition("=")
        if not equals or kind not in ("emotion", "style", "stop"):
            raise DialensError(
                f"--lexicon takes KIND=FILE with KIND emotion, style or stop; seen: {entry!r}."
            )
        given[kind] = read_emotion_lexicon(path) if kind == "emotion" else read_lexicon(path)
    chosen = ModelSet(models, _own_models(own_models), threads=threads or 0)
    return Resources(**given, prompt=prompt, seed=seed, models=chosen)


def _own_models(given: list[str] | None) -> dict[str, str]:
    found = {}
    for entry in given or []:
        task, equals, place = entry.partition("=")
        if not equals or not place:
            raise DialensError(f"--model takes TASK=FOLDER or TASK=NAME; seen: {entry!r}.")
        found[task] = place
    return found


def shown(path: Path) -> str:
    """A path as short as it can be said."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
