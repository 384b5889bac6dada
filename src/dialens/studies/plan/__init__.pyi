from ._flow import Planner, end_screen, plan
from ._ordering import arranged, dealt, latin_square, shuffled
from ._screens import ScreenMaker, judged_screens

__all__ = [
    "Planner",
    "ScreenMaker",
    "arranged",
    "dealt",
    "end_screen",
    "judged_screens",
    "latin_square",
    "plan",
    "shuffled",
]
