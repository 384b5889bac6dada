"""Options of commands that read ratings: columns under other names, scales of words, raters."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from dialens.analysis.people import CHOSEN, RATED
from dialens.base import DialensError
from dialens.cli._completion import among
from dialens.cli._options import names
from dialens.corpus import RATER_KINDS
from dialens.statistics import load_ratings
from dialens.statistics.rating_files import LAYOUTS, NOMINAL

ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=THEIRS",
        help="A column under another name: item, rater, value, quality, agent … =COLUMN.",
    ),
]
ScaleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--scale",
        metavar="[QUALITY=]LOWEST,…,HIGHEST",
        help=f"Words that answers are, in their order; {NOMINAL} if they have none.",
    ),
]
RatingFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        help=f"Shape of the ratings: {', '.join(LAYOUTS)}, or a format of conversations; "
        "recognised if not given.",
    ),
]
OtherRatings = Annotated[
    Path | None,
    typer.Option(
        "--ratings",
        metavar="FILE",
        help="Ratings in a table of their own, joined by dialogue, and turn where it has one.",
    ),
]
OtherRatingsFormat = Annotated[
    str | None,
    typer.Option(
        "--ratings-format",
        help=f"Shape of --ratings: {', '.join(LAYOUTS)}; recognised if not given.",
    ),
]
ParticipantsOption = Annotated[
    Path | None,
    typer.Option(
        "--participants",
        metavar="FILE",
        help="Facts about raters, such as Prolific’s demographic export: joined by their ids.",
    ),
]

RatersOption = Annotated[
    list[str] | None,
    typer.Option(
        "--raters",
        help="Kinds of raters to use: human, llm, simulated.",
        autocompletion=among(*RATER_KINDS),
    ),
]


def kinds_given(entries: list[str] | None) -> list[str] | None:
    """`--raters` as kinds of raters; none where it is not given.

    Examples:
        >>> kinds_given(["human,simulated"])
        ['human', 'simulated']
    """
    kinds = names(entries)
    for kind in kinds or ():
        if kind not in RATER_KINDS:
            raise DialensError(f"--raters takes {', '.join(RATER_KINDS)}; seen: {kind!r}.")
    return kinds


def columns_given(entries: Sequence[str] | None) -> dict[str, str]:
    """`--column NAME=THEIRS` as a dictionary.

    Examples:
        >>> columns_given(["value=My score", "item=Conversation"])
        {'value': 'My score', 'item': 'Conversation'}
    """
    found: dict[str, str] = {}
    for entry in entries or ():
        name, equals, theirs = (part.strip() for part in entry.partition("="))
        if not equals or not name or not theirs:
            raise DialensError(f"--column takes NAME=THEIRS, e.g. value=Score; seen: {entry!r}.")
        found[name.lower()] = theirs
    return found


def scales_given(
    entries: Sequence[str] | None, *, kinds: Sequence[str] = (*RATED, *CHOSEN)
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """`--scale` as orders of words by quality (all under the empty name), and kinds of answers.

    Examples:
        >>> scales_given(["bad,so so,good", "tone=slider", "fun=no,yes"])
        ({'': ['bad', 'so so', 'good'], 'fun': ['no', 'yes']}, {'tone': 'slider'})
        >>> scales_given(["nominal"])
        ({'': ['nominal']}, {})
    """
    orders: dict[str, list[str]] = {}
    said: dict[str, str] = {}
    for entry in entries or ():
        name, equals, text = entry.partition("=")
        quality, text = (name.strip(), text) if equals else ("", entry)
        divider = ";" if ";" in text else ","
        words = [word.strip() for word in text.split(divider) if word.strip()]
        if len(words) > 1 or words == [NOMINAL]:
            repeated = len({word.lower() for word in words}) < len(words)
            if repeated:
                raise DialensError(f"--scale {entry!r} names a word twice.")
            orders[quality] = words
        elif words and quality and words[0] in kinds:
            said[quality] = words[0]
        else:
            first = f"QUALITY={'|'.join(kinds)}, or " if kinds else ""
            raise DialensError(
                f"--scale takes {first}the words of a scale in their order, e.g. "
                f'"Disagree,Neutral,Agree" or QUALITY=Disagree,Neutral,Agree; seen: {entry!r}.'
            )
    return orders, said


def ratings_from(
    path: Path,
    *,
    columns: Sequence[str] | None,
    orders: dict[str, list[str]],
    format: str | None,
    on_error: str,
    participants: Path | None,
    keep_words: bool = False,
    say: Callable[[str], None] = print,
) -> Callable[..., pl.DataFrame]:
    """`load_ratings` with everything that the options say; further factors may be asked for."""

    def load(source: Path = path, *, factors: Sequence[str] = ()) -> pl.DataFrame:
        return load_ratings(
            source,
            factors=factors,
            format=format,
            on_error=on_error,
            columns=columns_given(columns),
            scales=orders,
            keep_words=keep_words,
            participants=participants,
            say=say,
        )

    return load
