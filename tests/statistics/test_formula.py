"""Formulas of mixed models, and what they say when they are wrong."""

import re

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.statistics.mixed import fit_mixed
from dialens.statistics.mixed._formula import parse_formula


@pytest.mark.parametrize(
    ("formula", "fixed", "random"),
    [
        ("value ~ 1", (), ()),
        ("value ~ agent", ("agent",), ()),
        ("value ~ agent * layout + (1|rater)", ("agent*layout",), ("rater",)),
        ("value ~ agent:layout + x + (1 | item)", ("agent:layout", "x"), ("item",)),
        ("value ~ 0 + agent + (1 | rater)", ("0", "agent"), ("rater",)),
        ("value ~ agent - 1 + (1 | rater)", ("agent", "0"), ("rater",)),
        ("value ~ (1 + agent | rater)", (), ("agent | rater",)),
        ("value ~ x + (x | rater)", ("x",), ("x | rater",)),
        ("value ~ x + (0 + x | rater)", ("x",), ("0 + x | rater",)),
        ("value ~ x + (x - 1 | rater)", ("x",), ("0 + x | rater",)),
        ("value ~ x + (1 + x + y || rater)", ("x",), ("x + y || rater",)),
        ("value ~ 1 + (1 | system/agent/dialog)", (), ("system/agent/dialog",)),
        ("value ~ 1 + (1 | rater:item)", (), ("rater:item",)),
        ("`my rating` ~ `my agent` + (1 | rater)", ("my agent",), ("rater",)),
    ],
)
def test_what_a_formula_says(formula: str, fixed: tuple[str, ...], random: tuple[str, ...]) -> None:
    parsed = parse_formula(formula)
    assert (parsed.fixed, parsed.random) == (fixed, random)
    assert parsed.response in ("value", "my rating")


@pytest.mark.parametrize(
    ("formula", "character", "says"),
    [
        ("value + agent ~ x", 7, "`~` should be"),
        ("value ~ value + (1 | rater)", 9, "cannot explain itself"),
        ("value ~ agent + (1 | value)", 22, "cannot explain itself"),
        ("value ~ agent +", 16, "the formula ends"),
        ("value ~ agent layout", 15, "put `+` between terms"),
        ("value ~ agent + (1 | rater", 27, "close the parenthesis"),
        ("value ~ agent + (agent)", 17, "names no grouping"),
        ("value ~ log(x) + (1 | rater)", 12, "transformed values first"),
        ("value ~ agent - layout", 17, "only the intercept"),
        ("value ~ 2 + agent", 9, "means nothing"),
        ("value ~ a/b + (1 | rater)", 10, "write `a + a:b`"),
        ("value ~ a*b:c", 12, "stand in one term"),
        ("value ~ (a*b | rater)", 11, "slopes of interactions"),
        ("value ~ (0 | rater)", 9, "no effect"),
        ("value ~ agent & x", 15, "no part of a formula"),
        ("value ~ 1 + (1 | a/b:c)", 21, "stand in one grouping"),
    ],
)
def test_errors_name_place_and_remedy(formula: str, character: int, says: str) -> None:
    with pytest.raises(DialensError, match=f"(?i){re.escape(says)}") as error:
        parse_formula(formula)
    assert f"character {character}:" in str(error.value)


@pytest.mark.parametrize("formula", ["", "  ", "value", "value agent + (1 | rater)"])
def test_a_formula_needs_a_tilde(formula: str) -> None:
    with pytest.raises(DialensError, match=r"a formula needs ~, e\.g\. `value ~ "):
        parse_formula(formula)


def test_a_factor_cannot_be_fixed_and_random() -> None:
    """Without the grouping the model is the classical one: n − p degrees of freedom."""
    table = pl.DataFrame(
        {"agent": list("abc") * 4, "value": [1.0, 3, 2, 2, 5, 1, 1, 4, 3, 2, 4, 2]}
    )
    fit = fit_mixed(table, "value ~ agent + (1 | agent)")
    assert list(fit.dropped) == ["agent"]
    assert fit.effect("agent[b]").degrees == pytest.approx(9, rel=1e-4)
    assert fit.method.startswith("Linear model, without random effects")
    assert not fit_mixed(table, "value ~ 1 + (1 | agent)").dropped


def test_a_formula_and_terms_at_once_are_refused() -> None:
    table = pl.DataFrame({"value": [1.0, 2.0], "agent": ["a", "b"]})
    with pytest.raises(DialensError, match=r"as a formula.*and as terms"):
        fit_mixed(table, "value ~ agent", ["agent"])
