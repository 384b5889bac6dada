"""Submissions that wait together: everybody is told of their own, once it is on disk."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.studies.store import PendingSubmission, Receipt, Session, Store, UnknownSession
from dialens.web._intake import Intake
from tests.studies.store.people import NOON, arrive, given, register
from tests.web.browsers import Browser, Reply, Tally, in_own_loop, whole_form
from tests.web.conftest import Host, Hosting, kept, tea
from tests.web.dying import die_before_the_reply
from tests.web.servers import KEY, START

STORED, REPEATED = Receipt(1, "stored"), Receipt(1, "repeated")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'study.db'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url, secrets=KEY) as opened:
        yield opened


def people(store: Store, count: int) -> list[Session]:
    study = register(store)
    return [arrive(store, study) for _ in range(count)]


def first(session: Session) -> PendingSubmission:
    return PendingSubmission(session.token, given(0), NOON)


def test_more_than_a_group_holds(store: Store) -> None:
    crowd = people(store, 230)

    async def work() -> list[Receipt]:
        intake = Intake(store)
        return await asyncio.gather(*(intake.submit(first(one)) for one in crowd))

    assert in_own_loop(work()) == [STORED] * 230
    assert store.answers_frame("hash-of-tea").height == 460


def test_a_screen_after_the_other_and_a_stranger_among_them(store: Store) -> None:
    crowd = people(store, 5)

    async def work() -> None:
        intake = Intake(store)

        async def one(session: Session) -> list[int]:
            sent = [PendingSubmission(session.token, given(at), NOON) for at in range(4)]
            return [(await intake.submit(waiting)).index for waiting in sent]

        async def stranger() -> None:
            for _ in range(4):
                with pytest.raises(UnknownSession):
                    await intake.submit(PendingSubmission("nobody's", given(0), NOON))

        *steps, _ = await asyncio.gather(*map(one, crowd), stranger())
        assert steps == [[1, 2, 3, 4]] * 5

    in_own_loop(work())


def test_who_hangs_up_while_waiting_harms_nobody(store: Store) -> None:
    crowd = people(store, 4)

    async def work() -> None:
        intake = Intake(store)
        tasks = [asyncio.create_task(intake.submit(first(one))) for one in crowd]
        await asyncio.sleep(0)
        tasks[1].cancel()
        told = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(told.pop(1), asyncio.CancelledError)
        assert told == [STORED] * 3

    in_own_loop(work())


def test_a_loop_that_ends_leaves_the_next_one_a_clean_table(store: Store) -> None:
    crowd = people(store, 150)
    intake = Intake(store)

    async def leave() -> None:
        for one in crowd:
            asyncio.create_task(intake.submit(first(one)))  # noqa: RUF006
        while store.session(crowd[0].token).index == 0:
            await asyncio.sleep(0)
            time.sleep(0.01)

    async def again() -> list[Receipt]:
        return await asyncio.gather(*(intake.submit(first(one)) for one in crowd))

    in_own_loop(leave())
    told = in_own_loop(again())
    # The first group was stored and not yet told, the second never left.
    assert told == [REPEATED] * 100 + [STORED] * 50


def test_a_store_that_is_broken_is_told_to_all(store: Store) -> None:
    crowd = people(store, 3)

    async def work() -> list[Receipt | BaseException]:
        intake = Intake(store)
        sent = [intake.submit(first(one)) for one in crowd]
        return await asyncio.gather(*sent, return_exceptions=True)

    with store.database.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE answers RENAME TO elsewhere")
    told = in_own_loop(work())
    assert all(isinstance(one, DialensError) for one in told)
    with store.database.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE elsewhere RENAME TO answers")
    assert in_own_loop(work()) == [STORED] * 3


@pytest.mark.slow
def test_killed_between_commit_and_reply(url: str, store: Store) -> None:
    crowd = people(store, 3)
    process = START.Process(target=die_before_the_reply, args=(url, [one.token for one in crowd]))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    # Nobody got a reply, so everybody sends the same again; it counts once.
    assert [store.submit(one.token, given(0), now=NOON) for one in crowd] == [REPEATED] * 3
    assert store.answers_frame("hash-of-tea").height == 6


@pytest.mark.slow
def test_what_can_come_at_the_same_time_over_http(host: Hosting) -> None:
    server = host(tea())
    port, count = int(server.url.rpartition(":")[2]), 12
    draw, tally = random.Random(5), Tally()

    async def work() -> list[Reply]:
        browsers = [Browser(port, f"person-{n}", tally) for n in range(count)]
        forms = [await _to_ratings(one, draw) for one in browsers]
        for one in browsers:
            one.close()  # those who were first have waited longer than a server keeps a line open
        field = next(name for name in forms[1] if name.startswith("a:"))
        forms[1] |= {field: "-1"}
        forms[2] |= {"ticket": forms[3]["ticket"]}
        forms[4] |= {"key": "no page of ours"}
        forms[5] |= {"screen": "no-such-screen"}
        forms[6] |= {"index": "9" * 30}
        with kept(server) as store:
            study = store.studies()[0].hash
            store.forget(store.participants_of("link", "person-7")[study])
        # A double click goes through two connections.
        browsers.append(Browser(port, "person-0", tally, cookies=dict(browsers[0].cookies)))
        forms.append(forms[0])
        pairs = zip(browsers, forms, strict=True)
        sent = [one.ask("POST", "/study", form, script=True) for one, form in pairs]
        replies = await asyncio.gather(*sent)
        for one in browsers:
            one.close()
        return replies

    replies = in_own_loop(work())
    onward, start = (200, {"next": "/study"}), (200, {"next": "/"})
    told = [(one.status, _body(one)) for one in replies]
    assert [status for status, _ in told] == [200, 422, 403, 200, 400] + [200] * 8
    assert told[7] == start
    assert all(told[n] == onward for n in (0, 3, 5, 6, 8, 9, 10, 11, 12))
    assert _ratings(server) == {f"person-{n}" for n in (0, 3, 8, 9, 10, 11)}


async def _to_ratings(browser: Browser, draw: random.Random) -> dict[str, str]:
    """Take part up to the first rating; its form, filled in."""
    screen = await browser.begin()
    while True:
        form, _ = whole_form(screen, lambda: "10", draw)
        if screen.kind == "rating":
            return form
        await browser.submit(form)
        screen = await browser.page()


def _body(reply: Reply) -> object:
    return json.loads(reply.text)


def _ratings(server: Host) -> set[str]:
    """Who has ratings, each once."""
    with kept(server) as store:
        study = store.studies()[0].hash
        frame = store.answers_frame(study)
        frame = frame.filter(frame["kind"] == "rating")
        assert not frame.select("rater", "screen", "field").is_duplicated().any()
        names = {f"person-{n}" for n in range(12)}
        known = {name: store.participants_of("link", name).get(study) for name in names}
        raters = set(frame["rater"])
        return {name for name, who in known.items() if who in raters}
