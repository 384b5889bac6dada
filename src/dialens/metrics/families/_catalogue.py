"""The metrics that ship: what the modules of this package declare.

A module of a family has `METRICS`, its cards and families, and `PLACE`, where they stand in lists.
A new module is found by itself.
"""

from importlib import import_module
from pkgutil import iter_modules

from dialens.metrics._card import MetricCard
from dialens.metrics._family import Family
from dialens.metrics._family_cards import cards_of


def shipped() -> tuple[MetricCard, ...]:
    """All metrics that ship, in the order in which they are listed.

    Examples:
        >>> [card.name for card in shipped()][:2]
        ['empathy', 'engagement']
    """
    package = __name__.rpartition(".")[0]
    modules = [
        import_module(f"{package}.{info.name}")
        for info in iter_modules(import_module(package).__path__)
        if info.name != "_catalogue"
    ]
    declaring = [module for module in modules if hasattr(module, "METRICS")]
    declaring.sort(key=lambda module: (module.PLACE, module.__name__))
    return tuple(card for module in declaring for card in _cards(module.METRICS))


def _cards(declared: tuple[MetricCard | Family, ...]) -> list[MetricCard]:
    return [card for item in declared for card in unpacked(item)]


def unpacked(item: MetricCard | Family) -> tuple[MetricCard, ...]:
    """The cards of a family, or the card itself."""
    return cards_of(item) if isinstance(item, Family) else (item,)
