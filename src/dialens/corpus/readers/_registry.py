"""Every reader: ours, those that other packages bring, and the order in which they are asked."""

from dialens.base import Registry
from dialens.corpus._reading import Reader
from dialens.corpus.readers._arena import ARENA
from dialens.corpus.readers._convokit import CONVOKIT
from dialens.corpus.readers._corpus_folder import CORPUS
from dialens.corpus.readers._dataset import DATASET
from dialens.corpus.readers._delimited import CSV, TSV
from dialens.corpus.readers._dstc10 import DSTC10_DIALOG, DSTC10_TURN
from dialens.corpus.readers._fed import FED
from dialens.corpus.readers._files import FilesReader
from dialens.corpus.readers._openai import OPENAI
from dialens.corpus.readers._parlai import PARLAI
from dialens.corpus.readers._parquet import PARQUET
from dialens.corpus.readers._rated_units import RATED_UNITS
from dialens.corpus.readers._sharegpt import SHAREGPT
from dialens.corpus.readers._transcript import TRANSCRIPT
from dialens.corpus.readers._usr import USR


def readers() -> tuple[Reader, ...]:
    """All readers, in the order in which a source is shown to them: the most specific first.

    Those of other packages come before the two that take almost anything, plain transcripts and
    folders of files, so that they get a chance to recognise their own.

    Examples:
        >>> [reader.name for reader in readers()][-2:]
        ['transcript', 'files']
    """
    known = tuple(READERS.values())
    last = (TRANSCRIPT, _FILES)
    return (*(reader for reader in known if reader not in last), *last)


_FILES = FilesReader(readers)
_OURS: tuple[Reader, ...] = (
    CORPUS,
    CONVOKIT,
    RATED_UNITS,
    ARENA,
    USR,
    FED,
    DSTC10_TURN,
    DSTC10_DIALOG,
    PARLAI,
    OPENAI,
    SHAREGPT,
    DATASET,
    PARQUET,
    TSV,
    CSV,
    TRANSCRIPT,
    _FILES,
)

READERS: Registry[Reader] = Registry(
    "reader", "dialens.readers", Reader, lambda: _OURS, listed_by="dialens formats"
)
"""All readers by name; an entry point gives a `Reader`, or a list of them."""
