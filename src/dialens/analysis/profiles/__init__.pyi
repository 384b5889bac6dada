from ._agent_tables import (
    ALIKE,
    ALL_EMOTIONS,
    ALL_EMOTIONS_CLASSIFIER,
    NO_TURN,
    ONE_DIALOG,
    ONE_TURN,
)
from ._agents import AgentProfile, agent_profile
from ._traits import (
    TRAIT_PROFILE,
    TraitProfile,
    lasting_traits,
    systems_apart,
    trait_profile,
    write_trait_profile,
)

__all__ = [
    "ALIKE",
    "ALL_EMOTIONS",
    "ALL_EMOTIONS_CLASSIFIER",
    "NO_TURN",
    "ONE_DIALOG",
    "ONE_TURN",
    "TRAIT_PROFILE",
    "AgentProfile",
    "TraitProfile",
    "agent_profile",
    "lasting_traits",
    "systems_apart",
    "trait_profile",
    "write_trait_profile",
]
