"""A metric of a run: its card, its signature, and how its values are computed from sums again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from dialens.metrics._card import Definition, Metric, MetricCard, Resources
from dialens.metrics._given import given_definition
from dialens.metrics._registry import metrics as installed_metrics
from dialens.metrics._state import State, Values

METRICS = "metrics.json"
LAYOUT = 4
"""Raised when the files of a folder of scores change their form."""

_FUNCTIONS = ("make", "scored_by")


@dataclass(frozen=True)
class ScoredMetric:
    """A metric of a run.

    Attributes:
        card: What is known of it.
        signature: What its numbers depend on.
        features: The names of its features in the states.
        failure: Why no unit has a value, where a model or scorer could not be used.
        bound: What computed it, in the process that did.
    """

    card: MetricCard
    signature: str
    features: tuple[str, ...]
    failure: str | None = None
    bound: Metric | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """What the `metric` column holds."""
        return self.card.name

    def computing(
        self, installed: Mapping[str, MetricCard], resources: Resources
    ) -> "Metric | str":
        """What computes values from the states as the run did, or why the one installed cannot."""
        bound = self.bound
        if bound is None:
            card = self.card if self.card.given is not None else installed.get(self.name)
            if card is None:
                return f"the metric {self.name} is not installed here"
            _, version, *_ = self.signature.split("|")
            if version != f"v{card.version}":
                return (
                    f"{self.name} was scored by another version of the metric ({version}; "
                    f"v{card.version} is installed)"
                )
            bound = card.bind(resources)
            if features_of(bound) != self.features:
                return f"{self.name} is computed from other features than it was scored from"
        if self.failure is None:
            return bound
        return replace(bound, definition=replace(bound.definition, compute=self._fail))

    def _fail(self, state: State) -> Values:
        height = len(state.other_turns)
        return Values(np.full(height, np.nan), np.ones(height, np.uint8), (str(self.failure),))

    def as_json(self) -> dict[str, object]:
        """Everything but the functions."""
        card = {
            f.name: getattr(self.card, f.name)
            for f in fields(MetricCard)
            if f.name not in _FUNCTIONS
        }
        return {
            "card": card,
            "signature": self.signature,
            "features": self.features,
            "failure": self.failure,
        }

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> "ScoredMetric":
        """From what `as_json` gave; unknown facts, which a later version may know, are left out."""
        names = {f.name for f in fields(MetricCard)}
        facts: dict[str, Any] = {
            key: tuple(fact) if isinstance(fact, list) else fact
            for key, fact in entry["card"].items()
            if key in names
        }

        def make(resources: Resources) -> Definition:
            if facts.get("given") is not None:
                of_turns = "turn" in facts["levels"]
                return given_definition(facts["name"], facts["given"], of_turns=of_turns)
            return installed_metrics()[facts["name"]].make(resources)

        features = tuple(entry["features"])
        return cls(MetricCard(**facts, make=make), entry["signature"], features, entry["failure"])


def write_cards(metrics: Sequence[ScoredMetric], folder: Path) -> None:
    """Write what is known of the metrics beside the tables."""
    written = {"layout": LAYOUT, "metrics": [metric.as_json() for metric in metrics]}
    (folder / METRICS).write_text(json.dumps(written, indent=1) + "\n")


def features_of(metric: Metric) -> tuple[str, ...]:
    """The names of a metric's features in the states."""
    return tuple(feature.name for feature in metric.definition.features)
