"""Every card that ships says what a card must say, and every file is the one it describes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dialens.base import DialensError, Estimate
from dialens.models import (
    PACKAGED,
    CatalogueEntry,
    catalogue,
    list_models,
    shipped_places,
    topics,
    traits,
    verify,
)

ENTRIES = catalogue().entries


def test_nothing_that_ships_is_left_out() -> None:
    known = catalogue()
    assert not known.unreadable
    folders = {card.parent for place in shipped_places() for card in place.glob("*/card.json")}
    assert set(known.folders) == folders
    named = {kind: [e.name for e in ENTRIES if e.kind == kind] for kind in ("encoder", "trait")}
    assert sorted(named["trait"]) == traits.shipped()
    assert sorted(named["encoder"]) == sorted(one.name for one in list_models())
    assert [e.name for e in ENTRIES if e.kind == "topics"] == [topics.load().name]
    assert {check.problem for check in verify()} == {None}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_card_says_what_a_card_must_say(entry: CatalogueEntry) -> None:
    assert entry.missing == ()
    assert entry.task
    assert entry.labels
    assert isinstance(entry.seed, int)
    for one in entry.data:
        assert one["name"]
        assert one["licence"]
    if not entry.part_of:
        assert entry.headline is not None
        figure = entry.figures[entry.headline]
        assert figure.value is not None
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low <= figure.value <= figure.high
        assert figure.n
    assert entry.command.startswith("python ")
    assert all(len(sha256) == 64 for sha256 in entry.files.values())
    on_disk = {one.name for one in entry.folder.iterdir()} - {"card.json"}
    assert on_disk == set(entry.files), "a file without a hash is not verified"
    if entry.part_of:
        assert entry.part_of in {other.task for other in ENTRIES if other.folder == entry.folder}
    else:
        assert len(entry.intended_use) > 5
        assert len(entry.limits) > 5


def test_cards_say_of_what_a_trait_is_told() -> None:
    for entry in (entry for entry in ENTRIES if entry.kind == "trait"):
        of_a_text = entry.reads == "a text"
        assert ("each by itself" in entry.intended_use) is of_a_text
        assert ("all their text joined" in entry.intended_use) is not of_a_text


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_what_rests_on_research_data_is_called_research(entry: CatalogueEntry) -> None:
    terms = " ".join(str(one["licence"]) for one in entry.data)
    if "research use" in terms:
        assert entry.research_grade
        assert "research" in entry.limits
        assert "research" in entry.licence


def test_what_ships_stays_small() -> None:
    sizes = [
        file.stat().st_size
        for place in shipped_places()
        for file in place.rglob("*")
        if file.is_file()
    ]
    assert sum(sizes) <= 150e6
    assert max(sizes) <= 95e6


def test_no_task_has_two_defaults() -> None:
    tasks = {entry.task: [e for e in ENTRIES if e.task == entry.task] for entry in ENTRIES}
    for task, entries in tasks.items():
        defaults = sum(entry.default for entry in entries)
        asked_by_name = entries[0].kind != "encoder" or task in (
            "emotion",
            "toxicity",
            "engagement",
        )
        assert defaults == 1 if asked_by_name else defaults <= 1, task


def test_one_broken_model_does_not_hide_the_others(tiny_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_folder, tmp_path / "tiny")
    shutil.copytree(PACKAGED / "topics", tmp_path / "topics")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "card.json").write_text('{"tasks": ')
    (tmp_path / "empty").mkdir()
    found = catalogue(tmp_path)
    assert [entry.name for entry in found.entries] == [
        "emotion",
        "engagement",
        "toxicity-tiny",
        "reddit_topics",
    ]
    assert sorted(folder.name for folder in found.unreadable) == ["broken", "empty"]
    assert [one.name for one in list_models(tmp_path)] == ["emotion", "engagement", "toxicity-tiny"]
    problems = {check.folder.name: check.problem for check in verify(tmp_path) if check.problem}
    assert "cannot be read" in problems["broken"]
    assert "is missing" in problems["empty"]


def test_a_card_of_a_user_may_say_little(tiny_folder: Path) -> None:
    (emotion, *_) = catalogue(tiny_folder).entries
    assert emotion.headline is not None
    assert emotion.figures[emotion.headline] == Estimate(0.5, 0.4, 0.6, n=9)
    assert {"data", "command", "limits", "intended_use"} <= set(emotion.missing)


def test_an_ingredient_is_told_by_the_task_it_serves(tiny_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_folder, tmp_path / "m")
    card = json.loads((tmp_path / "m" / "card.json").read_text())
    card["tasks"]["toxicity"]["part_of"] = "emotion"
    (tmp_path / "m" / "card.json").write_text(json.dumps(card))
    (part,) = [entry for entry in catalogue(tmp_path / "m").entries if entry.part_of]
    assert (part.task, part.part_of) == ("toxicity", "emotion")
    assert not {"figures", "intervals", "limits"} & set(part.missing)


def test_figures_are_found_however_deep_they_lie(tiny_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_folder, tmp_path / "m")
    card = json.loads((tmp_path / "m" / "card.json").read_text())
    known = {"value": 0.4, "low": 0.3, "high": 0.5, "n": 7}
    card["tasks"] = {
        "emotion": {
            **card["tasks"]["emotion"],
            "metrics": {"plain": 0.1, "set: a": {"pearson": known, "before": {"pearson": 0.2}}},
        }
    }
    (tmp_path / "m" / "card.json").write_text(json.dumps(card))
    (entry,) = catalogue(tmp_path / "m").entries
    assert list(entry.figures) == ["set: a, pearson", "plain", "set: a, before, pearson"]


def test_a_classifier_without_a_card_is_described(bert_folder: Path, tmp_path: Path) -> None:
    (entry,) = catalogue(bert_folder).entries
    assert (entry.kind, entry.labels) == ("classifier", ("joy", "anger", "surprise"))
    assert verify(bert_folder) == []
    with pytest.raises(DialensError, match="holds no model"):
        catalogue(tmp_path)
    with pytest.raises(DialensError, match="There is no folder"):
        catalogue(tmp_path / "nowhere")
