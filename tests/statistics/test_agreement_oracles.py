"""Agreement against other people's implementations, and against definitions written out."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pytest
from scipy import stats

from dialens.statistics.agreement import (
    RatingMatrix,
    Weights,
    cohen_kappa,
    fleiss_kappa,
    icc,
    kendall_w,
    krippendorff_alpha,
    ranked,
    two_way_moments,
    variance_parts,
)
from dialens.statistics.agreement._components import one_way_moments, reml

LEVELS = ("nominal", "ordinal", "interval", "ratio")


@contextmanager
def their_warnings() -> Iterator[None]:
    """What other packages warn of is not ours to mend."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


with their_warnings():
    krippendorff = import_module("krippendorff")
    pandas = import_module("pandas")
    pingouin = import_module("pingouin")
    statsmodels = import_module("statsmodels.formula.api")
    inter_rater = import_module("statsmodels.stats.inter_rater")


def crossed(seed: int, items: int = 25, raters: int = 6, *, agree: float = 0.7) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (
        agree * rng.normal(size=(items, 1))
        + 0.5 * rng.normal(size=(1, raters))
        + rng.normal(size=(items, raters))
    )


def points(seed: int, *, holes: float = 0.0, agree: float = 0.5) -> np.ndarray:
    """Ratings of 1 to 5, some of them missing."""
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 6, size=(40, 5)).astype(float)
    table = np.where(rng.random((40, 1)) < agree, table[:, :1], table)
    table[rng.random(table.shape) < holes] = np.nan
    return table


@pytest.mark.parametrize("seed", range(5))
def test_icc_is_pingouins(seed: int) -> None:
    ratings = crossed(seed, agree=(0.0, 0.3, 0.7, 1.5, 0.0)[seed])
    n, k = ratings.shape
    long = pandas.DataFrame(
        {
            "item": np.repeat(np.arange(n), k),
            "rater": np.tile(np.arange(k), n),
            "value": ratings.ravel(),
        }
    )
    with their_warnings():
        theirs = pingouin.intraclass_corr(long, "item", "rater", "value").set_index("Type")
    for form, ours in icc(RatingMatrix.of_array(ratings)).items():
        row = theirs.loc[form.replace("(2", "(A").replace("(3", "(C")]
        assert ours.value == pytest.approx(row["ICC"], abs=1e-9)
        assert ours.f == pytest.approx(row["F"], abs=1e-9)
        assert ours.p == pytest.approx(row["pval"], abs=1e-9)
        assert (ours.df1, ours.df2) == (row["df1"], row["df2"])
        assert (ours.low, ours.high) == pytest.approx(tuple(row["CI95"]), abs=0.0051)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("holes", [0.0, 0.4])
def test_alpha_is_krippendorffs(level: str, holes: float) -> None:
    for seed in range(4):
        table = points(seed, holes=holes, agree=seed / 3)
        theirs = krippendorff.alpha(reliability_data=table.T, level_of_measurement=level)
        ours = krippendorff_alpha(RatingMatrix.of_array(table), level)
        assert ours == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_of_numbers_that_never_repeat(level: str) -> None:
    table = np.random.default_rng(3).gamma(2.0, size=(30, 4))
    theirs = krippendorff.alpha(reliability_data=table.T, level_of_measurement=level)
    assert krippendorff_alpha(RatingMatrix.of_array(table), level) == pytest.approx(
        theirs, abs=1e-9
    )


def test_fleiss_kappa_is_statsmodels() -> None:
    table = points(1)
    counts, _ = inter_rater.aggregate_raters(table.astype(int))
    theirs = inter_rater.fleiss_kappa(counts)
    assert fleiss_kappa(RatingMatrix.of_array(table)) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(
    ("ours", "theirs"), [("none", None), ("linear", "linear"), ("quadratic", "quadratic")]
)
def test_cohen_kappa_is_statsmodels(ours: str, theirs: str | None) -> None:
    table = points(2)[:, :2]
    confusion = np.zeros((5, 5))
    np.add.at(confusion, tuple(table.astype(int).T - 1), 1)
    kappa = inter_rater.cohens_kappa(confusion, wt=theirs, return_results=False)
    found = cohen_kappa(RatingMatrix.of_array(table), ours)
    assert found[0] == pytest.approx(kappa, abs=1e-12)


@pytest.mark.parametrize("tied", [False, True])
def test_kendalls_w_is_friedmans_chi_square(*, tied: bool) -> None:
    table = points(4) if tied else crossed(4)
    n, k = table.shape
    chi2 = stats.friedmanchisquare(*table).statistic
    assert kendall_w(ranked(RatingMatrix.of_array(table)))[0] == pytest.approx(chi2 / (k * (n - 1)))


def with_holes(seed: int, share: float, **shape: int) -> np.ndarray:
    table = crossed(seed, **shape)
    table[np.random.default_rng(seed + 100).random(table.shape) < share] = np.nan
    return table


@pytest.mark.slow
def test_components_with_holes_are_statsmodels() -> None:
    """Crossed effects as one group with two variance components; its optimiser is the looser."""
    table = with_holes(7, 0.3, items=30, raters=8)
    item, rater = np.nonzero(~np.isnan(table))
    long = pandas.DataFrame({"y": table[item, rater], "item": item, "rater": rater, "one": 1})
    with their_warnings():
        theirs = statsmodels.mixedlm(
            "y ~ 1",
            long,
            groups="one",
            vc_formula={"item": "0 + C(item)", "rater": "0 + C(rater)"},
        ).fit(reml=True)
    ours = reml(RatingMatrix.of_array(table), two_way=True)
    assert ours is not None
    names = dict(zip(theirs.model.exog_vc.names, theirs.vcomp, strict=True))
    assert ours.parts.item[0] == pytest.approx(names["item"], rel=2e-3)
    assert ours.parts.rater[0] == pytest.approx(names["rater"], rel=2e-3)
    assert ours.parts.rest[0] == pytest.approx(theirs.scale, rel=2e-3)


def likelihood(table: np.ndarray, variances: np.ndarray) -> float:
    """The restricted likelihood by its definition, with the whole covariance matrix."""
    item, rater = np.nonzero(~np.isnan(table))
    y = table[item, rater]
    v = (
        variances[0] * (item[:, None] == item)
        + variances[1] * (rater[:, None] == rater)
        + variances[2] * np.eye(len(y))
    )
    inverse = np.linalg.inv(v)
    one = np.ones(len(y))
    mass = one @ inverse @ one
    p = inverse - np.outer(inverse @ one, one @ inverse) / mass
    return -0.5 * (np.linalg.slogdet(v)[1] + np.log(mass) + y @ p @ y)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_reml_is_at_the_top_of_its_likelihood(seed: int) -> None:
    table = with_holes(seed, 0.4, items=12, raters=5)
    found = reml(RatingMatrix.of_array(table), two_way=True)
    assert found is not None
    at = np.array([x[0] for x in (found.parts.item, found.parts.rater, found.parts.rest)])
    top = likelihood(table, at)
    for way in np.vstack([np.eye(3), -np.eye(3)]):
        moved = at + 0.02 * at[2] * way
        if moved[1] >= 0:
            assert likelihood(table, moved) < top + 1e-9


def test_moments_stand_in_where_the_likelihood_has_no_top() -> None:
    """Items less alike than chance: the likelihood rises until no table could be so negative."""
    table = RatingMatrix.of_array(with_holes(1, 0.4, items=12, raters=5))
    assert reml(table, two_way=True) is None
    found, moments = variance_parts(table).two_way, two_way_moments(table)
    assert found == moments
    assert icc(table)["ICC(2,1)"].value == pytest.approx(moments.absolute()[0])
    assert icc(table)["ICC(2,1)"].value < 0


def test_components_do_not_care_which_side_is_larger() -> None:
    table = with_holes(3, 0.3, items=20, raters=9)
    one, two = (reml(RatingMatrix.of_array(x), two_way=True) for x in (table, table.T))
    assert one is not None
    assert two is not None
    assert one.parts.item == pytest.approx(two.parts.rater, rel=1e-6)
    assert one.parts.rest == pytest.approx(two.parts.rest, rel=1e-6)


def test_raters_brought_to_one_mean_have_no_variance() -> None:
    """As log magnitudes without a modulus have: the likelihood has no top below zero."""
    table = with_holes(5, 0.3, items=40, raters=8)
    table -= np.nanmean(table, axis=0)
    found = variance_parts(RatingMatrix.of_array(table))
    assert found.two_way is not None
    assert found.two_way.rater[0] == 0
    forms = icc(RatingMatrix.of_array(table))
    assert forms["ICC(2,1)"].value == pytest.approx(forms["ICC(3,1)"].value)


def moments_written_out(table: np.ndarray, v: np.ndarray, w: np.ndarray) -> tuple[float, ...]:
    """Koch's estimators over all pairs of different ratings; copies are never compared."""
    n, k = table.shape
    cells = [(i, j) for i in range(n) for j in range(k) if not np.isnan(table[i, j])]

    def half_square(a: tuple[int, int], b: tuple[int, int]) -> float:
        return (table[a] - table[b]) ** 2 / 2

    apart = pairs = 0.0
    for a in cells:
        for b in cells:
            if a[0] != b[0] and a[1] != b[1]:
                weight = v[a[0]] * w[a[1]] * v[b[0]] * w[b[1]]
                apart += weight * half_square(a, b)
                pairs += weight

    def within(axis: int, own: np.ndarray, other: np.ndarray) -> float:
        above = below = 0.0
        for group in range(len(own)):
            members = [cell for cell in cells if cell[axis] == group]
            size = sum(other[cell[1 - axis]] for cell in members)
            for a in members:
                for b in members:
                    if a != b and size:
                        weight = own[group] * other[a[1 - axis]] * other[b[1 - axis]] / size
                        above += weight * half_square(a, b)
                        below += weight
        return above / below

    neither, same_item, same_rater = apart / pairs, within(0, v, w), within(1, w, v)
    return neither - same_item, neither - same_rater, same_item + same_rater - neither


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("over", ["items", "raters", "both"])
def test_replicates_are_the_moments_of_the_draw(holes: float, over: str) -> None:
    rng = np.random.default_rng(11)
    table = with_holes(2, holes, items=8, raters=5)
    matrix = RatingMatrix.of_array(table)
    v = rng.multinomial(8, [1 / 8] * 8, 6).T.astype(float)
    w = rng.multinomial(5, [1 / 5] * 5, 6).T.astype(float)
    weights = Weights(None if over == "raters" else v, None if over == "items" else w)
    found = two_way_moments(matrix, weights)
    for draw in range(6):
        expected = moments_written_out(
            table,
            np.ones(8) if over == "raters" else v[:, draw],
            np.ones(5) if over == "items" else w[:, draw],
        )
        got = (found.item[draw], found.rater[draw], found.rest[draw])
        assert got == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_moments_of_a_complete_table_are_the_analysis_of_variance() -> None:
    table = crossed(8)
    n, k = table.shape
    rows = k * table.mean(axis=1).var(ddof=1)
    columns = n * table.mean(axis=0).var(ddof=1)
    rest = (table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()) ** 2
    error = rest.sum() / ((n - 1) * (k - 1))
    found = two_way_moments(RatingMatrix.of_array(table))
    assert found.item[0] == pytest.approx((rows - error) / k)
    assert found.rater[0] == pytest.approx((columns - error) / n)
    assert found.rest[0] == pytest.approx(error)
    within = table.var(axis=1, ddof=1).mean()
    one = one_way_moments(RatingMatrix.of_array(table))
    assert one.item[0] == pytest.approx((rows - within) / k)
