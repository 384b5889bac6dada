"""The store: everything a study's server keeps, on SQLite or PostgreSQL.

Each method is one transaction and safe under many processes. What returns is on disk.
"""

import base64
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

import polars as pl
from sqlalchemy import select, update

from dialens.studies._precision import Precision
from dialens.studies._study import Study
from dialens.studies.store import _figures as figures
from dialens.studies.store import _frames as frames
from dialens.studies.store import _registration as registration
from dialens.studies.store import _submit as submit
from dialens.studies.store._activity import Event
from dialens.studies.store._arrivals import Arrival, SeedSource, admit, begin, come_back, over
from dialens.studies.store._database import Database
from dialens.studies.store._entry import EntryProof
from dialens.studies.store._figures import CellProgress, EarlyEnd, Times
from dialens.studies.store._forget import Forgotten, depart, forget
from dialens.studies.store._keys import check_key, key_beside
from dialens.studies.store._precision import known_precision
from dialens.studies.store._problems import NotFinished, WrongKey
from dialens.studies.store._registration import StudyRecord
from dialens.studies.store._secrets import Entropy, Secrets
from dialens.studies.store._session import (
    Session,
    as_session,
    expire_stale,
    find,
    find_study,
    lock_study,
    study_id,
    study_operation,
)
from dialens.studies.store._submission import Ending, Receipt, Submission, end
from dialens.studies.store._submit import PendingSubmission
from dialens.studies.store._tables import (
    COMPLETED,
    EXPIRED,
    LIVE,
    RESTARTED,
    participants,
    sessions,
    studies,
)
from dialens.studies.store._waves import WaveProgress, wave_progress

_CODE_BYTES = 10
_PATIENCE_S = 10.0


@dataclass(frozen=True)
class Store:
    """A study database.

    Examples:
        >>> import random, tempfile
        >>> from datetime import UTC
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> from dialens.studies._types import Field, Screen
        >>> now = datetime(2026, 1, 1, tzinfo=UTC)
        >>> store = Store.open(f"sqlite:///{tempfile.mkdtemp()}/study.db")
        >>> study = store.register(study_of(TEA), now=now)
        >>> draw = random.Random(1)
        >>> session = store.begin(
        ...     study.hash,
        ...     recruiter="link",
        ...     worker=None,
        ...     now=now,
        ...     seed_source=lambda: draw.getrandbits(63),
        ... )
        >>> screen = Screen("rate-1", "rating", "Tea", fields=(Field("sweet", "likert"),))
        >>> answers = Submission(screen, 0, {"sweet": 3}, key="k1")
        >>> (
        ...     store.submit(session.token, answers, now=now),
        ...     store.submit(session.token, answers, now=now),
        ... )
        (Receipt(index=1, outcome='stored'), Receipt(index=1, outcome='repeated'))
        >>> store.answers_frame(study.hash).height
        1
        >>> store.forget(session.participant).answers
        1
        >>> store.close()
    """

    database: Database
    secrets: Secrets
    entropy: Entropy

    @classmethod
    def open(
        cls,
        url: str,
        *,
        create: bool = True,
        secrets: Secrets | None = None,
        entropy: Entropy = os.urandom,
        needs_key: bool = True,
    ) -> "Store":
        """Connect, and bring the tables up to date.

        Args:
            url: `sqlite:///path` or `postgresql://user:password@host/name`.
            create: Whether an SQLite file that is not there is made, and its key with it.
            secrets: The key. If none is given it is read from `DIALENS_STUDY_KEY`, or for SQLite
                from a file beside the database (`study.db.key`).
            entropy: Random bytes for tokens, pseudonyms and codes.
            needs_key: Whether a lost key is an error. Only ids of people are encrypted: all the
                rest can be read without it (`secrets.is_lost` then).
        """
        key = secrets or Secrets.from_environment(os.environ)
        database = Database.open(url, create=create)
        try:
            if key is None:
                key = key_beside(database, entropy)
            with database.writing() as connection:
                check_key(connection, key)
        except WrongKey:
            if needs_key:
                database.close()
                raise
            key = Secrets(b"")
        except BaseException:
            database.close()
            raise
        return cls(database, key, entropy)

    @classmethod
    def in_memory(cls) -> "Store":
        """A store that is gone when it is closed, to try a study in.

        Examples:
            >>> with Store.in_memory() as store:
            ...     store.studies()
            ()
        """
        return cls(Database.in_memory(), Secrets.generate(), os.urandom)

    def close(self) -> None:
        """Give all connections back."""
        self.database.close()

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def register(self, study: Study, *, now: datetime) -> StudyRecord:
        """Write a study down as its file says; the same study again changes nothing."""
        names = [cell.name for cell in study.cells]
        with self.database.writing() as connection:
            return registration.register(
                connection, registration.record_of(study, now), names, study.targets
            )

    def studies(self) -> tuple[StudyRecord, ...]:
        """All studies, the newest last."""
        with self.database.reading() as connection:
            rows = connection.execute(select(studies).order_by(studies.c.id))
            return tuple(registration.as_record(row) for row in rows)

    def study(self, study: str) -> StudyRecord:
        """A study by its hash."""
        with self.database.reading() as connection:
            return registration.as_record(find_study(connection, study))

    def operation(self, study: str) -> str:
        """How a study is run now, as JSON."""
        with self.database.reading() as connection:
            return study_operation(connection, study)

    def begin(
        self,
        study: str,
        *,
        recruiter: str,
        worker: str | None,
        now: datetime,
        seed_source: SeedSource,
        rater_kind: str = "human",
        language: str | None = None,
        proof: EntryProof | None = None,
    ) -> Session:
        """Let somebody in; who is new gets a place when they agree to take part (`admit`).

        Args:
            study: The hash of its definition.
            recruiter: Where they come from: `link`, `mturk`, `prolific`, …
            worker: Who they are there. Give people by link a random id in a cookie before they
                begin, so that a double click does not make two of them.
            now: The time.
            seed_source: Gives a random number that decides between equally empty cells. The
                session's own seed counts the people in its cell, as counterbalancing needs it.
            rater_kind: `human`, `llm` or `simulated`.
            language: In which they want to take part; none for the study's own.
            proof: What they bring to show who they are; none if the caller knows.

        Raises:
            StudyFull: No place is free.
            Blocked: A known person comes back and the policy is `block`, or somebody with their id.
        """
        mark = None if proof is None else proof.secret_mark(self.secrets, recruiter)
        drawn = seed_source()
        arrival = Arrival(study, recruiter, worker, rater_kind, now, drawn, language, proof, mark)
        with self.database.writing() as connection:
            return begin(connection, arrival, secrets=self.secrets, entropy=self.entropy)

    def admit(self, token: str, *, now: datetime, seed_source: SeedSource) -> Session:
        """Give a place to somebody who agrees to take part; the same one if they have one.

        Raises:
            StudyFull: The last place was taken meanwhile.
        """
        with self.database.writing() as connection:
            return admit(connection, token, now, seed_source())

    def session(self, token: str, *, now: datetime | None = None) -> Session:
        """Where the owner of a token is; changes nothing. By a time, it may have expired.

        Raises:
            UnknownSession: Nobody has this token.
        """
        with self.database.reading() as connection:
            return as_session(find(connection, token), token, now)

    def come_back(self, token: str, *, now: datetime) -> Session:
        """The same, for somebody who returns by cookie: an expired session may go on.

        Raises:
            SessionOver: It expired, and the policy or a lack of places keeps it so.
        """
        with self.database.writing() as connection:
            return come_back(connection, token, now)

    def submit(self, token: str, submission: Submission, *, now: datetime) -> Receipt:
        """Store the answers of a screen; once this returns they are safe.

        Raises:
            SessionOver: A limit is passed, the session ended or was begun anew: nothing was stored.
        """
        return submit.submit(self.database, token, submission, now)

    def submit_together(self, pending: Sequence[PendingSubmission]) -> list[Receipt | Exception]:
        """Store what several participants sent, and wait for the disk once.

        Gives for each the receipt, or the error that `submit` would have raised: what is wrong
        with one does not concern the others.
        """
        return submit.submit_together(self.database, pending)

    def log_events(
        self, token: str, screen: str, events: Sequence[Event], *, now: datetime
    ) -> None:
        """Append what happened on a page, once; none at all are a sign of life still."""
        with self.database.writing() as connection:
            submit.log(connection, token, screen, events, now)

    def complete(self, token: str, *, screens: int, now: datetime, code: str | None = None) -> str:
        """End a session whose screens are all submitted; the same code however often asked.

        One that expired after its last screen is completed all the same: the work was done.

        Args:
            token: Of the session.
            screens: How many there were to submit.
            now: The time.
            code: The study's own completion code; if there is none, one of the person's own.

        Raises:
            NotFinished: Some screens are still to come.
        """
        with self.database.writing() as connection:
            row = find(connection, token, lock=True)
            if row.state == COMPLETED:
                return row.code or ""  # none once ids were deleted
            if row.state == RESTARTED or row.outcome is not None:
                raise over(row, now)
            if row.position < screens:
                raise NotFinished(
                    f"{screens - row.position} of {screens} screens are still to come.",
                    row.position,
                )
            final = code or base64.b32encode(self.entropy(_CODE_BYTES)).decode("ascii")
            connection.execute(
                update(sessions)
                .where(sessions.c.id == row.id)
                .values(state=COMPLETED, code=final, ended_at=now, seen_at=now)
            )
            return final

    def end(self, token: str, ending: Ending, *, now: datetime) -> None:
        """End a session before its last screen, and keep what was given; the place is free again.

        One that is over already stays as it is.
        """
        with self.database.writing() as connection:
            row = find(connection, token, lock=True)
            if row.state in (LIVE, EXPIRED) and row.outcome is None:
                end(connection, row.id, ending, now)

    def depart(self, token: str, outcome: str) -> None:
        """Delete everything about somebody who leaves; only that somebody did is counted."""
        with self.database.writing() as connection:
            depart(connection, token, outcome)
        self.database.scrub()

    def expire(self, study: str, *, now: datetime) -> int:
        """End sessions that have not been heard of for too long; how many there were."""
        with self.database.writing() as connection:
            return expire_stale(connection, lock_study(connection, study), now)

    def worker(self, participant: str) -> str | None:
        """Who a participant is at the recruiter, to approve and pay; none for people by link."""
        with self.database.reading() as connection:
            query = select(participants.c.worker_sealed).where(
                participants.c.pseudonym == participant
            )
            sealed = connection.execute(query).scalar_one_or_none()
        return None if sealed is None else self.secrets.unseal(sealed, owner=participant)

    def participants_of(self, recruiter: str, worker: str) -> dict[str, str]:
        """The pseudonyms of a recruiter's worker, by the hash of the study."""
        mark = self.secrets.mark(recruiter, worker)
        query = (
            select(studies.c.hash, participants.c.pseudonym)
            .join(studies, studies.c.id == participants.c.study_id)
            .where(participants.c.recruiter == recruiter, participants.c.worker_mark == mark)
        )
        with self.database.reading() as connection:
            return {row.hash: row.pseudonym for row in connection.execute(query)}

    def completions(self, study: str) -> dict[str, str]:
        """The completion codes of those who reached the end of the first wave, by pseudonym."""
        with self.database.reading() as connection:
            return figures.completions(connection, study_id(connection, study))

    def forget(self, participant: str, *, patience_s: float = _PATIENCE_S) -> Forgotten:
        """Delete a person: everything that belongs to a pseudonym, in every table.

        SQLite overwrites the bytes, unless somebody reads at the moment; PostgreSQL needs a vacuum
        (`Database.vacuum`). Exports are marked, for `dialens.studies.export.recall`.

        Args:
            participant: The pseudonym.
            patience_s: How long to wait for others to end their reading.
        """
        with self.database.writing() as connection:
            gone = forget(connection, participant)
        return replace(gone, erased=self.database.scrub(patience_s=patience_s))

    def consent_given(self, token: str) -> tuple[dict[str, Any], datetime | None]:
        """What the owner of a token agreed to last, in whichever wave, and when; empty if not."""
        with self.database.reading() as connection:
            return submit.consent_given(connection, find(connection, token).participant_id)

    def progress(self, study: str) -> tuple[CellProgress, ...]:
        """Counts of every cell in the first wave; call `expire` before, or who left is live."""
        with self.database.reading() as connection:
            return figures.progress(connection, study_id(connection, study))

    def waves(self, study: str, *, now: datetime) -> tuple[WaveProgress, ...]:
        """How far the waves after the first are."""
        with self.database.reading() as connection:
            return wave_progress(connection, find_study(connection, study), now)

    def precision(self, study: str) -> Precision | None:
        """How precisely it is known what is compared; none where that steers nothing."""
        with self.database.reading() as connection:
            return known_precision(connection, find_study(connection, study))

    def early_ends(self, study: str) -> tuple[EarlyEnd, ...]:
        """How many did not agree, were screened out, or withdrew, by reason."""
        with self.database.reading() as connection:
            return figures.early_ends(connection, study_id(connection, study))

    def dropout(self, study: str) -> pl.DataFrame:
        """Where people are and where they left, by cell and screen (`figures.DROPOUT`)."""
        with self.database.reading() as connection:
            return figures.dropout(connection, study_id(connection, study))

    def times(self, study: str) -> Times:
        """Median times."""
        with self.database.reading() as connection:
            return figures.times(connection, study_id(connection, study))

    def answers_frame(self, study: str) -> pl.DataFrame:
        """Every answer (`frames.ANSWERS`)."""
        with self.database.reading() as connection:
            return frames.answers_frame(connection, study_id(connection, study))

    def events_frame(self, study: str) -> pl.DataFrame:
        """Every event (`frames.EVENTS`)."""
        with self.database.reading() as connection:
            return frames.events_frame(connection, study_id(connection, study))

    def screens_frame(self, study: str) -> pl.DataFrame:
        """Every submitted screen, with how it was answered (`dialens.studies.Paradata`)."""
        with self.database.reading() as connection:
            return frames.screens_frame(connection, study_id(connection, study))
