"""Which metrics are psychological and which automatic: the two sides of P, A and P+A."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialens.errors import DialensError
from dialens.metrics import metrics as known_metrics

PSYCHOLOGICAL_FAMILIES = (
    "emotion",
    "emotion_classifier",
    "style",
    "variation",
    "personality",
    "empathy",
)
"""Families that look at a speaker as at a person; every other family is automatic."""

_FIVE = (
    "emotional_entropy",
    "emotion_matching",
    "language_style_matching",
    "agreeableness",
    "empathic_concern",
    "empathy",
)


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
    scored: Sequence[str],
    *,
    psychological: Sequence[str] | None = None,
    automatic: Sequence[str] | None = None,
) -> Groups:
    """The two groups among the metrics that were scored, by name or by family.

    By default P are those five of Giorgi et al. (2023) that were scored, or else everything of a
    psychological family; A is everything of another family (words and phrases, references,
    neural scores).

    Examples:
        >>> partition(["emotional_entropy", "joy_share", "length", "random"])
        Groups(psychological=('emotional_entropy',), automatic=('length', 'random'))
        >>> partition(["joy_share", "length"], automatic=["surface"]).psychological
        ('joy_share',)
    """
    families = _families(scored)
    a = _chosen(families, automatic, "automatic")
    p = _chosen(families, psychological, "psychological")
    if p is None:
        family = [name for name in scored if families[name] in PSYCHOLOGICAL_FAMILIES]
        taken = set(a or ())
        five = [name for name in _FIVE if name in scored and name not in taken]
        p = five or [name for name in family if name not in taken]
    if a is None:
        taken = set(p)
        a = [
            name
            for name in scored
            if families[name] not in PSYCHOLOGICAL_FAMILIES and name not in taken
        ]
    twice = sorted(set(p) & set(a))
    if twice:
        raise DialensError(
            f"{', '.join(twice)} cannot be both psychological and automatic. "
            "Name each metric in one of --psychological and --automatic."
        )
    return Groups(tuple(p), tuple(a))


def _families(names: Sequence[str]) -> dict[str, str]:
    known = known_metrics()
    return {name: known[name].family if name in known else "other" for name in names}


def _chosen(
    families: Mapping[str, str], given: Sequence[str] | None, side: str
) -> list[str] | None:
    if given is None:
        return None
    chosen: dict[str, None] = {}
    for name in given:
        found = [one for one in families if one == name] or [
            one for one, family in families.items() if family == name
        ]
        if not found:
            raise DialensError(
                f"--{side} names {name!r}, which is neither a metric nor a family among the "
                f"scores. Scored: {', '.join(families)}."
            )
        chosen |= dict.fromkeys(found)
    return list(chosen)
