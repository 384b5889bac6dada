"""From whatever a user has to a corpus: in memory, or spooled through a folder when it is large."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from dialens.base import (
    Advance,
    DialensError,
    as_text,
    make_folder,
    rare_collections,
    sha256_file,
)
from dialens.corpus._corpus import Corpus, Origin, write_corpus
from dialens.corpus._encoding import UTF8
from dialens.corpus._fetching import LocalFile, local_file
from dialens.corpus._in_memory import read_in_memory, source_of
from dialens.corpus._intake import Intake, OnError, UnreadableRecord
from dialens.corpus._names import PIPED, named
from dialens.corpus._python_words import in_python
from dialens.corpus._read_options import ReadOptions
from dialens.corpus._reading import FolderReader, Reader, choose, tables_of
from dialens.corpus._reading_apart import FilesApart
from dialens.corpus._source import Source
from dialens.corpus._spoken import spoken
from dialens.corpus._tables import Tables
from dialens.corpus._unknown_shape import explained
from dialens.corpus.readers import readers

_APART = ".files"


def read(
    source: object,
    *more: str | Path,
    format: str | None = None,
    on_error: str = "stop",
    agent: str | None = None,
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    roles: Mapping[str, str] | None = None,
    options: ReadOptions | None = None,
    spool: Path | None = None,
    threads: int = 1,
    intake: Intake | None = None,
    advance: Advance | None = None,
) -> Corpus:
    r"""Read conversations from files or folders, or take what is already in Python.

    Args:
        source: A path to a file (packed with gzip, bzip2, xz or zstandard, or plain) or a folder,
            in any format that `dialens formats` lists; or a list of messages, a list of such
            lists, a list of rows, a data frame of Polars or pandas, or a data set of `datasets`.
        more: Further paths. Each is a system of its own where it does not say otherwise.
        format: The format's name; sniffed from the content if not given. Of files only.
        on_error: `stop` at the first record that cannot be read, or `skip` it and count.
        agent: What its agents are called, whatever it says itself.
        system: What its systems are called, whatever it says itself.
        columns: Of a table, its names for our columns: `{"text": "Message"}`.
        roles: Of a table or transcript, who speaks as what: `{"Bot": "agent"}`.
        options: These four as one object.
        spool: An empty folder through which the data is streamed, for sources larger than memory.
        threads: How many files of a folder are read at once, each by a process of its own; needs
            `spool`.
        intake: Keeps account of what was left out, when the caller wants to see it. Without one,
            what was taken for granted stands in the corpus's `manifest["notes"]`, and messages
            name arguments rather than options of the command line.
        advance: Called with the number of turns just read.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "talk.txt"
        >>> _ = path.write_text("A: hello\nB: hello to you\n")
        >>> read(path).turns.collect()["text"].to_list()
        ['hello', 'hello to you']
        >>> read(path, agent="Ada").turns.collect()["agent"].unique().item()
        'Ada'
        >>> chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
        >>> read(chat).turns.select("role", "text").collect().rows()
        [('partner', 'hi'), ('agent', 'hello')]
    """
    options = (options or ReadOptions()).replaced(agent, system, columns, roles)
    if intake is not None:
        return _read(source, more, format, options, spool, threads, intake, advance)
    intake = Intake(OnError(on_error))
    try:
        corpus = _read(source, more, format, options, spool, threads, intake, advance)
    except DialensError as error:
        raise DialensError(in_python(str(error))) from error
    if not intake.notes:
        return corpus
    return replace(
        corpus, manifest={**corpus.manifest, "notes": list(map(in_python, intake.notes))}
    )


def _read(
    source: object,
    more: Sequence[str | Path],
    format: str | None,
    options: ReadOptions,
    spool: Path | None,
    threads: int,
    intake: Intake,
    advance: Advance | None,
) -> Corpus:
    if not isinstance(source, str | os.PathLike):
        return _from_memory(source, more, format, options, spool, intake, advance)
    with opened(
        [Path(source) if isinstance(source, os.PathLike) else source, *more], options, intake
    ) as sources:
        chosen = [(one, choose(one, format, readers())) for one in sources]
        if len(chosen) == 1 and chosen[0][1].name == "corpus" and options == ReadOptions():
            return Corpus.open(sources[0].path)
        if spool is None or threads == 1:
            parts = all_parts(chosen, intake, advance if spool is None else None)
            return _corpus(parts, origin_of(chosen), spool, intake, advance)
        make_folder(spool)
        with FilesApart(spool / _APART, threads, advance or (lambda count: None)) as apart:
            parts = all_parts(chosen, intake, None, apart)
            return _corpus(parts, origin_of(chosen, apart=apart), spool, intake, None)


def _from_memory(
    data: object,
    more: Sequence[str | Path],
    format: str | None,
    options: ReadOptions,
    spool: Path | None,
    intake: Intake,
    advance: Advance | None,
) -> Corpus:
    if format is not None:
        raise DialensError(f"A format ({format}) is of files; {type(data).__name__} has none.")
    if more:
        raise DialensError(f"{type(data).__name__} cannot be read together with files.")
    source = replace(source_of(data), options=options)
    origin = {"name": str(source.path), "format": "memory"}
    found = spoken(named(read_in_memory(data, source, intake), source, intake), source, intake)
    parts = filled(found, source, intake, advance if spool is None else None)
    return _corpus(parts, lambda: origin, spool, intake, advance)


def _corpus(
    parts: Iterator[Tables],
    origin: Origin,
    spool: Path | None,
    intake: Intake,
    advance: Advance | None,
) -> Corpus:
    """The parts as a corpus, in memory or in the folder `spool`."""
    if spool is not None:
        return write_corpus(parts, spool, source=origin, intake=intake, advance=advance)
    tables = list(parts)
    return Corpus.from_tables(tables, {"source": origin(), "counts": {"rejected": intake.rejected}})


def recognised(path: Path) -> str | None:
    r"""The name of the format that a file or folder seems to be in; None if in none of ours.

    Only its beginning is looked at, so that this is quick however large it is.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "talk.txt"
        >>> _ = path.write_text("A: hello\nB: hello to you\n")
        >>> recognised(path), recognised(path.with_name("none.txt"))
        ('transcript', None)
    """
    try:
        return choose(Source(path), None, readers()).name
    except (DialensError, OSError, ValueError):
        return None


@contextmanager
def opened(
    paths: Sequence[str | Path], options: ReadOptions, intake: Intake
) -> Iterator[list[Source]]:
    """The sources at some paths, pipes and remote ones as files for as long as the block takes."""
    with ExitStack() as stack:
        files = [stack.enter_context(local_file(path)) for path in paths]
        intake.names |= {str(file.path): file.shown for file in files}
        yield sources_of(files, options)


def sources_of(files: Sequence[LocalFile], options: ReadOptions) -> list[Source]:
    """Files as sources, told apart by as much of each path as it takes.

    Examples:
        >>> paths = ["a/chats.jsonl", "b/chats.jsonl", "c/v2.jsonl"]
        >>> some = sources_of([LocalFile(Path(path), path) for path in paths], ReadOptions())
        >>> [source.stem for source in some]
        ['a/chats', 'b/chats', 'v2']
    """
    plain = [
        Source(file.path, file.label, agent=PIPED if file.piped else None, options=options)
        for file in files
    ]
    places = [Path(os.path.realpath(source.path)) for source in plain]
    for place, count in Counter(places).items():
        if count > 1:
            raise DialensError(f"{place} is named twice. Name every input once.")
    labels = [source.stem for source in plain]
    for depth in range(1, max(len(place.parts) for place in places)):
        counts = Counter(labels)
        if max(counts.values()) == 1:
            break
        labels = [
            "/".join([*place.parts[-1 - depth : -1], source.stem]) if counts[label] > 1 else label
            for label, place, source in zip(labels, places, plain, strict=True)
        ]
    return [
        source if label == source.stem else replace(source, label=label)
        for source, label in zip(plain, labels, strict=True)
    ]


def all_parts(
    chosen: Sequence[tuple[Source, Reader]],
    intake: Intake,
    advance: Advance | None,
    apart: FilesApart | None = None,
) -> Iterator[Tables]:
    """The batches of all sources, one source after the other; each must hold a conversation.

    With `apart`, the files of a folder are read side by side before they are joined.
    """
    for source, reader in chosen:
        if source.encoding != UTF8:
            intake.note(f"{source.path.name} is not UTF-8; it was read as {source.encoding}.")
        if apart is not None and isinstance(reader, FolderReader) and source.is_folder:
            apart.read(source, reader, intake.on_error)
        kept = None if apart is None else apart.tables
        found = named(tables_of(reader, source, intake, kept), source, intake)
        try:
            with rare_collections():
                yield from filled(spoken(found, source, intake), source, intake, advance)
        except UnreadableRecord as stop:
            raise explained(stop, source, reader) from stop
    intake.conclude()


def origin_of(
    chosen: Sequence[tuple[Source, Reader]],
    asked: Mapping[str, Any] | None = None,
    apart: FilesApart | None = None,
) -> Origin:
    """What a manifest says of the sources: names, formats and hashes.

    Files are listed now, since the output may lie among them, and hashed when they have been read:
    `apart` knows the hashes of those that it has read.
    """
    listed = [_files_in(source, apart) if source.is_folder else None for source, _ in chosen]
    sha256 = sha256_file if apart is None else apart.sha256

    def origin() -> dict[str, Any]:
        entries = []
        for (source, reader), files in zip(chosen, listed, strict=True):
            entry: dict[str, Any] = {"name": as_text(source.path.name), "format": reader.name}
            if files is None:
                entry["sha256"] = sha256(source.path)
            else:
                entry["files"] = {
                    name: sha256(path)
                    for name, path in files.items()
                    if os.access(path, os.R_OK)  # others were left out
                }
            entries.append(entry)
        if len(entries) == 1:
            return {**entries[0], **(asked or {})}
        return {
            "name": ", ".join(entry["name"] for entry in entries),
            "format": ", ".join(dict.fromkeys(entry["format"] for entry in entries)),
            "inputs": entries,
        }

    return origin


def _files_in(source: Source, apart: FilesApart | None) -> dict[str, Path]:
    """The files of a folder by their names from its top on, without those of our own work."""
    ours = None if apart is None else apart.folder.absolute()
    paths = sorted(path for path in source.path.rglob("*") if path.is_file())
    return {
        as_text(path.relative_to(source.path).as_posix()): path
        for path in paths
        if ours not in path.absolute().parents
    }


def filled(
    parts: Iterator[Tables], source: Source, intake: Intake, advance: Advance | None
) -> Iterator[Tables]:
    """The batches themselves; a source without any turn is an error."""
    turns = 0
    for part in parts:
        turns += part.turns.height
        if advance:
            advance(part.turns.height)
        yield part
    if turns == 0:
        were = "was" if intake.rejected == 1 else "were"
        left_out = f" ({intake.left_out} {were} left out)" if intake.rejected else ""
        first = ""
        if intake.rejects:
            reject = intake.rejects[0]
            place = f"{reject.file}, line {reject.line}" if reject.line else reject.file
            first = f" The first: {place}: {reject.reason.partition(chr(10))[0]}"
        raise DialensError(f"{source.path} holds no conversation{left_out}.{first}")
