"""What `dialens study recruit` knows from the study's database: how it is run, and who is who."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dialens.cli.study._database import database_of
from dialens.cli.study._extra import studies_extra

if TYPE_CHECKING:
    from dialens.studies import Study
    from dialens.studies.recruiters import Matched
    from dialens.studies.store import Store


def as_run(study: Path, db: str | None) -> "Study":
    """The study of the file, with targets and payment as they were changed since it was served."""
    with studies_extra():
        from dialens.studies import load_study
        from dialens.studies.store import Store
    loaded, url = load_study(study), database_of(study, db)
    if db is None and not Path(url.removeprefix("sqlite:///")).exists():
        return loaded
    with Store.open(url, create=False) as store:
        for record in store.studies():
            if record.hash == loaded.hash:
                return loaded.with_operation(record.operation)
    return loaded


def work_of(store: "Store", matched: Sequence["Matched"], name: str) -> str:
    """The work that is named by its id, or by the pseudonym or completion code of its author."""
    from dialens.studies.store import OperationStore

    if any(entry.work.id == name for entry in matched):
        return name
    pseudonym = OperationStore(store, "command").pseudonym(name)
    own = [entry.work.id for entry in matched if entry.participant == pseudonym]
    return own[0] if own else name
