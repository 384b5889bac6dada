"""`dialens models` as a user runs it: the list, the cards, and files that are not whole."""

import json
import shutil
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli._models import models
from dialens.models import catalogue, shipped_folder


def run(*arguments: object, columns: int = 140) -> Result:
    app = typer.Typer()
    app.command()(models)
    env = {"COLUMNS": str(columns)}
    return CliRunner(env=env).invoke(app, [str(part) for part in arguments])


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder of two models that may be spoilt."""
    for name in ("topics", "traits_agreeableness"):
        shutil.copytree(shipped_folder(name), tmp_path / "own" / name)
    return tmp_path / "own"


def test_all_models_are_listed_and_verified() -> None:
    ran = run()
    assert ran.exit_code == 0, ran.output
    for entry in catalogue().entries:
        (line,) = [line for line in ran.output.splitlines() if line.split()[:1] == [entry.name]]
        assert "MB  " in line
        assert " ok " in line
        assert ("research" in line) is entry.research_grade
        if entry.part_of:
            assert f"part of {entry.part_of}" in line
        else:
            assert entry.headline is not None
            value = entry.figures[entry.headline].value
            assert value is not None
            assert (f"{value:,.0f}" if value >= 100 else f"{value:.3f}") in line
    assert "Verified: all" in ran.output


def test_every_file_is_told_on_request() -> None:
    ran = run("--verify")
    assert ran.exit_code == 0
    for entry in catalogue().entries:
        for file in entry.files:
            assert f"ok      {entry.folder.name}/{file}" in ran.output


def test_one_card_reads_well() -> None:
    ran = run("agreeableness", columns=100)
    assert ran.exit_code == 0
    for part in ("WASSA", "research", "0.256, 0.398", "limits", "intended use", "sha256", "seed"):
        assert part in ran.output
    assert "conscientiousness" not in ran.output
    assert run("traits_agreeableness").output == run("agreeableness").output


def test_a_mistaken_name_gets_a_hint() -> None:
    ran = run("agreeablenes")
    assert isinstance(ran.exception, DialensError)
    assert "Did you mean agreeableness?" in str(ran.exception)


def test_a_damaged_file_is_named_and_fails(own: Path) -> None:
    assert run(own).exit_code == 0
    file = own / "traits_agreeableness" / "model.npz"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    ran = run(own, "--verify")
    assert ran.exit_code == 1
    assert "traits_agreeableness: " in ran.output
    assert "is damaged" in ran.output
    assert "ok      topics/topics.npz" in ran.output
    assert "1 of 2 files are not what their cards say" in ran.output
    assert run(own / "traits_agreeableness").exit_code == 1


def test_a_missing_file_and_a_broken_card_are_named(own: Path) -> None:
    (own / "topics" / "topics.npz").unlink()
    (own / "traits_agreeableness" / "card.json").write_text("{")
    ran = run(own)
    assert ran.exit_code == 1
    assert "topics.npz is missing" in ran.output
    assert "traits_agreeableness/card.json cannot be read" in ran.output
    told = json.loads(run(own, "--json").stdout)
    assert told["verified"] is False
    assert list(told["unreadable"]) == ["traits_agreeableness"]


def test_a_trait_card_without_its_target_is_not_verified(own: Path) -> None:
    file = own / "traits_agreeableness" / "card.json"
    card = json.loads(file.read_text())
    del card["target"]
    file.write_text(json.dumps(card))
    ran = run(own / "traits_agreeableness")
    assert ran.exit_code == 1
    assert "Verified" not in ran.output
    assert "target is None" in ran.output


def test_json_says_everything() -> None:
    ran = run("--json")
    assert ran.exit_code == 0
    told = json.loads(ran.stdout)
    assert told["verified"] is True
    by_name = {one["name"]: one for one in told["models"]}
    assert set(by_name) == {entry.name for entry in catalogue().entries}
    one = by_name["agreeableness"]
    assert one["headline"]["name"] == "r_person"
    assert one["headline"]["n"] == 528
    assert one["research_grade"] is True
    assert one["missing"] == []
    assert one["size"] == (shipped_folder("traits_agreeableness") / "model.npz").stat().st_size


@pytest.mark.usefixtures("without_traits")
def test_what_is_not_installed_is_told() -> None:
    ran = run()
    assert (
        "Not installed: most traits, for research only (pip install dialens-traits)." in ran.output
    )
    assert "Verified: all" in ran.output
    ran = run("agreeableness")
    assert "Not installed: most traits" in str(ran.exception)


def test_help_has_examples() -> None:
    assert "dialens models agreeableness" in run("--help").output
