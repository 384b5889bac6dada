from ._anchors import anchor_value
from ._conversations import AGENT, Conversations, TalkingAgent
from ._design import EACH, Design, Example, Quality
from ._factors import LIST
from ._items import GoldEntry, ItemEntry, Items, MediaEntry, UtteranceEntry
from ._questions import Questionnaire, question_field
from ._recruiter import LinkRecruiter, MTurkRecruiter, ProlificRecruiter, RecruiterSettings

__all__ = [
    "AGENT",
    "EACH",
    "LIST",
    "Conversations",
    "Design",
    "Example",
    "GoldEntry",
    "ItemEntry",
    "Items",
    "LinkRecruiter",
    "MTurkRecruiter",
    "MediaEntry",
    "ProlificRecruiter",
    "Quality",
    "Questionnaire",
    "RecruiterSettings",
    "TalkingAgent",
    "UtteranceEntry",
    "anchor_value",
    "question_field",
]
