from ._allocation import Allocation, compared
from ._anchors import anchor_value
from ._conversations import AGENT, PAIR, Conversations, TalkingAgent, Typing
from ._design import EACH, Design, Example, Quality, texts_of
from ._factors import (
    ANCHOR_VALUE,
    LANGUAGE,
    LIST,
    NOTHING,
    OWN_ANSWER,
    PER_RESPONSE,
    TAG,
    VARIANT,
    Level,
)
from ._gates import Codes, Comprehension, Consent, Screening
from ._items import GoldEntry, ItemEntry, Items, MediaEntry, UtteranceEntry
from ._questions import CheckedQuestion, Questionnaire, question_field
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
from ._waves import Wave

__all__ = [
    "AGENT",
    "ANCHOR_VALUE",
    "CODE",
    "EACH",
    "LANGUAGE",
    "LIST",
    "NOTHING",
    "OWN_ANSWER",
    "PAIR",
    "PER_RESPONSE",
    "PLACE",
    "TAG",
    "VARIANT",
    "Allocation",
    "CheckedQuestion",
    "Codes",
    "Comprehension",
    "ConnectRecruiter",
    "Consent",
    "Conversations",
    "Design",
    "Example",
    "GoldEntry",
    "ItemEntry",
    "Items",
    "KioskRecruiter",
    "Level",
    "LinkRecruiter",
    "MTurkRecruiter",
    "MediaEntry",
    "PersonalRecruiter",
    "ProlificRecruiter",
    "ProviderRecruiter",
    "Quality",
    "Questionnaire",
    "RecruiterSettings",
    "Screening",
    "TalkingAgent",
    "Typing",
    "UtteranceEntry",
    "Wave",
    "anchor_value",
    "compared",
    "question_field",
    "texts_of",
]
