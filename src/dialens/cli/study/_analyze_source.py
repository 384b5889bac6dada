"""Where `dialens study analyze` reads ratings from: a study, an export, or a table."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from dialens.base import DialensError, listed
from dialens.cli._options import shown
from dialens.cli.study._database import (
    DATABASE,
    database_of,
    judged_ledger,
    only_judged,
    recorded_versions,
)
from dialens.cli.study._extra import studies_extra
from dialens.cli.study._judges_missing import judges_missing
from dialens.cli.study._simulate import put_in, simulated_database
from dialens.report import Remark

if TYPE_CHECKING:
    from dialens.studies import PreregistrationCheck
    from dialens.studies.store import Store

_STUDY = "study.yaml"
_YAML = (".yaml", ".yml")
_EXPORT = "export"


@dataclass(frozen=True)
class StudySource:
    """Where ratings are read from, and what is known of them.

    Attributes:
        folder: An export, or a table of ratings.
        title: Of the report.
        remarks: What stands above the results.
        put_in: How raters were simulated.
        stopping: How it was decided that enough people had come, for a paper; empty if that was
            fixed beforehand.
        database: That the ratings come from; none where they come from files.
        study: The hash of the study in it.
    """

    folder: Path
    title: str
    remarks: Sequence[Remark] = field(default=())
    put_in: Sequence[str] = field(default=())
    stopping: str = ""
    database: str | None = None
    study: str = ""

    def remember(self, target: Path) -> None:
        """Write down that an analysis holds people's answers, so that they can be taken out."""
        if self.database is None:
            return
        from dialens.studies.export import remember_folder
        from dialens.studies.store import ANALYSIS, ExportLog, Store

        people = pl.read_parquet(target / _EXPORT / "ratings.parquet", columns=["rater"])
        with Store.open(self.database, create=False, needs_key=False) as store:
            log, n = ExportLog(store.database, "command"), people["rater"].n_unique()
            remember_folder(log, self.study, ANALYSIS, target, people=n, now=datetime.now(UTC))


@dataclass(frozen=True)
class Versions:
    """Which versions of a study are analysed: those named, all, or the newest."""

    named: Sequence[int] | None
    every: bool


def open_source(
    source: Path, scratch: Path, announced: Path | None, db: str | None, chosen: Versions
) -> StudySource:
    """What is analysed: an export that is made now of a study, or one that is there."""
    if is_study(source):
        return _from_study(source, scratch / _EXPORT, announced, db, chosen)
    for option, value in (("--db", db), ("--version", chosen.named or chosen.every)):
        if value:
            raise DialensError(f"{option} goes with a study, and {source} is a table of ratings.")
    remarks = [
        *_of_export(source, announced),
        *judges_missing(source),
        *_together(_exported_versions(source)),
    ]
    return StudySource(source, f"Study: {source.stem}", remarks)


def is_study(source: Path) -> bool:
    """Whether a path is a study, not an export or a table."""
    if source.is_dir():
        return (source / _STUDY).exists() and not (source / "ratings.parquet").exists()
    return source.suffix in _YAML


def _from_study(
    source: Path, folder: Path, announced: Path | None, db: str | None, chosen: Versions
) -> StudySource:
    """Export a study that people took, or that was simulated."""
    with studies_extra():
        from dialens.studies import (
            FILE,
            NOT_PREREGISTERED,
            PRECISION_METHOD,
            SIMULATED,
            check_study,
            load_study,
            read_preregistration,
            study_file,
        )
        from dialens.studies.export import export
        from dialens.studies.simulation import simulations
    beside = study_file(source).parent / FILE
    path = announced or (beside if beside.exists() else None)
    preregistered = None if path is None else read_preregistration(path)
    with (
        _database(source, db) as url,
        recorded_versions(source, url, chosen.named, every=chosen.every) as (store, records),
    ):
        record, hashes = records[-1], [one.hash for one in records]
        done = export(store, hashes, folder, judges=judged_ledger(source))
        if not done.ratings:
            cells = [cell for one in hashes for cell in store.progress(one)]
            begun = sum(c.completed + c.live + c.expired + c.restarted for c in cells)
            asked = " ".join(f"{one.title}: {one.text}" for one in judges_missing(folder))
            raise DialensError(
                f"The study {record.name!r} has no ratings yet: {begun:,} people began it, "
                f"{sum(c.completed for c in cells):,} completed it. {asked}{' ' if asked else ''}"
                f"Simulate it with `dialens study simulate {source}`, or wait for people."
            )
        lines = [
            f"Put in by {run.participants:,} participants with seed {run.seed}: "
            f"{put_in(run.population)}."
            for one in hashes
            for run in simulations(store, one)
        ]
        taken, known = record.study, store.precision(record.hash)
        changes = _changes(store, record.hash)
        answers = pl.concat([store.answers_frame(one) for one in hashes])
        first = min(answers.filter(pl.col("rater_kind") != SIMULATED)["answered_at"], default=None)
    check = NOT_PREREGISTERED
    if preregistered is not None:
        check = check_study(preregistered, taken, first_answer=first, changes=changes)
    remarks = [_remark(check), *judges_missing(folder)]
    remarks += _together([one.version for one in records])
    if load_study(source).hash != record.hash:
        text = "The study file was changed after this study was taken; it is analysed as taken."
        remarks.append(Remark("Study file", text, warning=True))
    stopping = ""
    if known is not None:
        fixed = "The other intervals and tests of this report assume a size fixed beforehand."
        remarks.append(Remark("Precision", " ".join((*known.sentences, fixed))))
        stopping = f"{PRECISION_METHOD} {' '.join(known.sentences)}"
    own = None if url is None and only_judged(source) else database_of(source, url)
    title = f"Study: {record.name}"
    return StudySource(folder, title, remarks, lines, stopping, own, record.hash)


def _together(versions: Sequence[str]) -> list[Remark]:
    """What has to be known where people of several versions are analysed together."""
    if len(versions) < 2:
        return []
    text = f"Versions {listed(versions)} are analysed together: people saw different things."
    return [Remark("Versions", text, warning=True)]


def _exported_versions(source: Path) -> list[str]:
    """The versions of a study that an export holds, the oldest first; none of a plain table."""
    book = source / "codebook.json"
    if not book.is_file():
        return []
    return list(json.loads(book.read_text("utf-8")).get("versions", {}))


def _changes(store: "Store", study: str) -> list[str]:
    """What was changed in the way a study is run, in words."""
    from dialens.studies.store import OperationStore

    rows = OperationStore(store, "command").changes_frame(study).to_dicts()
    return [
        f"{row['at']:%Y-%m-%d %H:%M} UTC, {row['what']} from {row['before']} to {row['after']} "
        f"({row['by']})"
        for row in rows
        if row["rater"] is None
    ]


@contextmanager
def _database(source: Path, url: str | None) -> Iterator[str | None]:
    """The database to read: study.db, or simulated.db where nobody has taken the study."""
    simulated = simulated_database(source)
    if url is not None or not simulated.exists():
        own = simulated.with_name(DATABASE)
        if url is None and not own.exists() and not only_judged(source):
            raise DialensError(
                f"Nobody has taken this study: there is neither {own} nor {simulated.name}. Serve "
                "it, simulate it (`dialens study simulate`), let models judge it (`dialens study "
                "judge`), or name its database with --db."
            )
        yield url
        return
    if simulated.with_name(DATABASE).exists() and _anybody(source):
        print(f"{shown(simulated)} is left aside: people have taken this study.")
        yield None
        return
    print(f"Nobody has taken this study; {shown(simulated)} is analysed.")
    yield f"sqlite:///{simulated}"


def _anybody(source: Path) -> bool:
    """Whether study.db holds anybody who took the study, in any version."""
    from dialens.studies import attendance, read_design, study_file
    from dialens.studies.store import Store

    design = read_design(study_file(source))
    with Store.open(database_of(source, None), create=False, needs_key=False) as store:
        return any(
            attendance(store, record.hash)
            for record in store.studies()
            if record.name == design.study
        )


def _of_export(source: Path, announced: Path | None) -> list[Remark]:
    """What can be said of a preregistration where only the export is known."""
    if announced is None:
        return []
    with studies_extra():
        from dialens.studies import check_export, read_preregistration
    return [_remark(check_export(read_preregistration(announced), source))]


def _remark(check: "PreregistrationCheck") -> Remark:
    return Remark("Preregistration", check.text, check.details, warning=check.warning)
