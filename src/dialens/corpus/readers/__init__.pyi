from ._convokit import OURS
from ._dataset import RowIntake, no_conversations
from ._delimited import beside
from ._messages import SPEAKERS
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
    "beside",
    "is_langchain",
    "message_of",
    "no_conversations",
    "plain_columns",
    "readers",
    "shape_of",
]
