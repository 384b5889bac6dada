from ._alternative import EPSILON, AlternativeTest, Fit, alternative_test
from ._mix import Mix, cheapest_mix, error_for
from ._orders import FEWEST_PAIRS, Orders, both_orders
from ._paired_shift import paired_shift
from ._prediction_powered import (
    HELPFUL,
    PredictionPowered,
    cross_fitted,
    prediction_powered,
    tuned_weight,
)

__all__ = [
    "EPSILON",
    "FEWEST_PAIRS",
    "HELPFUL",
    "AlternativeTest",
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
    "prediction_powered",
    "tuned_weight",
]
