"""Metrics made of families: one card an output, and what else is computed from a family's sums."""

from collections.abc import Callable

import numpy as np

from dialens.corpus import LEVELS
from dialens.metrics._card import Definition, MetricCard, Resources
from dialens.metrics._family import Family
from dialens.metrics._family_features import family_feature
from dialens.metrics._state import Floats, State, Values, ratio

GROUP = "automatic"
"""Selects the metrics of all families that are not computed by default."""

_POOLED = ("agent", "system")


def cards_of(family: Family) -> tuple[MetricCard, ...]:
    """One metric for each output of a family, selected by its name or the family's.

    Examples:
        >>> from dialens.metrics._family import Output
        >>> family = Family("shout", (Output("shouting", "How loud"),), open, lambda _: "no ears")
        >>> (card,) = cards_of(family)
        >>> card.name, card.family, card.groups
        ('shouting', 'shout', ('automatic',))
    """
    weights = ("weights",) if family.weights else ()
    return tuple(
        MetricCard(
            name=output.name,
            meaning=output.meaning,
            family=family.listed or family.name,
            make=_maker(family, number),
            levels=output.levels or (_POOLED if family.kind == "pool" else LEVELS),
            needs=(*dict.fromkeys((*family.needs, *output.needs)), *weights),
            range=output.range,
            higher_is_better=output.higher_is_better,
            citation=family.citation,
            licence=family.licence,
            version=family.version if output.version is None else output.version,
            groups=family.groups if family.by_default else (*family.groups, GROUP),
            scored_by=family,
            label=output.label,
            long_label=output.long_label,
            higher_reads=output.higher_reads,
            family_label=family.label,
            headline=output.headline,
            side=family.side,
            percent=output.percent,
            describes=output.describes,
            part_of=output.part_of,
            language=family.language,
        )
        for number, output in enumerate(family.outputs)
    )


def _maker(family: Family, number: int) -> Callable[[Resources], Definition]:
    """The mean of an output over turns, what is made of sums, or the value that a pool has."""
    output = family.outputs[number]

    def make(resources: Resources) -> Definition:
        feature = family_feature(family, resources.scorers)
        needs = {"text", *family.needs, *output.needs}
        if "context" in needs:
            needs.add("turn")
        wanted = np.array([lack in needs for lack in family.lacks])

        def compute(state: State) -> Values:
            rows = state.own[feature.name]
            counts = rows[:, feature.count_column(number)]
            if output.of_sums is None:
                value = ratio(rows[:, number], counts)
            else:
                value = output.of_sums(rows[:, : family.width])
            missing = {"value": counts == 0}
            if family.lacks:
                lacks = rows[:, feature.scored + 1 :] * wanted
                commonest = lacks.argmax(axis=1)
                unscored = (counts == 0) & lacks.any(axis=1)
                if family.whole or family.kind == "pool":
                    # A few that lack something do not explain why those scored give no value.
                    unscored &= rows[:, feature.scored] == 0
                if family.whole:  # a dialogue in which the agent does not speak
                    silent = ~lacks.any(axis=1) & (rows[:, feature.scored] == 0)
                    commonest[silent] = family.lacks.index("text")
                    unscored |= silent
                missing["value"] &= ~unscored
                for place, lack in enumerate(family.lacks):
                    missing[lack] = unscored & (commonest == place)
            reasons = {family.reasons[lack]: missing[lack] for lack in family.reasons}
            return Values.missing(value, reasons)

        def turns(state: State) -> Floats:
            counted: Floats = state.own[feature.name][:, feature.scored]
            return counted

        single = family.kind != "pool" and "turn" in (output.levels or LEVELS)
        uses = {**family.uses, **output.uses}
        return Definition((feature,), compute, uses, turns=None if single else turns)

    return make
