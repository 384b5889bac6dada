"""Who comes through the door: somebody new, or somebody known, who gets what the policy says.

A place is taken when a participant agrees to take part (`admit`), not before: who only reads the
consent keeps nobody else out, and the cell they are in until then is provisional.

`resume` goes on where the person left, also after the session expired, if its cell still has a
place. `restart` begins again from the first screen, in the same cell, for they have seen it; the
earlier attempt stays on record. `block` lets nobody back who has submitted a screen. Who completed
gets the completed session again, whatever the policy: the page with the code may have been lost.
Who consented to an earlier version is in that version, unless the study admits them to a later one.

Who completed a part and comes while the next wave is open gets a session of that wave: another
attempt, with the cell and the seed of the first.

All that is for those who are shown to be who began (`_entry`). Who comes with their id alone gets
nothing that they gave or were given: a session under way is left to its owner, one that expired is
begun anew, and one that is over is over.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select, update

from dialens.base import DialensError
from dialens.corpus import RATER_KINDS
from dialens.studies._raters import HUMAN
from dialens.studies._waves import FIRST, next_wave
from dialens.studies._waves import OPEN as IN_TIME
from dialens.studies.store._allocation import choose, why_none
from dialens.studies.store._database import Database
from dialens.studies.store._entry import EntryProof, entry_of, is_known
from dialens.studies.store._precision import steering
from dialens.studies.store._problems import Blocked, SessionOver, StudyFull
from dialens.studies.store._secrets import Entropy, Secrets
from dialens.studies.store._session import (
    TAKES_PLACE,
    Session,
    add_token,
    as_session,
    expire_stale,
    find,
    find_study,
    has_place,
    last_attempt,
    limit_reached,
    lock_study,
    places,
    revived,
    too_old,
)
from dialens.studies.store._tables import (
    COMPLETED,
    EXPIRED,
    IDLE,
    LIVE,
    RESTARTED,
    SESSION,
    cells,
    participants,
    sessions,
    studies,
    tokens,
)
from dialens.studies.store._waves import waves_of
from dialens.studies.texts import Texts

SeedSource = Callable[[], int]
"""A fresh random number for everybody who arrives."""


@dataclass(frozen=True)
class Arrival:
    """Somebody who wants to begin.

    Attributes:
        study: The hash of the study's definition.
        recruiter: Where they come from: `link`, `mturk`, `prolific`, …
        worker: Who they are there; none if nobody knows, and then they are always new.
        rater_kind: `human`, `llm` or `simulated`.
        now: The time.
        tie_breaker: Random number that decides between cells that are equally empty.
        language: In which they want to take part; none for the study's own.
        proof: What they bring to show who they are; none if the caller knows.
        secret_mark: What is kept of the secret that they bring.
    """

    study: str
    recruiter: str
    worker: str | None
    rater_kind: str
    now: datetime
    tie_breaker: int
    language: str | None = None
    proof: EntryProof | None = None
    secret_mark: str | None = None

    @property
    def browser(self) -> str | None:
        """What is kept of the browser's name."""
        return None if self.proof is None else self.proof.browser_hash


def begin(
    connection: Connection, arrival: Arrival, *, secrets: Secrets, entropy: Entropy
) -> Session:
    """A session for somebody who arrives, new or known; somebody new has no place yet."""
    if arrival.rater_kind not in RATER_KINDS:
        raise DialensError(
            f"A rater is one of {', '.join(RATER_KINDS)}; seen: {arrival.rater_kind!r}."
        )
    study = lock_study(connection, arrival.study)
    expire_stale(connection, study, arrival.now)
    token = new_token(entropy)
    mark = None
    if arrival.worker is not None:
        mark = secrets.mark(arrival.recruiter, arrival.worker)
        query = select(participants.c.id).where(
            participants.c.study_id == study.id,
            participants.c.recruiter == arrival.recruiter,
            participants.c.worker_mark == mark,
        )
        known = connection.execute(query).scalar_one_or_none()
        if known is not None:
            return _again(connection, study, known, arrival, token)
        if arrival.rater_kind == HUMAN and not json.loads(study.operation).get("admit_earlier"):
            before = _earlier_version(connection, study, arrival.recruiter, mark)
            if before is not None:
                # An earlier version is locked after a later one, always: no deadlock.
                earlier = lock_study(connection, before.hash)
                return _again(connection, earlier, before.id, arrival, token)
    cell = _free_cell(connection, study, arrival.tie_breaker)
    pseudonym = _pseudonym(entropy)
    sealed = None
    if arrival.worker is not None:
        sealed = secrets.seal(arrival.worker, owner=pseudonym, entropy=entropy)
    new = insert(participants).values(
        study_id=study.id,
        pseudonym=pseudonym,
        recruiter=arrival.recruiter,
        rater_kind=arrival.rater_kind,
        worker_sealed=sealed,
        worker_mark=mark,
        arrived_at=arrival.now,
    )
    person = connection.execute(new.returning(participants.c.id)).scalar_one()
    attempt = (person, cell, 1, _free_seed(connection, cell), FIRST)
    return _started(connection, attempt, arrival, token)


def no_place(database: Database, study: str, now: datetime) -> StudyFull | None:
    """Why somebody new would not be let in now; none if they would."""
    with database.reading() as connection:
        if any(cell.free for cell in places(connection, find_study(connection, study).id)):
            return None
    with database.writing() as connection:
        row = lock_study(connection, study)
        expire_stale(connection, row, now)
        try:
            _free_cell(connection, row, tie_breaker=0)
        except StudyFull as error:
            return error
    return None


def admit(connection: Connection, token: str, now: datetime, tie_breaker: int) -> Session:
    """Give a place to somebody who agreed to take part: from now on cell and seed are theirs."""
    study = lock_study(connection, find(connection, token).study)
    row = find(connection, token, lock=True)
    if row.placed_at is None and row.outcome is None:
        connection.execute(update(sessions).where(sessions.c.id == row.id).values(seen_at=now))
        expire_stale(connection, study, now)
        cell = _free_cell(connection, study, tie_breaker)
        placed = {"cell_id": cell, "seed": _free_seed(connection, cell), "placed_at": now}
        connection.execute(update(sessions).where(sessions.c.id == row.id).values(placed))
    return as_session(find(connection, token), token)


def come_back(connection: Connection, token: str, now: datetime) -> Session:
    """The session of a token, brought back under the policy if it has expired."""
    row = find(connection, token)
    if not _is_late(row, now):
        return as_session(row, token)
    lock_study(connection, row.study)
    row = find(connection, token, lock=True)
    if _is_late(row, now):
        if row.resume != "resume" or too_old(row, now):
            raise over(row, now)
        if row.state == LIVE:  # late, but nobody has taken the place
            connection.execute(update(sessions).where(sessions.c.id == row.id).values(seen_at=now))
        elif not revived(connection, row, now):
            raise over(row, now)
        row = find(connection, token)
    return as_session(row, token)


def _is_late(row: Row[Any], now: datetime) -> bool:
    if row.outcome is not None:
        return False
    return row.state == EXPIRED or limit_reached(row, now) is not None


def over(row: Row[Any], now: datetime) -> SessionOver:
    """The error for a session that takes no more answers."""
    say = Texts.of("en").say
    if row.outcome is not None:
        return SessionOver(say("over_title"), row.outcome)
    if row.state in (COMPLETED, RESTARTED):
        return SessionOver(say(f"over_{row.state}"), row.state)
    limit = SESSION if too_old(row, now) else IDLE
    minutes = (row.longest_s if limit == SESSION else row.stale_after_s) / 60
    return SessionOver(say(f"limit_{limit}", minutes=minutes), EXPIRED, limit, minutes)


def new_token(entropy: Entropy) -> str:
    """A name for a session that nobody can guess: 256 random bits."""
    return base64.urlsafe_b64encode(entropy(32)).decode("ascii").rstrip("=")


def _again(
    connection: Connection, study: Row[Any], person: int, arrival: Arrival, token: str
) -> Session:
    row, proof = last_attempt(connection, person), arrival.proof
    if proof is not None and not is_known(connection, study, row, proof, arrival.secret_mark):
        return _with_an_id_alone(connection, study, row, arrival, token)
    following = _following(study, row, arrival.now)
    if following is not None:
        attempt = (person, row.cell_id, row.attempt + 1, row.seed, following)
        return _started(connection, attempt, arrival, token, placed_at=arrival.now)
    if row.state == COMPLETED or row.outcome is not None or row.placed_at is None:
        return _with_token(connection, row, token, arrival)
    if study.resume == "block":
        # The answer to the first attempt may have been lost on its way: nothing was seen yet.
        if row.position == 0 and row.state == LIVE:
            return _with_token(connection, row, token, arrival)
        raise Blocked("blocked")
    if study.resume == "restart" and row.position > 0:
        return _anew(connection, study, row, arrival, token)
    if row.state == EXPIRED and too_old(row, arrival.now):
        raise over(row, arrival.now)
    if row.state == EXPIRED and not revived(connection, row, arrival.now):
        raise _no_place(connection, study)
    return _with_token(connection, row, token, arrival)


def _anew(
    connection: Connection, study: Row[Any], row: Row[Any], arrival: Arrival, token: str
) -> Session:
    """Another attempt from the first screen, in the same cell; the one before stays on record."""
    if row.state == EXPIRED and not has_place(connection, row):
        raise _no_place(connection, study)
    seed = row.seed
    if row.wave == FIRST:
        seed = _free_seed(connection, row.cell_id, row.seed)
    ended = {"state": RESTARTED, "ended_at": arrival.now}
    connection.execute(update(sessions).where(sessions.c.id == row.id).values(ended))
    attempt = (row.participant_id, row.cell_id, row.attempt + 1, seed, row.wave)
    return _started(connection, attempt, arrival, token, placed_at=arrival.now)


def _with_an_id_alone(
    connection: Connection, study: Row[Any], row: Row[Any], arrival: Arrival, token: str
) -> Session:
    """What somebody gets who names a person, and cannot show that they are that person.

    A platform invites people anew to a later wave, or to a second participation: what its address
    holds is another secret then.
    """
    if row.placed_at is None and row.outcome is None:
        # Nothing was given yet. The browser of before is out, or it would see what is given now.
        connection.execute(delete(tokens).where(tokens.c.session_id == row.id))
        own = update(sessions).where(sessions.c.id == row.id)
        connection.execute(own.values(secret_mark=arrival.secret_mark))
        return _with_token(connection, row, token, arrival)
    only_here = entry_of(study).another_browser == "never"
    if not only_here:
        following = _following(study, row, arrival.now)
        if following is not None:
            attempt = (row.participant_id, row.cell_id, row.attempt + 1, row.seed, following)
            return _started(connection, attempt, arrival, token, placed_at=arrival.now)
        if row.state == EXPIRED and row.outcome is None and study.resume != "block":
            return _anew(connection, study, row, arrival, token)
    under_way = row.state == LIVE and row.outcome is None
    if study.resume == "block" and not under_way:
        raise Blocked("blocked")
    raise Blocked("other_browser" if only_here else "other_address")


def _following(study: Row[Any], row: Row[Any], now: datetime) -> int | None:
    """The wave that is open to somebody who completed the one before; none if none is."""
    if row.state != COMPLETED or row.excluded_at is not None:
        return None
    following = next_wave(waves_of(study), row.wave, row.ended_at)
    if following is None or following.standing(now) != IN_TIME:
        return None
    return following.number


def _earlier_version(
    connection: Connection, study: Row[Any], recruiter: str, mark: str
) -> Row[Any] | None:
    """Who somebody was in an earlier version of a study that they consented to; none if nobody."""
    query: Select[Any] = (
        select(participants.c.id, studies.c.hash)
        .join(studies, studies.c.id == participants.c.study_id)
        .join(sessions, sessions.c.participant_id == participants.c.id)
        .where(
            studies.c.name == study.name,
            studies.c.id < study.id,
            participants.c.recruiter == recruiter,
            participants.c.worker_mark == mark,
            sessions.c.placed_at.is_not(None),
        )
        .order_by(studies.c.id.desc())
        .limit(1)
    )
    return connection.execute(query).one_or_none()


def _with_token(connection: Connection, row: Row[Any], token: str, arrival: Arrival) -> Session:
    add_token(connection, row.id, token, arrival.now, arrival.browser)
    if row.state == LIVE:
        alive = {"seen_at": arrival.now}
        connection.execute(update(sessions).where(sessions.c.id == row.id).values(alive))
    return as_session(find(connection, token), token)


def _free_cell(connection: Connection, study: Row[Any], tie_breaker: int) -> int:
    there, steered = places(connection, study.id), steering(connection, study)
    if steered is None:
        name = choose(there, tie_breaker)
    elif steered.precise:
        raise StudyFull(Texts.of("en").say("closed"), "closed")
    else:
        enough = sum(cell.taken for cell in there) >= steered.at_most
        name = None if enough else choose(there, tie_breaker, steered.needs)
    if name is None:
        raise _no_place(connection, study)
    query = select(cells.c.id).where(cells.c.study_id == study.id, cells.c.name == name)
    return int(connection.execute(query).scalar_one())


def _no_place(connection: Connection, study: Row[Any]) -> StudyFull:
    reason = why_none(places(connection, study.id))
    return StudyFull(Texts.of("en").say(reason), reason)


def _free_seed(connection: Connection, cell: int, *taken: int) -> int:
    """The first seed from 0 that nobody in the cell has, drop-outs and excluded not counted.

    What a plan counterbalances turns with consecutive seeds (`studies.plan`), so that orders are
    balanced among those who stay, and the same from cell to cell.
    """
    query = select(sessions.c.seed).where(sessions.c.cell_id == cell, TAKES_PLACE)
    used = {*connection.execute(query).scalars(), *taken}
    return next(seed for seed in count() if seed not in used)


def _started(
    connection: Connection,
    attempt: tuple[int, int, int, int, int],
    arrival: Arrival,
    token: str,
    *,
    placed_at: datetime | None = None,
) -> Session:
    (person, cell, number, seed, wave), now = attempt, arrival.now
    new = insert(sessions).values(
        participant_id=person,
        cell_id=cell,
        attempt=number,
        seed=seed,
        position=0,
        state=LIVE,
        started_at=now,
        reached_at=now,
        seen_at=now,
        language=arrival.language,
        placed_at=placed_at,
        wave=wave,
        secret_mark=arrival.secret_mark,
    )
    session = connection.execute(new.returning(sessions.c.id)).scalar_one()
    add_token(connection, session, token, now, arrival.browser)
    return as_session(find(connection, token), token)


def _pseudonym(entropy: Entropy) -> str:
    """A name without meaning: neither when nor in which order people came can be read from it."""
    return "p" + base64.b32encode(entropy(10)).decode("ascii").lower()
