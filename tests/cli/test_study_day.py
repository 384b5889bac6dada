"""The day of a study from the command line: more places, somebody replaced, codes, a backup."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli._app import app
from dialens.cli.study._serve import _changed_before
from dialens.studies import load_study
from dialens.studies.store import KEY_VARIABLE, OperationStore, Session, Store
from tests.cli.test_study_data import STUDY
from tests.studies.store.people import NOON
from tests.studies.store.test_export import take


def run(*arguments: object) -> Result:
    words = ["study", *(str(part) for part in arguments)]
    return CliRunner(env={"COLUMNS": "140"}).invoke(app, words)


def ran(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def fails(*arguments: object) -> str:
    done = run(*arguments)
    assert isinstance(done.exception, DialensError), done.output
    return str(done.exception)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    place = tmp_path / "tea"
    place.mkdir()
    (place / "study.yaml").write_text(STUDY)
    return place


def people(folder: Path, *workers: str) -> list[Session]:
    """People who take the study as its file says it."""
    study = load_study(folder)
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        store.register(study, now=NOON)
        taken = [take(store, study, worker) for worker in workers]
        return [store.session(one.token) for one in taken]


def run_before(folder: Path) -> Iterator[str]:
    """What `study serve` says about the version before."""
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        record = store.register(load_study(folder), now=NOON)
        yield from _changed_before(store, record)


def test_how_it_is_run_is_shown_and_changed(folder: Path) -> None:
    people(folder, "anna")
    assert "Nothing was changed so far." in ran("operate", folder)
    said = ran("operate", folder, "--set", "targets=3", "--set", "completion.message=Bye, all.")
    assert "targets.each from 1 to 3" in said
    assert 'completion.message from null to "Bye, all."' in said
    ran("operate", folder, "--set", "targets.layout=single=5")
    assert "1 of 8 completed" in ran("status", folder)
    shown = ran("operate", folder)
    assert "targets.each from 1 to 3" in shown
    assert "command" in shown
    assert "raise `version`" in fails("operate", folder, "--set", "title=Other")
    assert "NAME=VALUE" in fails("operate", folder, "--set", "targets")


def test_a_code_is_verified_and_paid(folder: Path) -> None:
    (anna,) = people(folder, "anna")
    said = ran("code", anna.code, "--study", folder)
    assert f"{anna.code}: {anna.participant}, completed at 2026-03-01 12:" in said
    assert "not paid yet" in said
    assert ran("code", *(anna.code[at : at + 4] for at in (0, 4, 8, 12)), "--study", folder) == said
    assert ", paid at" in ran("code", anna.code, "--study", folder, "--paid")
    assert ", paid at" in ran("code", anna.code, "--study", folder)
    unknown = run("code", "MADEUP", "--study", folder)
    assert unknown.exit_code == 1
    assert "nobody got this code" in unknown.output
    assert "is deleted: 1 session, " in ran("forget", anna.code, "--study", folder)
    assert run("code", anna.code, "--study", folder).exit_code == 1


def test_somebody_is_excluded_and_comes_back(folder: Path) -> None:
    anna, ben = people(folder, "anna", "ben")
    assert "needs a reason (--why)" in fails("exclude", anna.participant, "--study", folder)
    ran("exclude", anna.code, "--why", "Asleep", "--study", folder)
    assert "1 of 2 completed" in ran("status", folder)
    said = ran("export", folder, "-o", folder / "e")
    assert "1 person is excluded" in said
    ran("exclude", anna.participant, "--undo", "--study", folder)
    assert "2 of 2 completed" in ran("status", folder)
    assert ben.state == "completed"


def test_two_versions(folder: Path) -> None:
    people(folder, "anna", "ben")
    ran("operate", folder, "--set", "recruiter.reward=2")
    (folder / "study.yaml").write_text(STUDY + "version: 2\ndescription: Again.\n")
    assert list(run_before(folder)) == [
        "recruiter.reward was 2.0 in version 1, changed while people took part; version 2 follows "
        "its file: 0.0."
    ]
    people(folder, "cleo", "dora")
    assert list(run_before(folder)) == []
    newest = ran("status", folder)
    assert "This is version 2, the newest. There is also version 1 (2 people)" in newest
    assert "tea, version 1:" not in newest
    both = ran("status", folder, "--all-versions")
    assert "tea, version 1: 2 of 2" in both
    assert "tea, version 2: 2 of 2" in both
    assert "2 participants" in ran("export", folder, "-o", folder / "one", "--version", 1)
    told = ran("export", folder, "-o", folder / "both")
    assert "16 ratings by 4 participants of versions 1 and 2" in told
    ratings = pl.read_parquet(folder / "both" / "ratings.parquet")
    assert ratings.group_by("version").len().sort("version").rows() == [("1", 8), ("2", 8)]
    few = ("--resamples", 200)
    said = ran("analyze", folder, "--version", 1, "--version", 2, *few)
    assert "Versions 1 and 2 are analysed together" in said
    assert "4 raters" in said
    # The same of the export, whoever analyses it.
    exported = ran("analyze", folder / "both", *few)
    assert "Versions 1 and 2 are analysed together" in exported
    assert "analysed together" not in ran("analyze", folder / "one", *few)
    assert "nobody was ever served it" in fails("analyze", folder, "--version", 3, *few)


def test_excluded_people_are_not_analysed(folder: Path) -> None:
    anna, *_ = people(folder, "anna", "ben")
    ran("operate", folder, "--set", "targets=2")
    people(folder, "cleo")
    ran("exclude", anna.participant, "--why", "Asleep", "--study", folder)
    said = ran("analyze", folder, "--resamples", 200)
    assert "excluded participants: 1 person and 4 ratings are left out" in said
    assert "2 raters" in said
    more = ran("analyze", folder, "--resamples", 200, "--with-excluded")
    assert "3 raters" in more


def test_what_was_done_is_said_as_done_and_by_whom(folder: Path) -> None:
    people(folder, "anna")
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        study = store.studies()[0].hash
        OperationStore(store, "dashboard", "Ada").note(study, "logged in", now=NOON)
    shown = ran("operate", folder)
    assert "2026-03-01 12:00 UTC, Ada (dashboard): logged in\n" in shown
    assert "Nothing was changed so far." in shown


def test_hand_over(folder: Path) -> None:
    anna, _ = people(folder, "anna", "ben")
    said = ran("export", folder, "-o", folder / "e", "--worker-ids", folder / "ids.csv")
    assert "2 ids" in said
    ids = pl.read_csv(folder / "ids.csv")
    assert (anna.participant, "anna", anna.code) in ids.select(
        "rater", "worker", "completion_code"
    ).rows()
    assert stat.S_IMODE((folder / "ids.csv").stat().st_mode) == 0o600
    assert "command: identities exported: 2\n" in ran("operate", folder)
    csv = folder / "e" / "csv"
    assert {"participants.csv", "ratings.csv", "questionnaires.csv", "read.R"} <= {
        path.name for path in csv.iterdir()
    }
    for name in ("participants", "ratings", "questionnaires"):
        columns = (csv / f"{name}.csv").read_text().splitlines()[0].split(",")
        syntax = (csv / f"{name}.sps").read_text()
        assert f"/FILE='{name}.csv'" in syntax
        declared = syntax.split("/VARIABLES=\n")[1].split(".\n")[0].split("\n")
        assert [line.split()[0] for line in declared] == columns
    assert "rater 'Pseudonym of the participant'" in (csv / "participants.sps").read_text()
    inside = fails("export", folder, "-o", folder / "e", "--worker-ids", folder / "e" / "ids.csv")
    assert "made to be passed on" in inside


def test_a_backup_is_restored_elsewhere(folder: Path, tmp_path: Path) -> None:
    (anna,) = people(folder, "anna")
    monday = tmp_path / "monday"
    said = ran("backup", folder, "-o", monday)
    assert f"1 participant and {_answers(folder):,} answers, as they were a moment ago" in said
    assert "whoever has this folder can read worker ids" in said
    other = tmp_path / "elsewhere"
    back = f"is restored: 1 participant and {_answers(folder):,} answers, 2 files."
    assert back in ran("restore", monday, other)
    assert "1 of 2 completed" in ran("status", other)
    with Store.open(f"sqlite:///{other / 'study.db'}", create=False) as store:
        assert store.worker(anna.participant) == "anna"
    assert "people may be in there" in fails("restore", monday, other)
    (other / "study.yaml").write_text(STUDY.replace("Milk?", "Sugar?"))
    people(folder, "ben")  # after the backup
    said = ran("restore", monday, other, "--force")
    assert f"! {other / 'study.db.1'} is what was there before" in said
    assert f"! {other / 'study.yaml.1'} is what was there before" in said
    assert (other / "study.yaml").read_text() == STUDY


def test_a_backup_without_the_key(folder: Path, tmp_path: Path) -> None:
    people(folder, "anna")
    said = ran("backup", folder, "-o", tmp_path / "monday", "--without-key")
    assert "The key is not in it" in said
    assert not list((tmp_path / "monday").rglob("*.key"))
    other = tmp_path / "other"
    assert "--key FILE" in fails("restore", tmp_path / "monday", other)
    assert not other.exists()
    said = ran("restore", tmp_path / "monday", other, "--without-key")
    assert "Without the key worker ids cannot be read" in said
    assert "1 of 2 completed" in ran("status", other)
    ran("restore", tmp_path / "monday", tmp_path / "third", "--key", folder / "study.db.key")
    assert (tmp_path / "third" / "study.db.key").read_text() == (
        folder / "study.db.key"
    ).read_text()


def _answers(folder: Path) -> int:
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        return store.answers_frame(load_study(folder).hash).height
