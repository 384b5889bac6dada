from ._flow import STANDARD_LINE, Planner, plan
from ._ordering import arranged, dealt, latin_square, shuffled
from ._screens import ScreenMaker, judged_screens

__all__ = [
    "STANDARD_LINE",
    "Planner",
    "ScreenMaker",
    "arranged",
    "dealt",
    "judged_screens",
    "latin_square",
    "plan",
    "shuffled",
]
