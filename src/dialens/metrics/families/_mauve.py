"""MAUVE: how near what an agent says, taken together, is to what people said.

Of an agent or a system, not of a reply. Features are the last token's state of a GPT-2 as in the
paper, the mean state of an encoder, or, where no weights are given, the embedding of the encoder
that ships with the package; the signature says which.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dialens.base import DialensError
from dialens.metrics._family import Family, Output, Running, ScorerContext
from dialens.metrics._pace import paced
from dialens.metrics._state import Floats
from dialens.metrics.families._causal import is_causal
from dialens.metrics.families._frontier import SCALE, clustered, histograms, mauve_of, reduced
from dialens.metrics.families._token_encoder import SideRows, TokenEncoder, encoder_of, pooled
from dialens.metrics.families._weights import (
    TRANSFORMERS,
    Loaded,
    lacking_packages,
    lacking_weights,
    load_model,
)
from dialens.models import load

NAME = "mauve"
WHAT = "a GPT-2 such as gpt2-large, or an encoder"
SHIPPED = "emotion"
"""Whose encoder makes the features where no weights are given: it reads single texts."""

_WINDOW = 1024  # texts in memory as token states at a time
_POINTS_A_CLUSTER = 10  # the authors' rule of thumb


@dataclass(frozen=True)
class Settings:
    """What the user may set.

    Attributes:
        buckets: Clusters; None for a tenth of the smaller set.
        minimum: Replies and references that there must be.
        scale: The paper's c.
        seed: Of the clustering.
        features: `last` for the last token's state, `mean` for the mean of all; None for what
            suits the model.
    """

    buckets: int | None = None
    minimum: int = 100
    scale: float = SCALE
    seed: int = 0
    features: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Settings":
        """Read what was given as text.

        Raises:
            DialensError: A value cannot be read, or makes no sense.

        Examples:
            >>> Settings.of({"buckets": "40"})
            Settings(buckets=40, minimum=100, scale=5.0, seed=0, features=None)
        """
        buckets, features = options.get("buckets"), options.get("features")
        if features not in (None, "last", "mean"):
            raise DialensError(f"--metric-option mauve.features={features}: give last or mean")
        result = cls(
            None if buckets in (None, "auto") else int(_number(options, "buckets", 2)),
            int(_number(options, "minimum", 2, cls.minimum)),
            _number(options, "scale", 0, cls.scale),
            int(_number(options, "seed", 0, cls.seed)),
            features,
        )
        if result.scale == 0:
            raise DialensError("--metric-option mauve.scale=0: give a number above 0")
        return result


def _number(options: Mapping[str, str], name: str, least: float, otherwise: float = 0) -> float:
    seen = options.get(name)
    try:
        number = otherwise if seen is None else float(seen)
    except ValueError:
        number = -1.0
    if not least <= number < float("inf") or (name != "scale" and number != int(number)):
        kind = "a number" if name == "scale" else "a whole number"
        raise DialensError(f"--metric-option mauve.{name}={seen}: give {kind} from {least:g} on")
    return number


class Embedder(Protocol):
    """Turns texts into rows of features."""

    signature: str

    def embed(self, texts: Sequence[str], advance: Callable[[int], None]) -> Floats:
        """One row a text."""


class ShippedEmbedder:
    """The encoder that ships with the package."""

    def __init__(self, running: Running) -> None:
        self._model = load(SHIPPED, **running)
        self.signature = self._model.signature.replace("|", "/")

    def embed(self, texts: Sequence[str], advance: Callable[[int], None]) -> Floats:
        """The mean of the last hidden states of each text."""
        vectors = self._model.embed(texts, advance=advance)  # type: ignore[union-attr]
        return vectors.astype(np.float64)


class FolderEmbedder:
    """A folder of weights: the last token's state of a language model, an encoder's mean state.

    Args:
        loaded: The model.
        features: `last` or `mean`; None for what suits it.
        threads: Batches at once; as many as there are cores if not given.
        side: Rows of sentences that have been through the same model for another metric.
    """

    def __init__(
        self,
        loaded: Loaded,
        features: str | None = None,
        *,
        threads: int | None = None,
        side: SideRows | None = None,
    ) -> None:
        causal = is_causal(encoder_of(loaded.model), loaded.device)
        self._features = features or ("last" if causal else "mean")
        layers = loaded.model.config.num_hidden_layers
        self._encoder = TokenEncoder(loaded, layer=layers, threads=threads)
        self._side = side or SideRows()
        self._side.pooling = self._features
        self.signature = f"{loaded.signature},{self._features}"

    def embed(self, texts: Sequence[str], advance: Callable[[int], None]) -> Floats:
        """One row a text."""
        tell = paced(advance, len(texts), len(texts))
        rows = []
        for start in range(0, len(texts), _WINDOW):
            ids = self._encoder.ids(texts[start : start + _WINDOW])
            cached = [self._side.take(sentence) for sentence in ids]
            fresh = [sentence for sentence, row in zip(ids, cached, strict=True) if row is None]
            encoded = iter(self._encoder.encode_ids(fresh))
            rows += [
                pooled(next(encoded), self._features) if row is None else row for row in cached
            ]
            tell(len(ids))
        return np.array(rows)


class MauveScorer:
    """Embeds texts, and compares an agent's with the references."""

    def __init__(self, embedder: Embedder, settings: Settings) -> None:
        self._embedder = embedder
        self._settings = settings
        chosen = settings.buckets or "auto"
        self.signature = (
            f"{embedder.signature},buckets={chosen},scale={settings.scale:g},seed={settings.seed},"
            f"minimum={settings.minimum}"
        )

    def embed(
        self, texts: Sequence[str], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """One row a text, which does not depend on the other texts."""
        return self._embedder.embed(texts, advance)

    def compare(self, responses: Floats, references: Floats) -> Floats:
        """MAUVE of all replies against all references; NaN if there are too few of either."""
        settings, fewer = self._settings, min(len(responses), len(references))
        buckets = settings.buckets or max(2, round(fewer / _POINTS_A_CLUSTER))
        if fewer < max(settings.minimum, buckets):
            return np.array([np.nan])
        points = reduced(np.vstack([responses, references]))
        labels = clustered(points, buckets, seed=settings.seed)
        p, q = histograms(labels, len(responses), buckets)
        return np.array([mauve_of(p, q, scale=settings.scale)])


def ready(context: ScorerContext) -> str | None:
    """What is missing; weights need not be given."""
    lacking = lacking_packages("sklearn")
    if lacking is not None or NAME not in context.weights:
        return lacking
    return lacking_packages(*TRANSFORMERS) or lacking_weights(context, NAME, WHAT)


def open_scorer(context: ScorerContext) -> MauveScorer:
    """Load what makes features and read the options."""
    settings = Settings.of(context.options.get(NAME, {}))
    if NAME not in context.weights:
        return MauveScorer(ShippedEmbedder(context.running), settings)
    loaded = load_model(context, NAME, WHAT)
    embedder = FolderEmbedder(
        loaded,
        settings.features,
        threads=context.threads,
        side=SideRows.of(context, loaded),
    )
    return MauveScorer(embedder, settings)


FAMILY = Family(
    name=NAME,
    label="MAUVE",
    outputs=(
        Output(
            "mauve",
            "How near an agent's replies, taken together, are to the references (from 100 of each)",
            (0.0, 1.0),
            label="MAUVE",
            headline=107,
        ),
    ),
    open=open_scorer,
    ready=ready,
    needs=("reference",),
    weights={NAME: f"{WHAT}; the encoder that ships where none is given"},
    options={
        "buckets": "number of clusters (auto: a tenth of the smaller set)",
        "minimum": "replies and references that there must be (100)",
        "scale": "the paper's c (5)",
        "seed": "of the clustering (0)",
        "features": "last or mean: the last token's state, or the mean of all (last for language "
        "models, as in the paper; mean for encoders)",
    },
    citation="Pillutla et al. 2021, MAUVE: Measuring the Gap Between Neural Text and Human Text "
    "using Divergence Frontiers, NeurIPS",
    version=2,
    kind="pool",
)


PLACE = 140
METRICS = (FAMILY,)
