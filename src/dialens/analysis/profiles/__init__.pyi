from ._agent_tables import (
    ALIKE,
    ALL_EMOTIONS,
    ALL_EMOTIONS_CLASSIFIER,
    NO_TURN,
    ONE_DIALOG,
    ONE_TURN,
)
from ._agents import AgentProfile, agent_profile, lasting_traits
from ._traits import TRAIT_FAMILIES, TRAIT_PROFILE, TraitProfile, trait_profile, write_trait_profile

__all__ = [
    "ALIKE",
    "ALL_EMOTIONS",
    "ALL_EMOTIONS_CLASSIFIER",
    "NO_TURN",
    "ONE_DIALOG",
    "ONE_TURN",
    "TRAIT_FAMILIES",
    "TRAIT_PROFILE",
    "AgentProfile",
    "TraitProfile",
    "agent_profile",
    "lasting_traits",
    "trait_profile",
    "write_trait_profile",
]
