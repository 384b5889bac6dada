"""`dialens study export`, `status` and `forget` as a researcher runs them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import typer
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli.study._export import export
from dialens.cli.study._forget import forget
from dialens.cli.study._status import status
from dialens.studies import load_study
from dialens.studies.store import KEY_VARIABLE, OperationStore, Secrets, Store, WrongKey
from tests.studies.store.cluster import Cluster
from tests.studies.store.conftest import KEY, cluster  # noqa: F401
from tests.studies.store.people import NOON
from tests.studies.store.test_export import take

STUDY = """\
study: tea
title: How good are these replies?
targets: 1
items:
  inline:
    - {id: c1, context: [Tea or coffee?], responses: {plain: Tea., warm: "Tea, always!"}}
    - {id: c2, context: [Milk?], responses: {plain: "No.", warm: "Yes, please!"}}
qualities:
  coherence: {definition: How well it fits., instrument: magnitude}
factors: {layout: [together, single]}
consent: {text: We ask what you think of replies.}
instructions: {text: Judge each reply.}
"""


def run(*arguments: object) -> Result:
    app = typer.Typer()
    for command in (export, forget, status):
        app.command()(command)
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, [str(part) for part in arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study that two people took."""
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    (tmp_path / "study.yaml").write_text(STUDY)
    study = load_study(tmp_path)
    with Store.open(f"sqlite:///{tmp_path / 'study.db'}") as store:
        store.register(study, now=NOON)
        take(store, study, "A1WORKER")
        take(store, study, "A2WORKER", screens=3)
    return tmp_path


def test_no_name_of_a_cell_is_cut_in_a_pipe(folder: Path) -> None:
    app = typer.Typer()
    app.command()(status)
    shown = CliRunner(env={"COLUMNS": "30"}).invoke(app, [str(folder)]).output
    (row,) = (line for line in shown.splitlines() if line.startswith("layout=together "))
    assert row.split() == ["layout=together", "open", *"110000"]


def test_export_and_forget(folder: Path) -> None:
    target = folder / "export"
    done = run("export", folder, "-o", target)
    assert done.exit_code == 0, done.output
    assert "2 participants" in done.stdout
    private = [target, *(file for file in target.rglob("*") if file.is_file())]
    modes = {file.stat().st_mode & 0o077 for file in private}
    assert modes == {0}  # like the database: nobody else's
    raters = pl.read_parquet(target / "answers.parquet")["rater"].unique(maintain_order=True)
    done = run("forget", raters[0], "--study", folder)
    assert "is deleted: 1 session, " in done.stdout
    done = run("forget", "A2WORKER", "--worker", "mturk", "--study", folder)
    assert raters[1] in done.stdout
    assert "Exported 0 ratings by 0 participants" in run("export", folder, "-o", target).stdout


@pytest.mark.slow
def test_forget_says_what_postgresql_keeps(
    cluster: Cluster,  # noqa: F811
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY.to_text())
    url = cluster.database()
    with Store.open(url) as store:
        study = load_study(folder)
        store.register(study, now=NOON)
        who = [take(store, study, worker).participant for worker in ("anna", "ben")]
    said = run("forget", who[0], "--study", folder, "--db", url).stdout
    assert "hold the bytes of deleted rows until VACUUM FULL: add --vacuum" in said
    assert "(pg_wal) holds them until it is recycled" in said
    said = run("forget", who[1], "--study", folder, "--db", url, "--vacuum").stdout
    assert "The tables were rewritten: their files hold nothing of it." in said
    assert "(pg_wal)" in said
    with Store.open(url) as store:
        assert store.answers_frame(study.hash).is_empty()


def test_a_worker_id_is_not_run_as_a_formula(folder: Path) -> None:
    """Anybody can write one into the address of a study."""
    study = load_study(folder)
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        OperationStore(store, "command").operate(study.hash, {"targets": 3}, now=NOON)
        take(store, study, '=HYPERLINK("http://evil.example")')
    run("export", folder, "-o", folder / "e", "--worker-ids", folder.parent / "formulas.csv")
    ids = pl.read_csv(folder.parent / "formulas.csv")["worker"].to_list()
    assert sorted(ids) == ['\'=HYPERLINK("http://evil.example")', "A1WORKER", "A2WORKER"]


def test_a_lost_key_does_not_lock_answers_away(folder: Path) -> None:
    """Only ids of people are encrypted; before, every command refused."""
    (folder / "study.db.key").rename(folder / "safe")
    done = run("export", folder, "-o", folder / "export")
    assert done.exit_code == 0, done.output
    assert "The key of the database is not there" in done.stdout
    assert "2 participants" in done.stdout
    assert "1 of 2 completed" in run("status", folder).stdout
    ids = run("export", folder, "-o", folder / "again", "--worker-ids", folder.parent / "ids.csv")
    assert "is lost" in str(ids.exception)
    assert "Put the key file back" in str(ids.exception)
    (folder / "study.db.key").write_text(Secrets(bytes(32)).to_text())
    assert "not the one it was made with" in run("status", folder).stdout
    with pytest.raises(WrongKey):
        Store.open(f"sqlite:///{folder / 'study.db'}")
    (folder / "safe").replace(folder / "study.db.key")
    assert "key" not in run("status", folder).stdout


def test_status(folder: Path) -> None:
    done = run("status", folder)
    assert done.exit_code == 0, done.output
    assert "1 of 2 completed" in done.stdout
    # The second person began long ago, so the session has expired by now.
    assert "1 of 1 left at screen 4 of layout=" in done.stdout
    assert "layout=single" in done.stdout


def test_the_file_may_have_been_edited_since(folder: Path) -> None:
    (folder / "study.yaml").write_text(STUDY + "description: Now with a description.\n")
    assert "1 of 2 completed" in run("status", folder).stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("forget", "nobody", "--study", "."), "no participant 'nobody'"),
        (("forget", "A9", "--worker", "mturk", "--study", "."), "Nobody with this id"),
        (("status", "elsewhere"), "does not exist"),
        (("export", ".", "--db", "sqlite:///none.db"), "does not exist"),
        (("export", ".", "--db", "mysql://x/y"), "sqlite:///path"),
    ],
)
def test_mistakes_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(folder)
    done = run(*arguments)
    assert isinstance(done.exception, DialensError)
    assert told in str(done.exception)


def test_a_version_that_nobody_took_has_no_data(folder: Path) -> None:
    (folder / "study.yaml").write_text(STUDY + "version: 2\n")
    assert "tea, version 1: 1 of 2 completed" in run("status", folder).stdout
    done = run("status", folder, "--version", "2")
    assert "nobody was ever served it. Versions: 1." in str(done.exception)
