from .comparison import COMPARISONS, INTERVALS, RESAMPLES, compare, intervals
from .profiles import (
    TRAIT_PROFILE,
    AgentProfile,
    TraitProfile,
    agent_profile,
    trait_profile,
    write_trait_profile,
)
from .validation import Validation, validate

__all__ = [
    "COMPARISONS",
    "INTERVALS",
    "RESAMPLES",
    "TRAIT_PROFILE",
    "AgentProfile",
    "TraitProfile",
    "Validation",
    "agent_profile",
    "compare",
    "intervals",
    "trait_profile",
    "validate",
    "write_trait_profile",
]
