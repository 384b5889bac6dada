"""Mixed models against published lme4 results.

Data: Davies & Goldsmith (1972), *Statistical Methods in Research and Production* (dyestuff,
penicillin, pastes); Belenky et al. (2003), J. Sleep Res. 12 (sleepstudy, reaction in ms on days 0
to 9). Estimates: Bates, Mächler, Bolker & Walker (2015), J. Stat. Softw. 67(1), and Bates (2010),
*lme4: Mixed-effects modeling with R*, chapters 1, 2 and 4. Machines: Milliken & Johnson (1992), as
in R's nlme; estimates from Pinheiro & Bates (2000), *Mixed-Effects Models in S and S-PLUS*, §1.3.
Profile intervals: the reference page of lme4's `profile` (Dyestuff) and Bates et al. (2015), §5.1
(sleepstudy). Likelihood ratios: lme4's page of `drop1` and Bates et al. (2015), §2.2.
"""

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.statistics.mixed import MixedFit, fit_mixed, likelihood_ratio, profile_intervals

DYESTUFF = {
    "A": "1545 1440 1440 1520 1580",
    "B": "1540 1555 1490 1560 1495",
    "C": "1595 1550 1605 1510 1560",
    "D": "1445 1440 1595 1465 1545",
    "E": "1595 1630 1515 1635 1625",
    "F": "1520 1455 1450 1480 1445",
}

# Plates a to x, samples A to F on each.
PENICILLIN = """
27 23 26 23 23 21  27 23 26 23 23 21  25 21 25 24 24 20  26 23 25 23 23 20
25 22 26 22 23 20  24 22 25 23 22 19  24 20 23 21 22 19  26 22 26 24 24 21
24 21 24 22 22 20  24 21 24 23 22 19  26 23 26 24 24 21  25 22 26 24 24 20
26 24 26 24 25 22  26 23 26 23 23 20  26 23 25 24 24 22  25 22 25 23 23 20
25 21 24 23 23 20  25 22 24 23 23 19  24 21 23 21 21 19  26 23 26 24 24 21
25 21 24 22 22 18  25 22 25 22 22 20  24 21 24 22 24 19  24 21 24 22 21 18
"""

# Batches A to J, casks a to c of each, two assays of each.
PASTES = """
62.8 62.6 60.1 62.3 62.7 63.1  60.0 61.4 57.5 56.9 61.1 58.9  58.7 57.5 63.9 63.1 65.4 63.7
57.1 56.4 56.9 58.6 64.7 64.5  55.1 55.1 54.7 54.2 58.8 57.5  63.4 64.9 59.3 58.1 60.5 60.0
62.5 62.6 61.0 58.7 56.9 57.7  59.2 59.4 65.2 66.0 64.8 64.1  54.8 54.8 64.0 64.0 57.7 56.8
58.3 59.3 59.2 59.2 58.9 56.6
"""

SLEEP = """
308: 249.5600 258.7047 250.8006 321.4398 356.8519 414.6901 382.2038 290.1486 430.5853 466.3535
309: 222.7339 205.2658 202.9778 204.7070 207.7161 215.9618 213.6303 217.7272 224.2957 237.3142
310: 199.0539 194.3322 234.3200 232.8416 229.3074 220.4579 235.4208 255.7511 261.0125 247.5153
330: 321.5426 300.4002 283.8565 285.1330 285.7973 297.5855 280.2396 318.2613 305.3495 354.0487
331: 287.6079 285.0000 301.8206 320.1153 316.2773 293.3187 290.0750 334.8177 293.7469 371.5811
332: 234.8606 242.8118 272.9613 309.7688 317.4629 309.9976 454.1619 346.8311 330.3003 253.8644
333: 283.8424 289.5550 276.7693 299.8097 297.1710 338.1665 332.0265 348.8399 333.3600 362.0428
334: 265.4731 276.2012 243.3647 254.6723 279.0244 284.1912 305.5248 331.5229 335.7469 377.2990
335: 241.6083 273.9472 254.4907 270.8021 251.4519 254.6362 245.4523 235.3110 235.7541 237.2466
337: 312.3666 313.8058 291.6112 346.1222 365.7324 391.8385 404.2601 416.6923 455.8643 458.9167
349: 236.1032 230.3167 238.9256 254.9220 250.7103 269.7744 281.5648 308.1020 336.2806 351.6451
350: 256.2968 243.4543 256.2046 255.5271 268.9165 329.7247 379.4445 362.9184 394.4872 389.0527
351: 250.5265 300.0576 269.8939 280.5891 271.8274 304.6336 287.7466 266.5955 321.5418 347.5655
352: 221.6771 298.1939 326.8785 346.8555 348.7402 352.8287 354.4266 360.4326 375.6406 388.5417
369: 271.9235 268.4369 257.2424 277.6566 314.8222 317.2135 298.1353 348.1229 340.2800 366.5131
370: 225.2640 234.5235 238.9008 240.4730 267.5373 344.1937 281.1481 347.5855 365.1630 372.2288
371: 269.8804 272.4428 277.8989 281.7895 279.1705 284.5120 259.2658 304.6306 350.7807 369.4692
372: 269.4117 273.4740 297.5968 310.6316 287.1726 329.6076 334.4818 343.2199 369.1417 364.1236
"""

# Workers 1 to 6; three runs each on machines A, B and C.
MACHINES = """
52.0 52.8 53.1 62.1 62.6 64.0 67.5 67.2 66.9
51.8 52.8 53.1 59.7 60.0 59.0 61.5 61.7 62.3
60.0 60.2 58.4 68.6 65.8 69.7 70.8 70.6 71.0
51.1 52.3 50.3 63.2 62.8 62.2 64.1 66.2 64.0
50.9 51.8 51.4 64.8 65.0 65.4 72.1 72.0 71.1
46.4 44.8 49.2 43.7 44.2 43.0 62.0 61.4 60.5
"""


def dyestuff() -> pl.DataFrame:
    rows = [(batch, float(x)) for batch, line in DYESTUFF.items() for x in line.split()]
    return pl.DataFrame(rows, schema=["batch", "yield"], orient="row")


def penicillin() -> pl.DataFrame:
    values = [float(x) for x in PENICILLIN.split()]
    plates = [chr(ord("a") + at // 6) for at in range(144)]
    samples = [chr(ord("A") + at % 6) for at in range(144)]
    return pl.DataFrame({"diameter": values, "plate": plates, "sample": samples})


def pastes() -> pl.DataFrame:
    values = [float(x) for x in PASTES.split()]
    batches = [chr(ord("A") + at // 6) for at in range(60)]
    casks = [chr(ord("a") + at % 6 // 2) for at in range(60)]
    return pl.DataFrame({"strength": values, "batch": batches, "cask": casks})


def sleepstudy() -> pl.DataFrame:
    rows = [
        (subject, float(day), float(x))
        for subject, line in (row.split(": ") for row in SLEEP.strip().splitlines())
        for day, x in enumerate(line.split())
    ]
    return pl.DataFrame(rows, schema=["subject", "days", "reaction"], orient="row")


def machines() -> pl.DataFrame:
    values = [float(x) for x in MACHINES.split()]
    workers = [f"worker {at // 9 + 1}" for at in range(54)]
    return pl.DataFrame(
        {"score": values, "worker": workers, "machine": ["ABC"[at % 9 // 3] for at in range(54)]}
    )


def sd(fit: MixedFit, term: str, effect: str = "(intercept)") -> float:
    return fit.component(term, effect).sd


@pytest.mark.parametrize(
    ("reml", "criterion", "batch", "residual", "error"),
    [(True, 319.6543, 42.00, 49.51, 19.38), (False, 327.3271, 37.26, 49.51, 17.69)],
)
def test_dyestuff(reml: bool, criterion: float, batch: float, residual: float, error: float):
    fit = fit_mixed(dyestuff(), "yield", random=["batch"], reml=reml)
    assert fit.criterion == pytest.approx(criterion, abs=5e-4)
    assert sd(fit, "batch") == pytest.approx(batch, abs=0.01)
    assert sd(fit, "residual") == pytest.approx(residual, abs=0.01)
    assert fit.effect("(intercept)").value == pytest.approx(1527.5)
    assert fit.effect("(intercept)").error == pytest.approx(error, abs=0.01)


def test_dyestuff_degrees_are_those_of_the_batches():
    fit = fit_mixed(dyestuff(), "yield", random=["batch"])
    assert fit.effect("(intercept)").degrees == pytest.approx(5, abs=0.01)


@pytest.mark.parametrize(
    ("reml", "criterion", "plate", "sample", "error"),
    [(True, 330.8606, 0.8467, 1.9316, 0.8086), (False, 332.1883, 0.8456, 1.7706, 0.7446)],
)
def test_penicillin_crossed(
    reml: bool, criterion: float, plate: float, sample: float, error: float
):
    fit = fit_mixed(penicillin(), "diameter", random=["plate", "sample"], reml=reml)
    assert fit.criterion == pytest.approx(criterion, abs=5e-4)
    assert sd(fit, "plate") == pytest.approx(plate, abs=2e-4)
    assert sd(fit, "sample") == pytest.approx(sample, abs=5e-4)
    assert sd(fit, "residual") == pytest.approx(0.5499, abs=1e-4)
    assert fit.effect("(intercept)").value == pytest.approx(22.9722, abs=1e-4)
    assert fit.effect("(intercept)").error == pytest.approx(error, abs=5e-4)


@pytest.mark.parametrize(
    ("reml", "criterion", "cask", "batch", "error"),
    [(True, 246.9907, 2.9041, 1.2874, 0.6769), (False, 247.9945, 2.9041, 1.0951, 0.6421)],
)
def test_pastes_nested(reml: bool, criterion: float, cask: float, batch: float, error: float):
    fit = fit_mixed(pastes(), "strength", random=["batch/cask"], reml=reml)
    assert fit.criterion == pytest.approx(criterion, abs=5e-4)
    assert sd(fit, "batch/cask") == pytest.approx(cask, abs=5e-4)
    assert sd(fit, "batch") == pytest.approx(batch, abs=5e-4)
    assert sd(fit, "residual") == pytest.approx(0.8234, abs=1e-4)
    assert fit.effect("(intercept)").value == pytest.approx(60.0533, abs=1e-4)
    assert fit.effect("(intercept)").error == pytest.approx(error, abs=5e-4)


def test_sleepstudy_correlated_slopes():
    fit = fit_mixed(sleepstudy(), "reaction", ["days"], ["days | subject"])
    assert fit.criterion == pytest.approx(1743.628, abs=1e-3)
    assert sd(fit, "subject") == pytest.approx(24.741, abs=3e-3)
    assert sd(fit, "subject", "days") == pytest.approx(5.922, abs=1e-3)
    assert sd(fit, "residual") == pytest.approx(25.592, abs=1e-3)
    assert fit.correlations[0][3] == pytest.approx(0.066, abs=1e-3)
    intercept, days = fit.effect("(intercept)"), fit.effect("days")
    assert (intercept.value, days.value) == pytest.approx((251.405, 10.467), abs=1e-3)
    assert (intercept.error, days.error) == pytest.approx((6.825, 1.546), abs=1e-3)
    # lmerTest's Satterthwaite degrees of freedom for this model
    assert (intercept.degrees, days.degrees) == pytest.approx((17.0, 17.0), abs=0.01)


def test_sleepstudy_maximum_likelihood():
    fit = fit_mixed(sleepstudy(), "reaction", ["days"], ["days | subject"], reml=False)
    assert fit.criterion == pytest.approx(1751.939, abs=1e-3)
    assert sd(fit, "subject") == pytest.approx(23.780, abs=5e-3)
    assert sd(fit, "subject", "days") == pytest.approx(5.717, abs=2e-3)
    assert fit.aic == pytest.approx(1763.939, abs=1e-3)


def test_sleepstudy_uncorrelated_slopes():
    fit = fit_mixed(sleepstudy(), "reaction", ["days"], ["days || subject"])
    assert fit.criterion == pytest.approx(1743.669, abs=1e-3)
    assert sd(fit, "subject") == pytest.approx(25.051, abs=3e-3)
    assert sd(fit, "subject", "days") == pytest.approx(5.988, abs=2e-3)
    assert sd(fit, "residual") == pytest.approx(25.565, abs=1e-3)


def test_sleepstudy_conditional_means():
    """Subject 308 reacts fast at first and worst later (Bates et al. 2015, §5)."""
    effects = fit_mixed(sleepstudy(), "reaction", ["days"], ["days | subject"]).blups("subject")
    first = effects.filter(pl.col("subject") == "308").row(0, named=True)
    assert first["(intercept)"] == pytest.approx(2.2586, abs=3e-3)
    assert first["days"] == pytest.approx(9.1990, abs=2e-3)
    assert effects["days"].sum() == pytest.approx(0, abs=1e-6)


def test_machines_without_an_intercept_has_an_effect_for_every_machine():
    fit = fit_mixed(machines(), "score", ["0", "machine"], ["worker"])
    names = ("machine[A]", "machine[B]", "machine[C]")
    assert [effect.name for effect in fit.fixed] == list(names)
    assert [effect.value for effect in fit.fixed] == pytest.approx(
        [52.356, 60.322, 66.272], abs=1e-3
    )
    assert fit.component("worker").variance == pytest.approx(26.49, abs=0.01)
    assert sd(fit, "residual") == pytest.approx(3.1616, abs=1e-4)
    other = fit_mixed(machines(), "score ~ machine + (1 | worker)")
    assert other.effect("machine[B]").value == pytest.approx(7.9667, abs=1e-4)
    assert other.criterion == pytest.approx(fit.criterion, abs=1e-6)


def test_machines_nested_in_workers():
    fit = fit_mixed(machines(), "score ~ machine + (1 | worker/machine)")
    assert sd(fit, "worker") == pytest.approx(4.7811, abs=2e-3)
    assert sd(fit, "worker/machine") == pytest.approx(3.7294, abs=1e-3)
    assert sd(fit, "residual") == pytest.approx(0.9616, abs=1e-4)


def test_machines_slopes_of_a_factor():
    fit = fit_mixed(machines(), "score ~ machine + (0 + machine | worker)")
    assert fit.loglik == pytest.approx(-104.156, abs=1e-3)
    wanted = {"machine[A]": 4.0793, "machine[B]": 8.6253, "machine[C]": 4.3895}
    for effect, value in wanted.items():
        assert sd(fit, "worker", effect) == pytest.approx(value, abs=5e-3)


def test_dyestuff_profile():
    rows = profile_intervals(fit_mixed(dyestuff(), "yield", random=["batch"]))
    batch, residual = rows.select("low", "high").rows()
    assert batch == pytest.approx((12.19854, 84.06305), abs=5e-3)
    assert residual == pytest.approx((38.22998, 67.65770), abs=2e-3)


def test_sleepstudy_profile():
    fit = fit_mixed(sleepstudy(), "reaction ~ days + (days | subject)")
    rows = profile_intervals(fit).select("effect", "low", "high").rows()
    assert [row[0] for row in rows] == ["(intercept)", "days", ""]
    assert rows[0][1:] == pytest.approx((14.381, 37.716), abs=5e-3)
    assert rows[1][1:] == pytest.approx((3.801, 8.753), abs=2e-3)
    assert rows[2][1:] == pytest.approx((22.898, 28.858), abs=2e-3)


def test_sleepstudy_likelihood_ratios():
    full = fit_mixed(sleepstudy(), "reaction ~ days + (days | subject)")
    without = likelihood_ratio(fit_mixed(sleepstudy(), "reaction ~ 1 + (days | subject)"), full)
    assert (without.statistic, without.p) == pytest.approx((23.537, 1.226e-06), rel=1e-3)
    assert (without.degrees, without.conservative) == (1, False)
    uncorrelated = fit_mixed(sleepstudy(), "reaction ~ days + (days || subject)")
    correlation = likelihood_ratio(uncorrelated, full)
    assert (correlation.statistic, correlation.p) == pytest.approx((0.0639, 0.8004), abs=5e-5)
    assert not correlation.conservative
    assert likelihood_ratio(
        fit_mixed(sleepstudy(), "reaction ~ days + (1 | subject)"), full
    ).conservative


def test_likelihood_ratios_that_cannot_be_formed():
    full = fit_mixed(sleepstudy(), "reaction ~ days + (days | subject)")
    small = fit_mixed(sleepstudy(), "reaction ~ 1 + (1 | subject)")
    with pytest.raises(DialensError, match="smaller one first"):
        likelihood_ratio(full, small)
    fewer = fit_mixed(sleepstudy().head(150), "reaction ~ 1 + (1 | subject)")
    with pytest.raises(DialensError, match="different rows"):
        likelihood_ratio(fewer, full)
    line = fit_mixed(sleepstudy(), "reaction ~ days + (1 | subject)")
    with pytest.raises(DialensError, match="no special case"):
        likelihood_ratio(line, fit_mixed(sleepstudy(), "reaction ~ 1 + (days | subject)"))
