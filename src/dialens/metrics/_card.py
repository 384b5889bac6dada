"""What a metric says of itself, and how it is made ready for a run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dialens.corpus import LEVELS
from dialens.metrics._batch import TurnBatch
from dialens.metrics._family import Describes, Family, Side
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


LAST = 1_000
"""The headline rank of a metric that does not say where it stands: after all that do."""


@dataclass(frozen=True)
class MetricCard:
    """Everything that is known of a metric; whatever shows or analyses its values reads it here.

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
        label: Its heading in a table of its family; made from the name if not given.
        long_label: The same where no heading says what it belongs to; the label if not given.
        higher_reads: What an agent with the higher value does, as a predicate ("asks in more of
            its turns"); made from the label if not given.
        family_label: The heading of its family; made from the family's name if not given.
        headline: Its rank among the metrics that are shown first, 1 before 2; None leaves it to
            the tables of its family.
        side: Whether it looks at a speaker as at a person (`psychological`), is there to be beaten
            (`baseline`), or neither (`automatic`).
        percent: Whether values are shares, written in percent.
        describes: A `trait` of the writer, one of the moment, or a `state` that moves from turn to
            turn; empty for everything else.
        matches: For a metric that holds an agent against its partner, what is matched.
        part_of: What it is one part of, together with its like.
        lens: Whose words are marked in the report: `emotion`, `style`, `content` or `question`.
        language: The only language that it knows by default, as `en`; empty if it takes any. The
            models that ship know English.
        given: Where values were found elsewhere, the reasons for which one may be missing; None
            where they are computed here.
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
    label: str = ""
    long_label: str = ""
    higher_reads: str = ""
    family_label: str = ""
    headline: int | None = LAST
    side: Side = "automatic"
    percent: bool = False
    describes: Describes = ""
    matches: str = ""
    part_of: str = ""
    lens: str = ""
    language: str = ""
    given: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Fill in what was not given."""
        label = self.label or _heading(self.name)
        long_label = self.long_label or label
        defaults = {
            "label": label,
            "long_label": long_label,
            "higher_reads": f"has a higher {in_sentence(long_label)}",
            "family_label": _heading(self.family),
            "language": "en" if "model" in self.needs else "",
        }
        for field_name, text in defaults.items():
            if not getattr(self, field_name):
                object.__setattr__(self, field_name, text)

    @property
    def selected_by(self) -> tuple[str, ...]:
        """Everything that it can be selected with, beside its name."""
        return (self.family, *self.groups)

    @property
    def is_trait(self) -> bool:
        """Whether it describes the writer, for good or at the moment."""
        return self.describes in ("trait", "momentary trait")

    @property
    def is_baseline(self) -> bool:
        """Whether it is there to be beaten, and says nothing of an agent."""
        return self.side == "baseline"

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
    groups: tuple[str, ...] = (),
    label: str = "",
    long_label: str = "",
    higher_reads: str = "",
    family_label: str = "",
    headline: int | None = LAST,
    side: Side = "automatic",
    percent: bool = False,
    describes: Describes = "",
    matches: str = "",
    part_of: str = "",
    lens: str = "",
    language: str = "",
) -> Callable[[Callable[[Resources], Definition]], MetricCard]:
    """Declare a metric over the function that binds it to a run's resources; see `MetricCard`.

    Examples:
        >>> @metric("shouting", meaning="Share of turns that shout", family="surface")
        ... def shouting(resources):
        ...     def value(batch):
        ...         loud = batch.turns["text"].str.contains("!").to_numpy()
        ...         return loud.astype(float)
        ...
        ...     return turn_mean("shouting", value)
        >>> shouting.levels, shouting.label, shouting.higher_reads
        (('turn', 'dialog', 'agent', 'system'), 'Shouting', 'has a higher shouting')
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
            groups=groups,
            label=label,
            long_label=long_label,
            higher_reads=higher_reads,
            family_label=family_label,
            headline=headline,
            side=side,
            percent=percent,
            describes=describes,
            matches=matches,
            part_of=part_of,
            lens=lens,
            language=language,
        )

    return declare


def in_sentence(text: str) -> str:
    """A label within a sentence: without its capital, unless it is a name.

    Examples:
        >>> in_sentence("Distinct words"), in_sentence("USL-H vup"), in_sentence("chrF")
        ('distinct words', 'USL-H vup', 'chrF')
    """
    return text if text[1:] != text[1:].lower() else f"{text[:1].lower()}{text[1:]}"


def _heading(name: str) -> str:
    return name.replace("_", " ").capitalize()


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
