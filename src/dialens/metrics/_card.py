"""What a metric says of itself, and how it is made ready for a run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dialens.corpus import LEVELS
from dialens.metrics._batch import TurnBatch
from dialens.metrics._family import Family
from dialens.metrics._family_features import FamilyValues
from dialens.metrics._features import Feature, TurnValue
from dialens.metrics._scorers import ScorerSet
from dialens.metrics._state import Floats, State, Values, ratio
from dialens.text import Lexicon, emotion_lexicon, function_words, stop_words


@dataclass(frozen=True)
class Resources:
    """What a run gives to all its metrics; every one has an open default.

    Attributes:
        emotion: A weighted lexicon over Plutchik's eight emotions.
        style: Nine lists of function words.
        stop: Words that carry no content.
        prompt: Whether a turn answers the whole `context` before it or only the `last` turn.
        seed: For metrics that draw.
        scorers: Which models, weights, options and device are used by whatever costs something.
    """

    emotion: Lexicon = field(default_factory=emotion_lexicon)
    style: Lexicon = field(default_factory=function_words)
    stop: Lexicon = field(default_factory=stop_words)
    prompt: str = "context"
    seed: int = 0
    scorers: ScorerSet = field(default_factory=ScorerSet, compare=False)


@dataclass(frozen=True)
class Definition:
    """The working part of a metric: features that add up, and a value from their sums.

    Attributes:
        features: What is extracted, once for all metrics that name the same feature.
        compute: Summed features in, values out; the same function at every level.
        uses: What the value depends on beside the text, for the signature.
        turns: How many turns stand behind a value, for a metric that single turns do not have.
    """

    features: tuple[Feature, ...]
    compute: Callable[[State], Values]
    uses: Mapping[str, str] = field(default_factory=dict)
    turns: Callable[[State], Floats] | None = None


@dataclass(frozen=True)
class MetricCard:
    """A metric's declaration.

    Attributes:
        name: What `--metrics` takes and the `metric` column holds.
        meaning: One line.
        family: What it is selected with, together with its like.
        make: Binds it to the resources of a run.
        levels: Where it is defined.
        needs: What it cannot do without, beside the agent's words: `partner`, `model`,
            `reference`, `context`, `weights`.
        range: Lowest and highest possible value.
        higher_is_better: Or None, where neither is.
        citation: Where it comes from.
        licence: Of the resources it uses by default.
        version: Raised when its numbers change.
        groups: Larger groups that it is selected with.
        scored_by: The family whose scorer it is computed with, if one is.
    """

    name: str
    meaning: str
    family: str
    make: Callable[[Resources], Definition]
    levels: tuple[str, ...] = LEVELS
    needs: tuple[str, ...] = ()
    range: tuple[float | None, float | None] = (None, None)
    higher_is_better: bool | None = None
    citation: str = ""
    licence: str = "Apache-2.0"
    version: int = 1
    groups: tuple[str, ...] = ()
    scored_by: Family | None = None

    def bind(self, resources: Resources) -> "Metric":
        """The metric with the resources of a run."""
        return Metric(self, self.make(resources))


@dataclass(frozen=True)
class Metric:
    """A metric ready to compute."""

    card: MetricCard
    definition: Definition

    @property
    def name(self) -> str:
        """What the `metric` column holds."""
        return self.card.name

    @property
    def families(self) -> tuple[Family, ...]:
        """The families whose scorers it is computed with."""
        return tuple(feature.family for feature in self._scored)

    @property
    def _scored(self) -> list[FamilyValues]:
        return [feat for feat in self.definition.features if isinstance(feat, FamilyValues)]

    @property
    def signature(self) -> str:
        """Everything the numbers depend on, short enough for a footnote.

        A scorer signs once it is open, `none` before: ask when the plan's scorers are open.
        """
        depends = dict(self.definition.uses)
        for feature in self._scored:
            depends[feature.family.signed_as] = feature.scorers.signature(feature.family)
        uses = "".join(f"|{key}:{value}" for key, value in depends.items())
        return f"{self.name}|v{self.card.version}{uses}"


def metric(
    name: str,
    *,
    meaning: str,
    family: str,
    levels: tuple[str, ...] = LEVELS,
    needs: tuple[str, ...] = (),
    range: tuple[float | None, float | None] = (None, None),
    higher_is_better: bool | None = None,
    citation: str = "",
    licence: str = "Apache-2.0",
    version: int = 1,
    scored_by: Family | None = None,
) -> Callable[[Callable[[Resources], Definition]], MetricCard]:
    """Declare a metric over the function that binds it to a run's resources.

    Examples:
        >>> @metric("shouting", meaning="Share of turns that shout", family="surface")
        ... def shouting(resources):
        ...     def value(batch):
        ...         loud = batch.turns["text"].str.contains("!").to_numpy()
        ...         return loud.astype(float)
        ...
        ...     return turn_mean("shouting", value)
        >>> shouting.name, shouting.levels
        ('shouting', ('turn', 'dialog', 'agent', 'system'))
    """

    def declare(make: Callable[[Resources], Definition]) -> MetricCard:
        return MetricCard(
            name=name,
            meaning=meaning,
            family=family,
            make=make,
            levels=levels,
            needs=needs,
            range=range,
            higher_is_better=higher_is_better,
            citation=citation,
            licence=licence,
            version=version,
            scored_by=scored_by,
        )

    return declare


def turn_mean(
    name: str,
    value: Callable[[TurnBatch], Floats],
    *,
    features: tuple[Feature, ...] = (),
    missing: str = "not defined for this turn",
    uses: Mapping[str, str] | None = None,
) -> Definition:
    """A metric that each turn has by itself and every larger unit as the mean of its turns.

    `value` gives one number a turn of a batch, NaN where there is none for the reason `missing`;
    `features` are counts of words that it reads with `batch.word_sums`.
    """
    feature = TurnValue(name, value)

    def compute(state: State) -> Values:
        total, n = state.own[feature.name].T
        return Values.where(ratio(total, n), **{missing.replace(" ", "_"): n == 0})

    return Definition((*features, feature), compute, uses or {})
