"""What a cluster scores: turns that Spark reads, and the same corpus as the driver sees it.

The driver reads and checks what it is given as it does without a cluster, looks at languages,
counts and references, and takes dialogues for the report. Spark reads the tables of the corpus:
where they lie, if that is a corpus folder, and else where the driver has put them, beside the
output.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dialens.corpus import Corpus, dialog_starts

_SCHEME = re.compile(r"^([a-z][a-z0-9+.-]+):/{1,2}(?=[^/])", re.IGNORECASE)
_HERE = re.compile(r"^file:/+", re.IGNORECASE)
_LOOKED_AT = 1_000_000
_TURNS = "turns.parquet"


@dataclass(frozen=True)
class ClusterCorpus:
    """A corpus that Spark reads.

    Attributes:
        corpus: As the driver sees it.
        address: What Spark reads its table of turns by.
        turns: How many rows that has.
        identity: What tells it from another corpus: size and hash of the table.
    """

    corpus: Corpus
    address: str
    turns: int
    identity: tuple[int, str]


def spark_address(source: str | Path) -> str | None:
    """The address that a path stands for, or None if it is one on this machine.

    Examples:
        >>> spark_address(Path("s3a://bucket/corpus"))  # a Path joins the slashes
        's3a://bucket/corpus'
        >>> spark_address("corpus") is None, spark_address("file:/data/corpus") is None
        (True, True)
    """
    text = str(source)
    match = None if _HERE.match(text) else _SCHEME.match(text)
    return f"{match.group(1).lower()}://{text[match.end() :]}" if match else None


def local_path(source: str | Path) -> Path:
    """A path of this machine, also where it is written as an address.

    Examples:
        >>> local_path(Path("file:/data/corpus"))
        PosixPath('/data/corpus')
    """
    return Path(_HERE.sub("/", str(source)))


def cluster_corpus(corpus: Corpus, folder: Path, address: str | None = None) -> ClusterCorpus:
    """A corpus that lies in a folder, as Spark reads it.

    Args:
        corpus: What the driver has read and checked.
        folder: Holds its tables, where all machines see it; or a copy of them.
        address: What Spark reads the folder by, if not by its path.
    """
    table = corpus.manifest["files"][_TURNS]
    root = address or f"file://{folder.absolute()}"
    return ClusterCorpus(
        corpus,
        f"{root.rstrip('/')}/{_TURNS}",
        int(corpus.manifest["counts"]["turns"]),
        (table["bytes"], table["sha256"]),
    )


def starts_of(turns: pl.LazyFrame) -> list[int]:
    """The rows on which a dialogue begins that is not the first; ids are looked at in pieces.

    Examples:
        >>> starts_of(pl.LazyFrame({"dialog": ["x", "x", "y", "z"]}))
        [2, 3]
    """
    starts: list[int] = []
    row, last = 0, pl.Series("dialog", [], pl.String)
    chunks = turns.select("dialog").collect_batches(chunk_size=_LOOKED_AT, maintain_order=True)
    for chunk in chunks:
        dialog = pl.concat([last, chunk["dialog"]])
        starts += [row - len(last) + start for start in dialog_starts(dialog)]
        row, last = row + chunk.height, dialog.tail(1)
    return starts
