from .comparison import compare, intervals
from .profiles import AgentProfile, TraitProfile, agent_profile, trait_profile
from .validation import Validation, validate

__all__ = [
    "AgentProfile",
    "TraitProfile",
    "Validation",
    "agent_profile",
    "compare",
    "intervals",
    "trait_profile",
    "validate",
]
