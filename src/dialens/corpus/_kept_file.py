"""One file of a folder, read apart from the others, and kept until all of them are joined.

What a reader gave is kept batch by batch, with the account of reading it: the ids it claimed, what
was rejected and noted. Joining claims the ids anew among those of all files, so that the outcome
is that of reading one file after the other. Where it would not be, because what the reader gave
depends on other files, nothing is kept, and the file is read again when its turn comes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.corpus._intake import Dependent, Intake, Reject
from dialens.corpus._tables import SCHEMAS, Tables

Words = NDArray[np.uint64]
_CLAIMS = "claims"
_Claims = tuple[list[str], list[str], list[int]]


@dataclass
class FileIntake(Intake):
    """The account of reading one file, which knows nothing of the others."""

    claims: _Claims = field(default_factory=lambda: ([], [], []))
    """Ids, files and lines of the claims since they were last written, in their order."""

    def claim(self, dialog: str, file: Path, line: int) -> None:
        """Take an id among those of this file.

        Raises:
            Dependent: Two parts of it have used the id, and what it becomes depends on others.
        """
        super().claim(dialog, file, line)
        if self.renamed:
            raise Dependent
        dialogs, files, lines = self.claims
        dialogs.append(dialog)
        files.append(str(file))
        lines.append(line)

    def known(self, dialogs: Iterable[str]) -> set[str]:
        """Those of some ids that were claimed.

        Raises:
            Dependent: Not all of them in this file.
        """
        asked = set(dialogs)
        known = super().known(asked)
        if known != asked:
            raise Dependent
        return known


def keep(parts: Iterator[Tables], folder: Path, intake: FileIntake) -> dict[str, Any]:
    """Write the batches of a file into an empty folder; gives the account of reading it."""
    count = turns = 0
    for part in parts:
        claims = _taken_out(intake)
        for name, table in ((_CLAIMS, claims), *vars(part).items()):
            if table.height:
                table.write_ipc(_path(folder, count, name), compression="lz4")
        count += 1
        turns += part.turns.height
    if (claims := _taken_out(intake)).height:  # of records that were rejected after all
        claims.write_ipc(_path(folder, count, _CLAIMS), compression="lz4")
        count += 1
    return {
        "batches": count,
        "turns": turns,
        "rejected": intake.rejected,
        "rejected_files": intake.rejected_files,
        "rejected_below": intake.rejected_below,
        "rejects": [list(asdict(reject).values()) for reject in intake.rejects],
        "notes": intake.notes,
        "damaged": intake.damaged,
    }


@dataclass(frozen=True)
class KeptFile:
    """A file that was read apart.

    Attributes:
        folder: Holds its batches.
        account: What `keep` said of it.
    """

    folder: Path
    account: Mapping[str, Any]

    def joins(self, intake: Intake, label: str) -> bool:
        """Whether claiming its ids among those of all files gives what reading it now would.

        An id that is taken gets the label of its file in front. Whether that name is free depends
        on the order of claims where the file itself has names that begin so.
        """
        taken = labelled = False
        for claims in self._claims():
            taken = taken or intake.dialogs.any_taken(*_hashes(claims))
            labelled = labelled or bool(claims["dialog"].str.starts_with(f"{label}/").any())
        return not (taken and labelled)

    def tables(self, intake: Intake) -> Iterator[Tables]:
        """The batches as the reader gave them; what was kept of reading goes to `intake`."""
        intake.rejected += self.account["rejected"]
        intake.rejected_files += self.account["rejected_files"]
        intake.rejected_below += self.account["rejected_below"]
        intake.keep_rejects(Reject(*reject) for reject in self.account["rejects"])
        intake.damaged += self.account["damaged"]
        for claims in self._claims():
            paths = {name: Path(name) for name in claims["file"].unique()}
            hashes = _hashes(claims)
            if len(paths) == 1 and not intake.dialogs.any_taken(*hashes):
                [file] = paths.values()
                intake.dialogs.take_new(*hashes, file, claims["line"].to_list())
                continue
            for dialog, name, line in claims.select("dialog", "file", "line").iter_rows():
                intake.claim(dialog, paths[name], line)
        for number in range(self.account["batches"]):
            found = {name: _path(self.folder, number, name) for name in SCHEMAS}
            yield Tables.of(**{name: _read(path) for name, path in found.items() if path.exists()})
        for note in self.account["notes"]:
            intake.note(note)

    def _claims(self) -> Iterator[pl.DataFrame]:
        for number in range(self.account["batches"]):
            path = _path(self.folder, number, _CLAIMS)
            if path.exists():
                yield _read(path)


def _taken_out(intake: FileIntake) -> pl.DataFrame:
    """The claims since this was last called, with the hashes of their ids."""
    dialogs, files, lines = intake.claims
    low, high = intake.dialogs.hashes(len(intake.dialogs) - len(dialogs))
    intake.claims = ([], [], [])
    return pl.DataFrame(
        {"dialog": dialogs, "file": files, "line": lines, "low": low, "high": high},
        schema={
            "dialog": pl.String,
            "file": pl.String,
            "line": pl.Int64,
            "low": pl.UInt64,
            "high": pl.UInt64,
        },
    )


def _hashes(claims: pl.DataFrame) -> tuple[Words, Words]:
    return claims["low"].to_numpy(), claims["high"].to_numpy()


def _path(folder: Path, number: int, name: str) -> Path:
    return folder / f"{number:06}.{name}.arrow"


def _read(path: Path) -> pl.DataFrame:
    return pl.read_ipc(path)
