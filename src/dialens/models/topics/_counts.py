"""Texts into counts of words and n-grams: one sparse matrix, made by Polars joins.

An n-gram is up to three neighbouring tokens joined by a space (tokens hold no space, so the joined
form is unambiguous). It never crosses the border between two texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from scipy import sparse

from dialens.base import DialensError
from dialens.text import tokenise

Texts: TypeAlias = Sequence[str | None] | Sequence[Sequence[str]] | pl.Series
"""Texts, or texts already cut into tokens (lists of strings); null is a text with no token."""


def as_tokens(texts: Texts) -> pl.Series:
    """Return the tokens of each text as a ``List(String)`` series named ``tokens``.

    Args:
        texts: Strings, lists of tokens, or a series of either.

    Raises:
        DialensError: The series holds neither strings nor lists of strings.

    Examples:
        >>> as_tokens(["Hi there!", None]).to_list()
        [['hi', 'there', '!'], None]
        >>> as_tokens([["hi", "there"]]).to_list()
        [['hi', 'there']]
    """
    if isinstance(texts, pl.Series):
        series = texts.alias("tokens")
    else:
        first = next((one for one in texts if one is not None), "")
        dtype = pl.String() if isinstance(first, str) else pl.List(pl.String)
        series = pl.Series("tokens", list(texts), dtype=dtype)
    if series.dtype == pl.List(pl.String):
        return series
    if series.dtype == pl.Null:
        series = series.cast(pl.String)
    if series.dtype != pl.String:
        raise DialensError(
            f"texts are of type {series.dtype}; give strings, or lists of tokens (strings)"
        )
    return series.to_frame().select(tokenise("tokens"))["tokens"]


def ngrams(tokens: pl.Series, longest: int) -> pl.DataFrame:
    """Return the n-grams of each text with their counts: ``row, term, count``.

    Args:
        tokens: Lists of tokens, one a text.
        longest: 1 for words, 3 for words, pairs and triples.

    Examples:
        >>> ngrams(pl.Series([["a", "b", "a"], []]), 2).sort("term").rows()
        [(0, 'a', 2), (0, 'a b', 1), (0, 'b', 1), (0, 'b a', 1)]
    """
    flat = (
        tokens.alias("token")
        .to_frame()
        .with_row_index("row")
        .explode("token", empty_as_null=True)
        .drop_nulls("token")
    )
    parts = []
    term = pl.col("token")
    for length in range(1, longest + 1):
        if length > 1:
            term = pl.concat_str([term, pl.col("token").shift(1 - length)], separator=" ")
        complete = pl.col("row") == pl.col("row").shift(1 - length)
        parts.append(flat.select("row", term=pl.when(complete).then(term)).drop_nulls("term"))
    counts = pl.concat(parts).group_by("row", "term").agg(count=pl.len())
    return counts.sort("row", "term")


def count_matrix(counts: pl.DataFrame, terms: pl.Series, rows: int) -> sparse.csr_array:
    """Return ``texts × terms`` counts of the terms that are known.

    Args:
        counts: What :func:`ngrams` returns.
        terms: The known terms, each once; the order of the columns.
        rows: Number of texts (a text without any known term has an empty row).

    Examples:
        >>> counts = ngrams(pl.Series([["a", "b", "a"], ["c"]]), 1)
        >>> count_matrix(counts, pl.Series(["b", "a"]), 2).toarray().tolist()
        [[1.0, 2.0], [0.0, 0.0]]
    """
    known = terms.alias("term").to_frame().with_row_index("column")
    cells = counts.join(known, on="term", how="inner").sort("row", "column")
    values = cells["count"].to_numpy().astype(np.float64)
    place = (cells["row"].to_numpy().astype(np.int32), cells["column"].to_numpy().astype(np.int32))
    return sparse.csr_array((values, place), shape=(rows, len(terms)))


def scale_rows(matrix: sparse.csr_array, by: np.ndarray) -> sparse.csr_array:
    """Return the matrix with each row multiplied by a number.

    Examples:
        >>> scale_rows(sparse.csr_array([[1.0, 2.0]]), np.array([0.5])).toarray().tolist()
        [[0.5, 1.0]]
    """
    data = matrix.data * np.repeat(by, np.diff(matrix.indptr))
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
