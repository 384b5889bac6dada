"""Which metrics are psychological and which automatic: the two sides of P, A and P+A."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialens.errors import DialensError
from dialens.metrics import metrics as known_metrics
from dialens.metrics._family_cards import GROUP as AUTOMATIC

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
    psychological family; A are the automatic metrics of the field (`--metrics automatic`) that were
    scored, or else everything of a family that is not psychological.

    Examples:
        >>> partition(["emotional_entropy", "joy_share", "length", "random"])
        Groups(psychological=('emotional_entropy',), automatic=('length', 'random'))
        >>> partition(["emotional_entropy", "length", "bleu_4"]).automatic
        ('bleu_4',)
        >>> partition(["joy_share", "length"], automatic=["surface"]).psychological
        ('joy_share',)
    """
    families = _families(scored)
    groups = _groups(scored)
    a = _chosen(groups, automatic, "automatic")
    p = _chosen(groups, psychological, "psychological")
    if p is None:
        family = [name for name in scored if families[name] in PSYCHOLOGICAL_FAMILIES]
        taken = set(a or ())
        five = [name for name in _FIVE if name in scored and name not in taken]
        p = five or [name for name in family if name not in taken]
    if a is None:
        taken = set(p)
        other = [name for name in scored if families[name] not in PSYCHOLOGICAL_FAMILIES]
        field = [name for name in other if AUTOMATIC in groups[name]]
        a = [name for name in field or other if name not in taken]
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


def _groups(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Everything that each metric can be selected with, beside its name."""
    known = known_metrics()
    return {
        name: (known[name].family, *known[name].groups) if name in known else ("other",)
        for name in names
    }


def _chosen(
    groups: Mapping[str, tuple[str, ...]], given: Sequence[str] | None, side: str
) -> list[str] | None:
    if given is None:
        return None
    chosen: dict[str, None] = {}
    for name in given:
        found = [one for one in groups if one == name] or [
            one for one, its in groups.items() if name in its
        ]
        if not found:
            raise DialensError(
                f"--{side} names {name!r}, which is neither a metric nor a family among the "
                f"scores. Scored: {', '.join(groups)}."
            )
        chosen |= dict.fromkeys(found)
    return list(chosen)
