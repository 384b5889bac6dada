"""Whom simulated participants are drawn from: what they think, and what moves them."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dialens.base import DialensError

ANCHORS = ("numerical", "textual", "both")
_SHARES = ("anchor_pull", "dropout", "speeders", "inattentive", "round_share")
_POINTS = ("layout_effect", "deadline_effect", "first_place", "length_effect", "level")
_SPREADS = ("item_spread", "agent_spread", "scale_spread", "noise")


@dataclass(frozen=True)
class Population:
    """Whom the participants are drawn from: what they think, and what moves them.

    Attributes:
        anchor_pull: Share of the way from one's own opinion to the anchor that is shown.
        pulls: The same for kinds of anchor (numerical, textual, both) where it differs.
        layout_effect: Points added to opinions where a question stands without the others.
        deadline_effect: Points added to opinions under a deadline.
        first_place: Points added to the response that stands first of several.
        length_effect: Points added for each doubling of a response's length.
        tags: Points added to responses with a tag, by level of the factor `tag`.
        level: Mean opinion.
        item_spread: Standard deviation of opinions between responses, for each quality.
        agent_spread: Standard deviation between agents.
        preferences: Points added to opinions of an agent, by its name.
        scale_spread: How far people differ in the size of their numbers: the standard deviation
            of a factor of their own whose mean is 1.
        noise: Standard deviation of everything else.
        round_share: Of people whose numbers are multiples of five or ten.
        dropout: Share of people who leave somewhere on the way, or stay away from a later wave.
        speeders: Share of people who click through, in about an eighth of the time and with more
            noise.
        inattentive: Share of people whose answers have nothing to do with what they are asked, and
            who miss checks.

    Examples:
        >>> Population(anchor_pull=0.3).pull("textual")
        0.3
        >>> Population(anchor_pull=3)
        Traceback (most recent call last):
        ...
        dialens.DialensError: anchor_pull is a share from 0 to 1; seen: 3.
    """

    anchor_pull: float = 0.3
    pulls: Mapping[str, float] = field(default_factory=dict)
    layout_effect: float = 0.0
    deadline_effect: float = 0.0
    first_place: float = 0.0
    length_effect: float = 0.0
    tags: Mapping[str, float] = field(default_factory=dict)
    level: float = 60.0
    item_spread: float = 12.0
    agent_spread: float = 8.0
    preferences: Mapping[str, float] = field(default_factory=dict)
    scale_spread: float = 0.15
    noise: float = 10.0
    round_share: float = 0.6
    dropout: float = 0.0
    speeders: float = 0.0
    inattentive: float = 0.0

    def __post_init__(self) -> None:
        shares = {name: getattr(self, name) for name in _SHARES}
        for kind, value in self.pulls.items():
            if kind not in ANCHORS:
                raise DialensError(f"An anchor is one of {', '.join(ANCHORS)}; seen: {kind!r}.")
            shares[f"anchor_pull {kind}"] = value
        for name, value in shares.items():
            if not 0 <= value <= 1:
                raise DialensError(f"{name} is a share from 0 to 1; seen: {value:g}.")
        for name in _SPREADS:
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise DialensError(f"{name} is a standard deviation of 0 or more; seen: {value:g}.")
        points = {name: getattr(self, name) for name in _POINTS}
        points |= {f"tag {name}": value for name, value in self.tags.items()}
        points |= {f"preference for {name}": value for name, value in self.preferences.items()}
        for name, value in points.items():
            if not math.isfinite(value):
                raise DialensError(f"{name} is a number of points; seen: {value}.")

    @cached_property
    def digest(self) -> str:
        """Twelve digits that are the same for equal populations.

        Examples:
            >>> Population(noise=10).digest == Population(noise=10.0).digest
            True
        """
        by_name = ("pulls", "preferences", "tags")
        told = {name: float(value) for name, value in vars(self).items() if name not in by_name}
        told |= {f"preference {name}": float(value) for name, value in self.preferences.items()}
        told |= {f"tag {name}": float(value) for name, value in self.tags.items()}
        told |= {f"pull {kind}": float(value) for kind, value in self.pulls.items()}
        return hashlib.sha256(repr(sorted(told.items())).encode()).hexdigest()[:12]

    def pull(self, kind: str) -> float:
        """How strongly a kind of anchor pulls."""
        return self.pulls.get(kind, self.anchor_pull)
