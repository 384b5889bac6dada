"""Results handed over to R and SPSS: a tidy CSV, and scripts beside it that read it.

The R script computes the main numbers again with the packages that reviewers know; the SPSS syntax
reads the CSV with labels of variables and values, so no other file format is needed.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import polars as pl

RATINGS_CSV = "ratings.csv"
SCRIPT = "analysis.R"
SYNTAX = "ratings.sps"

_MOST_LABEL = 255
_MOST_TEXT = 32_767
_TIME_TEXT = len("2026-01-10T09:00:00.000000+0000")
_LABELS = {
    "quality": "What was rated",
    "group": "Group that was set apart",
    "item": "What was judged (dialogue, turn, response)",
    "response": "Item and agent together",
    "rater": "Who rated",
    "agent": "Whose response it is",
    "value": "The rating",
}
_HEAD = """# Computes the main numbers of dialens again, from {csv} beside this file.
# Packages: install.packages(c({packages}))
ratings <- read.csv("{csv}", stringsAsFactors = FALSE, na.strings = "", encoding = "UTF-8",
                    colClasses = c(value = "numeric"), check.names = FALSE)
"""
_AGREEMENT = """
wide <- function(part) {
  cells <- tapply(part$value, list(part$item, part$rater), mean)
  matrix(cells, nrow(cells), dimnames = dimnames(cells))
}

for (quality in unique(ratings$quality)) for (group in unique(ratings$group)) {
  part <- ratings[ratings$quality == quality & ratings$group == group, ]
  if (nrow(part) == 0) next
  cat("\\n==", quality, if (group != "all") group, "==\\n")
  table <- wide(part)
  # All six forms with F tests; cells that are empty are handled by lme4 (restricted likelihood).
  # psych calls ICC(1,1) ... ICC(3,k) ICC1 ... ICC3k. With empty cells compare the forms of a
  # single rating: psych counts all raters as k, dialens the ratings that an item really has.
  print(psych::ICC(table, missing = FALSE, lmer = anyNA(table))$results, digits = 3)
  if (requireNamespace("irr", quietly = TRUE)) {
    for (level in c("nominal", "ordinal", "interval"))
      cat("Krippendorff's alpha,", level, ":",
          irr::kripp.alpha(t(table), method = level)$value, "\\n")
    if (!anyNA(table)) {
      cat("Fleiss' kappa:", irr::kappam.fleiss(table)$value, "\\n")
      w <- irr::kendall(table, correct = TRUE)
      cat("Kendall's W:", w$value, " chi-squared:", w$statistic, " p:", w$p.value, "\\n")
    }
  }
}
"""
_MODELS = """
pairs_of <- function(fit, agents) {
  # Differences between agents with Satterthwaite's degrees of freedom.
  for (i in seq_along(agents)) for (j in seq_along(agents)) if (i < j) {
    weights <- numeric(length(lme4::fixef(fit)))
    names(weights) <- names(lme4::fixef(fit))
    weights[paste0("agent", agents[i])] <- 1
    weights[paste0("agent", agents[j])] <- -1
    print(cbind(data.frame(first = agents[i], second = agents[j]),
                lmerTest::contest1D(fit, weights, confint = TRUE)), row.names = FALSE, digits = 4)
  }
}

for (quality in names(designs)) {
  design <- designs[[quality]]
  part <- ratings[ratings$quality == quality, ]
  if (design$kind == "magnitude") part$value <- log(part$value)
  for (name in c("agent", "rater", "item", "response")) part[[name]] <- factor(part[[name]])
  agents <- levels(part$agent)
  cat("\\n==", quality, "==\\n")
  terms <- paste(design$random, collapse = " + ")
  # Means and differences: a linear mixed model, restricted likelihood.
  if (length(agents) < 2) {
    fit <- lmerTest::lmer(as.formula(paste("value ~ 1 +", terms)), part)
    print(coef(summary(fit)), digits = 4)
    next
  }
  fit <- lmerTest::lmer(as.formula(paste("value ~ 0 + agent +", terms)), part)
  print(coef(summary(fit)), digits = 4)
  pairs_of(fit, agents)
  # Tests of differences between categories.
  if (design$kind == "likert" && requireNamespace("ordinal", quietly = TRUE)) {
    part$answer <- factor(part$value, ordered = TRUE)
    print(coef(summary(ordinal::clmm(as.formula(paste("answer ~ agent +", terms)), part))))
  }
  if (design$kind == "yes_no")
    print(coef(summary(lme4::glmer(as.formula(paste("value ~ agent +", terms)), part,
                                   family = binomial))))
}
"""


def write_agreement_handover(table: pl.DataFrame, folder: Path) -> None:
    """Write ratings.csv, analysis.R and ratings.sps for agreement.

    Args:
        table: quality, group, item, rater, value: the ratings as they were analysed.
        folder: Where.
    """
    _write_csv(table, folder)
    head = _HEAD.format(csv=RATINGS_CSV, packages='"psych", "lme4", "irr"')
    (folder / SCRIPT).write_text(head + _AGREEMENT, encoding="utf-8")
    (folder / SYNTAX).write_text(spss_syntax(table, {}), encoding="utf-8")


def write_models_handover(
    table: pl.DataFrame,
    designs: Mapping[str, tuple[str, Sequence[str]]],
    folder: Path,
    labels: Mapping[float, str],
) -> None:
    """Write ratings.csv, analysis.R and ratings.sps for what people said of agents.

    Args:
        table: quality, rater, item, response, agent, value, further columns.
        designs: By quality the kind of answer and the random terms of its model.
        folder: Where.
        labels: What the values of the scale are called, where that is known.
    """
    _write_csv(table, folder)
    packages = '"lme4", "lmerTest", "ordinal", "psych"'
    entries = []
    for quality, (kind, random) in designs.items():
        terms = ", ".join(_quoted(f"(1 | {term})") for term in random)
        entries.append(f"  {_quoted(quality)} = list(kind = {_quoted(kind)}, random = c({terms}))")
    listing = "designs <- list(\n" + ",\n".join(entries) + "\n)\n"
    head = _HEAD.format(csv=RATINGS_CSV, packages=packages)
    (folder / SCRIPT).write_text(head + listing + _MODELS, encoding="utf-8")
    (folder / SYNTAX).write_text(spss_syntax(table, labels), encoding="utf-8")


def spss_syntax(
    table: pl.DataFrame,
    labels: Mapping[float, str],
    *,
    name: str = "ratings",
    told: Mapping[str, str] = MappingProxyType({}),
    source: str | None = None,
) -> str:
    """Syntax that reads the CSV into SPSS, with labels of variables and values, and saves it.

    Args:
        table: What the CSV holds.
        labels: What the values of `value` are called.
        name: Of the CSV, without its ending.
        told: What variables mean; the usual meaning where it is not said.
        source: The CSV, if it has another name.

    Examples:
        >>> table = pl.DataFrame({"rater": ["r1"], "value": [1.0], "my col": ["x"]})
        >>> print(spss_syntax(table, {1.0: "it's bad"}))  # doctest: +ELLIPSIS
        * Reads ratings.csv beside this file...
        GET DATA
          /TYPE=TXT
          /FILE='ratings.csv'
          /ENCODING='UTF8'
          /DELIMITERS=","
          /QUALIFIER='"'
          /ARRANGEMENT=DELIMITED
          /FIRSTCASE=2
          /VARIABLES=
            rater A2
            value F12.4
            my_col A1.
        VARIABLE LABELS
          rater 'Who rated'
          value 'The rating'
          my_col 'my col'.
        VALUE LABELS value
          1 'it''s bad'.
        EXECUTE.
        SAVE OUTFILE='ratings.sav'.
        <BLANKLINE>
    """
    names = _spss_names(table.columns)
    kinds = [_spss_kind(column) for column in table]
    variables = "\n".join(f"    {one} {kind}" for one, kind in zip(names, kinds, strict=True))
    described = "\n".join(
        f"  {variable} {_single((told.get(column) or _LABELS.get(column, column))[:_MOST_LABEL])}"
        for variable, column in zip(names, table.columns, strict=True)
    )
    truths = [one for one, column in zip(names, table, strict=True) if column.dtype == pl.Boolean]
    values = "".join(f"VALUE LABELS {one}\n  0 'no'\n  1 'yes'.\n" for one in truths)
    if labels:
        listed = "\n".join(f"  {value:g} {_single(text)}" for value, text in labels.items())
        values += f"VALUE LABELS value\n{listed}.\n"
    file = source or f"{name}.csv"
    return (
        f"* Reads {file} beside this file: open this file from its folder, or put the folder "
        "before the name.\n"
        f"GET DATA\n  /TYPE=TXT\n  /FILE='{file}'\n  /ENCODING='UTF8'\n"
        '  /DELIMITERS=","\n  /QUALIFIER=\'"\'\n  /ARRANGEMENT=DELIMITED\n  /FIRSTCASE=2\n'
        f"  /VARIABLES=\n{variables}.\n{_spss_conversions(table, names)}"
        f"VARIABLE LABELS\n{described}.\n{values}EXECUTE.\nSAVE OUTFILE='{name}.sav'.\n"
    )


def _spss_kind(column: pl.Series) -> str:
    """The format that a column is read in; times and truth values are text until converted."""
    if column.dtype.is_integer():
        return "F12.0"
    if column.dtype.is_numeric():
        return "F12.4"
    lengths = column.cast(pl.String).str.len_bytes().drop_nulls().to_list()
    longest = max(lengths, default=1) or 1
    return f"A{_TIME_TEXT if column.dtype.is_temporal() else min(longest, _MOST_TEXT)}"


def _spss_conversions(table: pl.DataFrame, names: Sequence[str]) -> str:
    """Makes times of what was written as 2026-01-10T09:00:00.000000+0000, numbers of true, false.

    The text is renamed, and dropped once the variable is made again in its old place.
    """
    lines: list[str] = []
    renamed: list[tuple[str, str]] = []
    for name, column in zip(names, table, strict=True):
        text = f"text_{len(renamed) + 1}"
        if column.dtype.is_temporal():
            lines.append(
                f"IF ({text} <> '') {name} = NUMBER(SUBSTR({text}, 1, 10), SDATE10) + "
                f"NUMBER(SUBSTR({text}, 12, 15), TIME15).\nFORMATS {name} (DATETIME23.2)."
            )
        elif column.dtype == pl.Boolean:
            lines.append(
                f"RECODE {text} ('true'=1) ('false'=0) INTO {name}.\nFORMATS {name} (F1.0)."
            )
        else:
            continue
        renamed.append((name, text))
    if not renamed:
        return ""
    pairs = "\n".join(f"  ({name}={text})" for name, text in renamed)
    made = "\n".join(lines)
    kept = "\n    ".join(names)
    return f"RENAME VARIABLES\n{pairs}.\n{made}\nMATCH FILES FILE=*\n  /KEEP={kept}.\n"


def scale_labels(scales: Sequence[str | None]) -> dict[float, str]:
    """What the values of a scale are called, where all ratings have one scale that says it.

    Examples:
        >>> scale_labels(['{"kind": "likert", "low": 1, "labels": ["bad", "good"]}'])
        {1.0: 'bad', 2.0: 'good'}
    """
    told = {scale for scale in scales if scale}
    if len(told) != 1:
        return {}
    try:
        scale = json.loads(told.pop())
    except ValueError:
        return {}
    labels = scale.get("labels") if isinstance(scale, dict) else None
    if not isinstance(labels, list):
        return {}
    low = float(scale.get("low", 0))
    return {low + place: str(label) for place, label in enumerate(labels)}


def _write_csv(table: pl.DataFrame, folder: Path) -> None:
    table.write_csv(folder / RATINGS_CSV, float_precision=None)


def _quoted(text: str) -> str:
    """Text for R."""
    return json.dumps(text, ensure_ascii=False)


def _single(text: str) -> str:
    """Text for SPSS."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _spss_names(columns: Sequence[str]) -> list[str]:
    """Names that SPSS takes: letters, digits and underscores, a letter first, none twice."""
    names: list[str] = []
    for column in columns:
        plain = "".join(c if c.isalnum() else "_" for c in column.strip()) or "v"
        plain = plain if plain[0].isalpha() else f"v_{plain}"
        name, number = plain[:60], 2
        while name.lower() in {other.lower() for other in names}:
            name, number = f"{plain[:56]}_{number}", number + 1
        names.append(name)
    return names
