from ._endings import ENDINGS, GAVE_UP, GOAL_REACHED, GOODBYE, MOST_TURNS, ending_of
from ._scenarios import SHIPPED, Pack, Scenario, read_pack, shipped_packs
from ._user import SimulatedUser, UserSettings

__all__ = [
    "ENDINGS",
    "GAVE_UP",
    "GOAL_REACHED",
    "GOODBYE",
    "MOST_TURNS",
    "SHIPPED",
    "Pack",
    "Scenario",
    "SimulatedUser",
    "UserSettings",
    "ending_of",
    "read_pack",
    "shipped_packs",
]
