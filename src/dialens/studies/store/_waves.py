"""Who comes back for further waves: who may, who did, and who is still to be asked."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from dialens.studies._operation import joined
from dialens.studies._waves import EARLY, LATE, OPEN, NextWave, next_wave
from dialens.studies.design import Wave
from dialens.studies.store._frames import STATE
from dialens.studies.store._secrets import Secrets
from dialens.studies.store._tables import COMPLETED, LIVE, RESTARTED, participants, sessions


@dataclass(frozen=True)
class WaveProgress:
    """How far a later wave is; people who were excluded are not counted.

    Attributes:
        number: From 2.
        name: As in the study file.
        awaited: People who completed the wave before.
        completed: Of these, who completed this one.
        live: Who are at it.
        left: Who began and left, or were not let on.
        early: Who cannot come yet.
        open: Who may come now.
        late: Who did not come in time.
    """

    number: int
    name: str
    awaited: int
    completed: int
    live: int
    left: int
    early: int
    open: int
    late: int


@dataclass(frozen=True)
class Returning:
    """Somebody who completed a wave and has not completed the next.

    Attributes:
        participant: The pseudonym.
        recruiter: Where they came from.
        worker: Who they are there; none if nobody knows.
        wave: What they may come back for.
        begun: Whether they have begun it.
    """

    participant: str
    recruiter: str
    worker: str | None
    wave: NextWave
    begun: bool


def waves_of(study: Row[Any]) -> dict[str, Wave]:
    """The waves of a study as it is run now."""
    definition = json.loads(study.definition).get("design", {})
    if not definition.get("waves"):
        return {}
    waves = joined(definition, json.loads(study.operation))["waves"]
    return {name: Wave.model_validate(settings) for name, settings in waves.items()}


def wave_progress(
    connection: Connection, study: Row[Any], now: datetime
) -> tuple[WaveProgress, ...]:
    """How far each later wave is."""
    waves = waves_of(study)
    by_wave = _by_wave(connection, study) if waves else {}
    made = []
    for number, name in enumerate(waves, start=2):
        counts = dict.fromkeys((COMPLETED, LIVE, "left", EARLY, OPEN, LATE), 0)
        before, own = by_wave.get(number - 1, {}), by_wave.get(number, {})
        done = {person: row for person, row in before.items() if row.state == COMPLETED}
        for person, row in done.items():
            if person in own:
                state = own[person].state
                counts[state if state in (COMPLETED, LIVE) else "left"] += 1
            else:
                following = next_wave(waves, number - 1, row.ended_at)
                assert following is not None
                counts[following.standing(now)] += 1
        made.append(WaveProgress(number, name, len(done), *counts.values()))
    return tuple(made)


def returning(
    connection: Connection, study: Row[Any], wave: int, secrets: Secrets
) -> tuple[Returning, ...]:
    """Who may come back for a wave: completed the one before, and not this one."""
    waves, by_wave = waves_of(study), _by_wave(connection, study)
    own, found = by_wave.get(wave, {}), []
    for person, row in by_wave.get(wave - 1, {}).items():
        following = next_wave(waves, wave - 1, row.ended_at) if row.state == COMPLETED else None
        if following is None or (person in own and own[person].state != LIVE):
            continue
        worker = row.worker_sealed and secrets.unseal(row.worker_sealed, owner=row.pseudonym)
        found.append(Returning(row.pseudonym, row.recruiter, worker, following, person in own))
    return tuple(found)


def _by_wave(connection: Connection, study: Row[Any]) -> dict[int, dict[int, Row[Any]]]:
    """The last session of everybody who counts, by wave and person."""
    query: Select[Any] = (
        select(
            sessions.c.participant_id,
            sessions.c.wave,
            STATE.label("state"),
            sessions.c.ended_at,
            participants.c.pseudonym,
            participants.c.recruiter,
            participants.c.worker_sealed,
        )
        .join(participants, participants.c.id == sessions.c.participant_id)
        .where(
            participants.c.study_id == study.id,
            participants.c.excluded_at.is_(None),
            sessions.c.placed_at.is_not(None),
            sessions.c.state != RESTARTED,
        )
        .order_by(sessions.c.participant_id, sessions.c.attempt)
    )
    made: dict[int, dict[int, Row[Any]]] = {}
    for row in connection.execute(query):
        made.setdefault(row.wave, {})[row.participant_id] = row
    return made
