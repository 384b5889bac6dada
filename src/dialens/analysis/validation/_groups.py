"""Which metrics are psychological and which automatic: the two sides of P, A and P+A."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialens.analysis.validation._own_scores import is_own
from dialens.base import DialensError
from dialens.metrics import GROUP as AUTOMATIC
from dialens.metrics import MetricCard

FIVE = "giorgi2023"
"""The group of the five metrics of Giorgi et al. (2023, arXiv:2305.14757)."""


@dataclass(frozen=True)
class Groups:
    """A partition of metrics.

    Attributes:
        psychological: P.
        automatic: A.
    """

    psychological: tuple[str, ...]
    automatic: tuple[str, ...]

    @property
    def both(self) -> tuple[str, ...]:
        """P and then A."""
        return (*self.psychological, *self.automatic)


def partition(
    scored: Mapping[str, MetricCard],
    *,
    psychological: Sequence[str] | None = None,
    automatic: Sequence[str] | None = None,
) -> Groups:
    """The two groups among the metrics that were scored, by name, family or group.

    By default P are those five of Giorgi et al. (2023) that were scored, or else everything that
    is psychological; A are the automatic metrics of the field (`--metrics automatic`) that were
    scored, or else everything that is not psychological. Scores from elsewhere, of judges too,
    belong to A.

    Examples:
        >>> from dialens.metrics import metrics
        >>> def cards(*names):
        ...     return {name: metrics()[name] for name in names}
        >>> partition(cards("emotional_entropy", "joy_share", "length", "random"))
        Groups(psychological=('emotional_entropy',), automatic=('length', 'random'))
        >>> partition(cards("emotional_entropy", "length", "bleu_4")).automatic
        ('bleu_4',)
        >>> partition(cards("joy_share", "length"), automatic=["surface"]).psychological
        ('joy_share',)
    """
    a = _chosen(scored, automatic, "automatic")
    p = _chosen(scored, psychological, "psychological")
    if p is None:
        left = [card for name, card in scored.items() if name not in (a or ())]
        # Those that count words come before those that need a model.
        five = sorted((c for c in left if FIVE in c.groups), key=lambda card: "model" in card.needs)
        p = [card.name for card in five or left if card.side == "psychological"]
    if a is None:
        other = [card for card in scored.values() if card.side != "psychological"]
        field = [card for card in other if AUTOMATIC in card.groups]
        own = [card for card in other if is_own(card) and card not in field]
        a = (
            [card.name for card in [*field, *own] if card.name not in p]
            if field
            else [card.name for card in other if card.name not in p]
        )
    twice = sorted(set(p) & set(a))
    if twice:
        raise DialensError(
            f"{', '.join(twice)} cannot be both psychological and automatic. "
            "Name each metric in one of --psychological and --automatic."
        )
    return Groups(tuple(p), tuple(a))


def _chosen(
    scored: Mapping[str, MetricCard], wanted: Sequence[str] | None, side: str
) -> list[str] | None:
    if wanted is None:
        return None
    chosen: dict[str, None] = {}
    for name in wanted:
        members = (
            [name]
            if name in scored
            else [metric for metric, card in scored.items() if name in card.selected_by]
        )
        if not members:
            raise DialensError(
                f"--{side} names {name!r}, which is neither a metric nor a family among the "
                f"scores. Scored: {', '.join(scored)}."
            )
        chosen |= dict.fromkeys(members)
    return list(chosen)
