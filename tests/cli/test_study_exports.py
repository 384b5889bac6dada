"""Whoever is forgotten is taken out of exports that still lie there; others are named."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from dialens.base import sha256_file
from dialens.corpus import Corpus
from dialens.studies.export._recall import folder_hash
from dialens.studies.store import ExportLog, KnownExport, Session, Store
from tests.cli.test_study_day import fails, folder, people, ran
from tests.studies.store.people import NOON

__all__ = ["folder"]


def holding(place: Path, who: str) -> set[str]:
    """Files in which a name stands, also in packed tables."""
    found = set()
    for file in place.rglob("*"):
        if not file.is_file():
            continue
        text = file.read_bytes()
        if file.suffix == ".parquet":
            text = pl.read_parquet(file).select(pl.col(pl.String)).write_csv().encode()
        if who.encode() in text:
            found.add(file.relative_to(place).as_posix())
    return found


def asked(folder: Path, *workers: str) -> list[Session]:
    """People in a study with room for them."""
    people(folder)
    ran("operate", folder, "--set", "targets=3")
    return people(folder, *workers)


def known(folder: Path) -> dict[str, KnownExport]:
    """What the database knows of exports, by kind."""
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        return {one.kind: one for one in ExportLog(store.database, "command").all()}


def test_an_export_loses_the_rows_of_whoever_is_forgotten(folder: Path) -> None:
    anna, *others = asked(folder, "anna", "ben", "cleo")
    export, ids = folder / "export", folder / "ids.csv"
    ran("export", folder, "-o", export, "--worker-ids", ids)
    (export / "notes.txt").write_text(f"{anna.participant} was late")  # not ours
    before = {file: pl.read_parquet(file) for file in export.glob("*.parquet")}
    assert {"ratings.parquet", "csv/ratings.csv"} <= holding(export, anna.participant)
    said = ran("forget", anna.participant, "--study", folder)
    assert f"{anna.participant} is taken out of the export of" in said
    assert f"{anna.participant} is taken out of the worker ids of" in said
    assert "may still hold" not in said
    assert holding(export, anna.participant) == {"notes.txt"}
    for file, table in before.items():
        named = "rater" in table.columns
        kept = table.filter(pl.col("rater").ne_missing(anna.participant)) if named else table
        assert_frame_equal(pl.read_parquet(file), kept)
        text = export / "csv" / f"{file.stem}.csv"
        assert text.read_text() == kept.write_csv()
        assert stat.S_IMODE(file.stat().st_mode) == stat.S_IMODE(text.stat().st_mode) == 0o600
    assert pl.read_csv(ids)["rater"].to_list() == [one.participant for one in others]
    assert (export / "card.md").read_text().rstrip().endswith("after this was written.")
    listed = ran("exports", folder)
    assert anna.participant not in listed
    assert "worker ids" in listed
    ran("analyze", export, "--resamples", 200)  # it is still an export


def test_an_analysis_loses_rows_and_what_names_them_is_said(folder: Path) -> None:
    anna, *_ = asked(folder, "anna", "ben", "cleo", "dora")
    ran("analyze", folder, "--resamples", 200)
    analysis = folder / "analysis"
    there = holding(analysis, anna.participant)
    assert {"export/ratings.parquet", "ratings.csv", "tables/raters.csv"} <= there
    said = ran("forget", anna.participant, "--study", folder)
    assert "! The analysis of " in said
    assert "analysis.json" in said
    left = holding(analysis, anna.participant)
    assert not {name for name in left if name.endswith((".parquet", ".csv"))}
    assert all(name in said for name in left)
    assert f"{anna.participant}" in ran("exports", folder)
    # Made again it holds nobody who is gone, and nothing is left to be done.
    ran("analyze", folder, "--resamples", 200)
    assert holding(analysis, anna.participant) == set()
    assert anna.participant not in ran("exports", folder)


def test_all_whose_time_is_over_leave_a_list_of_worker_ids(folder: Path) -> None:
    everybody = asked(folder, "anna", "ben", "cleo")
    ids = folder / "ids.csv"
    ran("export", folder, "-o", folder / "export", "--worker-ids", ids)
    assert pl.read_csv(ids).height == 3
    ran("operate", folder, "--set", "retention.worker_ids=1 day")
    said = ran("retain", folder)
    assert "may still hold" not in said
    assert said.count("is taken out of the worker ids of") == 3
    assert pl.read_csv(ids).height == 0
    assert holding(folder / "export", everybody[0].participant)  # answers may stay
    assert "by hand" not in ran("exports", folder)
    assert known(folder)["worker ids"].people == 0


def test_everybody_leaves_exports_and_analyses_at_once_and_one_after_the_other(
    folder: Path,
) -> None:
    everybody = asked(folder, "anna", "ben", "cleo", "dora")
    first, *others = (one.participant for one in everybody)
    export, ids = folder / "export", folder / "ids.csv"
    ran("export", folder, "-o", export, "--worker-ids", ids)
    ran("analyze", folder, "--resamples", 200)
    ran("forget", first, "--study", folder)
    assert pl.read_csv(ids)["rater"].to_list() == others
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        for who in others[:2]:
            store.forget(who)
    said = ran("exports", folder)
    for who in others[:2]:
        assert f"{who} is taken out of the export of" in said
        assert f"{who} is taken out of the worker ids of" in said
        assert holding(export, who) == set()
    assert pl.read_csv(ids)["rater"].to_list() == others[2:]
    for file in export.glob("*.parquet"):
        assert (export / "csv" / f"{file.stem}.csv").read_text() == pl.read_parquet(
            file
        ).write_csv()
    assert set(pl.read_parquet(export / "ratings.parquet")["rater"]) == set(others[2:])
    tables = {name for who in others[:2] for name in holding(folder / "analysis", who)}
    assert not {name for name in tables if name.endswith((".parquet", ".csv"))}
    now = known(folder)
    assert now["export"].sha256 == folder_hash(export)
    assert now["worker ids"].sha256 == sha256_file(ids)
    assert now["analysis"].sha256 == folder_hash(folder / "analysis")
    assert now["analysis"].recalled == (first, *others[:2])  # what is no table names them


def test_what_was_moved_or_changed_is_named(folder: Path) -> None:
    anna, *_ = people(folder, "anna", "ben")
    ran("export", folder, "-o", folder / "moved", "--worker-ids", folder / "ids.csv")
    shutil.move(folder / "moved", folder / "elsewhere")
    with (folder / "ids.csv").open("a") as file:
        file.write("a line of somebody's own\n")
    said = ran("forget", anna.participant, "--study", folder)
    assert f"may still hold {anna.participant}: it is not there any more" in said
    assert f"may still hold {anna.participant}: it was changed since" in said
    listed = ran("exports", folder)
    assert "2 exports have to be dealt with by hand (number 1 and 2)" in listed
    assert "1 export has to be dealt with by hand" in ran("exports", folder, "--dealt-with", 1)
    assert "by hand" not in ran("exports", folder, "--dealt-with", 2)
    assert "no export with the number 7" in fails("exports", folder, "--dealt-with", 7)


def test_exports_from_before_somebody_came_do_not_concern_them(folder: Path) -> None:
    with Store.open(f"sqlite:///{folder / 'study.db'}"):
        pass
    people(folder, "anna")
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        study, log = store.studies()[0].hash, ExportLog(store.database, "dashboard", "Ada")
        early = NOON.replace(year=2025)
        log.remember(study, "download", None, sha256="0" * 64, people=0, now=early)
        log.remember(study, "download", None, sha256="0" * 64, people=1, now=NOON)
        (who,) = store.answers_frame(study)["rater"].unique()
        store.forget(who)
        assert [one.recalled for one in log.all("tea")] == [(), (who,)]
    said = ran("exports", folder)
    assert (
        f"The download of 2026-03-01 12:00 UTC by Ada (downloaded), number 2, may still hold {who}"
        in said
    )


@pytest.mark.slow
def test_conversations_lose_theirs_and_can_be_read(tmp_path: Path) -> None:
    study, export = tmp_path / "bots", tmp_path / "export"
    ran("new", "--template", "three-bots", "-o", study)
    text = (study / "study.yaml").read_text()
    for name in ("seq2seq", "hred", "thred"):
        (study / f"{name}.txt").write_text(f"I am {name}.\nIs that so?\n")
        text = text.replace(f"agent: {name}}}", f'agent: "script:{name}.txt"}}')
    (study / "study.yaml").write_text(text)
    ran("simulate", study, "-n", "3")
    database = f"sqlite:///{study / 'simulated.db'}"
    ran("export", study, "--db", database, "-o", export)
    who = pl.read_parquet(export / "ratings.parquet")["rater"][0]
    ran("forget", who, "--study", study, "--db", database)
    assert holding(export, who) == set()
    corpus = Corpus.open(export / "conversations")
    assert corpus.manifest["counts"]["dialogs"] == 2
    assert corpus.turns.collect()["dialog"].n_unique() == 2
