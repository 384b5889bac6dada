"""From one format to another, and the list of formats there are."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from dialens.base import Advance, atomic_file, refuse_inputs_in
from dialens.corpus._corpus import REJECTS, write_rejects
from dialens.corpus._intake import Intake, OnError
from dialens.corpus._opening import all_parts, opened, origin_of
from dialens.corpus._read_options import ReadOptions
from dialens.corpus._reading import FolderReader, choose
from dialens.corpus._reading_apart import FilesApart, Show
from dialens.corpus._tables import Tables
from dialens.corpus._writing import WRITERS, writer_for
from dialens.corpus.readers import readers


@dataclass(frozen=True)
class Summary:
    """What a conversion did.

    Attributes:
        source: What was read.
        target: What was written.
        format: The format it was read in.
        to: The format it was written in.
        dialogs: How many dialogues were written.
        turns: How many turns.
        ratings: How many ratings.
        references: How many references.
        rejected: How many records could not be read and were skipped.
        left_out: What the target's format has no place for, such as `12 ratings`.
        rejects: The list of skipped records, if there are any: in a corpus folder, or beside
            another target.
    """

    source: Path
    target: Path
    format: str
    to: str
    dialogs: int
    turns: int
    ratings: int
    references: int
    rejected: int = 0
    left_out: list[str] = field(default_factory=list)
    rejects: Path | None = None


@dataclass(frozen=True)
class Format:
    """A format as `dialens formats` shows it."""

    name: str
    summary: str
    reads: bool
    writes: bool
    example: str


def convert(
    source_path: str | Path,
    target_path: str | Path,
    *,
    format: str | None = None,
    to: str | None = None,
    on_error: str = "stop",
    options: ReadOptions | None = None,
    force: bool = False,
    threads: int | None = None,
    intake: Intake | None = None,
    advance: Advance | None = None,
    show: Show | None = None,
    say: Callable[[str], None] = lambda sentence: None,
) -> Summary:
    r"""Read conversations in one format and write them in another, batch by batch.

    Args:
        source_path: A file or folder in any format that can be read.
        target_path: Where to write; it appears whole or not at all.
        format: The source's format; sniffed from the content if not given.
        to: The target's format; from its name if not given: `.jsonl` is openai, `.csv` is csv,
            anything else a corpus folder.
        on_error: `stop` at the first record that cannot be read, or `skip` it and count.
        options: Names for agents and systems, and what the columns of a table mean.
        force: Replace a file, or write into a folder with files of others, which are kept.
        threads: How many files of a folder are read at once, each by a process of its own. What
            was read is kept beside the target until all is done, so that the same call does only
            the rest after it was interrupted. Without it, files are read one after the other and
            nothing is kept; what such a call has kept is used.
        intake: Keeps account of what was left out, when the caller wants to see it.
        advance: Called with the number of turns just written.
        show: Shows progress, as `dialens.base.progress` does.
        say: Called with a sentence on what an interrupted call has read, or is kept for the next.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "talk.txt").write_text("User: hello\nBot: hello to you\n")
        >>> convert(folder / "talk.txt", folder / "talk.jsonl").turns
        2
    """
    target = Path(target_path)
    writer = writer_for(target, to)
    intake = intake or Intake(OnError(on_error))
    with ExitStack() as stack:
        (source,) = stack.enter_context(opened([source_path], options or ReadOptions(), intake))
        refuse_inputs_in(target, [source.path])
        reader = choose(source, format, readers())
        apart = None
        state = target.with_name(f".{target.name}.converting")
        by_file = threads is not None or state.is_dir()  # of a call that was interrupted
        if by_file and source.is_folder and isinstance(reader, FolderReader):
            apart = stack.enter_context(FilesApart(state, threads or 1, show=show, say=say))
        parts = all_parts([(source, reader)], intake, advance, apart)
        written = writer.write(
            parts if show is None else _shown(parts, show),
            target,
            source=origin_of([(source, reader)], _as_asked(format, options, intake), apart),
            intake=intake,
            force=force,
        )
    rejects = written.rejects or target.with_name(f"{target.name}.{REJECTS}")
    if written.rejects is None:
        _list_beside(rejects, intake)
    left_out = [f"{count:,} {kind}" for kind, count in written.left_out.items() if count]
    return Summary(
        source=Path(source_path),
        target=target,
        format=reader.name,
        to=writer.name,
        dialogs=written.dialogs,
        turns=written.turns,
        ratings=written.ratings,
        references=written.references,
        rejected=intake.rejected,
        left_out=left_out,
        rejects=rejects if intake.rejects else None,
    )


def _list_beside(path: Path, intake: Intake) -> None:
    """Write the list of rejects beside a target; one of a conversion before does not stay."""
    if intake.rejects:
        with atomic_file(path) as scratch:
            write_rejects(intake, scratch)
    else:
        path.unlink(missing_ok=True)


def _shown(parts: Iterator[Tables], show: Show) -> Iterator[Tables]:
    """The batches, counted on a display of their own, which begins with the first."""
    first = next(parts, None)
    if first is None:
        return
    with show("Converting", unit="turns") as advance:
        for part in chain([first], parts):
            advance(part.turns.height)
            yield part


def _as_asked(format: str | None, options: ReadOptions | None, intake: Intake) -> dict[str, Any]:
    """What the manifest keeps of how the source was to be read, to do the same again."""
    given = {
        "format": format,
        **asdict(options or ReadOptions()),
        "on_error": str(intake.on_error) if intake.on_error is not OnError.STOP else None,
    }
    kept = {name: value for name, value in given.items() if value}
    return {"options": kept} if kept else {}


def formats() -> list[Format]:
    """Every format, in the order in which formats are tried on a source.

    Examples:
        >>> [entry.name for entry in formats() if entry.writes]
        ['corpus', 'convokit', 'openai', 'csv']
    """
    written = {writer.name for writer in WRITERS}
    return [
        Format(
            reader.name,
            reader.summary,
            reads=True,
            writes=reader.name in written,
            example=reader.example,
        )
        for reader in readers()
    ]
