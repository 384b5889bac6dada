"""A rating study from files: what `dialens study export` writes, or any table of ratings.

An export is a folder with `ratings.parquet` and perhaps `questionnaires.parquet`; a table has
factors as columns.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from dialens.analysis.bias._data import StudyData, study_data
from dialens.analysis.bias._scales import LATE, LEFT_OUT, UNFINISHED, Note
from dialens.analysis.bias._talks import talk_notes, without_partial
from dialens.analysis.people import broken_battles, how_far, with_kinds
from dialens.base import DialensError, counted, listed
from dialens.corpus import Source
from dialens.statistics import load_ratings
from dialens.statistics.rating_files import line_of

_EXCLUDED = "excluded participants"

_QUESTIONNAIRES = ("questionnaires.parquet", "questionnaires.csv")


def read_study(
    path: str | Path,
    *,
    factors: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
    normalise: str = "auto",
    kinds: Mapping[str, str] | None = None,
    load: Callable[..., pl.DataFrame] = load_ratings,
    say: Callable[[str], None] = lambda _: None,
    with_excluded: bool = False,
    completed_only: bool = False,
    with_partial: bool = False,
) -> StudyData:
    """Read an export or a table of ratings.

    Args:
        path: A folder with `ratings.parquet`, or a file with ratings.
        factors: Factors that go by another name in the table: `{"layout": "setup"}`. Names other
            than anchor, layout and deadline become factors of their own.
        where: Keep only ratings with these values: `{"method": "plainME"}`.
        normalise: `log` for magnitudes, `none` for bounded scales, `auto` for what the scale of
            each quality says.
        kinds: The kind of answer of a quality, where the table does not say it.
        load: What reads the ratings: `load_ratings`, or the same with options.
        say: Called with each sentence that a reader should hear at once.
        with_excluded: Whether people who were excluded count all the same.
        completed_only: Whether only people count who completed the study.
        with_partial: Whether ratings of whole conversations count that did not come to their end.
    """
    source = Path(path)
    named, kept = dict(factors or {}), dict(where or {})
    ratings = with_kinds(load(source, factors=[*named.values(), *kept]), kinds or {})
    ratings, gone = (ratings, []) if with_excluded else _without_excluded(ratings)
    for note in gone:
        say(f"{note.part}: {note.reason}.")
    ratings, halfway = _unfinished(ratings, leave_out=completed_only)
    ratings, partial = (ratings, []) if with_partial else without_partial(ratings)
    partial += [*_late(ratings), *talk_notes(source)]
    broken = _broken_battles(ratings, source)
    for note in broken:
        say(f"{note.part}: {note.reason}.")
    for column, value in kept.items():
        present = ratings[column].cast(pl.String)
        if not (present == value).any():
            seen = ", ".join(present.drop_nulls().unique().sort().head(8))
            raise DialensError(f"No rating has {column} = {value!r}. Values: {seen}.")
        ratings = ratings.filter(present == value)
    ratings = ratings.with_columns(
        ratings[column].cast(pl.String).alias(name) for name, column in named.items()
    )
    answers = None
    for name in _QUESTIONNAIRES if source.is_dir() else ():
        file = source / name
        if file.exists():
            answers = pl.read_parquet(file) if file.suffix == ".parquet" else pl.read_csv(file)
            break
    data = study_data(ratings, answers, factors=list(named), normalise=normalise)
    return replace(data, notes=(*gone, *halfway, *partial, *broken, *data.notes))


def _without_excluded(ratings: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Ratings without those of people whom the researcher excluded, and a note that says so."""
    if "excluded" not in ratings.columns:
        return ratings, []
    said = pl.col("excluded").cast(pl.String).str.to_lowercase() == "true"
    gone = ratings.filter(said)
    if not gone.height:
        return ratings, []
    people = counted(gone["rater"].n_unique(), "person", "people")
    note = Note(_EXCLUDED, f"{people} and {counted(gone.height, 'rating')} are left out")
    return ratings.filter(said.is_null() | ~said), [note]


def _unfinished(ratings: pl.DataFrame, *, leave_out: bool) -> tuple[pl.DataFrame, list[Note]]:
    """Says how many did not complete the study, whose answers count unless they are left out.

    Examples:
        >>> table = pl.DataFrame({"rater": ["r", "s"], "session_state": ["completed", "live"]})
        >>> kept, notes = _unfinished(table, leave_out=True)
        >>> kept["rater"].to_list(), notes[0].reason
        (['r'], '1 person who did not complete the study, and 1 rating')
    """
    if "session_state" not in ratings.columns:
        if leave_out:
            raise DialensError(
                "--completed-only needs to know who completed the study, and these ratings have no "
                "column session_state. Leave the option out, or analyse the study or its export."
            )
        return ratings, []
    done = (pl.col("session_state") == "completed").fill_null(value=True).any().over("rater")
    gone = ratings.filter(~done)
    if not gone.height:
        return ratings, []
    if leave_out:
        kept = ratings.filter(done)
        if not kept.height:
            raise DialensError("Nobody has completed the study yet: leave out --completed-only.")
        people = counted(gone["rater"].n_unique(), "person", "people")
        reason = f"{people} who did not complete the study, and {counted(gone.height, 'rating')}"
        return kept, [Note(LEFT_OUT, reason)]
    states = [f"{n:,} {words}" for words, n in how_far(ratings).items()]
    reason = (
        f"of {counted(ratings['rater'].n_unique(), 'rater')}, {listed(states)}; all their answers "
        "count"
    )
    return ratings, [Note(UNFINISHED, reason)]


def _late(ratings: pl.DataFrame) -> list[Note]:
    """Says how many ratings came after the deadline of their screen.

    Examples:
        >>> _late(pl.DataFrame({"rater": ["r", "s"], "late": [0.0, 93.5]}))[0].reason
        '1 rating of 1 person came after the deadline of its screen, up to 94 seconds; all count'
    """
    if "late" not in ratings.columns:
        return []
    late = ratings.with_columns(pl.col("late").cast(pl.Float64, strict=False)).filter(
        pl.col("late") > 0
    )
    if not late.height:
        return []
    people = counted(late["rater"].n_unique(), "person", "people")
    whose = "its screen" if late.height == 1 else "their screen"
    most = counted(round(max(late["late"].to_list())), "second")
    reason = (
        f"{counted(late.height, 'rating')} of {people} came after the deadline of {whose}, up to "
        f"{most}; all count"
    )
    return [Note(LATE, reason)]


def _broken_battles(ratings: pl.DataFrame, source: Path) -> list[Note]:
    """Says which pair keeps a table of battles from being read as such."""
    notes = []
    for quality, whole, broken, row in broken_battles(ratings):
        place = f"row {row + 1}"
        if source.is_file() and ".csv" in source.suffixes and not {".gz"} & set(source.suffixes):
            place = f"line {line_of(Source(source), row)}"
        notes.append(
            Note(
                quality,
                f"{whole:,} pairs of rows are battles (one 1 and one 0, or two halves), but "
                f"{counted(broken, 'pair')} {'is' if broken == 1 else 'are'} not whole, the first "
                f"at {place}: read as ratings. Complete it, or leave it out with "
                f"--scale {quality}=pairwise",
            )
        )
    return notes
