from ._convokit import OURS
from ._delimited import beside
from ._openai import SPEAKERS
from ._registry import READERS, readers

__all__ = [
    "OURS",
    "READERS",
    "SPEAKERS",
    "beside",
    "readers",
]
