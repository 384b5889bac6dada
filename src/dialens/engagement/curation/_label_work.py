"""The folder that ingest wrote, as labelling reads it: finished shards and what they hold."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialens.base import DialensError
from dialens.engagement.curation._tables import (
    COMMENTS_FOLDER,
    DONE_FOLDER,
    INGEST_RECORD,
    SUBMISSIONS_FOLDER,
)


@dataclass(frozen=True)
class Work:
    """Shards of comments and submissions.

    Attributes:
        folder: Where they are.
        comments: Parquet files of comments, by name.
        submissions: Parquet files of submissions; there may be none.
        rows: Of both kinds, as the markers count them; duplicates are still among them.
        identity: A hash over the markers of all shards, which tell dump, layout and place.
        record: What ingest says about itself.
    """

    folder: Path
    comments: tuple[Path, ...]
    submissions: tuple[Path, ...]
    rows: dict[str, int]
    identity: str
    record: dict[str, Any]


def open_work(folder: Path) -> Work:
    """Find the shards of a finished ingest.

    Raises:
        DialensError: The folder is not one of ingest's, its ingest did not finish, a shard is
            missing, or there is no comment.
    """
    if not folder.is_dir():
        raise DialensError(
            f"{folder} is no folder. Give one that `dialens engagement ingest DUMP… -o {folder}` "
            "made."
        )
    if not (folder / DONE_FOLDER).is_dir():
        raise DialensError(
            f"{folder} was not made by `dialens engagement ingest` (it has no folder "
            f"{DONE_FOLDER}). Name the folder that was given to it with -o."
        )
    if not (folder / INGEST_RECORD).is_file():
        raise DialensError(
            f"{folder} is an ingest that did not finish (it has no {INGEST_RECORD}). Run the same "
            "`dialens engagement ingest` again: it goes on where it was."
        )
    try:
        record = json.loads((folder / INGEST_RECORD).read_bytes())
        markers = {
            path.stem: json.loads(path.read_bytes())
            for path in sorted((folder / DONE_FOLDER).glob("part-*.json"))
        }
        files = {name: about for one in markers.values() for name, about in one["files"].items()}
        rows = {
            kind: sum(int(one[kind]) for one in markers.values())
            for kind in (COMMENTS_FOLDER, SUBMISSIONS_FOLDER)
        }
    except (ValueError, KeyError, TypeError) as error:
        raise DialensError(
            f"{folder} has a marker that cannot be read ({error!r}). Run `dialens engagement "
            "ingest` again into a new folder."
        ) from error
    for name, about in files.items():
        if not (folder / name).is_file() or (folder / name).stat().st_size != about["bytes"]:
            raise DialensError(
                f"{folder / name} is missing or not whole. Run the same `dialens engagement "
                "ingest` again: it makes what is missing."
            )
    if rows[COMMENTS_FOLDER] == 0:
        raise DialensError(
            f"{folder} holds no comment, only {rows[SUBMISSIONS_FOLDER]:,} submissions. Ingest "
            "files of comments (RC_…) too."
        )
    seen = json.dumps(markers, sort_keys=True)
    return Work(
        folder,
        _of_kind(folder, files, COMMENTS_FOLDER),
        _of_kind(folder, files, SUBMISSIONS_FOLDER),
        rows,
        hashlib.sha256(seen.encode()).hexdigest(),
        record,
    )


def _of_kind(folder: Path, files: dict[str, Any], kind: str) -> tuple[Path, ...]:
    return tuple(folder / name for name in sorted(files) if name.startswith(f"{kind}/"))
