"""Folders of data sets: which files belong to which split.

- saved by `datasets` (`save_to_disk`): `state.json` lists the shards, `dataset_dict.json` the
  splits, each a folder of its own;
- a snapshot of the hub, or its cache: `data/train-00000-of-00002.parquet`, `train/0000.parquet`,
  with or without the folder of a configuration above.

A folder of Parquet files with names of their own (`v1.parquet`, `v2.parquet`) is no data set but
several sources.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from dialens.base import DialensError

_SHARD = re.compile(r"(?P<split>.+?)-\d{5}-of-\d{5}(-[0-9a-f]+)?$")
_SPLIT = re.compile(r"(.*[-_])?(train|test|validation|valid|val|dev|eval)([-_].*)?$", re.IGNORECASE)
_NUMBERED = re.compile(r"(part[-_.]?)?\d{1,5}$")
_TABLES = (".parquet", ".arrow")
_BESIDE = re.compile(
    r"^[._]|^(readme|licen[cs]e|notice|dataset_infos?|state)\b|\.(md|txt|py|png|jpg|svg|pdf)$",
    re.IGNORECASE,
)
_CACHED = re.compile(r"datasets--(?P<owner>.+?)--(?P<name>.+)$")
_PLAIN = ("data", "default", "")


def splits_of(folder: Path) -> dict[str, list[Path]]:
    """The files of each split of a data set, or nothing if the folder holds none.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "data").mkdir()
        >>> for name in ("train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001"):
        ...     (folder / "data" / f"{name}.parquet").touch()
        >>> {split: len(files) for split, files in splits_of(folder).items()}
        {'test': 1, 'train': 2}
    """
    listed = folder / "dataset_dict.json"
    if listed.is_file():
        splits = _json(listed).get("splits")
        names = splits if isinstance(splits, list) else []
        return {str(name): _saved(folder / str(name)) for name in names}
    if (folder / "state.json").is_file() and (folder / "dataset_info.json").is_file():
        return {"": _saved(folder)}
    if (folder / "snapshots").is_dir() and (folder / "refs").is_dir():
        return splits_of(_snapshot(folder))
    return _shards(folder)


def dataset_name(folder: Path) -> str:
    """The name of a data set: its folder's, or in the cache of the hub the repository's.

    Examples:
        >>> dataset_name(Path("datasets--allenai--WildChat") / "snapshots" / "0f3c")
        'WildChat'
    """
    above = [folder, *folder.absolute().parents[:2]]
    cached = next((match for path in above if (match := _CACHED.match(path.name))), None)
    return cached["name"] if cached else folder.absolute().name


def _saved(folder: Path) -> list[Path]:
    state = _json(folder / "state.json")
    entries = state.get("_data_files")
    names = [
        entry["filename"]
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict) and isinstance(entry.get("filename"), str)
    ]
    missing = next((name for name in names if not (folder / name).is_file()), None)
    if missing is not None or not names:
        raise DialensError(
            f"{folder} is a data set that was not saved whole: {missing or 'every shard'} is "
            "missing. Copy the whole folder, or save it again."
        )
    return [folder / name for name in names]


def _snapshot(folder: Path) -> Path:
    main = folder / "refs" / "main"
    snapshots = sorted(path for path in (folder / "snapshots").iterdir() if path.is_dir())
    named = folder / "snapshots" / main.read_text().strip() if main.is_file() else None
    if named is not None and named.is_dir():
        return named
    if len(snapshots) == 1:
        return snapshots[0]
    raise DialensError(
        f"{folder} holds {len(snapshots)} snapshots of a data set. Name the one to read, such as "
        f"{folder / 'snapshots'}/…."
    )


def _shards(folder: Path) -> dict[str, list[Path]]:
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not is_beside(path.relative_to(folder).parts)
    )
    if not files or not all(path.name.endswith(_TABLES) for path in files):
        return {}
    splits: dict[str, list[Path]] = {}
    for path in files:
        split = _split(path.relative_to(folder))
        if split is None:
            return {}
        splits.setdefault(split, []).append(path)
    return splits


def is_beside(parts: Sequence[str]) -> bool:
    """Whether a file is no table, by its name and those of the folders above it."""
    return any(part.startswith((".", "_")) for part in parts[:-1]) or bool(
        _BESIDE.search(parts[-1])
    )


def _split(path: Path) -> str | None:
    """The split that a shard's name and folders tell, or None if they tell none."""
    stem = path.name.rpartition(".")[0]
    folders = [part for part in path.parts[:-1] if part not in _PLAIN]
    shard = _SHARD.match(stem)
    if shard is not None:
        return "/".join([*folders, shard["split"]])
    if _NUMBERED.match(stem) and folders:
        return "/".join(folders)
    if _SPLIT.match(stem) or path.name.endswith(".arrow"):
        return "/".join([*folders, stem])
    return None


def _json(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DialensError(
            f"{path} cannot be read ({error}): the data set is not whole."
        ) from error
    return content if isinstance(content, dict) else {}
