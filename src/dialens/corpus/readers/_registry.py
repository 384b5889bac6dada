"""Every reader, in the order in which a source is shown to them: the most particular first."""

from dialens.corpus._reading import Reader
from dialens.corpus.readers._arena import ARENA
from dialens.corpus.readers._convokit import CONVOKIT
from dialens.corpus.readers._corpus_folder import CORPUS
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
