"""The studies of a folder: how each stands, what was said of agents, and who took part."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
from fastapi import APIRouter, Query
from fastapi.responses import Response

from dialens.analysis.people import People, what_people_said
from dialens.base import DialensError, capitalised, counted, first_line, listed, number
from dialens.corpus import kind_of_rater
from dialens.report.people import people_answer
from dialens.studies import read_design
from dialens.web.workbench._desk import Desk
from dialens.web.workbench._intervals import interval_rows
from dialens.workbench import (
    Item,
    StudyStanding,
    Workbench,
    people_of,
    read_drawn,
    reports_of,
    standings,
)

HERE = "/studies"
_MOST_MODELLED = 20_000
_MOST_PEOPLE = 500
_KINDS = {
    "human": ("People", "What people said"),
    "llm": ("Judges", "What judges said"),
    "simulated": ("Simulated participants", "What simulated participants said"),
}


@dataclass(frozen=True)
class StudyRow:
    """A study in the list.

    Attributes:
        item: The study.
        standings: How it stands in each of its databases.
        reports: What was made of it and has a report.
    """

    item: Item
    standings: Sequence[StudyStanding]
    reports: Sequence[Item]

    @property
    def participants(self) -> int:
        """People who began."""
        return sum(one.participants for one in self.standings)

    @property
    def answers(self) -> int:
        """Answers of everybody."""
        return sum(one.answers for one in self.standings)

    @property
    def last(self) -> datetime | None:
        """When the last answer came."""
        return max((one.last for one in self.standings if one.last is not None), default=None)


@dataclass(frozen=True)
class Said:
    """What raters of one kind said.

    Attributes:
        kind: `human`, `llm` or `simulated`.
        title: Of the part of the page.
        answer: In a sentence.
        qualities: A quality with the rows of its agents.
        notes: What has to be known.
    """

    kind: str
    title: str
    answer: str
    qualities: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]
    notes: Sequence[str] = ()


def routes(desk: Desk) -> APIRouter:
    """The list of studies, and a page for each."""
    router = APIRouter()
    cache = _Analysed()

    @router.get(HERE)
    def studies() -> Response:
        bench = desk.workbench
        bench.follow()
        rows = [
            StudyRow(item, standings(item), list(reports_of(bench.catalogue, item)))
            for item in bench.catalogue.of("study")
        ]
        return desk.render(
            "studies",
            here=HERE,
            answer=_answer(rows),
            rows=rows,
            notes=[note for _, note in sorted(bench.studied.notes.items())],
        )

    @router.get("/study")
    def study(name: str = Query(max_length=1_000)) -> Response:
        bench = desk.workbench
        bench.follow()
        item = desk.item(name)
        known_as = name_of(item)
        ratings = _ratings_of(bench, known_as)
        parts = cache.of(item, ratings)
        people = people_of(item)
        return desk.render(
            "study",
            here=HERE,
            item=item,
            standings=standings(item),
            parts=parts,
            answer=_study_answer(item, people, parts),
            people=people.head(_MOST_PEOPLE).to_dicts(),
            n_people=people.height,
            drawn=read_drawn(home_of(item)),
            reports=list(reports_of(bench.catalogue, item)),
            columns=sorted(
                column.name
                for column in bench.index.columns("turn").values()
                if column.live and column.numeric
            ),
        )

    return router


def home_of(item: Item) -> Path:
    """The folder of a study."""
    return item.path if item.path.is_dir() else item.path.parent


def name_of(item: Item) -> str:
    """The name of a study in its data; of one without a study file, that of the item."""
    try:
        return read_design(home_of(item)).study
    except DialensError:
        return item.name


def _ratings_of(bench: Workbench, study: str) -> pl.DataFrame:
    parts = [table.filter(pl.col("study") == study) for table in bench.said]
    return pl.concat(parts) if parts else pl.DataFrame()


def _answer(rows: Sequence[StudyRow]) -> str:
    if not rows:
        return (
            "There is no study in this folder. Choose turns or conversations, then “Make a study "
            "of these”."
        )
    people = sum(row.participants for row in rows)
    simulated = sum(one.simulated for row in rows for one in row.standings)
    beside = f" and {simulated:,} simulated" if simulated else ""
    answers = sum(row.answers for row in rows)
    last = max((row.last for row in rows if row.last is not None), default=None)
    when = f"; the last came {last:%Y-%m-%d at %H:%M} UTC" if last is not None else ""
    return (
        f"{counted(len(rows), 'study', 'studies')}: {counted(people, 'participant')}{beside}, "
        f"{counted(answers, 'answer')}{when}."
    )


def _study_answer(item: Item, people: pl.DataFrame, parts: Sequence[Said]) -> str:
    if parts and parts[0].answer:
        return parts[0].answer
    if people.height:
        return f"{counted(people['rater'].n_unique(), 'participant')}, and no ratings yet."
    return f"Nobody has taken part in {item.name} yet."


class _Analysed:
    """What was said, by study; computed again only when there is more."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, list[Said]]] = {}
        self._lock = threading.Lock()

    def of(self, item: Item, ratings: pl.DataFrame) -> list[Said]:
        """A part of the page for each kind of rater, people first."""
        if not ratings.height:
            return []
        mark = (ratings.height, ratings["answered_at"].max(), ratings["value"].sum())
        with self._lock:
            known = self._known.get(item.name)
            if known is None or known[0] != mark:
                known = mark, list(_said(ratings))
                self._known[item.name] = known
            return known[1]


def _said(ratings: pl.DataFrame) -> Sequence[Said]:
    kinds = ratings.with_columns(kind=kind_of_rater())
    made = []
    for kind, (who, title) in _KINDS.items():
        own = kinds.filter(kind=kind).drop("kind")
        if own.height:
            made.append(_of_kind(kind, who, title, own))
    return made


def _of_kind(kind: str, who: str, title: str, ratings: pl.DataFrame) -> Said:
    raters = counted(ratings["rater"].n_unique(), "rater")
    if ratings.height > _MOST_MODELLED:
        note = (
            f"{ratings.height:,} ratings are too many for models while a page loads: plain means "
            "without intervals. `dialens study analyze` has the rest."
        )
        return Said(kind, title, "", _plain(ratings), [note])
    try:
        found = what_people_said(ratings)
    except (DialensError, ArithmeticError, ValueError) as error:
        note = f"No intervals: {first_line(error)}"
        return Said(kind, title, "", _plain(ratings), [note])
    answer = people_answer(found, who) or _one_agent(found, who)
    ended = answer if answer.endswith(".") else f"{answer}."
    told: dict[str, list[str]] = {}
    for quality, note in found.notes:
        told.setdefault(note, []).append(quality)
    rows = found.agents.to_dicts()
    return Said(
        kind,
        title,
        f"{ended} ({counted(ratings.height, 'rating')} by {raters}.)",
        interval_rows(rows),
        [f"{capitalised(listed(named))}: {note}." for note, named in told.items()],
    )


def _one_agent(found: People, who: str) -> str:
    rows = found.agents.drop_nulls("mean").to_dicts()
    told = [f"{row['agent']} {number(row['mean'])} on {row['quality']}" for row in rows[:4]]
    return f"{who} gave {listed(told)}" if told else f"{who} have rated too little to say more"


def _plain(ratings: pl.DataFrame) -> Sequence[tuple[str, Sequence[Mapping[str, Any]]]]:
    means = (
        ratings.group_by("quality", "agent", maintain_order=True)
        .agg(n=pl.len(), n_raters=pl.col("rater").n_unique(), mean=pl.col("value").mean())
        .with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64),
                      reason=pl.lit(None, pl.String), unit=pl.lit("points"))
    )  # fmt: skip
    return interval_rows(means.to_dicts())
