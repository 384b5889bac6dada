from ._endings import ENDINGS, GAVE_UP, GOAL_REACHED, GOODBYE, MOST_TURNS
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
    "read_pack",
    "shipped_packs",
]
