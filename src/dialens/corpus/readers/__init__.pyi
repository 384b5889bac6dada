from ._arrow_stream import arrow_sizes, is_arrow_stream
from ._convokit import OURS
from ._dataset import RowIntake, no_conversations
from ._delimited import beside
from ._messages import SPEAKERS
from ._parquet_rows import parquet_chunks, text_bytes
from ._payloads import is_langchain, message_of
from ._registry import READERS, readers
from ._row_files import plain_columns
from ._shapes import WANTED, Row, shape_of

__all__ = [
    "OURS",
    "READERS",
    "SPEAKERS",
    "WANTED",
    "Row",
    "RowIntake",
    "arrow_sizes",
    "beside",
    "is_arrow_stream",
    "is_langchain",
    "message_of",
    "no_conversations",
    "parquet_chunks",
    "plain_columns",
    "readers",
    "shape_of",
    "text_bytes",
]
