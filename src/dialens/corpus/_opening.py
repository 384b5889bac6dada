"""From whatever a user has to a corpus: in memory, or spooled through a folder when it is large."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dialens.base import Advance, DialensError, sha256_file
from dialens.corpus._corpus import Corpus, write_corpus
from dialens.corpus._intake import Intake, OnError
from dialens.corpus._reading import Reader, choose
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables
from dialens.corpus.readers import readers


def read(
    path: str | Path,
    *,
    format: str | None = None,
    on_error: str = "stop",
    spool: Path | None = None,
    intake: Intake | None = None,
    advance: Advance | None = None,
) -> Corpus:
    r"""Read conversations from a file or a folder, in any format that `dialens formats` lists.

    Args:
        path: A file (packed with gzip, bzip2, xz or zstandard, or plain) or a folder.
        format: The format's name; sniffed from the content if not given.
        on_error: `stop` at the first record that cannot be read, or `skip` it and count.
        spool: An empty folder through which the data is streamed, for sources larger than memory.
        intake: Keeps account of what was left out, when the caller wants to see it.
        advance: Called with the number of turns just read.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "talk.txt"
        >>> _ = path.write_text("A: hello\nB: hello to you\n")
        >>> read(path).turns.collect()["text"].to_list()
        ['hello', 'hello to you']
    """
    source = Source(Path(path))
    reader = choose(source, format, readers())
    if reader.name == "corpus":
        return Corpus.open(source.path)
    intake = intake or Intake(OnError(on_error))
    parts = filled(reader.read(source, intake), source, intake, advance if spool is None else None)
    origin = describe(source, reader)
    if spool is not None:
        return write_corpus(parts, spool, source=origin, intake=intake, advance=advance)
    tables = list(parts)
    return Corpus.from_tables(tables, {"source": origin, "counts": {"rejected": intake.rejected}})


def describe(source: Source, reader: Reader) -> dict[str, Any]:
    """What a manifest says of the source: its name, format and hash."""
    entry: dict[str, Any] = {"name": source.path.name, "format": reader.name}
    if source.is_folder:
        files = sorted(path for path in source.path.rglob("*") if path.is_file())
        names = [path.relative_to(source.path).as_posix() for path in files]
        entry["files"] = {name: sha256_file(path) for name, path in zip(names, files, strict=True)}
    else:
        entry["sha256"] = sha256_file(source.path)
    return entry


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
        left_out = f" ({intake.rejected:,} records were left out)" if intake.rejected else ""
        raise DialensError(f"{source.path} holds no conversation{left_out}.")
