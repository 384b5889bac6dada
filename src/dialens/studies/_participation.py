"""Taking part in process: the same plan, validation and store as behind the pages, no browser.

A participation is a generator of waits, so that many can be interleaved by whoever keeps the
clock: simulated time for simulated participants, real time for a judge that computes.
"""

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import func, insert, select, update

from dialens.studies._conversations import filled, is_absent, talk_at
from dialens.studies._exchange import TalkState
from dialens.studies._pace import due_at
from dialens.studies._raters import Rater, RaterReply, seen
from dialens.studies._study import Study
from dialens.studies._types import (
    FAILED_COMPREHENSION,
    JSON,
    NO_CONSENT,
    SCREENED_OUT,
    WITHDRAWN,
    Answer,
    AnswerError,
    Screen,
)
from dialens.studies._waves import codes_of, next_wave
from dialens.studies.design import Conversations
from dialens.studies.instruments import validate
from dialens.studies.plan import Planner, Verdict, consent_answers, verdict
from dialens.studies.recruiters import completion_code
from dialens.studies.simulation import last_message, line, stand_in
from dialens.studies.store import (
    COMPLETED,
    AgentReply,
    Blocked,
    ConversationStore,
    Ending,
    Event,
    ParticipantMessage,
    Session,
    SessionOver,
    Store,
    StudyFull,
    Submission,
    first_shown,
    participants,
    sessions,
    settings,
    studies,
)

LEFT, DECLINED, FULL, BLOCKED, EXPIRED = "left", "declined", "full", "blocked", "expired"
OUTCOMES = (
    COMPLETED, SCREENED_OUT, FAILED_COMPREHENSION, WITHDRAWN,
    LEFT, DECLINED, FULL, BLOCKED, EXPIRED,
)  # fmt: skip
_ENDED = (SCREENED_OUT, FAILED_COMPREHENSION, WITHDRAWN)

_TYPING_S = 14.0
_REPLY_S = 2.0
_LATER_S = 600.0  # who comes back does so soon after the next part opens

Clock = Callable[[], datetime]
Waits = Generator[float, None, str]
"""Seconds until the rater does something next; at the end, one of `OUTCOMES`."""


@dataclass(frozen=True)
class Entrance:
    """Where raters come in.

    Attributes:
        store: The database.
        planner: Of the study, which is registered there.
        recruiter: What the data say of where raters come from.
        clock: The time.
    """

    store: Store
    planner: Planner
    recruiter: str
    clock: Clock


def take_part(entrance: Entrance, rater: Rater, *, tie_breaker: int) -> Waits:
    """A whole participation, from the first screen or from where the rater was interrupted.

    Who completes a part comes back for the next when it is open, if the rater does; the outcome is
    that of the first part, on which places depend.

    What was answered before an interruption is gone through again in thought: a rater that
    answers the same way is then as far in time as it would have been.

    Args:
        entrance: Where the rater comes in.
        rater: Who takes part.
        tie_breaker: Random number that decides between equally empty cells.

    Examples:
        >>> import tempfile
        >>> from datetime import UTC
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies.simulation import World
        >>> from dialens.studies.simulation import Population
        >>> from dialens.studies._study import study_of
        >>> world = World(study_of(TEA), Population(), seed=1)
        >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
        >>> with Store.open(f"sqlite:///{tempfile.mkdtemp()}/tea.db") as store:
        ...     study = store.register(world.study, now=noon)
        ...     door = Entrance(store, Planner(world.study), "simulation", lambda: noon)
        ...     waits = list(take_part(door, world.person(1), tie_breaker=1))
        ...     len(waits), store.answers_frame(study.hash)["rater_kind"].unique().to_list()
        (14, ['simulated'])
    """
    outcome, session = yield from _take_wave(entrance, rater, tie_breaker)
    last: str = outcome
    while last == COMPLETED and session is not None:
        ended_at = entrance.store.session(session.token).ended_at
        assert ended_at is not None
        waves = entrance.planner.study.design.waves
        following = next_wave(waves, session.wave, ended_at)
        back = None if following is None else rater.returns(following.number)
        if following is None or back is None:
            break
        yield max((following.opens_at - entrance.clock()).total_seconds(), 0.0) + _LATER_S
        last, session = yield from _take_wave(entrance, back, tie_breaker)
        if session is not None and session.wave < following.number:
            break  # the next part was not open to them
    return outcome


def _take_wave(
    entrance: Entrance, rater: Rater, tie_breaker: int
) -> Generator[float, None, tuple[str, Session | None]]:
    """The part of a study that is open to a rater, to its end; the outcome, and the session."""
    store, clock = entrance.store, entrance.clock
    study = entrance.planner.study
    try:
        session = store.begin(
            study.hash,
            recruiter=entrance.recruiter,
            worker=rater.name,
            now=clock(),
            seed_source=lambda: tie_breaker,
            rater_kind=rater.kind,
        )
    except StudyFull:
        return FULL, None
    except Blocked:
        return BLOCKED, None
    except SessionOver:
        return EXPIRED, None
    if session.state in (COMPLETED, *_ENDED):
        return session.state, session
    asked = _asked(entrance, session)
    talks = study.design.conversations
    index = 0
    while index < len(asked):
        screen = asked[index]
        said = () if talks is None else ConversationStore(store.database).exchanges(session.token)
        if is_absent(screen, said):
            if index >= session.index:
                nothing = Submission(replace(screen, fields=()), index, {}, "passed-over")
                store.submit(session.token, nothing, now=clock())
            index += 1
            continue
        reply = rater.reply(seen(filled(screen, said)))
        if reply is None:
            return LEFT, session
        shown_at = clock()
        if screen.deadline_s is not None and index >= session.index:
            first_shown(store.database, session.token, index, shown_at)
        if talks is not None and screen.kind == "chat":
            try:
                yield from _converse(store, session, index, screen, rater.name, talks, clock)
            except SessionOver:
                return EXPIRED, session
        yield reply.seconds
        answers, refused = _answers(entrance, screen, reply)
        if refused:  # a page would ask again, too: once
            again = rater.reply(seen(filled(screen, said)))
            if again is None:
                return LEFT, session
            yield again.seconds
            reply = replace(again, seconds=reply.seconds + again.seconds)
            answers, refused = _answers(entrance, screen, reply)
        follows = verdict(study.design, asked, index, answers)
        if index < session.index:
            # A sign of life at every screen, so that places are free when they would have been.
            store.log_events(session.token, screen.id, (), now=clock())
            index += 1 + follows.skip
            continue
        if screen.kind == "consent":
            if answers["consent"] != "yes":
                store.depart(session.token, NO_CONSENT)
                return DECLINED, None
            try:
                session = store.admit(session.token, now=clock(), seed_source=lambda: tie_breaker)
            except StudyFull:
                store.depart(session.token, FULL)
                return FULL, None
            asked = _asked(entrance, session)
        try:
            given = _Given(index, screen, answers, reply, shown_at, refused)
            _submit(entrance, session, given, follows)
        except SessionOver:
            return EXPIRED, session
        if follows.outcome is not None:
            return follows.outcome, session
        index += 1 + follows.skip
    code = codes_of(study.design, session.wave).completed
    store.complete(session.token, screens=len(asked), now=clock(), code=code)
    return COMPLETED, session


def _asked(entrance: Entrance, session: Session) -> list[Screen]:
    screens = entrance.planner.screens(session.cell, session.seed, wave=session.wave)
    return [screen for screen in screens if screen.kind != "end"]


def _answers(
    entrance: Entrance, screen: Screen, reply: RaterReply
) -> tuple[Answer, dict[str, str]]:
    """Answers in their stored form, and why those that are refused are missing, by field."""
    answers: Answer = {}
    refused: dict[str, str] = {}
    for one in screen.fields:
        try:
            value = validate(one, reply.answers.get(one.name), overdue=reply.overdue)
        except AnswerError as error:
            value, refused[one.name] = None, error.message
        answers[one.name] = value
    if screen.kind == "consent":
        answers = consent_answers(screen, answers, entrance.planner.study.texts)[0]
    return answers, refused


@dataclass(frozen=True)
class _Given:
    """What a rater gave on a screen."""

    index: int
    screen: Screen
    answers: Answer
    reply: RaterReply
    shown_at: datetime
    refused: Mapping[str, str]


def _converse(
    store: Store, session: Session, index: int, screen: Screen, who: str, talks: Conversations,
    clock: Callable[[], datetime],
) -> Generator[float, None, None]:  # fmt: skip
    """Have a conversation in process, from wherever it was interrupted; gives the waits.

    No agent is asked: it may cost money, and a simulation is there to try a design before anybody
    is paid. Over HTTP simulated participants talk with the server's real agents.
    """
    conversations, talk = ConversationStore(store.database), talk_at(screen, talks)
    only, first = screen.state.get("exchange"), talk.names[0]
    numbers = range(1, talk.most + 1) if only is None else [int(only)]
    last = last_message(who, first, talk.least, talk.most)

    def state() -> TalkState:
        return TalkState(talk, conversations.exchanges(session.token), clock())

    for number in numbers:
        yield _TYPING_S
        before = state()
        if before.answered >= number or session.index > index:
            continue
        if before.over or number > last:
            conversations.end(session.token, talk, by_participant=True, now=clock())
            return
        text = line(who, first, number)
        message = ParticipantMessage(talk, index, number, text, f"{number}")
        _, leases = conversations.say(session.token, message, server=who, now=clock())
        if not leases:  # interrupted between the two
            taken = (
                conversations.take_over(session.token, talk, side, number, server=who, now=clock())
                for side in talk.sides
            )
            leases = tuple(lease for lease in taken if lease is not None)
        yield _REPLY_S
        for lease in leases:
            text = stand_in(lease.side.agent, number)
            due = due_at(talks, text, lease, session)
            reply = AgentReply(text, _REPLY_S, due_at=due)
            conversations.store_reply(lease, reply, now=clock())
        shown = [one.shown_at for one in state().exchanges if one.shown_at is not None]
        if talks.common_pace is not None and shown:
            yield max((max(shown) - clock()).total_seconds(), 0.0)


def _submit(entrance: Entrance, session: Session, given: _Given, follows: Verdict) -> None:
    now = entrance.clock()
    page = f"{session.attempt}-{given.index}"
    events = _events(given.reply, page, given.shown_at, given.refused)
    submission = Submission(
        given.screen, given.index, given.answers, page, given.shown_at, now, events, follows.skip
    )
    study = entrance.planner.study
    if follows.outcome is not None:
        submission = ending(submission, study, follows, session)
    entrance.store.submit(session.token, submission, now=now)


def ending(submission: Submission, study: Study, follows: Verdict, session: Session) -> Submission:
    """A submission that ends its session; answers of who has not agreed to anything are left out.

    Args:
        submission: The answers that end it.
        study: The study.
        follows: How it ends.
        session: That it ends; who has no place has not agreed to take part.
    """
    assert follows.outcome is not None
    code = completion_code(study, follows.outcome, session.wave)
    ends = Ending(follows.outcome, follows.reason, code)
    if session.placed_at is not None:
        return replace(submission, ends=ends)
    bare = replace(submission.screen, fields=())
    return replace(submission, screen=bare, answers={}, events=(), ends=ends, paradata=None)


def _events(
    reply: RaterReply, page: str, shown_at: datetime, refused: Mapping[str, str]
) -> list[Event]:
    """What a browser would have logged of a screen, and why answers are missing."""
    moments = [("shown", 0.0)]
    here = reply.seconds - reply.away_s
    if reply.away_s:
        moments += [("hidden", here / 2), ("visible", here / 2 + reply.away_s)]
    if reply.answers:
        moments.append(("first_input", reply.away_s + here * 0.7))
    moments.append(("submitted", reply.seconds))
    made = [
        Event(kind, shown_at + timedelta(seconds=at), page, serial)
        for serial, (kind, at) in enumerate(moments)
    ]
    end = shown_at + timedelta(seconds=reply.seconds)
    return made + [
        Event("refused", end, page, serial, name, {"reason": why})
        for serial, (name, why) in enumerate(refused.items(), start=len(made))
    ]


def attendance(store: Store, study: str) -> dict[str, int]:
    """How many raters of each kind have ever begun a study, by its hash.

    Examples:
        >>> import tempfile
        >>> with Store.open(f"sqlite:///{tempfile.mkdtemp()}/none.db") as store:
        ...     attendance(store, "9c1e")
        {}
    """
    query = (
        select(participants.c.rater_kind, func.count())
        .join(studies, studies.c.id == participants.c.study_id)
        .where(studies.c.hash == study)
        .group_by(participants.c.rater_kind)
        .order_by(participants.c.rater_kind)
    )
    with store.database.reading() as connection:
        return {row[0]: row[1] for row in connection.execute(query)}


def standing(
    store: Store, study: str, recruiter: str, names: Iterable[str]
) -> dict[str, tuple[str, int, int]]:
    """State, screens submitted and wave of the last session of those who have begun, by name."""
    query = (
        select(
            participants.c.worker_mark,
            func.coalesce(sessions.c.outcome, sessions.c.state).label("state"),
            sessions.c.position,
            sessions.c.wave,
        )
        .join(studies, studies.c.id == participants.c.study_id)
        .join(sessions, sessions.c.participant_id == participants.c.id)
        .where(studies.c.hash == study, participants.c.recruiter == recruiter)
        .order_by(sessions.c.attempt)
    )
    with store.database.reading() as connection:
        found = connection.execute(query)
        states = {row.worker_mark: (row.state, row.position, row.wave) for row in found}
    marks = {name: store.secrets.mark(recruiter, name) for name in names}
    return {name: states[mark] for name, mark in marks.items() if mark in states}


def note(store: Store, name: str, value: JSON) -> None:
    """Keep something about the data with the data, as JSON; a later value replaces it."""
    text = json.dumps(value, ensure_ascii=False)
    with store.database.writing() as connection:
        known = update(settings).where(settings.c.name == name).values(value=text)
        if not connection.execute(known).rowcount:
            connection.execute(insert(settings).values(name=name, value=text))


def noted(store: Store, name: str) -> JSON:
    """What `note` kept; none if there is nothing."""
    query = select(settings.c.value).where(settings.c.name == name)
    with store.database.reading() as connection:
        text = connection.execute(query).scalar_one_or_none()
    return None if text is None else json.loads(text)


def counted(outcomes: Iterable[str]) -> dict[str, int]:
    """How many of each outcome, in the order of `OUTCOMES`.

    Examples:
        >>> counted(["left", "completed", "left"])
        {'completed': 1, 'left': 2}
    """
    counts = Counter(outcomes)
    return {name: counts[name] for name in OUTCOMES if counts[name]}
