from ._conversations import AGENT, Conversations, TalkingAgent
from ._design import EACH, Design, Example, Quality
from ._factors import LIST
from ._items import GoldEntry, ItemEntry, Items, UtteranceEntry
from ._questions import Questionnaire, question_field
from ._recruiter import (
    CODE,
    PLACE,
    ConnectRecruiter,
    KioskRecruiter,
    LinkRecruiter,
    MTurkRecruiter,
    PersonalRecruiter,
    ProlificRecruiter,
    ProviderRecruiter,
    RecruiterSettings,
)

__all__ = [
    "AGENT",
    "CODE",
    "EACH",
    "LIST",
    "PLACE",
    "ConnectRecruiter",
    "Conversations",
    "Design",
    "Example",
    "GoldEntry",
    "ItemEntry",
    "Items",
    "KioskRecruiter",
    "LinkRecruiter",
    "MTurkRecruiter",
    "PersonalRecruiter",
    "ProlificRecruiter",
    "ProviderRecruiter",
    "Quality",
    "Questionnaire",
    "RecruiterSettings",
    "TalkingAgent",
    "UtteranceEntry",
    "question_field",
]
