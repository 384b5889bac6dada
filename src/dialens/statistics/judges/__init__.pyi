from ._alternative import EPSILON, AlternativeTest, Fit, alternative_test
from ._arms import Arm, Arms
from ._mix import Mix, cheapest_mix, error_for
from ._orders import FEWEST_PAIRS, Orders, both_orders
from ._over_items import FEW_ITEMS, FEWEST_ITEMS, SAME_EFFECT, OverItems, over_items
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
    "FEWEST_ITEMS",
    "FEWEST_PAIRS",
    "FEWEST_RATED",
    "FEWEST_TRUSTED",
    "FEW_ITEMS",
    "HELPFUL",
    "SAME_EFFECT",
    "AlternativeTest",
    "Arm",
    "Arms",
    "CrossFitted",
    "Fit",
    "Mix",
    "Orders",
    "OverItems",
    "PredictionPowered",
    "alternative_test",
    "both_orders",
    "cheapest_mix",
    "cross_fitted",
    "error_for",
    "over_items",
    "paired_shift",
    "powered_by_judge",
    "prediction_powered",
    "tuned_weight",
]
