"""`dialens study status`: how far a study is."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import polars as pl

from dialens.base import counted
from dialens.cli._terminal import plain_table, print_whole
from dialens.cli.study._database import (
    AllVersionsOption,
    DatabaseOption,
    StudyPath,
    VersionOption,
    recorded_versions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dialens.studies import Precision
    from dialens.studies.store import CellProgress, Store, StudyRecord, WaveProgress

_MOST_SCREENS = 10


def status(
    study: StudyPath,
    db: DatabaseOption = None,
    version: VersionOption = None,
    all_versions: AllVersionsOption = False,
) -> None:
    """Show progress: completed and live sessions of each cell, median times, where people leave.

    Sessions without a sign of life for too long are expired first, which frees their places. Of
    several versions the newest is shown, and the others are named.

    [bold]Examples[/]

      dialens study status anchoring
      dialens study status anchoring --version 1 --version 2
      dialens study status anchoring --db postgresql://study@localhost/ratings
    """
    others: list[str] = []
    with recorded_versions(study, db, version, every=all_versions, say=others.append) as (
        store,
        records,
    ):
        for record in records:
            _show(store, record)
    for line in others:
        print(line)


def _show(store: "Store", record: "StudyRecord") -> None:
    from dialens.studies.store import StoreUnavailable

    now = datetime.now(UTC)
    stale = ""
    try:
        store.expire(record.hash, now=now)
    except StoreUnavailable as error:  # whoever can only read it sees it as it is
        stale = f"Who left is still counted as live, since nothing can be written. {error}"
    cells = store.progress(record.hash)
    left = store.dropout(record.hash).filter(pl.col("left") > 0)
    times = store.times(record.hash)
    ends = store.early_ends(record.hash)
    silent, agents = _agents(store, record.hash)
    wanted, done = sum(c.target for c in cells), sum(c.completed for c in cells)
    many = f"{done:,} of {wanted:,} completed"
    if done > wanted:
        many = f"{done:,} completed, {wanted:,} wanted"
    print(f"{record.name}, version {record.version}: {many}")
    for line in silent:
        print(f"! {line}")
    if stale:
        print(f"! {stale}")
    precision = store.precision(record.hash)
    _cells(cells, precision)
    for sentence in () if precision is None else precision.sentences:
        print(sentence)
    for wave in store.waves(record.hash, now=now):
        print(_wave(wave))
    if times.completed_minutes is not None:
        active = f", {times.active_minutes:.1f} visible" if times.active_minutes else ""
        print(f"Median {times.completed_minutes:.1f} minutes to complete{active}.")
    for end in ends:
        print(f"{end.n:,} {end.words}")
    for line in agents:
        print(line)
    worst = left.sort("left", "index", descending=[True, False])
    for row in worst.head(_MOST_SCREENS).iter_rows(named=True):
        name = row["screen"] or "not submitted by anybody yet"
        later = "" if row["wave"] == 1 else f", wave {row['wave']}"
        print(
            f"{row['left']:,} of {row['reached']:,} left at screen {row['index'] + 1} of "
            f"{row['cell']}{later} ({name})"
        )
    if left.height > _MOST_SCREENS:
        print(f"… and at {left.height - _MOST_SCREENS} more screens.")


def _agents(store: "Store", study: str) -> tuple[list[str], list[str]]:
    """Where people completed without a reply; how each agent did that participants talk with."""
    from dialens.agents import KINDS
    from dialens.studies.store import (
        ConversationStore,
        pace_sentences,
        partial_sentences,
        replies_by_agent,
        without_replies,
    )

    talking = ConversationStore(store.database)
    said, failed = talking.exchanges_frame(study), talking.failures_frame(study)
    lines = []
    for agent in replies_by_agent(said, failed):
        median = agent["median_seconds"]
        took = "" if median is None else f", median {median:.1f} s"
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in agent["failures"].items())
        lines.append(
            f"{agent['agent']}: {counted(agent['talks'], 'conversation')}, "
            f"{counted(agent['replies'], 'reply', 'replies')}{took}; "
            + (f"failures: {reasons}" if reasons else "no failures")
        )
    lines += [*partial_sentences(said), *pace_sentences(said)]
    return without_replies(said, failed, KINDS), lines


def _wave(wave: "WaveProgress") -> str:
    """How far a later wave is, in a line."""
    states = {
        "at it": wave.live,
        "left": wave.left,
        "may come now": wave.open,
        "later": wave.early,
        "too late": wave.late,
    }
    others = ", ".join(f"{n:,} {word}" for word, n in states.items() if n)
    return f"Wave {wave.number} ({wave.name}): {wave.completed:,} of {wave.awaited:,} completed" + (
        f"; {others}" if others else ""
    )


def _cells(cells: "Sequence[CellProgress]", precision: "Precision | None") -> None:
    table = plain_table(
        "cell", "state", numbers=("wanted", "completed", "live", "expired", "restarted", "excluded")
    )
    for cell in cells:
        left = (cell.expired, cell.restarted, cell.excluded)
        counts = (cell.target, cell.completed, cell.live, *left)
        state = cell.state if precision is None else precision.state_of(cell.state)
        table.add_row(cell.cell, state, *map(str, counts))
    print_whole(table)
