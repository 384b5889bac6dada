"""The scorers of a run: opened when they are first needed, asked for every distinct unit once."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import RLock
from typing import TypeVar, cast

import numpy as np

from dialens.base import DialensError, did_you_mean, first_line
from dialens.metrics._batch import TurnBatch
from dialens.metrics._family import (
    Advance,
    AheadScorer,
    AnyScorer,
    Family,
    PoolScorer,
    Scorer,
    ScorerContext,
    Unit,
    WordScorer,
)
from dialens.metrics._model_choice import ModelChoice
from dialens.metrics._result_cache import ResultCache, content_key
from dialens.metrics._state import Floats

T = TypeVar("T")

_FIRST = 32  # units before anything is known of the pace
_SAVED_EVERY_S = 15.0
_MOST_AT_ONCE = 8_192


class ScorerSet:
    """The scorers of a run. One set may serve many runs.

    A set learns what it must know of a corpus (inverse document frequencies) from the first corpus
    that it scores; make another set for another corpus.

    Args:
        context: Models, weights, options, device; nothing of one's own if not given.
        cache: Where results are kept between runs; within this run only, if not given.
    """

    def __init__(
        self, context: ScorerContext | None = None, cache: ResultCache | None = None
    ) -> None:
        self.context = context or ScorerContext()
        self._cache = cache or ResultCache()
        self._lock = RLock()
        self._opened: dict[str, AnyScorer] = {}
        self._failures: dict[str, str] = {}
        self._prepared: set[str] = set()

    def of_size(self, size: str) -> "ScorerSet":
        """The same choices with models of another size, and nothing kept on disk."""
        models = self.context.models
        other = ModelChoice(size, models.own, models.folder, models.cache_size)
        return ScorerSet(replace(self.context, models=other))

    def ready(self, family: Family) -> bool:
        """Open a family's scorer; if that fails, remember why and give false."""
        if family.name in self._opened:  # nobody waits here for a scorer that is at work
            return True
        with self._lock:
            if family.name in self._opened or family.name in self._failures:
                return family.name in self._opened
            try:
                reason = family.ready(self.context)
                if reason is None:
                    self._opened[family.name] = family.open(self.context)
            except DialensError as error:
                reason = str(error)
            except ImportError as error:
                reason = first_line(error)
                if error.name is not None:
                    package = f"needs the Python package {error.name}"
                    reason = f"{package} (pip install 'dialens[metrics]')"
            if reason is not None:
                self._fail(family, reason)
            return reason is None

    def _fail(self, family: Family, reason: str) -> None:
        self._failures[family.name] = reason.rstrip(".")
        self._opened.pop(family.name, None)

    def failed(self, family: Family) -> str | None:
        """Why a family has no values, as far as it has been tried."""
        return self._failures.get(family.name)

    def signature(self, family: Family) -> str:
        """What a score's signature says of the scorer behind it; `none` if it is not open."""
        scorer = self._opened.get(family.name)
        return "none" if scorer is None else scorer.signature.replace("|", "/")

    def prepare(self, families: Iterable[Family], references: Callable[[], Iterable[str]]) -> None:
        """Open the scorers of a run, and let those that have not yet see all references."""
        with self._lock:
            fresh = [
                family
                for family in families
                if self.ready(family)
                and family.kind == "units"
                and family.name not in self._prepared
            ]
            reads = any("reference" in family.reads for family in fresh)
            seen = list(references()) if reads else []
            for family in fresh:
                cast(Scorer, self._opened[family.name]).prepare(seen)
                self._prepared.add(family.name)

    def run(
        self,
        family: Family,
        units: Sequence[Unit],
        advance: Advance = lambda _: None,
    ) -> Floats:
        """A family's values, one row a unit; NaN where it has none. The family must be `ready`.

        If the scorer breaks down, `failed` says why from then on.

        Args:
            family: Whose scorer is asked.
            units: To score; those that are alike are scored once.
            advance: Called with the number of units just done; in the end all were counted.
        """
        return self.begin(family, units, advance)()

    def begin(
        self,
        family: Family,
        units: Sequence[Unit],
        advance: Advance = lambda _: None,
    ) -> Callable[[], Floats]:
        """Have a family's networks begin, if it has any; what it returns gives what `run` does."""
        scorer = cast(Scorer, self._opened[family.name])
        places = _places(units)
        if isinstance(scorer, AheadScorer) and not family.cached and places:
            rows = scorer.begin(list(places), advance)
        else:
            rows = partial(self._scored, family, places, advance)

        def finish() -> Floats:
            try:
                if self.failed(family) is None:
                    values = _checked(family, rows(), len(places))
                    return values[[places[unit] for unit in units]]
            except DialensError as error:
                self._fail(family, str(error))
            return np.full((len(units), family.width), np.nan)

        return finish

    def _scored(self, family: Family, places: Mapping[Unit, int], advance: Advance) -> Floats:
        scorer = cast(Scorer, self._opened[family.name])

        def parts(unit: Unit) -> list[str]:
            background = () if unit.background is None else (unit.background,)
            return [
                unit.response,
                str(len(unit.context)),
                *unit.context,
                *unit.references,
                *background,
            ]

        def weight(unit: Unit) -> int:
            texts = (unit.response, *unit.context, *unit.references)
            return sum(map(len, texts))

        def score(some: list[Unit], tell: Advance) -> Floats:
            return _checked(family, scorer.score(some, tell), len(some))

        return self._found(family, list(places), score, parts, weight, advance)

    def score_words(self, family: Family, batch: TurnBatch) -> tuple[Floats, Floats]:
        """Values of turns and of dialogues, of a family that scores words and is `ready`."""
        return cast(WordScorer, self._opened[family.name]).score_words(batch)

    def embed(
        self,
        family: Family,
        texts: Sequence[str],
        advance: Advance = lambda _: None,
    ) -> Mapping[str, Floats]:
        """Vectors of texts by a pooled family's scorer, which must be `ready`."""
        scorer = self.pool_scorer(family)
        try:
            distinct = list(dict.fromkeys(texts))
            rows = self._found(family, distinct, scorer.embed, lambda text: [text], len, advance)
        except DialensError as error:
            self._fail(family, str(error))
            return {}
        return dict(zip(distinct, rows, strict=True))

    def try_out(self, family: Family, units: Sequence[Unit]) -> None:
        """Compute, and keep, what a family does for each unit, whatever its kind."""
        if family.kind == "pool":
            texts = [text for unit in units for text in (unit.response, *unit.references)]
            self.embed(family, texts)
        else:
            self.run(family, units)

    def pool_scorer(self, family: Family) -> PoolScorer:
        """The scorer of a pooled family, which must be `ready`."""
        return cast(PoolScorer, self._opened[family.name])

    def _found(
        self,
        family: Family,
        distinct: list[T],
        make: Callable[[list[T], Advance], Floats],
        parts: Callable[[T], list[str]],
        weight: Callable[[T], int],
        advance: Advance,
    ) -> Floats:
        """Rows of what is asked for, each of it once: from the cache, or made and put there."""
        with self._lock:
            if not distinct:
                return np.empty((0, family.width))
            if not family.cached:
                return np.asarray(make(distinct, advance), np.float64)
            signed = f"{family.name} {family.version} {self._opened[family.name].signature}"
            keys = {item: content_key(signed, parts(item)) for item in distinct}
            cached = self._cache.get(list(keys.values()))
            results = {item: cached[key] for item, key in keys.items() if key in cached}
            advance(len(results))
            fresh = [item for item in distinct if item not in results]
            fresh.sort(key=weight, reverse=True)  # portions of like lengths
            for some in _portions(fresh):
                rows = np.asarray(make(some, advance), np.float64)
                results |= zip(some, rows, strict=True)
                self._cache.put({keys[item]: results[item] for item in some})
            return np.array([results[item] for item in distinct], np.float64)


def _places(units: Sequence[Unit]) -> dict[Unit, int]:
    """The distinct units, numbered."""
    return {unit: place for place, unit in enumerate(dict.fromkeys(units))}


def _checked(family: Family, rows: Floats, count: int) -> Floats:
    """Finite numbers of the shape that is due; NaN where they are not."""
    values = np.asarray(rows, np.float64)
    if values.shape != (count, family.width):
        raise ValueError(f"{family.name} gave {values.shape} for {count} units")
    return np.where(np.isfinite(values), values, np.nan)


def _portions(items: Sequence[T]) -> Iterator[list[T]]:
    """Parts of a list that take about as long as may be lost when a run is killed.

    Examples:
        >>> [len(part) for part in _portions(list(range(100)))][0]
        32
    """
    start, size = 0, _FIRST
    while start < len(items):
        began = time.monotonic()
        yield list(items[start : start + size])
        start += size
        took = max(time.monotonic() - began, 1e-6)
        size = int(min(max(1, size * _SAVED_EVERY_S / took), 4 * size, _MOST_AT_ONCE))


def check_names(context: ScorerContext, families: Iterable[Family]) -> None:
    """Refuse weights and options that no family knows.

    Raises:
        DialensError: With the names that there are.

    Examples:
        >>> check_names(ScorerContext(weights={"beret_score": "x"}), [])
        Traceback (most recent call last):
        dialens.DialensError: No metric wants weights called 'beret_score'...
    """
    families = list(families)
    wanted = {name: None for family in families for name in family.weights}
    for name in context.weights:
        if name not in wanted:
            raise DialensError(
                f"No metric wants weights called {name!r}. {did_you_mean(name, wanted)}"
                f"Names: {', '.join(wanted)}."
            )
    allowed = {family.name: family.options for family in families if family.options}
    for name, options in context.options.items():
        if name not in allowed:
            raise DialensError(
                f"No metric family with options is called {name!r}. {did_you_mean(name, allowed)}"
                f"Families: {', '.join(allowed)}."
            )
        for option in options:
            if option not in allowed[name]:
                raise DialensError(
                    f"{name} has no option {option!r}. {did_you_mean(option, allowed[name])}"
                    f"Options: {', '.join(allowed[name])}."
                )
