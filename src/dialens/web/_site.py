"""Everything the pages of one study share."""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from starlette.requests import Request

from dialens.agents import Agent
from dialens.base import DialensError, counted, first_line
from dialens.studies import NextWave, Screen, Study, estimate, media_files, next_wave
from dialens.studies.design import MTurkRecruiter
from dialens.studies.plan import Planner
from dialens.studies.recruiters import Return, completion_code, recruiters
from dialens.studies.store import (
    COMPLETED,
    ConversationStore,
    EndedLogins,
    LoginTries,
    OperationStore,
    Session,
    Store,
    StudyRecord,
)
from dialens.studies.texts import Texts
from dialens.web._arrival import Arrival, WrongDevice
from dialens.web._cookies import CookieJar, LoginScope, cookie_name
from dialens.web._devices import device_of
from dialens.web._operation import RunningStudy
from dialens.web._pages import Pages
from dialens.web._password import Password
from dialens.web._replies import Replies
from dialens.web._root_path import root_path
from dialens.web._talking_agents import open_agents
from dialens.web._watching import Watch

MTURK = "https://www.mturk.com"
MTURK_SANDBOX = "https://workersandbox.mturk.com"

UNREADABLE = (DialensError, ValueError, KeyError, TypeError)
"""What is raised if a definition in the database is not one that this dialens can serve."""

Clock = Callable[[], datetime]


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Site:
    """A study that is being served.

    Attributes:
        study: What is asked.
        store: Where answers go.
        planner: Gives everybody's screens.
        cookies: What browsers keep.
        password: The researcher's.
        pages: Makes HTML in the study's own language.
        minutes: What a participation takes, roughly, in the longest cell.
        clock: The time.
        running: How the study is run now.
        replies: Asks agents, where participants talk with them.
        media: Where pictures, sounds and films of items lie, by name.
        any_device: Whether people may take part on devices that the study is not for.
        per_address: How many may begin from one address within ten minutes; any number if 0.
        folder: Where the study file lies.
        root: The path that all addresses begin with; empty if the study has a host of its own.
        all_studies: Address of the list of all studies of the server; none if this is the only one.
        versions: Sites of earlier versions that people are still in, by the hash of the study.
    """

    study: Study
    store: Store
    planner: Planner
    cookies: CookieJar
    password: Password
    pages: Pages
    minutes: int
    clock: Clock
    running: RunningStudy
    replies: Replies | None = None
    media: Mapping[str, Path] = field(default_factory=dict)
    any_device: bool = False
    per_address: int = 0
    folder: Path | None = None
    root: str = ""
    all_studies: str | None = None
    versions: "dict[str, Site]" = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        study: Study,
        store: Store,
        *,
        password: str | Password,
        clock: Clock = _now,
        folder: Path | None = None,
        agents: Mapping[str, Agent] | None = None,
        root: str = "",
        login: LoginScope | None = None,
    ) -> "Site":
        """Register a study in its store and make it ready to be served.

        Args:
            study: The study.
            store: Where answers go.
            password: For the researcher's pages.
            clock: The time, with its zone.
            folder: Where the study file lies; paths of agents and media start there.
            agents: Whom participants talk with, by name; made as the study says if not given.
            root: The path that all addresses begin with, such as /warmth.
            login: Where the researcher's login counts; in this study if not given.
        """
        replies = _replies(study, store, clock, folder, agents)
        store.register(study, now=clock())
        if isinstance(password, str):
            password = Password(password, LoginTries(store.database, store.secrets, clock))
        key = store.secrets.signing_key()
        framed = isinstance(study.design.recruiter, MTurkRecruiter)
        # Not the version: a new one has to know people who are under way in the last.
        below = root_path(root)
        own = f"{cookie_name(study.name)}-researcher"
        scope = LoginScope(own, password.bound(key), below, EndedLogins(store.database))
        cookies = CookieJar(key, study.name, framed=framed, root=below, login=login or scope)
        site = cls._made(study, store, cookies, password, clock, replies, folder)
        if login is not None:
            site = replace(site, all_studies=f"{login.root}/researcher")
        for record in store.studies():
            if record.name == study.name and record.hash != study.hash:
                site._add_version(record)
        return site

    @classmethod
    def _made(
        cls,
        study: Study,
        store: Store,
        cookies: CookieJar,
        password: Password,
        clock: Clock,
        replies: Replies | None,
        folder: Path | None,
    ) -> "Site":
        return cls(
            study,
            store,
            Planner(study),
            cookies,
            password,
            Pages(study.design, root=cookies.root, kiosk=is_kiosk(study)),
            round(max(cell.minutes for cell in estimate(study).cells)),
            clock,
            RunningStudy(study, store),
            replies,
            media_files(study, folder or Path()),
            folder=folder,
            root=cookies.root,
        )

    def _add_version(self, record: StudyRecord) -> None:
        """Serve another version to those who are in it, if this dialens can read it."""
        try:
            study = record.study
            replies = _replies(study, self.store, self.clock, self.folder, None)
            self.versions[record.hash] = Site._made(
                study, self.store, self.cookies, self.password, self.clock, replies, self.folder
            )
        except UNREADABLE:
            return

    def serves(self, session: Session) -> bool:
        """Whether a session is of this version, or of another that can be finished here."""
        return session.study == self.study.hash or session.study in self.versions

    def media_file(self, name: str) -> Path | None:
        """Where a picture, sound or film of any version lies; none if there is none."""
        found = (site.media.get(name) for site in (self, *self.versions.values()))
        return next((path for path in found if path is not None), None)

    def note(self, what: str, who: str) -> None:
        """Write down what a researcher did, in the log of changes."""
        OperationStore(self.store, "dashboard", who).note(self.study.hash, what, now=self.clock())

    def close(self) -> None:
        """Stop watching and asking agents, in all versions."""
        for site in (self, *self.versions.values()):
            site.watch.close()
            if site.replies is not None:
                site.replies.close()

    @cached_property
    def watch(self) -> Watch:
        """Sees how the study stands."""
        return Watch(self.store, self.study, self.clock)

    @cached_property
    def _translated_pages(self) -> dict[str, Pages]:
        kiosk = is_kiosk(self.study)
        return {
            name: Pages(study.design, root=self.root, kiosk=kiosk)
            for name, study in self.study.translations.items()
        }

    def pages_in(self, language: str | None) -> Pages:
        """Pages in a language of the study; in its own for any other, or none."""
        return self._translated_pages.get(language or "", self.pages)

    @cached_property
    def researcher_pages(self) -> Pages:
        """The researcher's pages, which are in English."""
        return Pages(self.study.design, Texts.of("en"), root=self.root)

    def language(self, request: Request) -> str:
        """The language of who asks: that of the session, else the one chosen by link, or before."""
        visit = self.cookies.visit(request)
        chosen = request.query_params.get("lang")
        before = None if visit is None else visit.language
        wanted = (before,) if visit is not None and visit.token is not None else (chosen, before)
        known = [name for name in wanted if name in self.study.languages]
        return known[0] if known and known[0] else self.study.design.language

    def pages_for(self, request: Request) -> Pages:
        """Pages in the language of who asks."""
        return self.pages_in(self.language(request))

    @property
    def framed_by(self) -> tuple[str, ...]:
        """Sites that show the study within theirs."""
        return (MTURK, MTURK_SANDBOX) if self._mturk else ()

    @property
    def _mturk(self) -> MTurkRecruiter | None:
        recruiter = self.running.now().design.recruiter
        return recruiter if isinstance(recruiter, MTurkRecruiter) else None

    @property
    def submit_to(self) -> str:
        """Where Mechanical Turk takes the last form; never what an address claims."""
        sandbox = self._mturk is None or self._mturk.sandbox
        return f"{MTURK_SANDBOX if sandbox else MTURK}/mturk/externalSubmit"

    def back(self, arrival: Arrival, code: str) -> Return | None:
        """Where somebody goes at the end, if anywhere: to the platform that they came from."""
        settings = self.running.now().design.recruiter
        kind = recruiters()[settings.kind]
        if kind.back is None:
            return None
        held = dict(arrival.parameters or {})
        if arrival.worker is not None:
            held[kind.names(settings)[0]] = arrival.worker
        return kind.back(settings, code, held)

    def code(self, outcome: str = "completed", wave: int = 1) -> str | None:
        """The study's own code for how a participation ends; the platform knows the same."""
        return completion_code(self.running.now(), outcome, wave)

    def version_of(self, session: Session) -> "Site":
        """The same study in the version that a session is of."""
        return self.versions.get(session.study, self)

    def minutes_of(self, wave: int) -> int:
        """What a part takes, roughly, in the longest cell."""
        if wave == 1:
            return self.minutes
        return round(max(cell.minutes for cell in estimate(self.study, wave=wave).cells))

    def next_wave(self, session: Session) -> NextWave | None:
        """What somebody may come back for who completed a session; none if nothing."""
        if session.state != COMPLETED or session.excluded or session.ended_at is None:
            return None
        return next_wave(self.running.now().design.waves, session.wave, session.ended_at)

    def check_device(self, request: Request, measured: str = "") -> None:
        """Refuse a device that the study is not for.

        Args:
            request: What the browser sent.
            measured: What the page's script found.

        Raises:
            WrongDevice: In words for participants.
        """
        fit = self.study.design.presentation.devices
        if not self.any_device and device_of(request.headers, measured) not in fit:
            say = self.pages_for(request).texts.say
            wanted = ", ".join(say(f"device_{device}") for device in fit)
            raise WrongDevice(say("wrong_device", devices=wanted))

    def screens(self, session: Session) -> tuple[Screen, ...]:
        """What the owner of a session sees, from the first screen to the last."""
        return self.planner.screens(session.cell, session.seed, session.language, session.wave)

    def complete(self, session: Session) -> str:
        """End a session that stands at its last screen; gives the completion code."""
        asked = len(self.screens(session)) - 1
        code = self.code(wave=session.wave)
        return self.store.complete(session.token, screens=asked, now=self.clock(), code=code)

    def tie_breaker(self) -> int:
        """A random number that decides between equally empty cells."""
        return secrets.randbits(63)


def is_kiosk(study: Study) -> bool:
    """Whether people take part one after the other on one computer."""
    return study.design.recruiter.kind == "kiosk"


def _replies(
    study: Study,
    store: Store,
    clock: Clock,
    folder: Path | None,
    agents: Mapping[str, Agent] | None,
) -> Replies | None:
    talks = study.design.conversations
    if talks is None:
        return None
    own = open_agents(study, folder or Path()) if agents is None else agents
    return Replies(ConversationStore(store.database), own, study, clock)


def unserved_versions(store: Store, study: Study, folder: Path) -> Iterator[str]:
    """Says of each other version with people in it that cannot be finished here why not."""
    for record in store.studies():
        if record.name != study.name or record.hash == study.hash:
            continue
        live = sum(cell.live for cell in store.progress(record.hash))
        try:
            open_agents(record.study, folder)
            media_files(record.study, folder)
        except UNREADABLE as error:
            if live:
                people = counted(live, "person is", "people are")
                yield (
                    f"Version {record.version} cannot be finished here, and {people} under way in "
                    f"it: {first_line(error)}"
                )


class SessionCache:
    """A cache of the sessions used last; thread-safe.

    Token, cell and seed of a cached session are right, index and state may be out of date.

    Examples:
        >>> SessionCache(320).get("a token that nobody has") is None
        True
    """

    def __init__(self, size: int) -> None:
        """Keep the last `size` sessions."""
        self._size = size
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, token: str) -> Session | None:
        """The session of a token, if it is known."""
        with self._lock:
            session = self._sessions.get(token)
            if session is not None:
                self._sessions.move_to_end(token)
            return session

    def put(self, session: Session) -> None:
        """Keep a session of this study."""
        with self._lock:
            self._sessions[session.token] = session
            self._sessions.move_to_end(session.token)
            if len(self._sessions) > self._size:
                self._sessions.popitem(last=False)

    def drop(self, token: str) -> None:
        """Forget a session."""
        with self._lock:
            self._sessions.pop(token, None)
