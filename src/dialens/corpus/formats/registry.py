"""Every reader, in the order in which a source is shown to them: the most particular first."""

from dialens.corpus.formats.arena import ARENA
from dialens.corpus.formats.convokit import CONVOKIT
from dialens.corpus.formats.corpus_folder import CORPUS
from dialens.corpus.formats.delimited import CSV, TSV
from dialens.corpus.formats.dstc10 import DSTC10_DIALOG, DSTC10_TURN
from dialens.corpus.formats.fed import FED
from dialens.corpus.formats.files import FilesReader
from dialens.corpus.formats.openai import OPENAI
from dialens.corpus.formats.parlai import PARLAI
from dialens.corpus.formats.parquet import PARQUET
from dialens.corpus.formats.rated_units import RATED_UNITS
from dialens.corpus.formats.sharegpt import SHAREGPT
from dialens.corpus.formats.transcript import TRANSCRIPT
from dialens.corpus.formats.usr import USR
from dialens.corpus.reading import Reader


def _all() -> tuple[Reader, ...]:
    return READERS


READERS: tuple[Reader, ...] = (
    CORPUS,
    CONVOKIT,
    PARQUET,
    RATED_UNITS,
    ARENA,
    USR,
    FED,
    DSTC10_TURN,
    DSTC10_DIALOG,
    PARLAI,
    OPENAI,
    SHAREGPT,
    TSV,
    CSV,
    TRANSCRIPT,
    FilesReader(_all),
)
