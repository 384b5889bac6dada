"""Which numbers may be trusted: intervals, comparisons, agreement, bias, validation, power.

May import `metrics` and everything below; `report` and the command line build on it.
"""

from dialens.stats.agent_profiles import AgentProfile, agent_profile
from dialens.stats.agreement import Agreement, measure_agreement
from dialens.stats.comparison import COMPARISONS, INTERVALS, RESAMPLES, compare, intervals
from dialens.stats.mixed import MixedFit, fit_mixed
from dialens.stats.power import power_curve
from dialens.stats.ratings import load_ratings
from dialens.stats.trait_profiles import (
    TRAIT_PROFILE,
    TraitProfile,
    trait_profile,
    write_trait_profile,
)
from dialens.stats.validation import Validation, validate

__all__ = [
    "COMPARISONS",
    "INTERVALS",
    "RESAMPLES",
    "TRAIT_PROFILE",
    "AgentProfile",
    "Agreement",
    "MixedFit",
    "TraitProfile",
    "Validation",
    "agent_profile",
    "compare",
    "fit_mixed",
    "intervals",
    "load_ratings",
    "measure_agreement",
    "power_curve",
    "trait_profile",
    "validate",
    "write_trait_profile",
]
