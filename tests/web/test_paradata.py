"""What a page says of how it was answered reaches the export; nonsense and silence are null."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.studies.export import export
from dialens.web import Site
from tests.web.conftest import Visit
from tests.web.people import Page, Person

MEASURED = {
    "device": "phone",
    "viewport_width": 390,
    "viewport_height": 844,
    "pixel_ratio": 2,
    "zoom": 1,
    "theme": "dark",
    "browser_language": "de-AT",
    "anchor_in_view": 0.25,
    "pastes": 1,
    "pasted_characters": 30,
    "keys": 10,
    "characters": 80,
}


def send(person: Person, page: Page, paradata: Any) -> int:
    form = person.filled(page)
    body = {
        "ticket": form["ticket"],
        "screen": form["screen"],
        "index": int(form["index"]),
        "key": form["key"],
        "answers": {name[2:]: value for name, value in form.items() if name.startswith("a:")},
        "paradata": paradata,
    }
    answer = person.client.post(
        "/study",
        content=json.dumps(body),
        headers={"accept": "application/json", "content-type": "application/json"},
    )
    return int(answer.status_code)


def screens(site: Site) -> pl.DataFrame:
    return site.store.screens_frame(site.study.hash)


def test_paradata_are_columns_of_the_export(site: Site, visit: Visit, tmp_path: Path) -> None:
    person = visit(site)
    assert send(person, person.begin(), MEASURED) == 200
    export(site.store, site.study.hash, tmp_path / "out")
    row = pl.read_parquet(tmp_path / "out" / "screens.parquet").row(0, named=True)
    assert row["screen"] == "consent"
    assert {name: row[name] for name in MEASURED} == MEASURED
    # 10 keys for the 50 characters that were not pasted; 30 of 80 were.
    assert (row["keys_per_character"], row["typing"], row["pasting"]) == (0.2, "few_keys", "some")
    book = (tmp_path / "out" / "codebook.md").read_text("utf-8")
    assert "Nothing else of a participant's device, browser or typing is recorded" in book
    assert all(f"| `{name}` |" in book for name in MEASURED)


def test_without_a_script_nothing_is_known(site: Site, visit: Visit) -> None:
    person = visit(site)
    person.answer(person.begin())
    row = screens(site).row(0, named=True)
    assert {row[name] for name in (*MEASURED, "keys_per_character", "typing", "pasting")} == {None}


@pytest.mark.parametrize(
    "nonsense",
    [
        "a phone",
        {"device": "toaster"},
        {"viewport_width": -1},
        {"anchor_in_view": 7},
        {"browser_language": "<b>"},
        {"fingerprint": "abc"},
    ],
)
def test_nonsense_costs_no_answer(site: Site, visit: Visit, nonsense: Any) -> None:
    person = visit(site)
    assert send(person, person.begin(), nonsense) == 200
    row = screens(site).row(0, named=True)
    assert (row["screen"], row["device"], row["viewport_width"]) == ("consent", None, None)


@pytest.mark.parametrize(
    ("keys", "characters", "pasted", "typing", "pasting"),
    [
        (100, 90, 0, "usual", "none"),
        (0, 90, 0, "no_keys", "none"),
        (3, 93, 90, None, "most"),  # three characters by hand tell nothing
        (30, 60, 30, "usual", "most"),
        (0, 0, 0, None, "none"),
    ],
)
def test_grades(
    site: Site,
    visit: Visit,
    keys: int,
    characters: int,
    pasted: int,
    typing: str | None,
    pasting: str,
) -> None:
    person = visit(site)
    said = {"keys": keys, "characters": characters, "pasted_characters": pasted, "pastes": 1}
    send(person, person.begin(), said)
    row = screens(site).row(0, named=True)
    assert (row["typing"], row["pasting"]) == (typing, pasting)
