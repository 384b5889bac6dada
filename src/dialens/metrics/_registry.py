"""Every metric by name: ours, and those that other packages bring."""

from collections.abc import Iterable, Sequence
from importlib.metadata import entry_points

from dialens.base import DialensError, did_you_mean
from dialens.metrics._card import MetricCard
from dialens.metrics._catalogue import FAMILIES
from dialens.metrics._family import Family
from dialens.metrics._family_cards import GROUP as AUTOMATIC
from dialens.metrics._family_cards import cards_of
from dialens.metrics.families import _emotion as emotion
from dialens.metrics.families import _model_emotion as model_emotion
from dialens.metrics.families import _model_engagement as model_engagement
from dialens.metrics.families import _model_toxicity as model_toxicity
from dialens.metrics.families import _model_traits as model_traits
from dialens.metrics.families import _style as style
from dialens.metrics.families import _surface as surface

GROUP = "dialens.metrics"

_OURS: tuple[MetricCard, ...] = (
    *(card for family in model_engagement.FAMILIES for card in cards_of(family)),
    *model_traits.CARDS,
    emotion.emotional_entropy,
    emotion.emotion_matching,
    *emotion.SHARES,
    model_emotion.emotional_entropy_classifier,
    model_emotion.emotion_matching_classifier,
    *model_emotion.EMOTIONS,
    *cards_of(model_toxicity.FAMILY),
    style.LANGUAGE_STYLE_MATCHING,
    *style.PARTS,
    *emotion.VARIATIONS,
    surface.specificity,
    surface.question,
    surface.length,
    *surface.DISTINCT,
    surface.random,
    *(card for family in FAMILIES for card in cards_of(family)),
)


def metrics() -> dict[str, MetricCard]:
    """All metrics by name, ours first; two of one name are refused.

    Examples:
        >>> metrics()["question"].family
        'surface'
    """
    known: dict[str, MetricCard] = {}
    for card in (*_OURS, *_theirs()):
        if card.name in known:
            raise DialensError(
                f"Two metrics are called {card.name!r}. "
                f"Rename the one an installed package brings under {GROUP!r}."
            )
        known[card.name] = card
    return known


def _theirs() -> Iterable[MetricCard]:
    for entry in entry_points(group=GROUP):
        try:
            loaded = entry.load()
        except Exception as error:
            raise DialensError(
                f"The metric {entry.name!r} ({entry.value}) of an installed package cannot be "
                f"loaded: {error}. Update or remove that package."
            ) from error
        for item in [loaded] if isinstance(loaded, MetricCard | Family) else list(loaded):
            if isinstance(item, Family):
                yield from cards_of(item)
            elif isinstance(item, MetricCard):
                yield item
            else:
                raise DialensError(
                    f"The entry point {entry.name!r} ({entry.value}) gives {type(item).__name__}; "
                    "it must give what @dialens.metrics.metric makes, a dialens.metrics.Family, or "
                    "a list of those."
                )


def select(names: Sequence[str | MetricCard] | None = None) -> list[MetricCard]:
    """The metrics, families or groups that are named, or given as cards.

    If none is, all but the group `automatic`: those need references, or weights of one's own.
    `all` is everything.

    Examples:
        >>> [card.name for card in select(["question", "baseline"])]
        ['question', 'random']
    """
    known = metrics()
    if names is None:
        return [card for card in known.values() if AUTOMATIC not in card.groups]
    families: dict[str, dict[str, MetricCard]] = {}
    for card in known.values():
        for group in (card.family, *card.groups):
            families.setdefault(group, {})[card.name] = card
    chosen: dict[str, MetricCard] = {}
    for name in names:
        if isinstance(name, MetricCard):
            chosen[name.name] = name
        elif name == "all":
            chosen |= known
        elif name in families:
            chosen |= families[name]
        elif name in known:
            chosen[name] = known[name]
        else:
            hint = did_you_mean(name, [*known, *families, "all"])
            raise DialensError(
                f"There is no metric or family {name!r}. {hint}`dialens metrics` lists them."
            )
    return list(chosen.values())
