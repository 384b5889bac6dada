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

_READ = ("participants", "ratings", "questionnaires")
_MOST_LABEL = 255
_MOST_TEXT = 32_767
_READ_R = """# Reads the tables of a study beside this file: source("read.R", chdir = TRUE)
read <- function(name) {
  table <- read.csv(paste0(name, ".csv"), stringsAsFactors = FALSE, na.strings = "",
                    encoding = "UTF-8", check.names = FALSE)
  for (column in grep("_at$", names(table), value = TRUE))
    table[[column]] <- as.POSIXct(table[[column]], format = "%Y-%m-%dT%H:%M:%OS", tz = "UTC")
  for (column in intersect("excluded", names(table)))
    table[[column]] <- table[[column]] == "true"
  table
}

participants <- read("participants")
ratings <- read("ratings")
questionnaires <- read("questionnaires")
changes <- read("changes")

# Without people who were excluded, as dialens analyses them.
analysed <- ratings[!ratings$excluded, ]
for (column in c("rater", "dialog", "agent", "quality", "version"))
  analysed[[column]] <- factor(analysed[[column]])

# One row a participant, one column a question.
answers <- reshape(questionnaires[!duplicated(questionnaires[c("rater", "question")]),
                                  c("rater", "question", "answer")],
                   idvar = "rater", timevar = "question", direction = "wide")
names(answers) <- sub("^answer[.]", "", names(answers))
"""

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


def write_export_handover(folder: Path) -> None:
    """Write scripts that read the tables of an export into R and SPSS, beside its CSV files.

    Args:
        folder: The folder `csv` of an export.
    """
    book = json.loads((folder.parent / "codebook.json").read_text("utf-8"))
    for name in _READ:
        table = pl.read_parquet(folder.parent / f"{name}.parquet")
        labels = scale_labels(table["scale"].unique().to_list()) if name == "ratings" else {}
        told = book.get(name, {})
        syntax = spss_syntax(table, labels, name=name, told=told if isinstance(told, dict) else {})
        (folder / f"{name}.sps").write_text(syntax, encoding="utf-8")
    (folder / "read.R").write_text(_READ_R, encoding="utf-8")


def spss_syntax(
    table: pl.DataFrame,
    labels: Mapping[float, str],
    *,
    name: str = "ratings",
    told: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Syntax that reads the CSV into SPSS, with labels of variables and values, and saves it.

    Args:
        table: What the CSV holds.
        labels: What the values of `value` are called.
        name: Of the CSV, without its ending.
        told: What variables mean; the usual meaning where it is not said.

    Examples:
        >>> table = pl.DataFrame({"rater": ["r1"], "value": [1.0], "my col": ["x"]})
        >>> print(spss_syntax(table, {1.0: "it's bad"}))  # doctest: +ELLIPSIS
        * Reads ratings.csv beside this file...
        SET UNICODE=ON.
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
    kinds = []
    for column in table:
        if column.dtype.is_numeric():
            kinds.append("F12.4")
        else:
            lengths = column.cast(pl.String).str.len_bytes().drop_nulls().to_list()
            kinds.append(f"A{min(max(lengths, default=1) or 1, _MOST_TEXT)}")
    variables = "\n".join(f"    {one} {kind}" for one, kind in zip(names, kinds, strict=True))
    described = "\n".join(
        f"  {variable} {_single((told.get(column) or _LABELS.get(column, column))[:_MOST_LABEL])}"
        for variable, column in zip(names, table.columns, strict=True)
    )
    values = ""
    if labels:
        listed = "\n".join(f"  {value:g} {_single(text)}" for value, text in labels.items())
        values = f"VALUE LABELS value\n{listed}.\n"
    return (
        f"* Reads {name}.csv beside this file: open this file from its folder, or put the "
        "folder before the name.\n"
        "SET UNICODE=ON.\n"
        f"GET DATA\n  /TYPE=TXT\n  /FILE='{name}.csv'\n  /ENCODING='UTF8'\n"
        '  /DELIMITERS=","\n  /QUALIFIER=\'"\'\n  /ARRANGEMENT=DELIMITED\n  /FIRSTCASE=2\n'
        f"  /VARIABLES=\n{variables}.\n"
        f"VARIABLE LABELS\n{described}.\n{values}EXECUTE.\nSAVE OUTFILE='{name}.sav'.\n"
    )


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
