"""Names of emotions that several rooms share."""

POSITIVE_EMOTIONS = (
    "admiration",
    "amusement",
    "approval",
    "caring",
    "desire",
    "excitement",
    "gratitude",
    "joy",
    "love",
    "optimism",
    "pride",
    "relief",
)
"""The positive categories of GoEmotions (Demszky et al. 2020)."""
