from .comparison import compare, intervals
from .gating import GateResult, gate
from .profiles import AgentProfile, TraitProfile, agent_profile, trait_profile
from .validation import Validation, validate

__all__ = [
    "AgentProfile",
    "GateResult",
    "TraitProfile",
    "Validation",
    "agent_profile",
    "compare",
    "gate",
    "intervals",
    "trait_profile",
    "validate",
]
