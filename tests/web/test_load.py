"""Many people at once, over HTTP: nobody sees an error, and the export holds what they sent."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from dialens.studies.export import export
from dialens.studies.store import Store
from tests.studies.store.conftest import cluster  # noqa: F401
from tests.web.browsers import Browser, Tally, in_own_loop, together, whole_form
from tests.web.conftest import tea
from tests.web.servers import KEY, Command, write_study

PEOPLE = 40
Sent = dict[tuple[str, str], float]


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    return str(request.getfixturevalue("cluster").database())


@pytest.fixture
def server(database: str, tmp_path: Path) -> Iterator[Command]:
    study = write_study(tmp_path / "tea", tea(targets=PEOPLE // 4))
    started = Command(study, database)
    yield started
    started.stop()


async def take_part(browser: Browser) -> tuple[str, Sent]:
    """A whole participation: the code, and every number that was sent, by screen and field."""
    draw = random.Random(browser.name)
    sent: Sent = {}
    screen = await browser.begin()
    while screen.code is None:
        form, answers = whole_form(screen, lambda: f"{draw.uniform(1, 1000):.6f}", draw)
        await browser.submit(form)
        if screen.kind == "rating":
            sent |= {(form["screen"], name[2:]): float(answers[name]) for name in answers}
        screen = await browser.page()
    return screen.code, sent


async def crowd(port: int, tally: Tally) -> list[tuple[str, Sent]]:
    people = [Browser(port, f"person-{number}", tally) for number in range(PEOPLE)]
    return await together(people, take_part)


@pytest.mark.slow
def test_what_forty_people_sent_is_what_is_exported(
    server: Command, database: str, tmp_path: Path
) -> None:
    tally = Tally()
    done = in_own_loop(crowd(server.port, tally))
    assert (tally.lost, tally.refused) == (0, {})
    with Store.open(database, create=False, secrets=KEY) as store:
        study = store.studies()[0].hash
        export(store, study, tmp_path / "export")
        named = [
            store.participants_of("link", f"person-{number}")[study] for number in range(PEOPLE)
        ]
        assert [cell.completed for cell in store.progress(study)] == [PEOPLE // 4] * 4
        assert store.completions(study) == {
            who: code for who, (code, _) in zip(named, done, strict=True)
        }
    answers = pl.read_parquet(tmp_path / "export" / "answers.parquet")
    ratings = pl.read_parquet(tmp_path / "export" / "ratings.parquet")
    expected = {
        (who, screen, asked, value)
        for who, (_, sent) in zip(named, done, strict=True)
        for (screen, asked), value in sent.items()
    }
    kept = answers.filter(pl.col("kind") == "rating").select("rater", "screen", "field", "value")
    assert {(*row[:3], float(row[3])) for row in kept.iter_rows()} == expected
    # Two items, three replies, two qualities; each once, and the same in the tidy table.
    assert len(expected) == kept.height == ratings.height == PEOPLE * 12
    tidy = ratings.select("rater", "screen", "value").sort(pl.all())
    given = pl.DataFrame([(who, s, v) for who, s, _, v in expected], tidy.schema, orient="row")
    assert tidy.equals(given.sort(pl.all()))
