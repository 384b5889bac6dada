from ._conversations import AGENT, Conversations, TalkingAgent
from ._design import EACH, Design, Example, Quality, texts_of
from ._factors import LANGUAGE, LIST
from ._items import GoldEntry, ItemEntry, Items, UtteranceEntry
from ._questions import Questionnaire, question_field
from ._recruiter import LinkRecruiter, MTurkRecruiter, ProlificRecruiter, RecruiterSettings

__all__ = [
    "AGENT",
    "EACH",
    "LANGUAGE",
    "LIST",
    "Conversations",
    "Design",
    "Example",
    "GoldEntry",
    "ItemEntry",
    "Items",
    "LinkRecruiter",
    "MTurkRecruiter",
    "ProlificRecruiter",
    "Quality",
    "Questionnaire",
    "RecruiterSettings",
    "TalkingAgent",
    "UtteranceEntry",
    "question_field",
    "texts_of",
]
