"""What a study's database knows of precision: people's means, kept until somebody more completes.

An arrival has to know whether more people are wanted and where, while the study is locked. Means
are computed from answers when somebody completed since the last time, and kept as JSON otherwise.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, Select, func, insert, select, update

from dialens.studies._precision import PersonMeans, Precision, precision
from dialens.studies._study import Study
from dialens.studies._types import Field
from dialens.studies._waves import FIRST
from dialens.studies.instruments import instrument
from dialens.studies.store._session import places
from dialens.studies.store._tables import (
    COMPLETED,
    answers,
    cells,
    participants,
    sessions,
    settings,
    submissions,
)


@dataclass(frozen=True)
class Steering:
    """What arrivals have to know.

    Attributes:
        precise: Whether everything is known that was to be known.
        at_most: People in all.
        needs: By cell, how much a further person tells (`Precision.needs`); empty before.
    """

    precise: bool
    at_most: int
    needs: Mapping[str, float]


def steering(connection: Connection, study: Row[Any]) -> Steering | None:
    """How allocation by precision stands; none where places are given out evenly."""
    if not _is_steered(study):
        return None
    name, stamp = f"precision {study.hash[:40]}", _stamp(connection, study)
    kept = connection.execute(select(settings.c.value).where(settings.c.name == name))
    text = kept.scalar_one_or_none()
    known = None if text is None else json.loads(text)
    if known is None or known.pop("stamp") != stamp:
        found = precision_of(connection, study)
        known = {
            "precise": found.stopped == "precise",
            "at_most": found.at_most,
            "needs": dict(found.needs),
        }
        value = json.dumps(known | {"stamp": stamp})
        there = update(settings).where(settings.c.name == name).values(value=value)
        if not connection.execute(there).rowcount:
            connection.execute(insert(settings).values(name=name, value=value))
    return Steering(**known)


def known_precision(connection: Connection, study: Row[Any]) -> Precision | None:
    """How precisely it is known what is compared; none where places are given out evenly."""
    return precision_of(connection, study) if _is_steered(study) else None


def _is_steered(study: Row[Any]) -> bool:
    allocation = json.loads(study.operation).get("allocation", {})
    return bool(allocation.get("kind") == "precision")


def precision_of(connection: Connection, study: Row[Any]) -> Precision:
    """How precisely a study knows what it compares."""
    taken = sum(cell.taken for cell in places(connection, study.id))
    running = Study.from_definition(study.definition, study.operation)
    return precision(running, _people(connection, study, running), taken)


def _stamp(connection: Connection, study: Row[Any]) -> list[Any]:
    """What changes when means may have: who counts, and how the study is run."""
    counted = _counting(select(func.count(), func.coalesce(func.max(sessions.c.id), 0)), study)
    return [*connection.execute(counted).one(), study.operation]


def _counting(query: Select[Any], study: Row[Any]) -> Select[Any]:
    """A query over the first sessions of those who completed and count."""
    return (
        query.select_from(sessions)
        .join(participants, participants.c.id == sessions.c.participant_id)
        .where(
            participants.c.study_id == study.id,
            participants.c.excluded_at.is_(None),
            sessions.c.state == COMPLETED,
            sessions.c.wave == FIRST,
        )
    )


def _people(connection: Connection, study: Row[Any], running: Study) -> list[PersonMeans]:
    query = (
        _counting(select(sessions.c.id, cells.c.name, answers.c.asked, answers.c.value), study)
        .join(cells, cells.c.id == sessions.c.cell_id)
        .join(answers, answers.c.session_id == sessions.c.id)
        .join(
            submissions,
            (submissions.c.session_id == answers.c.session_id)
            & (submissions.c.screen == answers.c.screen),
        )
        .where(
            answers.c.quality == running.design.allocation.quality,
            submissions.c.kind == "rating",
        )
        .order_by(sessions.c.id)
    )
    by_person: dict[tuple[int, str], dict[str, list[float]]] = {}
    decoded = cache(_decoded)  # many people are asked the same, and answer the same
    for session, cell, asked, value in connection.execute(query):
        own = by_person.setdefault((session, cell), {})
        for agent, rating in decoded(asked, value):
            own.setdefault(agent, []).append(rating)
    return [
        PersonMeans(
            cell,
            float(np.mean([rating for ratings in own.values() for rating in ratings])),
            {agent: float(np.mean(ratings)) for agent, ratings in own.items()},
        )
        for (_, cell), own in by_person.items()
        if own
    ]


def _decoded(asked: str, value: str) -> tuple[tuple[str, float], ...]:
    """An answer as ratings of agents; none if nothing was said."""
    given = json.loads(value)
    if given is None:
        return ()
    field = Field(**json.loads(asked))
    rows = instrument(field.instrument).rows(field, given)
    return tuple((str(field.targets[slot].get("agent")), float(rating)) for slot, rating in rows)
