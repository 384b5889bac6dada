"""Simulated participants through a real server."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
import uvicorn
from sqlalchemy import select

from dialens.base import DialensError
from dialens.studies import (
    TEA,
    Exchange,
    Study,
    attendance,
    filled,
    is_absent,
    seen,
    simulate_over_http,
    study_of,
)
from dialens.studies._http_participation import take_part_over_http
from dialens.studies.design import AS_IT_COMES
from dialens.studies.instruments import validate
from dialens.studies.plan import plan
from dialens.studies.recruiters import recruiters
from dialens.studies.simulation import Population, World
from dialens.studies.store import ConversationStore, Store, participants, sessions
from dialens.studies.store._tables import cells
from dialens.studies.templates import TEMPLATES
from dialens.web import Site, study_app
from tests.studies.samples import load_template, template_folder

PASSWORD = "green or black tea"
Served = Callable[..., tuple[str, Store]]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Serves studies on loopback, each with a database of its own."""
    running: list[tuple[uvicorn.Server, threading.Thread, Store]] = []

    def serve(study: Study, folder: Path | None = None) -> tuple[str, Store]:
        store = Store.open(f"sqlite:///{tmp_path / f'{len(running)}.db'}")
        app = study_app(Site.of(study, store, password=PASSWORD, folder=folder))
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run)
        thread.start()
        running.append((server, thread, store))
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.02)
        port = server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}", store

    yield serve
    for server, thread, store in running:
        server.should_exit = True
        thread.join()
        store.close()


def through(
    url: str, study: Study, people: Population | None = None, n: int = 3, **more: Any
) -> Any:
    return simulate_over_http(
        url, study, people or Population(), participants=n, password=PASSWORD, **more
    )


def sessions_of(store: Store) -> dict[str, tuple[str, int]]:
    """Cell and seed by pseudonym."""
    query = (
        select(participants.c.pseudonym, cells.c.name, sessions.c.seed)
        .join(sessions, sessions.c.participant_id == participants.c.id)
        .join(cells, cells.c.id == sessions.c.cell_id)
    )
    with store.database.reading() as connection:
        return {row.pseudonym: (row.name, row.seed) for row in connection.execute(query)}


def conversations(store: Store, study: str, pseudonym: str) -> list[Exchange]:
    """What somebody said to an agent, and heard."""
    columns = ("talk", "number", "said", "said_at", "state", "tries", "reply", "ended")
    frame = ConversationStore(store.database).exchanges_frame(study).filter(rater=pseudonym)
    return [Exchange(key="", **row) for row in frame.select(columns).iter_rows(named=True)]


def hurried(study: Study) -> Study:
    """A study whose agents reply as fast as they are, so that nobody has to wait in a test."""
    talks = study.design.conversations
    if talks is None:
        return study
    quick = talks.model_copy(update={"pace": AS_IT_COMES})
    return replace(study, design=study.design.model_copy(update={"conversations": quick}))


@pytest.mark.parametrize("name", [name for name in TEMPLATES if name != "turn-by-turn"])
def test_pages_and_process_give_the_same_answers(name: str, served: Served) -> None:
    """What somebody answers through the pages is what they would have answered without them."""
    study = hurried(load_template(name))
    url, store = served(study, template_folder(name))
    people = Population(inattentive=0.2, speeders=0.2)
    done = through(url, study, people, at_once=3)
    assert done.outcomes == {"completed": 3}
    assert attendance(store, study.hash) == {"simulated": 3}
    frame = store.answers_frame(study.hash)
    world, where = World(study, people, seed=0), sessions_of(store)
    for number in (1, 2, 3):
        person = world.person(number)
        (pseudonym,) = store.participants_of("link", person.name).values()
        given = frame.filter(rater=pseudonym)
        stored = {
            (screen, field): json.loads(value)
            for screen, field, value in given.select("screen", "field", "value").iter_rows()
        }
        expected: dict[Any, Any] = {}
        said = conversations(store, study.hash, pseudonym)
        for screen in plan(study, *where[pseudonym])[:-1]:
            if is_absent(screen, said):
                continue
            reply = person.reply(seen(filled(screen, said)))
            assert reply is not None
            expected |= {
                (screen.id, field.name): validate(field, reply.answers[field.name])
                for field in screen.fields
            }
        assert stored == expected


def test_a_deadline_is_that_of_the_server(served: Served) -> None:
    design = TEA | {"items": {"inline": TEA["items"]["inline"][:1]}, "targets": 1}
    study = study_of(design | {"presentation": {"deadline": 0.6}, "factors": {}})
    url, store = served(study)
    assert through(url, study, n=1).outcomes == {"completed": 1}
    rated = store.answers_frame(study.hash).filter(pl.col("kind") == "rating")
    assert "null" in set(rated["value"])  # what was not answered in time


def test_who_comes_again_goes_on(served: Served) -> None:
    design = TEA | {"items": {"inline": TEA["items"]["inline"][:2]}}
    study = study_of(design)
    url, store = served(study)
    world = World(study, Population(), seed=0)

    def visit(person: Any) -> str:
        with httpx.Client(base_url=url, trust_env=False) as client:
            return take_part_over_http(client, study, person, password=PASSWORD)[0]

    assert visit(replace(world.person(1), leaves_after=3)) == "left"
    assert store.answers_frame(study.hash)["screen"].n_unique() == 2  # one has no question
    assert visit(world.person(1)) == "completed"
    assert attendance(store, study.hash) == {"simulated": 1}
    assert visit(world.person(1)) == "completed"


def test_who_finds_no_place_is_told(served: Served) -> None:
    design = TEA | {"items": {"inline": TEA["items"]["inline"][:1]}, "targets": 1}
    study = study_of(design)
    url, _ = served(study)
    assert through(url, study, n=6, at_once=1).outcomes == {"completed": 4, "full": 2}


def test_without_the_password_nobody_is_counted_as_a_person(served: Served) -> None:
    study = study_of(TEA)
    url, store = served(study)
    with pytest.raises(DialensError, match="researcher's password"):
        simulate_over_http(url, study, Population(), participants=2, password="guessed wrong")
    assert attendance(store, study.hash) == {}


@pytest.mark.parametrize("kind", sorted(recruiters()))
def test_wherever_people_come_from(kind: str, served: Served) -> None:
    """Everybody is let in, as somebody whom the recruiter knows, and known again."""
    design = TEA | {"items": {"inline": TEA["items"]["inline"][:1]}, "recruiter": {"kind": kind}}
    study = study_of(design)
    url, store = served(study)
    first, again = through(url, study), through(url, study)
    assert first.outcomes == again.outcomes == {"completed": 3}
    assert (first.known, again.known) == (0, 0 if kind == "kiosk" else 3)
    # At a kiosk everybody is somebody else; otherwise the same three came twice.
    assert attendance(store, study.hash) == {"simulated": 6 if kind == "kiosk" else 3}
    names = [World(study, Population(), seed=0).person(n).name for n in (1, 2, 3)]
    known = [bool(store.participants_of(kind, name)) for name in names]
    assert known == [kind != "kiosk"] * 3


def test_no_link_is_made_without_the_password(served: Served) -> None:
    study = study_of(TEA | {"recruiter": {"kind": "personal"}})
    url, store = served(study)
    with pytest.raises(DialensError, match="researcher's password"):
        simulate_over_http(url, study, Population(), participants=1, password="guessed wrong")
    assert attendance(store, study.hash) == {}


def test_another_study_is_noticed(served: Served) -> None:
    url, _ = served(study_of(TEA))
    with pytest.raises(DialensError, match="serves another study than"):
        through(url, load_template("likert"))


def test_nothing_there_is_named() -> None:
    with pytest.raises(DialensError, match="No study is served"):
        through("http://127.0.0.1:9", study_of(TEA))
