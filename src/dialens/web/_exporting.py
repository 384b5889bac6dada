"""The export as a download: one at a time, large ones in a process of their own.

Participants must not notice that somebody downloads a large study. The process has a low priority
and its own memory, which is gone with it. Nothing stays on disk: the archive is deleted as soon as
it is open.
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from anyio import CancelScope, CapacityLimiter
from anyio.lowlevel import RunVar
from fastapi import HTTPException, Request
from fastapi.responses import Response, StreamingResponse

from dialens.analysis.bias import rater_flags
from dialens.base import DialensError, sha256_file
from dialens.report import write_export_handover
from dialens.studies.export import UnreadableVersion, export
from dialens.studies.judges import LEDGER
from dialens.studies.store import (
    ARCHIVE,
    ExportLog,
    OperationStore,
    Secrets,
    Standings,
    Store,
)
from dialens.web._site import Site
from dialens.web._turns import aside, give_turn_back, limiter

_LARGE = 2_000
"""Submitted screens from which on an export gets a process."""
_REFUSED = 3
_CHUNK = 262_144
_START = "from dialens.web._exporting import main; main()"
_MAKING: RunVar[CapacityLimiter] = RunVar("dialens_exports_made")
_SENDING: RunVar[CapacityLimiter] = RunVar("dialens_exports_sent")


@dataclass(frozen=True)
class ExportJob:
    """What is to be exported.

    Attributes:
        versions: Hashes of the study's versions, the newest last.
        name: Of the study, and of the folder in the archive.
        judges: The ledger of judges, if there may be one.
        folder: Where the archive is made.
    """

    versions: Sequence[str]
    name: str
    judges: str | None
    folder: str

    @classmethod
    def of(cls, site: Site, versions: Sequence[int], folder: Path) -> "ExportJob":
        """The export of a study; of all versions if none is named."""
        stored = [one for one in site.store.studies() if one.name == site.study.name]
        there = {int(one.version): one.hash for one in stored}
        unknown = sorted(set(versions) - set(there))
        if unknown:
            known = ", ".join(map(str, sorted(there)))
            raise HTTPException(404, f"There is no version {unknown[0]}. Versions: {known}.")
        judges = None if site.folder is None else str(site.folder / LEDGER)
        hashes = [there[version] for version in sorted(versions or there)]
        return cls(hashes, site.study.name, judges, str(folder))

    @property
    def archive(self) -> Path:
        """The file that is made."""
        return Path(self.folder, "export.zip")

    def run(self, store: Store) -> None:
        """Make the archive."""
        export(
            store,
            self.versions,
            Path(self.folder, self.name),
            flags=rater_flags,
            hand_over=write_export_handover,
            judges=None if self.judges is None else Path(self.judges),
        )
        shutil.make_archive(
            str(self.archive.with_suffix("")), "zip", root_dir=self.folder, base_dir=self.name
        )


async def export_zip(
    request: Request, site: Site, versions: Sequence[int] = (), *, by: str, who: str = ""
) -> Response:
    """Everything that was collected, by pseudonym, as one file; that it was taken is remembered.

    Args:
        request: Whose turn among researchers is given back, for this may take minutes.
        site: Of the study.
        versions: Which; all of them if none is named.
        by: The way by which it is asked for: `dashboard` or `api`.
        who: The name that somebody gave at the login.
    """
    give_turn_back(request)
    async with limiter(_MAKING, 1), _scratch() as folder:
        job = await aside(ExportJob.of, site, versions, folder)
        try:
            if await aside(_is_large, site.store, job):
                await _run_apart(site.store, job)
            else:
                await aside(job.run, site.store)
        except UnreadableVersion as error:
            raise HTTPException(409, str(error)) from error
        await aside(_remember, site, job, by, who)
        archive: BinaryIO = await aside(open, job.archive, "rb")
    headers = {
        "content-length": str(os.fstat(archive.fileno()).st_size),
        "content-disposition": f'attachment; filename="{site.study.name}-export.zip"',
    }
    return StreamingResponse(_chunks(archive), media_type="application/zip", headers=headers)


async def _chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while True:
            async with limiter(_SENDING, 1):
                chunk = await aside(file.read, _CHUNK)
            if not chunk:
                return
            yield chunk


def _remember(site: Site, job: ExportJob, by: str, who: str) -> None:
    """Write down that somebody has this archive: whoever is forgotten later is still in it."""
    people = sum(OperationStore(site.store, by).attendance(study).people for study in job.versions)
    ExportLog(site.store.database, by, who).remember(
        job.versions[-1],
        ARCHIVE,
        None,
        sha256=sha256_file(job.archive),
        people=people,
        now=site.clock(),
    )


def _is_large(store: Store, job: ExportJob) -> bool:
    if store.database.is_sqlite and store.database.file is None:
        return False  # no other process could open it
    standings = Standings(store.database)
    screens = (one.position for study in job.versions for one in standings.all(study))
    return sum(screens) >= _LARGE


async def _run_apart(store: Store, job: ExportJob) -> None:
    """Make the archive in a process that ends with this one, however this one ends."""
    database = store.database.engine.url.render_as_string(hide_password=False)
    told = asdict(job) | {"database": database, "key": store.secrets.to_text()}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _START,
        stdin=asyncio.subprocess.PIPE,  # open until the end: that it closes says that we are gone
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"POLARS_MAX_THREADS": "1"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(told).encode() + b"\n")
        await process.stdin.drain()
        said = await process.stdout.read()
        status = await process.wait()
    except BaseException:
        if process.returncode is None:
            process.kill()
        raise
    finally:
        process.stdin.close()
    if status == _REFUSED:
        raise UnreadableVersion(said.decode("utf-8"))
    if status:
        raise DialensError(f"The export ended with status {status}; the log says why.")


def main() -> None:
    """What the process does: read what is wanted, make the archive."""
    os.nice(19)
    told = json.loads(sys.stdin.buffer.readline())
    database, key = told.pop("database"), told.pop("key")
    job = ExportJob(**told)
    threading.Thread(target=_end_with_input, args=(job.folder,), daemon=True).start()
    secrets = Secrets.from_text(key, place="The key of the server")
    try:
        with Store.open(database, create=False, secrets=secrets) as store:
            job.run(store)
    except UnreadableVersion as error:
        sys.stdout.buffer.write(str(error).encode())
        sys.stdout.flush()
        sys.exit(_REFUSED)


def _end_with_input(folder: str) -> None:
    """Leave nothing behind when the server is gone."""
    os.read(0, 1)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


@asynccontextmanager
async def _scratch() -> AsyncIterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="dialens-export-"))
    try:
        yield folder
    finally:
        with CancelScope(shield=True):
            await aside(shutil.rmtree, folder, True)
