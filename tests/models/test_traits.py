"""Trait models: recovery of a planted signal, no leakage, the same numbers as scikit-learn."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dialens.base import DialensError
from dialens.models import topics, traits, verify
from dialens.models.topics import as_tokens
from dialens.models.traits import Correlation, correlation, labelled
from dialens.models.traits import _fitting as fitting
from dialens.models.traits._blocks import NgramBlock, make_blocks
from dialens.models.traits._ridge import ridge_path
from dialens.text import tokenise_texts

COMMON = [f"word{i}" for i in range(30)]
TOPICS = topics.from_entries(
    "two",
    pl.DataFrame(
        [("kind", "0", 1.0), ("please", "0", 1.0)] + [(w, "1", 1.0) for w in COMMON],
        schema=["term", "category", "weight"],
        orient="row",
    ),
)


def people(n: int = 80, *, signal: float = 1.0, state: bool = False, seed: int = 0) -> pl.DataFrame:
    """Texts in which a warm person says "kind" and "please" more often."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(n):
        trait = rng.normal()
        for _ in range(4):
            value = rng.normal() if state else trait
            share = 1 / (1 + np.exp(-signal * value)) if signal else 0.5
            warm = rng.choice(["kind", "please"], size=rng.binomial(8, share))
            words = [*rng.choice(COMMON, size=12), *warm]
            rows.append((f"p{person}", " ".join(rng.permutation(words)), value))
    return pl.DataFrame(rows, schema=["who", "says", "warmth"], orient="row")


def fit(table: pl.DataFrame, **options: Any) -> traits.TraitFit:
    settings = {"seed": 3, "folds": 5, "features": ["ngrams"], "topics": TOPICS, **options}
    return traits.fit(table, text="says", target="warmth", group="who", **settings)


@pytest.mark.parametrize("features", [["ngrams"], ["topics"], ["ngrams", "topics"]])
def test_a_planted_trait_is_found(features: list[str]) -> None:
    found = fit(people(), features=features)
    report = found.report
    assert report.unit == "person"
    assert report.by_person.value is not None
    assert report.by_person.value > 0.6
    assert report.by_person.low is not None
    assert report.by_person.low > 0.4
    assert report.by_text.value is not None
    assert 0.3 < report.by_text.value < report.by_person.value
    assert (report.by_person.n, report.by_text.n) == (80, 320)
    warm, cold = found.model.predict(["kind please kind word1", "word1 word2 word3 word4"])
    assert warm > cold


def test_a_planted_state_is_found_text_by_text() -> None:
    report = fit(people(state=True)).report
    assert report.unit == "text"
    assert report.by_text.value is not None
    assert report.by_text.value > 0.5


def test_noise_is_called_noise() -> None:
    report = fit(people(signal=0.0)).report
    assert report.by_person.low is None or report.by_person.low < 0.1


def test_nobody_is_in_both_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(30, state=True)
    data = labelled(table, text="says", target="warmth", group="who", folds=5)
    blocks = make_blocks(data, as_tokens(data.texts), ["ngrams"], None, 1, 2)
    seen: list[set[int]] = []
    plain = NgramBlock.features

    def watched(self: NgramBlock, train: np.ndarray) -> object:
        seen.append(set(self.unit_person[train].tolist()))
        return plain(self, train)

    monkeypatch.setattr(NgramBlock, "features", watched)
    outcome = fitting.cross_validate(data, blocks, seed=1, folds=5)
    a_fold = fitting.INNER_FOLDS + 1  # inner folds first, then the whole training part
    for fold in range(5):
        held = set(data.unit_person[outcome.unit_fold == fold].tolist())
        for trained in seen[fold * a_fold : (fold + 1) * a_fold]:
            assert not held & trained
    folds = pl.DataFrame({"person": data.unit_person, "fold": outcome.unit_fold})
    assert folds.group_by("person").agg(pl.col("fold").n_unique())["fold"].max() == 1


def test_a_memory_of_people_is_worth_nothing() -> None:
    """Each person repeats a private word and has an arbitrary label: r must be about 0."""
    rng = np.random.default_rng(5)
    rows = [
        (f"p{i}", f"secret{i} secret{i} {' '.join(rng.choice(COMMON, 8))}", label)
        for i, label in enumerate(rng.normal(size=100))
        for _ in range(5)
    ]
    table = pl.DataFrame(rows, schema=["who", "says", "warmth"], orient="row")
    report = fit(table, min_persons=1).report
    assert report.by_person.value is None or report.by_person.value < 0.25


def test_rare_words_stay_out_of_the_model() -> None:
    table = people().with_columns(
        says=pl.when(pl.col("who") == "p7").then(pl.col("says") + " rumpelstiltskin")
        .otherwise(pl.col("says"))
    )  # fmt: skip
    assert "rumpelstiltskin" not in fit(table).model.terms.to_list()


def test_same_seed_same_result_whatever_the_order_of_rows() -> None:
    table = people(40)
    one, two = fit(table), fit(table.sample(fraction=1.0, shuffle=True, seed=9))
    assert one.report == two.report
    np.testing.assert_array_equal(one.model.coefficients, two.model.coefficients)
    assert fit(table, seed=4).report != one.report


def test_the_same_as_a_scikit_learn_pipeline() -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    linear = pytest.importorskip("sklearn.linear_model")
    table = people(60, state=True)
    found = fit(table, folds=4, min_persons=3)
    texts = table["says"].to_list()

    vectoriser = text.TfidfVectorizer(
        tokenizer=lambda one: tokenise_texts([one])[0],
        token_pattern=None,
        ngram_range=(1, 3),
        vocabulary=found.model.terms.to_list(),
        sublinear_tf=True,
        smooth_idf=False,
    )
    features = vectoriser.fit_transform(texts).toarray()
    centred = features - features.mean(axis=0)
    scale = (centred**2).sum() / len(features)
    target = table["warmth"].to_numpy()
    gaps = []
    for penalty in fitting.PENALTIES:
        model = linear.Ridge(alpha=penalty * scale, solver="cholesky").fit(features, target)
        gaps.append(np.abs(model.predict(features) - found.model.predict(texts)).max())
    assert min(gaps) < 1e-8, "one of the penalties must give exactly our model"


def test_dual_and_iterative_solution_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    blocks = [rng.normal(size=(60, 20)), rng.normal(size=(60, 5)) + 3.0]
    target = blocks[0][:, 0] + rng.normal(size=60)
    dual = ridge_path(blocks, [1.0, 0.3], target, [0.5, 5.0])
    monkeypatch.setattr("dialens.models.traits._ridge.DUAL_LIMIT", 10)
    primal = ridge_path(blocks, [1.0, 0.3], target, [0.5, 5.0])
    np.testing.assert_allclose(primal.predict(blocks), dual.predict(blocks), atol=1e-3)


def test_a_model_survives_its_file(tmp_path: Path) -> None:
    model = fit(people(), features=["ngrams", "topics"]).model
    traits.save(model, tmp_path / "m", card={"limits": "a test"})
    again = traits.load(tmp_path / "m", topics=TOPICS)
    texts = ["kind words please", "word1 word2", "unheard of", "", None]
    np.testing.assert_allclose(again.predict(texts), model.predict(texts), atol=1e-4)
    assert np.isnan(again.predict(texts)).tolist() == [False, False, True, True, True]
    assert again.card["limits"] == "a test"
    file = tmp_path / "m" / "model.npz"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(DialensError, match="damaged"):
        traits.load(tmp_path / "m", topics=TOPICS)


def test_the_wrong_topic_table_is_refused(tmp_path: Path) -> None:
    traits.save(fit(people(), features=["topics"]).model, tmp_path)
    other = topics.from_entries(
        "other", pl.DataFrame({"term": ["x"], "category": ["0"], "weight": [1.0]})
    )
    with pytest.raises(DialensError, match="another topic table"):
        traits.load(tmp_path, topics=other)


def test_the_interval_covers() -> None:
    """The 95 % interval holds the true correlation in about 95 of 100 samples."""
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(100):
        x = rng.normal(size=100)
        y = 0.5 * x + np.sqrt(0.75) * rng.normal(size=100)
        found = correlation(y, x, np.arange(100), seed=1, resamples=500)
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= 0.5 <= found.high
    assert inside >= 88


def test_missing_predictions_are_counted() -> None:
    truth = np.arange(6.0)
    found = correlation(truth, np.array([0, 1, np.nan, 3, 4, 5.0]), np.arange(6), seed=1)
    assert (found.n, found.n_missing) == (5, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "mood"}, r"no column 'mood'\. Its columns are who, says, warmth"),
        ({"target": "says"}, "must be numeric"),
        ({"folds": 50}, "too few for 50 folds"),
        ({"features": ["smiles"]}, "choose 'ngrams', 'topics' or both"),
    ],
)
def test_errors_say_what_to_do(change: dict[str, Any], message: str) -> None:
    given = {"text": "says", "target": "warmth", "group": "who", "seed": 1, **change}
    with pytest.raises(DialensError, match=message):
        traits.fit(people(20), **given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (b"{", "truncated"),
        (b"[]", "array"),
        (b'{"files": {"model.npz": {}}}', "sha256"),
        ({"target": None}, "target is None"),
        ({"target": 5}, "target is 5"),
        ({"longest_ngram": None}, "longest_ngram is None"),
        ({"longest_ngram": "three"}, "longest_ngram is 'three'"),
        ({"topics_sha256": 7}, "topics_sha256 is 7"),
    ],
)
def test_a_damaged_card_is_named(
    tmp_path: Path, change: bytes | dict[str, Any], message: str
) -> None:
    traits.save(fit(people(20)).model, tmp_path)
    file = tmp_path / "card.json"
    changed = change if isinstance(change, bytes) else json.loads(file.read_text()) | change
    file.write_bytes(changed if isinstance(changed, bytes) else json.dumps(changed).encode())
    with pytest.raises(DialensError, match=rf"card\.json cannot be .*{message}"):
        traits.load(tmp_path)
    assert any(check.problem for check in verify(tmp_path))


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (None, None, "There is no interval: no evidence"),
        (-0.5, -0.2, "The interval lies below 0: no evidence"),
        (-0.1, 0.2, "The interval includes 0: no evidence"),
        (0.0, 0.2, "The interval includes 0: no evidence"),
        (0.1, 0.2, ""),
    ],
)
def test_what_an_interval_says(low: float | None, high: float | None, told: str) -> None:
    report = replace(fit(people(20)).report, by_person=Correlation(0.1, low, high, n=20))
    assert report.weakness.startswith(told)
    assert bool(report.weakness) is bool(told)


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(DialensError, match="agreeableness"):
        traits.load("sarcasm")


@pytest.mark.parametrize("name", [
    "agreeableness", "openness", "conscientiousness", "extraversion", "neuroticism",
    "empathic_concern", "state_empathy",
])  # fmt: skip
def test_models_that_ship(name: str) -> None:
    model = traits.load(name)
    scores = model.predict(
        ["I feel so sad for these poor families, my heart goes out to them.", "", "Whatever."]
    )
    assert np.isfinite(scores[0])
    assert np.isnan(scores[1])
    card = model.card
    keys = {"name", "task", "labels", "data", "command", "seed", "metrics", "files", "intended_use"}
    assert keys | {"limits", "research_grade"} <= set(card)
    assert card["research_grade"] is (name != "state_empathy")
    assert {"value", "low", "high", "n"} <= set(card["metrics"]["r_person"])
