from ._alternative import EPSILON, AlternativeTest, Fit, alternative_test
from ._arms import Arm, Arms
from ._mix import Mix, cheapest_mix, error_for
from ._orders import FEWEST_PAIRS, Orders, both_orders
from ._paired_shift import paired_shift
from ._prediction_powered import (
    FEWEST_RATED,
    FEWEST_TRUSTED,
    HELPFUL,
    CrossFitted,
    PredictionPowered,
    cross_fitted,
    powered_by_judge,
    prediction_powered,
    tuned_weight,
)

__all__ = [
    "EPSILON",
    "FEWEST_PAIRS",
    "FEWEST_RATED",
    "FEWEST_TRUSTED",
    "HELPFUL",
    "AlternativeTest",
    "Arm",
    "Arms",
    "CrossFitted",
    "Fit",
    "Mix",
    "Orders",
    "PredictionPowered",
    "alternative_test",
    "both_orders",
    "cheapest_mix",
    "cross_fitted",
    "error_for",
    "paired_shift",
    "powered_by_judge",
    "prediction_powered",
    "tuned_weight",
]
