"""`dialens study preregister`: design and hypotheses, frozen before anybody takes part."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from dialens.base import DialensError, atomic_file
from dialens.cli._options import shown
from dialens.cli.study._database import DATABASE, DatabaseOption, StudyPath, database_of
from dialens.cli.study._extra import studies_extra


def preregister(
    study: StudyPath,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File; preregistration.json beside the study file."),
    ] = None,
    db: DatabaseOption = None,
    late: Annotated[
        bool,
        typer.Option("--late", help="Allow it although people have taken part; the file says so."),
    ] = False,
) -> None:
    """Freeze design, hypotheses and analysis plan, with a hash and the time.

    Two files: JSON, over which the hash is computed, and Markdown for a registry. `study analyze`
    finds it beside the study file and says whether the study that people took is the one announced
    here, and what differs. Simulated participants are no data: simulate first, then preregister.

    [bold]Examples[/]

      dialens study preregister anchoring
      dialens study preregister anchoring -o announced/anchoring.json
    """
    with studies_extra():
        from dialens.studies import FILE, load_study, preregistration_markdown, study_file
        from dialens.studies import preregister as freeze
    loaded = load_study(study)
    target = output or study_file(study).parent / FILE
    if target.suffix != ".json":
        raise DialensError(f"A preregistration is a .json file; seen: {target}.")
    words = target.with_suffix(".md")
    for path in (target, words):
        if path.exists():
            raise DialensError(
                f"{path} exists; a preregistration is not overwritten. Name another file with -o."
            )
    before = _people(study, db, loaded.name)
    frozen = freeze(loaded, now=datetime.now(UTC), participants_before=before, late=late)
    with atomic_file(words) as scratch:
        scratch.write_text(preregistration_markdown(frozen), encoding="utf-8")
    with atomic_file(target) as scratch:
        scratch.write_text(frozen.to_json(), encoding="utf-8")
    print(f"{loaded.name}, version {frozen.version}, frozen at {frozen.frozen_at}")
    print(f"hash {frozen.hash}")
    print(f"{shown(target)} (to be checked), {shown(words)} (to be read)")
    print("Put the hash where others see its date: a registry, a repository, an e-mail.")


def _people(study: Path, db: str | None, name: str) -> int:
    """How many people have taken part in any version of a study."""
    from dialens.studies import SIMULATED, attendance, study_file
    from dialens.studies.store import Store

    if db is None and not (study_file(study).parent / DATABASE).exists():
        return 0
    with Store.open(database_of(study, db), create=False) as store:
        return sum(
            count
            for record in store.studies()
            if record.name == name
            for kind, count in attendance(store, record.hash).items()
            if kind != SIMULATED
        )
