"""Fit a trait model from labelled text and say, by cross-validation over people, what it is worth.

The library behind ``dialens traits fit``. A *trait* has one value a person (answers to a
questionnaire): the texts of a person are pooled, as in Schwartz et al. (2013). A *state* has one
value a text: texts are the units. Either way a fold holds out whole people, and everything that is
learnt (which n-grams are known, their idf, penalty, weight of the topics) is learnt inside the
training part: the penalty by inner folds, again by person. Nothing here needs scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dialens.base import DialensError
from dialens.models import topics as topic_tables
from dialens.models.topics import TopicTable, as_tokens
from dialens.models.traits._blocks import Block, DenseBlock, NgramBlock, known_rows, make_blocks
from dialens.models.traits._labels import Labelled, Rows, labelled
from dialens.models.traits._model import TraitModel
from dialens.models.traits._report import Correlation, TraitReport, correlation
from dialens.models.traits._ridge import Features, RidgeFit, Vector, ridge_path

PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
TOPIC_WEIGHTS = (0.0, 0.1, 0.5)
"""Weights of the topic block beside n-grams (weight 1) among which inner folds choose."""

INNER_FOLDS = 5


@dataclass(frozen=True, eq=False)
class TraitFit:
    """A fitted model, how well it did on unseen people, and the predictions behind that.

    Attributes:
        report: Correlations by person and by text, with intervals and a baseline.
        model: The model, fitted on everybody.
        predictions: Out-of-fold: ``group, fold, truth, predicted``, one row a unit.
    """

    report: TraitReport
    model: TraitModel
    predictions: pl.DataFrame = field(repr=False)


@dataclass(frozen=True)
class _Choice:
    weights: tuple[float, ...]
    penalty: float


def fit(
    table: pl.DataFrame,
    *,
    text: str,
    target: str,
    group: str,
    seed: int,
    folds: int = 10,
    features: Sequence[str] = ("ngrams", "topics"),
    topics: TopicTable | None = None,
    longest: int = 3,
    min_persons: int = 5,
    on_fold: Callable[[int, int], None] | None = None,
) -> TraitFit:
    """Fit a trait model and cross-validate it by person.

    Args:
        table: One row a text.
        text: Column of texts.
        target: Column of numbers to predict.
        group: Column that says whose text it is; nobody is ever in both training and test part.
        seed: Seed of folds and bootstrap; the same seed gives the same result.
        folds: Outer folds.
        features: ``"ngrams"``, ``"topics"`` or both.
        topics: Topic table; by default the one that ships.
        longest: Longest n-gram.
        min_persons: An n-gram must be used by at least this many people to be known; this keeps
            what only few would say (names, say) out of the model.
        on_fold: Called with (folds done, folds) after each fold, for a progress bar.

    Raises:
        DialensError: A column is missing, the target is not numeric, or there are too few people.

    Examples:
        >>> rows = [
        ...     (f"p{i}", "so kind of you" if i % 2 else "go away now", i % 2) for i in range(40)
        ... ]
        >>> table = pl.DataFrame(rows, schema=["who", "says", "warm"], orient="row")
        >>> found = fit(
        ...     table, text="says", target="warm", group="who", seed=1, folds=5, features=["ngrams"]
        ... )
        >>> print(found.report.by_person)
        1.000 [1.000, 1.000] (n = 40)
        >>> bool(np.diff(found.model.predict(["go away", "you are kind"]))[0] > 0.5)
        True
    """
    _check_features(features)
    data = labelled(table, text=text, target=target, group=group, folds=folds)
    tokens = as_tokens(data.texts)
    table_of_topics = (topics or topic_tables.load()) if "topics" in features else None
    blocks = make_blocks(data, tokens, features, table_of_topics, longest, min_persons)
    outcome = cross_validate(data, blocks, seed=seed, folds=folds, on_fold=on_fold)
    report = _report(data, tokens, outcome, target, tuple(features), seed, folds)
    model = _final(data, blocks, features, table_of_topics, target, longest, seed, folds)
    predictions = pl.DataFrame(
        {
            "group": data.names.gather(data.unit_person),
            "fold": outcome.unit_fold,
            "truth": data.unit_target,
            "predicted": outcome.unit_prediction,
        }
    )
    return TraitFit(report, model, predictions.with_columns(pl.col("predicted").fill_nan(None)))


@dataclass(frozen=True, eq=False)
class Outcome:
    """Out-of-fold predictions and what the inner folds chose."""

    unit_fold: NDArray[np.int64]
    unit_prediction: Vector
    text_prediction: Vector
    choices: tuple[_Choice, ...]


def person_folds(people: int, folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each person: sizes differ by at most one, order drawn from the seed.

    Examples:
        >>> sorted(person_folds(5, 2, seed=0).tolist())
        [0, 0, 0, 1, 1]
    """
    result = np.arange(people, dtype=np.int64) % folds
    np.random.default_rng(seed).shuffle(result)
    return result


def cross_validate(
    data: Labelled,
    blocks: Sequence[Block],
    *,
    seed: int,
    folds: int,
    on_fold: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Predict everybody by models that never saw them; penalties come from inner folds."""
    by_person = person_folds(len(data.names), folds, seed)
    unit_fold, text_fold = by_person[data.unit_person], by_person[data.text_person]
    unit_prediction = np.full(len(unit_fold), np.nan)
    text_prediction = np.full(len(text_fold), np.nan)
    choices = []
    for fold in range(folds):
        train = np.flatnonzero(unit_fold != fold)
        choice = _choose(data, blocks, train, seed=seed + 1 + fold, folds=INNER_FOLDS)
        choices.append(choice)
        both = [block.features(train) for block in blocks]
        units, texts = [one[0] for one in both], [one[1] for one in both]
        model = _ridge(units, train, choice.weights, data.unit_target, [choice.penalty])
        for prediction, held, parts in (
            (unit_prediction, unit_fold == fold, units),
            (text_prediction, text_fold == fold, texts),
        ):
            rows = [part[np.flatnonzero(held)] for part in parts]
            prediction[held] = np.where(known_rows(rows[0]), model.predict(rows)[:, 0], np.nan)
        if on_fold is not None:
            on_fold(fold + 1, folds)
    return Outcome(unit_fold, unit_prediction, text_prediction, tuple(choices))


def _choose(
    data: Labelled, blocks: Sequence[Block], among: Rows, *, seed: int, folds: int
) -> _Choice:
    people, person = np.unique(data.unit_person[among], return_inverse=True)
    fold_of = person_folds(len(people), folds, seed)[person]
    options: list[tuple[float, ...]] = [(1.0,)]
    if len(blocks) == 2:
        options = [(1.0, weight) for weight in TOPIC_WEIGHTS]
    error = np.zeros((len(options), len(PENALTIES)))
    for fold in range(folds):
        train, test = among[fold_of != fold], among[fold_of == fold]
        units = [block.features(train)[0] for block in blocks]
        rows = [part[test] for part in units]
        for place, weights in enumerate(options):
            model = _ridge(units, train, weights, data.unit_target, PENALTIES)
            residual = model.predict(rows) - data.unit_target[test][:, None]
            error[place] += (residual**2).sum(axis=0)
    place, penalty = min(
        product(range(len(options)), range(len(PENALTIES))), key=lambda at: float(error[at])
    )
    return _Choice(options[place], PENALTIES[penalty])


def _ridge(
    units: Sequence[Features],
    train: Rows,
    weights: Sequence[float],
    target: Vector,
    penalties: Sequence[float],
) -> RidgeFit:
    return ridge_path([part[train] for part in units], weights, target[train], penalties)


def _check_features(features: Sequence[str]) -> None:
    unknown = sorted(set(features) - {"ngrams", "topics"})
    if unknown or not features:
        raise DialensError(f"features are {list(features)}; choose 'ngrams', 'topics' or both")


def _report(
    data: Labelled,
    tokens: pl.Series,
    outcome: Outcome,
    target: str,
    features: tuple[str, ...],
    seed: int,
    folds: int,
) -> TraitReport:
    length = tokens.list.len().fill_null(0).to_numpy().astype(np.float64)
    by_unit = np.log1p(data.pool(sparse.csr_array(length[:, None])).toarray())
    baseline = cross_validate(
        data, [DenseBlock(by_unit, np.log1p(length)[:, None])], seed=seed, folds=folds
    )

    def between_people(prediction: Vector) -> Correlation:
        people = np.arange(len(data.names))
        return correlation(data.person_target, data.by_person(prediction), people, seed=seed)

    per_fold: list[float | None] = []
    for fold in range(folds):
        held = outcome.unit_fold == fold
        within = correlation(
            data.unit_target[held],
            outcome.unit_prediction[held],
            data.unit_person[held],
            seed=seed,
            resamples=1,
        )
        per_fold.append(within.value)
    return TraitReport(
        target=target,
        features=features,
        unit=data.unit,
        folds=folds,
        seed=seed,
        n_persons=len(data.names),
        n_texts=len(data.texts),
        by_person=between_people(outcome.unit_prediction),
        by_text=correlation(data.text_target, outcome.text_prediction, data.text_person, seed=seed),
        per_fold=tuple(per_fold),
        baseline=between_people(baseline.unit_prediction),
        penalties=tuple(choice.penalty for choice in outcome.choices),
        topic_weights=tuple(
            choice.weights[-1] if "topics" in features else 0.0 for choice in outcome.choices
        ),
        dropped=data.dropped,
    )


def _final(
    data: Labelled,
    blocks: Sequence[Block],
    features: Sequence[str],
    table: TopicTable | None,
    target: str,
    longest: int,
    seed: int,
    folds: int,
) -> TraitModel:
    everybody = np.arange(len(data.unit_target))
    choice = _choose(data, blocks, everybody, seed=seed, folds=folds)
    units = [block.features(everybody)[0] for block in blocks]
    ridge = _ridge(units, everybody, choice.weights, data.unit_target, [choice.penalty])
    terms, idf, coefficients = pl.Series("term", [], dtype=pl.String), np.zeros(0), np.zeros(0)
    topic_coefficients, topic_mean, topic_spread = np.zeros(0), np.zeros(0), np.zeros(0)
    for block, weight, part in zip(blocks, choice.weights, ridge.coefficients, strict=True):
        if isinstance(block, NgramBlock):
            columns, idf = block.learn(everybody)
            terms, coefficients = block.terms.gather(columns), part[:, 0]
        elif weight > 0:
            topic_mean, topic_spread = block.learn(everybody)
            topic_coefficients = part[:, 0]
    return TraitModel(
        target=target,
        terms=terms,
        idf=idf,
        coefficients=coefficients,
        longest=longest,
        topic_coefficients=topic_coefficients,
        topic_mean=topic_mean,
        topic_spread=topic_spread,
        intercept=float(ridge.intercepts[0]),
        topics=table if len(topic_coefficients) else None,
    )
