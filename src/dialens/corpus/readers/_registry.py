"""Every reader: ours, those that other packages bring, and the order in which they are asked."""

from dialens.base import Registry
from dialens.corpus._reading import Reader
from dialens.corpus.readers._api_logs import API_LOGS
from dialens.corpus.readers._arena import ARENA
from dialens.corpus.readers._arena_table import ARENA_TABLE
from dialens.corpus.readers._assistants import ASSISTANTS
from dialens.corpus.readers._bot_framework import BOT_FRAMEWORK
from dialens.corpus.readers._botpress import BOTPRESS
from dialens.corpus.readers._chatgpt import CHATGPT
from dialens.corpus.readers._claude import CLAUDE
from dialens.corpus.readers._convokit import CONVOKIT
from dialens.corpus.readers._corpus_folder import CORPUS
from dialens.corpus.readers._dataset import DATASET
from dialens.corpus.readers._deepeval import DEEPEVAL
from dialens.corpus.readers._delimited import CSV, TSV
from dialens.corpus.readers._dialogflow import DIALOGFLOW
from dialens.corpus.readers._discord import DISCORD
from dialens.corpus.readers._dstc10 import DSTC10_DIALOG, DSTC10_TURN
from dialens.corpus.readers._fed import FED
from dialens.corpus.readers._files import FilesReader
from dialens.corpus.readers._inspect import INSPECT
from dialens.corpus.readers._langchain import LANGCHAIN
from dialens.corpus.readers._langfuse import LANGFUSE
from dialens.corpus.readers._langsmith import LANGSMITH
from dialens.corpus.readers._messenger import MESSENGER
from dialens.corpus.readers._oasst import OASST
from dialens.corpus.readers._openai import OPENAI
from dialens.corpus.readers._parlai import PARLAI
from dialens.corpus.readers._parquet import PARQUET
from dialens.corpus.readers._promptfoo import PROMPTFOO
from dialens.corpus.readers._rasa import RASA
from dialens.corpus.readers._rated_units import RATED_UNITS
from dialens.corpus.readers._sharegpt import SHAREGPT
from dialens.corpus.readers._slack import SLACK
from dialens.corpus.readers._spans import SPANS
from dialens.corpus.readers._subtitles import SUBTITLES
from dialens.corpus.readers._table_parts import TablePartsReader
from dialens.corpus.readers._telegram import TELEGRAM
from dialens.corpus.readers._transcript import TRANSCRIPT
from dialens.corpus.readers._turn_records import TURN_RECORDS
from dialens.corpus.readers._usr import USR
from dialens.corpus.readers._whatsapp import WHATSAPP


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
_PARTS = TablePartsReader(readers)
_OURS: tuple[Reader, ...] = (
    CORPUS,
    CONVOKIT,
    INSPECT,
    SPANS,
    LANGFUSE,
    LANGSMITH,
    PROMPTFOO,
    DEEPEVAL,
    ASSISTANTS,
    API_LOGS,
    LANGCHAIN,
    SLACK,
    CHATGPT,
    CLAUDE,
    TELEGRAM,
    DISCORD,
    MESSENGER,
    WHATSAPP,
    RASA,
    BOTPRESS,
    BOT_FRAMEWORK,
    DIALOGFLOW,
    OASST,
    ARENA_TABLE,
    RATED_UNITS,
    ARENA,
    USR,
    FED,
    DSTC10_TURN,
    DSTC10_DIALOG,
    PARLAI,
    OPENAI,
    SHAREGPT,
    TURN_RECORDS,
    SUBTITLES,
    _PARTS,
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
