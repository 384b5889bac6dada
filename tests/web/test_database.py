"""The pages on PostgreSQL, and while the database is away."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dialens.studies import study_of
from dialens.studies.store import Store
from dialens.web import Site
from tests.conftest import component_missing
from tests.studies.store.cluster import Cluster, programs
from tests.web.conftest import KEY, PASSWORD, Visit, log_in, tea
from tests.web.people import Page

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    binaries = programs()
    if binaries is None:
        component_missing("PostgreSQL", "apt-get install postgresql")
    with tempfile.TemporaryDirectory(prefix="dialens-postgresql-") as folder:
        made = Cluster(Path(folder), binaries)
        yield made
        made.stop()


def test_a_database_that_goes_away_and_comes_back(cluster: Cluster, visit: Visit) -> None:
    with Store.open(cluster.database(), secrets=KEY) as store:
        site = Site.of(study_of(tea()), store, password=PASSWORD)
        person = visit(site)
        page = person.answer(person.begin())
        form = person.filled(page)
        cluster.kill()
        away = person.client.post("/study", data=form, headers={"accept": "application/json"})
        assert away.status_code == 503
        assert away.headers["retry-after"]
        assert person.client.get("/healthz").status_code == 503
        assert "Nothing is lost" in person.client.get("/study").text
        cluster.start()
        after = person.client.post("/study", data=form)  # what the page's script does by itself
        assert after.status_code == 200
        person.finish(Page(after.text))
        assert sum(cell.completed for cell in store.progress(site.study.hash)) == 1
        assert "<title>1 of 80" in log_in(visit(site)).get("/researcher").text
