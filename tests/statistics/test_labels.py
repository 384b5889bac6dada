"""Models of raters who label: published data, an independent library, and raters who do not look.

crowd-kit 1.4.2 (Apache-2.0) gave the figures that are named as its own.
"""

import numpy as np
import polars as pl
import pytest

from dialens.base import DialensError
from dialens.statistics.labels import dawid_skene, mace, majority_vote

# Dawid & Skene 1979, Table 1: 45 patients, five anaesthetists, four classes; the first
# anaesthetist judged every patient three times.
PATIENTS = """
111 1 1 1 1|333 4 3 3 4|112 2 1 2 2|222 3 1 2 1|222 3 2 2 2|222 3 3 2 2|122 2 1 1 1|333 3 4 3 3
222 2 2 2 3|232 2 2 2 3|444 4 4 4 4|222 3 3 4 3|111 1 1 1 1|222 3 2 1 2|121 1 1 1 1|111 2 1 1 1
111 1 1 1 1|111 1 1 1 1|222 2 2 2 1|222 1 3 2 2|222 2 2 2 2|222 2 2 2 1|222 3 2 2 2|221 2 2 2 2
111 1 1 1 1|111 1 1 1 1|232 2 2 2 2|111 1 1 1 1|111 1 1 1 1|112 1 1 2 1|111 1 1 1 1|333 3 2 3 3
111 1 1 1 1|222 2 2 2 2|222 3 2 3 2|433 4 3 4 3|221 2 2 3 2|232 3 2 3 3|333 3 4 3 2|111 1 1 1 1
111 1 1 1 1|121 2 1 1 1|232 2 2 2 2|121 1 1 1 1|222 2 2 2 2
"""


def anaesthetists() -> pl.DataFrame:
    patients = PATIENTS.strip().replace("\n", "|").split("|")
    rows = [
        (patient, observer, int(label))
        for patient, said in enumerate(patients, 1)
        for observer, labels in enumerate(said.split(), 1)
        for label in labels
    ]
    return pl.DataFrame(rows, ["item", "rater", "label"], orient="row")


def table(said: np.ndarray) -> pl.DataFrame:
    i, j = (x.ravel() for x in np.indices(said.shape))
    rows = pl.DataFrame({"item": i, "rater": j, "label": said.ravel()})
    return rows.filter(pl.col("label") >= 0)


def test_the_anaesthetists_of_dawid_and_skene() -> None:
    """From their own start they report these shares of classes and rates of the first observer."""
    fit = dawid_skene(anaesthetists(), restarts=0)
    assert fit.shares["share"].to_list() == pytest.approx([0.40, 0.42, 0.11, 0.07], abs=0.005)
    first = fit.confusion.filter(pl.col("rater") == 1)["rate"].to_numpy().reshape(4, 4)
    published = [[0.89, 0.11, 0, 0], [0.07, 0.88, 0.05, 0], [0, 0.34, 0.66, 0], [0, 0, 0.56, 0.44]]
    assert first == pytest.approx(np.array(published), abs=0.006)
    crowd_kit = [0.399732, 0.422382, 0.111219, 0.066667]
    assert fit.shares["share"].to_list() == pytest.approx(crowd_kit, abs=0.002)


def test_restarts_find_what_is_likelier() -> None:
    own, best = (dawid_skene(anaesthetists(), restarts=n) for n in (0, 10))
    assert own.likelihood is not None
    assert best.likelihood is not None
    assert best.likelihood > own.likelihood + 1
    again = dawid_skene(anaesthetists(), restarts=10)
    assert again.items.equals(best.items), "the same seed gives the same"


def test_the_anaesthetists_by_mace() -> None:
    """crowd-kit's variational MACE trusts them by .846, .620, .733, .803 and .742."""
    fit = mace(anaesthetists())
    crowd_kit = [0.846, 0.620, 0.733, 0.803, 0.742]
    assert fit.raters["competence"].to_list() == pytest.approx(crowd_kit, abs=0.03)
    third = fit.probabilities.filter(pl.col("item") == 36).sort("p")
    assert third["label"][-1] == 3, "as in crowd-kit, with a probability of .957"
    assert third["p"][-1] == pytest.approx(0.957, abs=0.02)


def test_raters_who_do_not_look_are_found_and_outvoted() -> None:
    rng = np.random.default_rng(1)
    true = rng.integers(0, 3, 150)
    right = rng.random((150, 7)) < [0.85, 0.85, 0.85, 0, 0, 0, 0]
    said = np.where(right, true[:, None], rng.integers(0, 3, (150, 7)))
    said[:, 3] = 0  # always the same
    said[:, 4] = 0
    rows = table(said)
    majority = majority_vote(rows)["majority"].to_numpy()
    hit = float(np.mean(np.nan_to_num(majority.astype(float), nan=-1) == true))
    for model in (dawid_skene, mace):
        fit = model(rows)
        assert float((fit.items["label"].to_numpy() == true).mean()) > hit + 0.05
        trusted = fit.raters.sort("competence", descending=True)["rater"].head(3)
        assert set(trusted) == {0, 1, 2}
    assert fit.raters.filter(pl.col("rater") > 2)["competence"].max() < 0.2


def test_missing_ratings_and_a_rater_with_one_label() -> None:
    rng = np.random.default_rng(2)
    true = rng.integers(0, 2, 80)
    said = np.where(rng.random((80, 5)) < 0.9, true[:, None], 1 - true[:, None])
    said[:, 4] = 1
    said[rng.random((80, 5)) < 0.4] = -1
    rows = table(said)
    for model in (dawid_skene, mace):
        fit = model(rows)
        assert fit.items.height == rows["item"].n_unique()
        assert fit.probabilities["p"].is_between(0, 1).all()
        sums = fit.probabilities.group_by("item").agg(pl.col("p").sum())["p"]
        assert sums.to_numpy() == pytest.approx(1)
        known = fit.raters.drop_nulls("low")
        assert known.height >= 4
        assert (known["low"] <= known["competence"]).all()
        assert (known["competence"] <= known["high"]).all()


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (np.ones((9, 4), dtype=int), "all ratings are the same"),
        (np.tile([0, 1], (9, 1)), "2 raters"),
        (np.array([[0, 1, 1], [1, 1, 0]]), "2 items have more than one rating"),
    ],
)
def test_what_cannot_be_fitted_says_why_and_keeps_the_majority(
    said: np.ndarray, reason: str
) -> None:
    for model in (dawid_skene, mace):
        fit = model(table(said))
        assert reason in str(fit.reason)
        assert fit.items.height == len(said)
        assert not fit.raters.height


def test_columns_are_asked_for() -> None:
    with pytest.raises(DialensError, match="label is missing among: item, rater"):
        mace(pl.DataFrame({"item": [1], "rater": [1]}))
