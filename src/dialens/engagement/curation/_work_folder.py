"""The work folder between ingest and label: its tables, its markers, and how it is opened."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dialens.base import DialensError, read_marker, step_key

COMMENTS = pl.Schema(
    {
        "id": pl.String,
        "parent_id": pl.String,
        "parent_is_submission": pl.Boolean,
        "thread": pl.String,
        "subreddit": pl.String,
        "created": pl.Int64,
        "retrieved": pl.Int64,
        "score": pl.Int64,
        "controversial": pl.Boolean,
        "edited": pl.Boolean,
        "text": pl.String,
        "words": pl.Int32,
        "content_words": pl.Int32,
        "deleted": pl.Boolean,
        "quote": pl.Boolean,
        "bot": pl.Boolean,
        "english": pl.Boolean,
    }
)
"""One row a comment. Ids have no `t1_`; `score` is null where votes are absent or hidden, `edited`
where the dump does not say. `text` is what a reader sees; the author is not kept."""

SUBMISSIONS = pl.Schema(
    {
        "id": pl.String,
        "subreddit": pl.String,
        "created": pl.Int64,
        "retrieved": pl.Int64,
        "score": pl.Int64,
        "text": pl.String,
        "deleted": pl.Boolean,
    }
)
"""One row a submission; `text` is its title and what was written under it."""

COMMENTS_FOLDER = "comments"
SUBMISSIONS_FOLDER = "submissions"
DONE_FOLDER = "done"
REJECTS_FOLDER = "rejects"
INGEST_RECORD = "ingest.json"


@dataclass(frozen=True)
class Work:
    """Shards of comments and submissions.

    Attributes:
        folder: Where they are.
        comments: Parquet files of comments, by name.
        submissions: Parquet files of submissions; there may be none.
        rows: Of both kinds, as the markers count them; duplicates are still among them.
        identity: A hash over the markers of all shards, which name dump, layout and place.
        record: The run record of ingest.
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
    except ValueError as error:
        raise DialensError(
            f"{folder / INGEST_RECORD} cannot be read ({error!r}). Run `dialens engagement ingest` "
            "again into a new folder."
        ) from error
    shards = {
        path.stem: _shard(path) for path in sorted((folder / DONE_FOLDER).glob("part-*.json"))
    }
    files = {name: about for shard in shards.values() for name, about in shard["files"].items()}
    rows = {
        kind: sum(int(shard[kind]) for shard in shards.values())
        for kind in (COMMENTS_FOLDER, SUBMISSIONS_FOLDER)
    }
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
    return Work(
        folder,
        _of_kind(folder, files, COMMENTS_FOLDER),
        _of_kind(folder, files, SUBMISSIONS_FOLDER),
        rows,
        step_key(shards),
        record,
    )


def _of_kind(folder: Path, files: dict[str, Any], kind: str) -> tuple[Path, ...]:
    return tuple(folder / name for name in sorted(files) if name.startswith(f"{kind}/"))


def _shard(path: Path) -> dict[str, Any]:
    """What the marker of a shard says."""
    marker = read_marker(path)
    needed = (COMMENTS_FOLDER, SUBMISSIONS_FOLDER, "files")
    if marker is None or any(name not in marker.content for name in needed):
        raise DialensError(
            f"{path} is a marker that cannot be read. Run `dialens engagement ingest` again into "
            "a new folder."
        )
    return dict(marker.content)
