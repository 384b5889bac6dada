from ._flow import Planner, end_screen, instructions_screen, plan
from ._gates import (
    Verdict,
    consent_agree,
    consent_answers,
    consent_body,
    consent_title,
    consent_version,
    is_repeated,
    understood,
    verdict,
)
from ._ordering import arranged, dealt, latin_square, shuffled
from ._practice import STANDARD_LINE
from ._screens import ScreenMaker, judged_screens, rendering, response_label

__all__ = [
    "STANDARD_LINE",
    "Planner",
    "ScreenMaker",
    "Verdict",
    "arranged",
    "consent_agree",
    "consent_answers",
    "consent_body",
    "consent_title",
    "consent_version",
    "dealt",
    "end_screen",
    "instructions_screen",
    "is_repeated",
    "judged_screens",
    "latin_square",
    "plan",
    "rendering",
    "response_label",
    "shuffled",
    "understood",
    "verdict",
]
