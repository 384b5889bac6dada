"""Whether two people use the small words alike: language style matching.

Ireland & Pennebaker 2010; the nine categories and the formula as in Giorgi et al. 2023.
"""

from collections.abc import Callable

import numpy as np

from dialens.metrics._card import Definition, MetricCard, Resources, metric
from dialens.metrics._features import lexicon_feature
from dialens.metrics._state import Floats, State, Values, ratio
from dialens.text import FUNCTION_WORD_CATEGORIES, VERSION

_CITATION = "Ireland & Pennebaker 2010, doi:10.1037/a0020386; Giorgi et al. 2023, arXiv:2305.14757"
_LICENCE = "function words written for dialens: Apache-2.0"
_SMALL = 0.0001
_K = len(FUNCTION_WORD_CATEGORIES)


def matching(own: Floats, other: Floats) -> Floats:
    """1 − |a − b| / (a + b + 0.0001) of two shares.

    Examples:
        >>> matching(np.array([0.1, 0.0]), np.array([0.1, 0.1])).round(3).tolist()
        [1.0, 0.001]
    """
    agreement: Floats = 1 - np.abs(own - other) / (own + other + _SMALL)
    return agreement


def _shares(counts: Floats) -> Floats:
    """Shares of all tokens, categories × units."""
    categories = np.ascontiguousarray(counts[:, :_K].T)
    return ratio(categories, np.broadcast_to(counts[:, -1], categories.shape))


def _matching(state: State, name: str) -> Floats:
    """How alike both sides are in each category, categories × units."""
    return matching(_shares(state.own[name]), _shares(state.other[name]))


def _make(columns: slice) -> Callable[[Resources], Definition]:
    def make(resources: Resources) -> Definition:
        feature = lexicon_feature("style", resources.style)

        def compute(state: State) -> Values:
            own, other = state.own[feature.name], state.other[feature.name]
            own_tokens, other_tokens = own[:, -1], other[:, -1]
            parts = state.cached(_matching, feature.name)[columns]
            return Values.where(
                sum(parts, np.zeros(len(own))) / len(parts),  # NumPy adds one unit in another order
                nothing_to_answer=state.other_turns == 0,
                no_word=own_tokens == 0,
                no_word_in_the_prompt=other_tokens == 0,
            )

        lexicon = resources.style
        uses = {
            "tok": VERSION,
            "lex": f"{lexicon.name}@{lexicon.sha256[:8]}",
            "prompt": resources.prompt,
        }
        return Definition((feature,), compute, uses)

    return make


def _card(
    name: str,
    meaning: str,
    columns: slice,
    *,
    label: str,
    long_label: str = "",
    higher_reads: str = "",
    groups: tuple[str, ...] = (),
    headline: int | None = None,
    matches: str = "",
    part_of: str = "",
) -> MetricCard:
    return metric(
        name,
        meaning=meaning,
        family="style",
        needs=("partner",),
        range=(0.0, 1.0),
        citation=_CITATION,
        licence=_LICENCE,
        groups=groups,
        label=label,
        long_label=long_label,
        higher_reads=higher_reads,
        family_label="Style matching by kind of function word",
        headline=headline,
        side="psychological",
        matches=matches,
        part_of=part_of,
        lens="style",
        language="en",
    )(_make(columns))


LANGUAGE_STYLE_MATCHING = _card(
    "language_style_matching",
    "How alike the agent and the one it answers use nine kinds of function words",
    slice(None),
    label="Style matching",
    higher_reads="matches the style of the other side more closely",
    groups=("giorgi2023",),
    headline=7,
    matches="style",
)

PARTS = tuple(
    _card(
        f"style_matching_{category}",
        f"How alike the agent and the one it answers use {category.replace('_', ' ')}",
        slice(column, column + 1),
        label=category.replace("_", " ").capitalize(),
        long_label=f"Style matching: {category.replace('_', ' ')}",
        part_of="language_style_matching",
    )
    for column, category in enumerate(FUNCTION_WORD_CATEGORIES)
)


PLACE = 60
METRICS = (LANGUAGE_STYLE_MATCHING, *PARTS)
