from ._conversations import AGENT, Conversations, TalkingAgent
from ._design import EACH, Design, Example, Quality, texts_of
from ._factors import LANGUAGE, LIST
from ._gates import Codes, Comprehension, Consent, Screening
from ._items import GoldEntry, ItemEntry, Items, UtteranceEntry
from ._questions import CheckedQuestion, Questionnaire, question_field
from ._recruiter import LinkRecruiter, MTurkRecruiter, ProlificRecruiter, RecruiterSettings

__all__ = [
    "AGENT",
    "EACH",
    "LANGUAGE",
    "LIST",
    "CheckedQuestion",
    "Codes",
    "Comprehension",
    "Consent",
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
    "Screening",
    "TalkingAgent",
    "UtteranceEntry",
    "question_field",
    "texts_of",
]
