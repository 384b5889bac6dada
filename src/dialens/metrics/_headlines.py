"""Which metrics are shown first, wherever only some can be."""

from collections.abc import Mapping

from dialens.metrics._card import MetricCard

_MOST_HEADLINES = 12


def headline_metrics(cards: Mapping[str, MetricCard]) -> list[str]:
    """Which metrics come first, by the rank on their cards.

    Examples:
        >>> from dialens.metrics import metrics
        >>> def cards(*names):
        ...     return {name: metrics()[name] for name in names}
        >>> headline_metrics(cards("joy_share", "length", "question", "random", "toxicity"))
        ['toxicity', 'question', 'length']
        >>> headline_metrics(cards("joy_share"))
        ['joy_share']
    """
    ranks = {name: card.headline for name, card in cards.items() if card.headline is not None}
    return (sorted(ranks, key=ranks.__getitem__) or list(cards))[:_MOST_HEADLINES]
