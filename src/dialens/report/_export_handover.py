"""The tables of a study handed over to R and SPSS: scripts beside the CSV files that read them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dialens.report._handover import spss_syntax

_SYNTAX = ("participants", "ratings", "questionnaires")
_QUESTIONNAIRES = {
    "question": "The question, as the study file names it",
    "answer": "What was answered; checks as passed or failed",
    "answered_at": "When the screen was submitted (UTC)",
}
_READ_R = """# Reads all tables of a study beside this file: source("read.R", chdir = TRUE)
# Each is a data frame with the table's name; levels of factors are the same in all of them.
# Besides: analysed, by_person, value_labels.
study_tables <- local({
read <- function(name, types) {
  classes <- ifelse(types == "numeric", "numeric", "character")
  table <- read.csv(paste0(name, ".csv"), colClasses = classes, na.strings = "",
                    encoding = "UTF-8", check.names = FALSE)
  for (column in names(types)[types == "time"])
    table[[column]] <- as.POSIXct(table[[column]], format = "%Y-%m-%dT%H:%M:%OS", tz = "UTC")
  for (column in names(types)[types == "truth"])
    table[[column]] <- table[[column]] == "true"
  table
}
tables <- list()
labels <- list()
"""
_TOGETHER_R = """
# Factors in the order of the study, in every table that has them.
for (column in unique(c("rater", "dialog", "agent", "quality", "version", names(levels_of)))) {
  seen <- unique(unlist(lapply(tables, function(table) as.character(table[[column]]))))
  known <- intersect(levels_of[[column]], seen)
  all <- c(known, sort(setdiff(seen, known)))
  for (name in names(tables)) if (column %in% names(tables[[name]]))
    tables[[name]][[column]] <- factor(tables[[name]][[column]], levels = all)
}
for (name in names(tables)) for (column in names(labels[[name]]))
  attr(tables[[name]][[column]], "label") <- labels[[name]][[column]]

# Without people who were excluded, as dialens analyses them.
analysed <- droplevels(tables$ratings[!tables$ratings$excluded, ])

# One row a participant, one column a question.
once <- tables$questionnaires
once <- once[!duplicated(once[c("rater", "question")]), ]
by_person <- data.frame(rater = unique(once$rater))
for (question in unique(once$question)) {
  part <- once[once$question == question, ]
  by_person[[question]] <- part$answer[match(by_person$rater, part$rater)]
}
c(tables, list(analysed = analysed, by_person = by_person, value_labels = value_labels))
})
invisible(list2env(study_tables, environment()))
rm(study_tables)
"""


def write_export_handover(folder: Path) -> None:
    """Write scripts that read the tables of an export into R and SPSS, beside its CSV files.

    Args:
        folder: The folder `csv` of an export.
    """
    book = json.loads((folder.parent / "codebook.json").read_text("utf-8"))
    tables = {name: pl.read_parquet(folder.parent / f"{name}.parquet") for name in _SYNTAX}
    there = {path.stem for path in folder.glob("*.csv")}
    others = sorted(
        there.intersection(path.stem for path in folder.parent.glob("*.parquet")) - set(tables)
    )
    columns = {name: table.schema for name, table in tables.items()} | {
        name: pl.read_parquet_schema(folder.parent / f"{name}.parquet") for name in others
    }
    labels = _value_labels(book)
    shared = _shared(list(labels.values()), len(book["qualities"]))
    for name in _SYNTAX:
        values = shared if name == "ratings" else {}
        source, table = _on_lines(tables[name], name, folder)
        syntax = spss_syntax(table, values, name=name, told=_meanings(book, name), source=source)
        (folder / f"{name}.sps").write_text(syntax, encoding="utf-8")
    (folder / "read.R").write_text(_read_r(book, columns, labels), encoding="utf-8")


def _on_lines(table: pl.DataFrame, name: str, folder: Path) -> tuple[str, pl.DataFrame]:
    """The CSV that SPSS reads: one of its own where a text has line breaks, which become spaces.

    To SPSS a line break ends a row, within quotation marks too.
    """
    broken = pl.any_horizontal(pl.col(pl.String).str.contains(r"[\r\n]").fill_null(value=False))
    if not table.select(broken.any()).item():
        return f"{name}.csv", table
    plain = table.with_columns(pl.col(pl.String).str.replace_all(r"[\r\n]+", " "))
    source = f"{name}-spss.csv"
    plain.write_csv(folder / source)
    return source, plain


def _meanings(book: Mapping[str, Any], table: str) -> dict[str, str]:
    """What the columns of a table mean."""
    told = dict(book["ratings"]) | (_QUESTIONNAIRES if table == "questionnaires" else {})
    own = {} if table == "questionnaires" else book.get(table, {})
    factors = {name: factor["meaning"] for name, factor in book["factors"].items()}
    return {**factors, **told, **own}


def _value_labels(book: Mapping[str, Any]) -> dict[str, dict[float, str]]:
    """What values of a quality are called, for those with one scale whose points have words."""
    found = {}
    for name, quality in book["qualities"].items():
        if len(quality["scales"]) != 1:
            continue
        (scale,) = quality["scales"]
        inputs = {key: one["value"] for key, one in scale["inputs"].items()}
        if scale["instrument"] == "yes_no":
            made = {1.0: str(inputs["yes_label"]), 0.0: str(inputs["no_label"])}
        elif scale["instrument"] == "choice":
            words = inputs.get("labels") or {}
            values = inputs.get("values") or {}
            made = {float(value): str(words.get(key, key)) for key, value in values.items()}
        else:
            made = {float(key): str(word) for key, word in (inputs.get("labels") or {}).items()}
        if made:
            found[name] = dict(sorted(made.items()))
    return found


def _shared(labels: Sequence[dict[float, str]], qualities: int) -> dict[float, str]:
    """The words of a scale that all qualities have; SPSS knows one set of them a variable."""
    same = len(labels) == qualities and all(one == labels[0] for one in labels)
    return labels[0] if same and labels else {}


def _read_r(
    book: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, pl.DataType]],
    labels: Mapping[str, Mapping[float, str]],
) -> str:
    parts = [_READ_R]
    for name, columns in tables.items():
        types = {column: _type(kind) for column, kind in columns.items()}
        told = {key: text for key, text in _meanings(book, name).items() if key in types}
        parts.append(f"tables${name} <- read({_quoted(name)},\n  {_vector(types)})\n")
        parts.append(f"labels${name} <- {_vector(told)}\n")
    factors = {name: list(factor["levels"]) for name, factor in book["factors"].items()}
    factors["quality"] = list(book["qualities"])
    listed = ",\n".join(
        f"  {_quoted(name)} = c({', '.join(map(_quoted, levels))})"
        for name, levels in factors.items()
    )
    words = ",\n".join(
        f"  {_quoted(quality)} = c("
        + ", ".join(f"{_quoted(word)} = {value:g}" for value, word in values.items())
        + ")"
        for quality, values in labels.items()
    )
    parts.append(f"\nlevels_of <- list(\n{listed}\n)\n")
    parts.append("# What the values of a quality are called, where its scale has words.\n")
    parts.append(f"value_labels <- list(\n{words}\n)\n" if words else "value_labels <- list()\n")
    return "".join(parts) + _TOGETHER_R


def _type(kind: pl.DataType) -> str:
    if kind.is_numeric():
        return "numeric"
    if kind.is_temporal():
        return "time"
    return "truth" if kind == pl.Boolean else "text"


def _vector(values: Mapping[str, str]) -> str:
    """A named vector of R."""
    return "c(" + ",\n    ".join(f"{_quoted(k)} = {_quoted(v)}" for k, v in values.items()) + ")"


def _quoted(text: str) -> str:
    r"""Text in R that reads the same whatever the encoding of the computer.

    Examples:
        >>> print(_quoted('a "b" \u00e9 \U0001f600'))
        "a \"b\" \u00e9 \U0001f600"
    """
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + "".join(_escaped(character) for character in plain) + '"'


def _escaped(character: str) -> str:
    point = ord(character)
    if 32 <= point < 127:
        return character
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
