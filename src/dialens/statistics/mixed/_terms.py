"""The words of a mixed model: which columns stand in the fixed and in the random part.

Fixed terms are names of columns, `a:b` their interaction, `a*b` both with their interaction.
Columns of text and truth values are factors, numbers are covariates. Random terms are names of
grouping columns; `system/agent/dialog` is three nested ones, `rater:item` a combination, and
`days | subject` an intercept and a slope that differ from subject to subject and correlate
(`days || subject` if they do not, `0 + days | subject` for the slope alone). The slopes of a factor
are one for each level but the first, or for each level where there is no intercept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import polars as pl

from dialens.base import DialensError
from dialens.statistics._bootstrap import Floats, Ints

INTERCEPT = "(intercept)"
_SPANNED = 1e-8


@dataclass(frozen=True)
class FixedDesign:
    """The columns of the fixed part.

    Attributes:
        names: What each column stands for.
        matrix: One row an observation.
        dropped: Columns that the others already say, and why they were left out.
    """

    names: tuple[str, ...]
    matrix: Floats
    dropped: Mapping[str, str]


@dataclass(frozen=True)
class RandomTerm:
    """One grouping of the observations and the effects that differ between its groups.

    Attributes:
        name: As a person would write it, e.g. `system/agent`.
        effects: `(intercept)` and slopes.
        levels: The groups, as a table with one row a group.
        group: For each observation, the row of its group.
        covariates: For each observation, one column an effect (ones for an intercept).
        correlated: Whether the effects of a group covary.
    """

    name: str
    effects: tuple[str, ...]
    levels: pl.DataFrame
    group: Ints
    covariates: Floats
    correlated: bool


def columns_of(fixed: Sequence[str], random: Sequence[str]) -> list[str]:
    """Every column that a model's terms name.

    Examples:
        >>> columns_of(["anchor*layout"], ["days | rater", "system/dialog"])
        ['anchor', 'layout', 'days', 'rater', 'system', 'dialog']
    """
    found: dict[str, None] = {}
    for term in fixed:
        found.update(dict.fromkeys(name for part in _expanded(term) for name in part))
    for term in random:
        effects, _, groups = _split(term)
        found.update(dict.fromkeys(effect for effect in effects if effect != INTERCEPT))
        found.update(dict.fromkeys(name for group in groups for name in group))
    return list(found)


def fixed_design(
    table: pl.DataFrame,
    fixed: Sequence[str],
    *,
    coding: str = "treatment",
    reference: Mapping[str, str] | None = None,
) -> FixedDesign:
    """The matrix of the fixed part, with redundant columns left out.

    Args:
        table: One row an observation, without missing values in the columns named.
        fixed: Terms; `0` among them leaves the intercept out, and the first factor then has a
            column for each of its levels.
        coding: `treatment` (each level against the reference) or `sum` (each level against the
            mean of all, so that main effects are averages over the other factors).
        reference: The level a factor's others are compared with; the first in order if not given.

    Examples:
        >>> table = pl.DataFrame({"a": ["n", "y", "n", "y"], "x": [1.0, 2.0, 3.0, 4.0]})
        >>> fixed_design(table, ["a*x"]).names
        ('(intercept)', 'a[y]', 'x', 'a[y]:x')
        >>> fixed_design(table, ["0", "a"]).names
        ('a[n]', 'a[y]')
    """
    if coding not in ("treatment", "sum"):
        raise DialensError(f"coding is `treatment` or `sum`, not {coding!r}.")
    intercept = "0" not in fixed
    parts: dict[frozenset[str], tuple[str, ...]] = {}
    for term in fixed:
        for part in _expanded(term) if term != "0" else []:
            parts.setdefault(frozenset(part), part)
    blocks = [([INTERCEPT], np.ones((table.height, 1)))] if intercept else []
    single: dict[str, str] = {}
    # What the terms so far already span: a factor is coded against its first level only where the
    # term without it is among them (as in R), and all of its levels otherwise.
    spanned = {frozenset[str]()} if intercept else set()
    for part in sorted(parts.values(), key=len):
        names, matrix = _product(table, part, spanned, coding, reference or {})
        if not names:
            single[":".join(part)] = "has one level only, so there is nothing to compare"
        blocks.append((names, matrix))
        spanned.add(frozenset(part))
        if len(part) == 1 and not table[part[0]].dtype.is_numeric():
            spanned.add(frozenset())
    matrix = np.hstack([block for _, block in blocks] or [np.zeros((table.height, 0))])
    design = _independent([name for names, _ in blocks for name in names], matrix)
    return FixedDesign(design.names, design.matrix, {**single, **design.dropped})


def _product(
    table: pl.DataFrame,
    part: tuple[str, ...],
    spanned: set[frozenset[str]],
    coding: str,
    reference: Mapping[str, str],
) -> tuple[list[str], Floats]:
    """The columns of one term: products of the columns of its factors and covariates."""
    coded = [
        _coded(
            table[name],
            coding,
            reference.get(name),
            every=frozenset(part) - {name} not in spanned,
        )
        for name in part
    ]
    names: list[str] = []
    columns: list[Floats] = []
    for picks in product(*(range(len(labels)) for labels, _ in coded)):
        chosen = list(zip(coded, picks, strict=True))
        names.append(":".join(labels[pick] for (labels, _), pick in chosen))
        columns.append(np.prod([matrix[:, pick] for (_, matrix), pick in chosen], axis=0))
    return names, np.column_stack(columns) if columns else np.zeros((table.height, 0))


def random_terms(
    table: pl.DataFrame,
    random: Sequence[str],
    *,
    residual: bool = True,
    fixed: Floats | None = None,
) -> tuple[list[RandomTerm], dict[str, str]]:
    """The random part, and the terms that cannot be told from others with the reason.

    Args:
        table: One row an observation, without missing values in the columns named.
        random: Terms.
        residual: Whether the model has a residual that a grouping of single observations repeats.
        fixed: The matrix of the fixed part, which may already tell all groups of a term apart.

    Examples:
        >>> table = pl.DataFrame({"s": ["x", "x", "y", "y"], "d": ["1", "2", "1", "1"]})
        >>> terms, dropped = random_terms(table, ["s/d"])
        >>> [(term.name, term.levels.height) for term in terms]
        [('s', 2), ('s/d', 3)]
    """
    terms: dict[str, RandomTerm] = {}
    dropped: dict[str, str] = {}
    for written in random:
        asked, correlated, groups = _split(written)
        effects, covariates = _slopes(table, asked)
        for name in asked:
            if name != INTERCEPT and not any(
                e == name or e.startswith(f"{name}[") for e in effects
            ):
                dropped[f"{name} | {written}"] = "has one level only, so it has no slope"
        each = [[at] for at in range(len(effects))]
        for names in groups:
            for places in [list(range(len(effects)))] if correlated and effects else each:
                chosen = tuple(effects[at] for at in places)
                label = "/".join(names) if "/" in written else ":".join(names)
                key = label if chosen == (INTERCEPT,) else f"{' + '.join(chosen)} | {label}"
                term = _grouped(table, label, names, chosen, covariates[:, places])
                reason = _hopeless(term, table.height if residual else None, fixed)
                if reason:
                    dropped[key] = reason
                else:
                    terms[key] = term
    kept, same = _distinct(terms)
    return kept, {**dropped, **same}


def _distinct(terms: Mapping[str, RandomTerm]) -> tuple[list[RandomTerm], dict[str, str]]:
    """Terms without those that group exactly as an earlier one does."""
    seen: dict[tuple[tuple[str, ...], bytes], str] = {}
    kept: list[RandomTerm] = []
    dropped: dict[str, str] = {}
    for key, term in terms.items():
        _, first, place = np.unique(term.group, return_index=True, return_inverse=True)
        mark = (term.effects, first[place].astype(np.int64).tobytes())
        if mark in seen:
            dropped[key] = f"groups the observations exactly as {seen[mark]} does"
        else:
            seen[mark] = key
            kept.append(term)
    return kept, dropped


def _slopes(table: pl.DataFrame, asked: Sequence[str]) -> tuple[tuple[str, ...], Floats]:
    """The effects of a random term and their covariates, a factor spread over its levels."""
    names: list[str] = []
    columns: list[Floats] = []
    every = INTERCEPT not in asked
    for effect in asked:
        if effect == INTERCEPT:
            names.append(effect)
            columns.append(np.ones((table.height, 1)))
            continue
        labels, matrix = _coded(table[effect], "treatment", None, every=every)
        every = every and table[effect].dtype.is_numeric()
        names += labels
        columns.append(matrix)
    return tuple(names), np.hstack(columns)


def _grouped(
    table: pl.DataFrame,
    label: str,
    names: Sequence[str],
    effects: tuple[str, ...],
    covariates: Floats,
) -> RandomTerm:
    levels = table.select(names).unique(maintain_order=True).with_row_index("_group")
    group = table.select(names).join(
        levels, on=list(names), how="left", nulls_equal=True, maintain_order="left"
    )
    return RandomTerm(
        label,
        effects,
        levels.drop("_group"),
        group["_group"].to_numpy().astype(np.int64),
        covariates,
        correlated=len(effects) > 1,
    )


def _hopeless(term: RandomTerm, observations: int | None, fixed: Floats | None) -> str | None:
    levels = term.levels.height
    if levels < 2:
        return "has one level only, so nothing can vary between levels"
    if fixed is not None and term.effects == (INTERCEPT,) and _told_apart(term, fixed):
        return "differs in the fixed part already, so it cannot vary at random as well"
    if observations is None:
        return None
    if levels >= observations and term.effects == (INTERCEPT,):
        return "has as many levels as there are observations: it cannot be told from the residual"
    if term.correlated and levels * len(term.effects) >= observations:
        return (
            f"has {levels * len(term.effects)} effects for {observations} observations: they "
            "cannot be told from the residual"
        )
    return None


def _told_apart(term: RandomTerm, fixed: Floats) -> bool:
    """Whether the fixed part has an effect for every group, so that no variance is left."""
    if term.levels.height > fixed.shape[1]:
        return False
    groups = np.eye(term.levels.height)[term.group]
    rest = groups - fixed @ np.linalg.lstsq(fixed, groups, rcond=None)[0]
    return bool(np.abs(rest).max() < _SPANNED)


def _expanded(term: str) -> list[tuple[str, ...]]:
    """`a*b` as `a`, `b` and `a:b`."""
    if "*" not in term:
        return [tuple(name.strip() for name in term.split(":"))]
    names = [name.strip() for name in term.split("*")]
    return [part for size in range(1, len(names) + 1) for part in combinations(names, size)]


def _split(term: str) -> tuple[tuple[str, ...], bool, list[tuple[str, ...]]]:
    """The effects, whether they correlate, and the groupings of a random term."""
    left, bar, right = term.rpartition("|")
    correlated = not left.endswith("|")
    written = [part.strip() for part in left.rstrip("|").split("+") if part.strip()]
    slopes = tuple(part for part in written if part not in ("0", "1"))
    effects = slopes if "0" in written else (INTERCEPT, *slopes)
    names = (right if bar else term).strip()
    if not names or not effects:
        raise DialensError(
            f"The random term {term!r} names no group or no effect. Write `rater`, "
            "`system/agent`, or `days | subject`."
        )
    if "/" in names:
        nested = [name.strip() for name in names.split("/")]
        return effects, correlated, [tuple(nested[: i + 1]) for i in range(len(nested))]
    return effects, correlated, [tuple(name.strip() for name in names.split(":"))]


def _coded(
    column: pl.Series, coding: str, reference: str | None, *, every: bool = False
) -> tuple[list[str], Floats]:
    """A covariate as it is, a factor as a column a level: all but the first, or every one."""
    if column.dtype.is_numeric():
        return [column.name], column.cast(pl.Float64).to_numpy().reshape(-1, 1)
    values = column.cast(pl.String)
    levels: list[str] = values.unique().sort().to_list()
    if reference is not None and reference not in levels:
        raise DialensError(
            f"{column.name!r} has no level {reference!r} to compare with. "
            f"Levels: {', '.join(levels)}."
        )
    first = reference if reference is not None else levels[0]
    others = [first] if every else []
    others += [level for level in levels if level != first]
    matrix = np.column_stack(
        [(values == level).to_numpy().astype(np.float64) for level in others]
        or [np.zeros((len(values), 0))]
    )
    if coding == "sum" and not every:
        matrix = matrix - (values == first).to_numpy().astype(np.float64)[:, None]
    return [f"{column.name}[{level}]" for level in others], matrix


def _independent(names: Sequence[str], matrix: Floats) -> FixedDesign:
    """Leave out, from the left, each column that those before it already span."""
    kept: list[int] = []
    basis = np.zeros((matrix.shape[0], 0))
    dropped: dict[str, str] = {}
    for at, name in enumerate(names):
        column = matrix[:, at]
        size = float(np.linalg.norm(column))
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        if size == 0 or float(np.linalg.norm(rest)) < 1e-9 * size:
            dropped[name] = (
                "never occurs in the table" if size == 0 else "is a combination of earlier terms"
            )
            continue
        kept.append(at)
        basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
    return FixedDesign(tuple(names[at] for at in kept), matrix[:, kept], dropped)
