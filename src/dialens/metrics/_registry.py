"""Every metric by name: ours, and those that other packages bring."""

from collections.abc import Mapping, Sequence

from dialens.base import DialensError, Registry, did_you_mean
from dialens.metrics._card import MetricCard
from dialens.metrics._family import Family
from dialens.metrics._family_cards import GROUP as AUTOMATIC
from dialens.metrics.families import shipped, unpacked

METRICS: Registry[MetricCard] = Registry(
    "metric",
    "dialens.metrics",
    (MetricCard, Family),
    shipped,
    unpack=unpacked,
    listed_by="dialens metrics",
)
"""All metrics by name; an entry point gives what `metric` makes, a `Family`, or a list of those."""


def metrics() -> Mapping[str, MetricCard]:
    """All metrics by name, ours first; two of one name are refused.

    Examples:
        >>> metrics()["question"].family
        'surface'
    """
    return METRICS


def select(names: str | MetricCard | Sequence[str | MetricCard] | None = None) -> list[MetricCard]:
    """The metrics, families or groups that are named, or given as cards.

    If none is, all but the group `automatic`: those need references, or weights of one's own.
    `all` is everything.

    Examples:
        >>> [card.name for card in select(["question", "baseline"])]
        ['question', 'random']
    """
    cards = metrics()
    if names is None:
        return [card for card in cards.values() if AUTOMATIC not in card.groups]
    return named(names, cards)


def named(
    names: str | MetricCard | Sequence[str | MetricCard], cards: Mapping[str, MetricCard]
) -> list[MetricCard]:
    """The cards among those known that are named by themselves, by family or by group."""
    if isinstance(names, str | MetricCard):
        names = [names]
    families: dict[str, dict[str, MetricCard]] = {}
    for card in cards.values():
        for group in card.selected_by:
            families.setdefault(group, {})[card.name] = card
    chosen: dict[str, MetricCard] = {}
    for name in names:
        if isinstance(name, MetricCard):
            more = {name.name: name}
        elif name == "all":
            more = dict(cards)
        elif name in families:
            more = families[name]
        elif name in cards:
            more = {name: cards[name]}
        else:
            hint = did_you_mean(name, [*cards, *families, "all"])
            raise DialensError(
                f"There is no metric or family {name!r}. {hint}`dialens metrics` lists them."
            )
        for key, card in more.items():
            if chosen.setdefault(key, card) is not card:
                raise DialensError(
                    f"Two metrics are called {key!r}: one was given as a card. Rename that."
                )
    return list(chosen.values())
