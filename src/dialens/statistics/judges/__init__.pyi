from ._alternative import EPSILON, AlternativeTest, Fit, alternative_test
from ._mix import Mix, cheapest_mix, error_for
from ._orders import FEWEST_PAIRS, Orders, both_orders
from ._over_items import FEW_ITEMS, FEWEST_ITEMS, SAME_EFFECT, OverItems, over_items
from ._prediction_powered import (
    HELPFUL,
    PredictionPowered,
    cross_fitted,
    prediction_powered,
    tuned_weight,
)

__all__ = [
    "EPSILON",
    "FEWEST_ITEMS",
    "FEWEST_PAIRS",
    "FEW_ITEMS",
    "HELPFUL",
    "SAME_EFFECT",
    "AlternativeTest",
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
    "prediction_powered",
    "tuned_weight",
]
