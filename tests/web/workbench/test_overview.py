"""The overview without a browser: what was not read, where cards lead, and what comes next."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from dialens.web.workbench import WorkbenchApp, workbench_app
from dialens.web.workbench._overview import forest, next_step
from dialens.workbench import Catalogue, Item, Workbench, find
from tests.web.workbench.conftest import BASE
from tests.workbench.folders import dialens, write_chats


def test_files_that_were_not_read_are_listed_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_chats(tmp_path / "chats.jsonl")
    said = "[01/02/2024, 10:00:00] Ann: hello\n[01/02/2024, 10:01:00] Bob: hi\n"
    (tmp_path / "<b>chat.txt").write_text(said, "utf-8")
    for number in range(25):
        (tmp_path / f"empty{number}.csv").touch()
    workbench = Workbench.open(tmp_path)
    monkeypatch.setattr(workbench, "look", lambda: None)  # which may find that all is well again
    workbench.trouble = "The disk is full."
    app = workbench_app(workbench)
    text = TestClient(app, base_url=BASE).get(app.address).text
    workbench.close()
    assert "Found, but not read" in text
    assert "does not say who the agent is" in text
    assert "--role agent=Ann" in text
    assert "<b>chat" not in text
    assert "And 6 more." in text
    assert "The disk is full." in text


def test_conversations_whose_texts_are_gone_are_said(project: Path) -> None:
    (project / "chats.jsonl").unlink()
    (project / "corpus" / "turns.parquet").unlink()
    workbench = Workbench.open(project)
    app = workbench_app(workbench)
    text = html.unescape(TestClient(app, base_url=BASE).get(app.address).text)
    notes = workbench.index.notes
    workbench.close()
    assert notes
    assert all(note in text for note in notes)


def test_cards_lead_to_their_pages(app: WorkbenchApp, owner: TestClient) -> None:
    text = html.unescape(owner.get("/").text)
    for address in ("/conversations", "/comparison?name=compared"):
        assert f'href="{address}"' in text
        assert owner.get(address).status_code == 200
    for (source,) in app.workbench.index.sql("select distinct source from dialogs"):
        assert f'href="/conversations?source={source}"' in text


def test_a_study_stands_under_the_conversations_that_it_was_drawn_from(project: Path) -> None:
    dialens(project, "study", "new", "--template", "likert", "-o", "mine")
    units = [{"source": "chats.jsonl", "agent": "asking", "dialog": "asking-1", "turn": 1}]
    (project / "mine" / "drawn.json").write_text(json.dumps({"units": units}), "utf-8")
    write_chats(project / "chats.jsonl", more=1)
    there = find(project)
    below = {
        child.item.name for node in forest(there) for child in node.children
        if node.item.name == "chats.jsonl"
    }  # fmt: skip
    assert "mine" in below
    assert there.get("mine").state == "current"


def test_what_comes_next_is_suggested(project: Path) -> None:
    whole = find(project)
    talks = Catalogue(whole.folder, whole.of("corpus"))
    step = next_step(talks)
    assert step is not None
    assert (step.address, "dialens score" in (step.command or "")) == ("/runs", True)
    scored = Catalogue(whole.folder, whole.of("corpus", "scores"))
    step = next_step(scored)
    assert step is not None
    assert "dialens compare" in (step.command or "")
    assert next_step(whole) is None
    step = next_step(whole, flags=3)
    assert step is not None
    assert step.sentence.startswith("3 flags")
    study = Item("study", "mine", whole.folder / "mine", "A study")
    assert next_step(Catalogue(whole.folder, (*whole.items, study)), flags=3) is None
