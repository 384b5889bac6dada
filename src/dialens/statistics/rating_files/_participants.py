"""Facts about raters from another table, such as Prolific's demographic export."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from dialens.base import DialensError, counted, listed
from dialens.corpus import Source
from dialens.statistics.rating_files._column_names import RATER_NAMES, plain
from dialens.statistics.rating_files._delimited import read_cells

_PROLIFIC = {"submission_id", "participant_id"}
_UNKNOWN = ("consent_revoked", "data_expired", "")
_OWN = ("value", "quality", "dialog", "turn", "agent", "system", "label", "scale", "level")


def is_prolific(columns: Sequence[str]) -> bool:
    """Whether columns are those of Prolific's demographic export.

    Examples:
        >>> is_prolific(["Submission id", "Participant id", "Status", "Age"])
        True
    """
    return {plain(column) for column in columns} >= _PROLIFIC


def with_participants(
    ratings: pl.DataFrame, path: str | Path, *, column: str | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """Ratings with what a table says of their raters as further columns.

    Args:
        ratings: With a column `rater`.
        path: A table with a row a rater: Prolific's demographic export, or any other.
        column: The column of the table that holds the raters' ids, if it has another name.

    Returns:
        The ratings and what was joined, in sentences. Answers that Prolific withholds
        (`CONSENT_REVOKED`, `DATA_EXPIRED`) are null.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "prolific.csv"
        >>> header = "Submission id,Participant id,Status,Age"
        >>> _ = path.write_text(header + chr(10) + "s1,p1,APPROVED,31" + chr(10))
        >>> ratings, said = with_participants(pl.DataFrame({"rater": ["p1", "p2"]}), path)
        >>> ratings["Age"].to_list(), said[-1]
        (['31', None], '1 rater is not in prolific.csv: p2.')
    """
    source = Source(Path(path))
    if not source.path.is_file():
        raise DialensError(f"--participants {path}: there is no such file.")
    cells = read_cells(source)
    key = _key(cells.columns, column, source.path)
    frame = cells.frame.with_columns(pl.col(key).str.strip_chars()).drop_nulls(key)
    repeated = frame.filter(pl.col(key).is_duplicated())[key]
    notes = []
    if len(repeated):
        notes.append(
            f"{counted(repeated.n_unique(), 'participant')} stand several times in "
            f"{source.path.name} ({listed(repeated.unique()[:3].to_list())}); the last row counts."
        )
        frame = frame.unique(key, keep="last", maintain_order=True)
    taken = {*ratings.columns, *_OWN}
    facts = [c for c in frame.columns if c != key]
    names = {c: f"{c} (participant)" if c in taken else c for c in facts}
    known = frame.select(
        pl.col(key).alias("rater"),
        *(
            pl.when(~pl.col(c).str.to_lowercase().is_in(_UNKNOWN)).then(pl.col(c)).alias(names[c])
            for c in facts
        ),
    )
    raters = ratings["rater"].cast(pl.String).drop_nulls().unique(maintain_order=True)
    missing = raters.filter(~raters.is_in(known["rater"].implode()))
    if len(missing) == len(raters):
        raise DialensError(
            f"No rater is in {source.path}: raters are called {listed(raters[:2].to_list())}, "
            f"its column {key} holds {listed(known['rater'][:2].to_list())}. Name the column of "
            "the ratings that holds these ids: --column rater=COLUMN."
        )
    joined = ratings.join(known, on="rater", how="left", maintain_order="left")
    notes.insert(
        0,
        f"{source.path.name}: {counted(len(facts), 'fact')} about "
        f"{counted(len(raters) - len(missing), 'rater')} ({listed(list(names.values())[:4])}"
        f"{' …' if len(facts) > 4 else ''}).",
    )
    if len(missing):
        verb = "is" if len(missing) == 1 else "are"
        some = listed(missing[:3].to_list())
        more = " …" if len(missing) > 3 else ""
        notes.append(
            f"{counted(len(missing), 'rater')} {verb} not in {source.path.name}: {some}{more}."
        )
    return joined, notes


def _key(columns: Sequence[str], asked: str | None, path: Path) -> str:
    if asked is not None and asked in columns:
        return asked
    named = {plain(column): column for column in columns}
    found = next((named[n] for n in ("participant_id", *RATER_NAMES) if n in named), None)
    if found is None:
        raise DialensError(
            f"--participants {path}: no column says which rater a row is about. It needs one "
            f"called rater or “Participant id”; found: {listed(list(columns)[:8])}."
        )
    return found
