"""What R and SPSS read of an export, by the programs themselves where they are there."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.report import write_export_handover
from dialens.studies import TEA, Field, Screen, study_of
from dialens.studies.export import export
from dialens.studies.store import OperationStore, Session, Store
from tests.studies.store.conftest import KEY
from tests.studies.store.people import NOON
from tests.studies.store.test_export import take

LABELS = {1: "gar nicht", 3: 'it\'s "fine"', 5: "völlig 😀"}
STUDY: dict[str, Any] = TEA | {
    "qualities": {
        "warmth": {
            "definition": "How warm it is.",
            "instrument": {"kind": "likert", "points": 5, "labels": LABELS},
        }
    },
    "factors": {"layout": ["together", "single"]},
    "questionnaires": {
        "after": [
            {
                "questions": {
                    "age": {"kind": "number", "prompt": "Age?", "low": 18, "whole": True},
                    "remark": {"kind": "free_text", "prompt": "Else?", "required": False},
                }
            }
        ]
    },
}
REMARKS = ("NA", 'a, "b";\nnächste Zeile', None, "TRUE")


def answered(remark: str | None, session: Session, screen: Screen, field: Field) -> Any:
    """A point of the scale that tells replies apart, an age, and the remark."""
    if field.quality is not None:
        (target,) = field.targets.values()
        return {"plain": 1, "warm": 5, "odd": 3}[target["response"]]
    return {"consent": "yes", "age": 41, "remark": remark}[field.name]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An export of two people in each cell, one of them excluded and one paid."""
    study = study_of(STUDY)
    with Store.open(f"sqlite:///{tmp_path / 'study.db'}", secrets=KEY) as store:
        store.register(study, now=NOON)
        people = [
            take(store, study, f"w{number}", partial(answered, remark)).participant
            for number, remark in enumerate(REMARKS)
        ]
        operating = OperationStore(store, "command")
        operating.exclude(people[0], "Schlief — «müde»", now=NOON)
        operating.mark_paid(people[1], paid=True, now=datetime(2026, 3, 1, 9, 5, 7, 250_000, UTC))
        export(store, study.hash, tmp_path / "export", hand_over=write_export_handover)
    return tmp_path / "export"


def table(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / f"{name}.parquet")


def program(name: str, *arguments: str, within: Path) -> str:
    """What a program says; the test is skipped where it is not there."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not on this machine")
    done = subprocess.run(
        [found, *arguments], cwd=within, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rror" not in done.stderr, done.stderr
    return done.stdout


BACK = """
source("read.R", chdir = TRUE)
made <- c(sub("[.]csv$", "", setdiff(list.files(pattern = "[.]csv$"),
                                     list.files(pattern = "-spss[.]csv$"))),
          "analysed", "by_person", "value_labels")
stopifnot(setequal(setdiff(ls(), "made"), made), is.data.frame(events), is.data.frame(answers),
          is.factor(participants$rater), identical(levels(answers$rater), levels(ratings$rater)))
stopifnot(inherits(participants$begun_at, "POSIXct"), inherits(changes$at, "POSIXct"),
          is.logical(participants$excluded), is.numeric(ratings$value),
          is.character(questionnaires$answer), is.factor(participants$version),
          attr(participants$rater, "label") == "Pseudonym of the participant",
          is.factor(analysed$layout), identical(levels(analysed$layout), c("together", "single")),
          identical(names(by_person), c("rater", unique(questionnaires$question))))
for (name in c("participants", "ratings", "questionnaires")) {
  table <- get(name)
  for (column in names(table)) if (inherits(table[[column]], "POSIXct"))
    table[[column]] <- sprintf("%.3f", as.numeric(table[[column]]))
  write.csv(table, paste0(name, "-back.csv"), row.names = FALSE, na = "", fileEncoding = "UTF-8")
}
write.csv(by_person, "by-person-back.csv", row.names = FALSE, na = "", fileEncoding = "UTF-8")
labels <- value_labels[[1]]
write.csv(data.frame(word = names(labels), value = labels), "labels-back.csv",
          row.names = FALSE, fileEncoding = "UTF-8")
cat(nrow(analysed), nlevels(analysed$rater), names(value_labels))
"""


@pytest.mark.slow
def test_r_reads_what_was_written(folder: Path) -> None:
    csv = folder / "csv"
    (csv / "back.R").write_text(BACK)
    ratings, people = table(folder, "ratings"), table(folder, "participants")
    said = program("Rscript", "--encoding=UTF-8", "back.R", within=csv)
    counted = ratings.filter(~pl.col("excluded"))
    assert said.split() == [str(counted.height), "3", "warmth"]
    for name in ("participants", "ratings", "questionnaires"):
        written = table(folder, name)
        back = pl.read_csv(csv / f"{name}-back.csv", infer_schema=False)
        assert (back.columns, back.height) == (written.columns, written.height)
        for column in written:
            read = back[column.name]
            if column.dtype.is_temporal():
                seconds = column.dt.timestamp("ms") / 1_000
                gap = (read.replace("NA", None).cast(pl.Float64) - seconds).abs().max()
                assert gap is None or gap < 0.002
            elif column.dtype == pl.Boolean:
                assert (read == "TRUE").to_list() == column.to_list()
            elif column.dtype.is_numeric():
                assert read.cast(pl.Float64).equals(column.cast(pl.Float64))
            else:
                assert read.to_list() == column.to_list(), column.name
    remarks = pl.read_csv(csv / "by-person-back.csv", infer_schema=False)
    assert sorted(remarks["remark"].fill_null("")) == sorted(one or "" for one in REMARKS)
    assert remarks["rater"].to_list() == people["rater"].to_list()
    words = pl.read_csv(csv / "labels-back.csv")
    assert dict(zip(words["value"], words["word"], strict=True)) == LABELS


CHECK = """
GET FILE='{name}.sav'.
SAVE TRANSLATE /OUTFILE='{name}-back.csv' /TYPE=CSV /FIELDNAMES /CELLS=VALUES /REPLACE.
DISPLAY DICTIONARY.
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["participants", "ratings", "questionnaires"])
def test_spss_syntax_reads_all_rows_and_labels(folder: Path, name: str) -> None:
    """By PSPP, which reads the same syntax."""
    csv = folder / "csv"
    said = program("pspp", f"{name}.sps", within=csv)
    assert "error" not in said.lower(), said
    assert "warning" not in said.lower(), said
    (csv / "check.sps").write_text(CHECK.format(name=name))
    told = program("pspp", "check.sps", within=csv)
    written = table(folder, name)
    back = pl.read_csv(csv / f"{name}-back.csv", infer_schema=False)
    assert (back.columns, back.height) == (written.columns, written.height)
    for column in written:
        read = back[column.name].str.strip_chars()
        if column.dtype.is_temporal():
            shown = read.str.strptime(pl.Datetime("us"), "%m/%d/%Y %H:%M:%S", strict=False)
            assert shown.is_null().to_list() == column.is_null().to_list()
            gap = (shown.dt.replace_time_zone("UTC") - column).dt.total_milliseconds().abs().max()
            assert gap is None or gap < 1_000
        elif column.dtype == pl.Boolean:
            assert read.to_list() == [str(int(one)) for one in column]
        elif column.dtype.is_numeric():
            gap = (read.replace(["", "."], None).cast(pl.Float64) - column).abs().max()
            assert gap is None or gap < 1e-4
        else:
            lines = column.str.replace_all("\n", " ").fill_null("").str.strip_chars()
            assert read.fill_null("").to_list() == lines.to_list(), column.name
    if name == "ratings":
        assert "völlig 😀" in told
        assert 'it\'s "fine"' in told
    assert "Pseudonym" in told
