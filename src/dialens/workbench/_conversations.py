"""Which conversations a folder holds: each read once, with all the runs that scored it.

Two score folders of the same conversations are two sets of columns of one collection. What makes
conversations the same is the hash of what they were read from and how they were read.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dialens.base import DialensError, RunRecord, listed
from dialens.corpus import Corpus, Intake, OnError, ReadOptions, is_corpus_folder, read
from dialens.workbench._catalogue import CURRENT, Catalogue, Item


@dataclass(frozen=True)
class Collection:
    """Conversations that were read together.

    Attributes:
        name: In the page, and in flags: the item's name.
        paths: Files or folders to read, in order; none where they are no longer there.
        options: How they are read.
        format: The reader's name, if a run recorded it.
        key: Hash of what is read, and how.
        runs: Score folders made of it, the newest first.
        whole_turns: Whether replies that were cut off are left out.
        missing: Why it cannot be read, where it is not there.
        files: Hashes of the files that it was read from, as far as they are recorded.
    """

    name: str
    paths: tuple[Path, ...]
    options: ReadOptions
    format: str | None
    key: str
    runs: tuple[Item, ...] = ()
    whole_turns: bool = False
    missing: str = ""
    files: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def stems(self) -> tuple[str, ...]:
        """What its file is called where several are read together, as far as that can be known."""
        if len(self.paths) != 1:
            return ()
        stem = self.paths[0].name.split(".")[0]
        return (f"{self.paths[0].parent.name}/{stem}", stem)

    def corpus(self, spool: Path) -> Corpus:
        """Read it, by way of a folder to write into; records that cannot be read are left out.

        Raises:
            DialensError: It cannot be read at all.
        """
        if not self.paths:
            raise DialensError(self.missing)
        intake = Intake(OnError("skip"))
        corpus = read(
            *self.paths, format=self.format, options=self.options, spool=spool, intake=intake
        )
        return corpus.whole_turns() if self.whole_turns else corpus


def collections_of(catalogue: Catalogue) -> tuple[Collection, ...]:
    """Every set of conversations of a folder: those that were scored first, the newest run before.

    Files that a run scored together are a collection each, so that flags on their conversations
    stay with them whatever is scored. A file that a corpus folder was converted from, or that a run
    scored, is not listed again.
    """
    corpora = {item.path: item for item in catalogue.of("corpus")}
    scored: dict[str, Collection] = {}
    for run in sorted(catalogue.of("scores"), key=_age):
        if run.record is not None:
            for one in _of_run(run, run.record, corpora):
                known = scored.setdefault(one.key, one)
                scored[one.key] = replace(known, runs=(*known.runs, run))
    used = {path for one in scored.values() for path in one.paths}
    hashes = {found for one in scored.values() for found in one.files}
    folders = [path for path in corpora if path.is_dir()]
    hashes.update(found for path in folders for found in _hashes(_manifest(path).get("source")))
    read_by_runs = {found for one in scored.values() for found in one.files}
    converted = {
        source.path
        for path in folders
        for source in corpora[path].sources
        if corpora[path].state == CURRENT
    }
    rest = []
    for path, item in sorted(corpora.items()):
        manifest = _manifest(path) if path.is_dir() else {}
        turns = _turns_hash(manifest.get("files"))
        own = {source.sha256 for source in item.sources if source.sha256} or {str(path)}
        origin = _hashes(manifest.get("source"))
        scored_already = bool(origin) and origin <= read_by_runs
        if path in used or f"{turns}|" in scored or scored_already:
            continue
        if not manifest and (own & hashes or path in converted):
            continue
        key = f"{turns or '+'.join(sorted(own))}|"
        rest.append(Collection(item.name, (path,), ReadOptions(), None, key))
    return (*scored.values(), *rest)


def _age(item: Item) -> tuple[float, str]:
    """The newest first."""
    return (-item.made.timestamp() if item.made else 0.0, item.name)


def _of_run(run: Item, record: RunRecord, corpora: Mapping[Path, Item]) -> Iterator[Collection]:
    """What a run read: one collection a file or folder; one in all where something is gone."""
    arguments, data = record.arguments, record.data
    paths = tuple(source.path for source in run.sources)
    lost = [str(path) for path in paths if not path.exists()]
    whole = bool(arguments.get("whole_turns"))
    options = ReadOptions(
        agent=arguments.get("agent"),
        system=arguments.get("system"),
        columns=arguments.get("columns") or {},
        roles=arguments.get("roles") or {},
    )
    how = f"{'whole' if whole else ''}{_how(options)}"
    if lost or not paths:
        missing = (
            f"{run.name} was made of {listed(lost) or 'conversations'}, which is no longer there: "
            "its values are shown without texts. Put it back, or score again."
        )
        turns = _turns_hash(data.get("tables")) or "+".join(sorted(_hashes(data))) or run.name
        yield Collection(
            name=" + ".join(path.name for path in paths) or run.name,
            paths=(),
            options=options,
            format=None,
            key=f"{turns}|{how}",
            missing=missing,
            files=frozenset(_hashes(data)),
        )
        return
    inputs = data.get("inputs")
    entries = inputs if isinstance(inputs, list) and len(inputs) == len(paths) else [data]
    for path, entry in zip(paths, entries, strict=False):
        files = _hashes(entry)
        read = _turns_hash(_manifest(path).get("files")) if path.is_dir() else None
        yield Collection(
            name=corpora[path].name if path in corpora else path.name,
            paths=(path,) if len(entries) == len(paths) else paths,
            options=options,
            format=_format(entry, paths),
            key=f"{read or '+'.join(sorted(files)) or path}|{how}",
            whole_turns=whole,
            files=frozenset(files),
        )


def _how(options: ReadOptions) -> str:
    """Nothing where a file is read as it is, so that a corpus scored plainly is known as itself."""
    return "" if options == ReadOptions() else repr(options)


def _format(data: Mapping[str, Any], paths: Sequence[Path]) -> str | None:
    """The reader that a run recorded; a corpus folder records what it was converted from."""
    name = data.get("format")
    if any(is_corpus_folder(path) for path in paths):
        return None
    return name if isinstance(name, str) and name != "corpus" and "," not in name else None


def _hashes(data: object) -> set[str]:
    """Hashes of the files that conversations were read from, as records and manifests say."""
    if not isinstance(data, Mapping):
        return set()
    files, inputs = data.get("files"), data.get("inputs")
    found = {data["sha256"]} if isinstance(data.get("sha256"), str) else set()
    if isinstance(files, Mapping):
        found |= {one for one in files.values() if isinstance(one, str)}
    if isinstance(inputs, list):
        found.update(*(_hashes(one) for one in inputs))
    return found


def _turns_hash(tables: object) -> str | None:
    entry = tables.get("turns.parquet") if isinstance(tables, Mapping) else None
    found = entry.get("sha256") if isinstance(entry, Mapping) else entry
    return found if isinstance(found, str) else None


def _manifest(folder: Path) -> Mapping[str, Any]:
    try:
        content = json.loads((folder / "manifest.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, Mapping) else {}
