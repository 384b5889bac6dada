"""Survey exports of Qualtrics: three rows of header, a row a respondent.

The first row holds names (`Q5_1`, `1_Q3`), the second the questions' texts, the third JSON with
`ImportId`. Loop & Merge puts the loop before the name; a statement of a matrix question stands
behind it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dialens.base import DialensError, counted, listed
from dialens.statistics.rating_files._column_names import plain
from dialens.statistics.rating_files._layouts import ONLY_QUALITY
from dialens.statistics.rating_files._taken import PLACE, Cells, Taken
from dialens.statistics.rating_files._values import given, readable, readable_columns

_METADATA = (
    "startdate", "enddate", "status", "ipaddress", "progress", "duration_(in_seconds)", "finished",
    "recordeddate", "responseid", "recipientlastname", "recipientfirstname", "recipientemail",
    "externalreference", "locationlatitude", "locationlongitude", "distributionchannel",
    "userlanguage", "q_recaptchascore", "q_relevantidduplicate", "q_relevantidfraudscore",
    "q_relevantidlaststartdate", "q_duplicaterespondent", "q_ballotboxstuffing",
    "q_relevantidduplicatescore", "session_id", "study_id",
)  # fmt: skip
_TECHNICAL = re.compile(
    r".*_(?:browser|version|operating system|resolution|first click|last click|page submit|"
    r"click count|text|do|do_.*)|sc\d+",
    re.IGNORECASE,
)
_RATER = (
    "prolific_pid", "prolific_id", "participantid", "participant_id", "workerid", "worker_id",
    "pid", "externalreference", "responseid",
)  # fmt: skip
_IMPORT = '{"importid"'
_LOOP = re.compile(r"(\d+)_(.+)")
_STATEMENT = re.compile(r"(.+?)_(\d+)")
_UNNAMED = re.compile(r"Q(?:ID)?\d+(?:_\d+)?", re.IGNORECASE)
_LONGEST = 40
_PARTS = ("loop", "question", "statement")


@dataclass(frozen=True)
class _Column:
    """A column of answers, taken apart."""

    name: str
    loop: str | None
    question: str
    statement: str | None
    text: str

    @property
    def group(self) -> tuple[str | None, ...] | None:
        """What columns of one loop, or of one matrix, have in common; None for a lone question."""
        if self.loop:
            return ("loop", self.question, self.statement)
        return ("matrix", self.question) if self.statement else None

    @property
    def stem(self) -> str:
        """The question's text without its statement."""
        return self.text.rpartition(" - ")[0] or self.text if self.statement else self.text

    @property
    def label(self) -> str:
        """The statement's own text, else the question's."""
        return (self.text.rpartition(" - ")[2] if self.statement else self.text).strip()

    def called(self, part: str) -> str:
        """A part by its own name: what the survey calls it, or its text where that is short."""
        if part == "loop":
            return self.loop or ""
        if part == "statement":
            short = 0 < len(self.label) <= _LONGEST
            return self.label if short else f"{self.question}_{self.statement}"
        if not _UNNAMED.fullmatch(self.question):
            return self.question
        return self.stem if 0 < len(self.stem) <= _LONGEST else self.question


def is_qualtrics(cells: Cells) -> bool:
    """Whether a table has the header of such an export.

    Examples:
        >>> rows = {"ResponseId": ["Response ID", '{"ImportId":"_recordId"}'], "Q1": ["?", "{}"]}
        >>> is_qualtrics(Cells(pl.DataFrame(rows), "r.csv"))
        True
    """
    names = {plain(column) for column in cells.columns}
    return _header_rows(cells) > 0 or {"responseid", "recordeddate", "finished"} <= names


def from_qualtrics(
    cells: Cells, *, mapping: Mapping[str, str], scale: Sequence[str] | None = None
) -> Taken:
    """Ratings from a survey export.

    Args:
        cells: The table, the second and third row of the header as its first rows.
        mapping: `--column`: `rater=COLUMN`, and `item=` and `quality=` with `loop`, `question` or
            `statement` where the survey does not show it itself.
        scale: Words that answers may be.
    """
    skip = _header_rows(cells)
    texts = cells.frame.row(0, named=True) if skip else {}
    frame = cells.frame.with_columns(cells.places()).slice(skip)
    frame, notes = _without_previews(frame)
    rater = _rater(cells, mapping)
    free = [c for c in cells.columns if _is_answer(c, rater)]
    body = Cells(frame.drop(PLACE), cells.name)
    apart = [_apart(name, texts.get(name) or "") for name in free]
    columns = _ratings_among(_answered(apart, body.frame, scale))
    if not columns:
        raise DialensError(
            f"{cells.name} is an export of Qualtrics without a column of ratings: none holds "
            "numbers, numbers with labels, or words of one scale. Export with choice text or "
            f'numeric values, or say the words: --scale "LOWEST,…,HIGHEST". Columns: '
            f"{listed(free[:8])}."
        )
    item, quality = _roles(columns, mapping, cells.name)
    rated = {column.name for column in columns}
    facts = [c for c in free if c not in rated and body.given(c).n_unique() > 0]
    base = frame.select(
        pl.col(rater).alias("rater"), *(pl.col(c) for c in facts if c not in ("rater",)), PLACE
    )
    parts = [
        base.with_columns(
            frame[column.name].alias("value"),
            pl.lit(column.called(item)).alias("dialog"),
            pl.lit(ONLY_QUALITY if quality is None else column.called(quality)).alias("quality"),
            pl.lit(number).alias("_column"),
            (pl.col(PLACE) + f", column {column.name}").alias(PLACE),
        ).with_row_index("_row")
        for number, column in enumerate(columns)
    ]
    table = pl.concat(parts).sort("_row", "_column").drop("_row", "_column")
    items = table["dialog"].unique(maintain_order=True).to_list()
    qualities = table["quality"].unique(maintain_order=True).to_list()
    beside = f"; {listed(facts[:4])}{' …' if len(facts) > 4 else ''} beside them" if facts else ""
    said = (
        f"a Qualtrics export: {counted(frame.height, 'respondent')} (column {rater}), "
        f"{counted(len(items), 'item')} (each {item}), "
        f"{counted(len(qualities), 'quality', 'qualities')} ({listed(qualities[:4])})"
        f"{beside}"
    )
    return Taken(table, said, tuple(notes))


def _header_rows(cells: Cells) -> int:
    """How many rows below the names belong to the header."""
    for number, row in enumerate(cells.frame.head(2).iter_rows()):
        if any((cell or "").strip().lower().replace(" ", "").startswith(_IMPORT) for cell in row):
            return number + 1
    return 0


def _without_previews(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Only answers of respondents: previews are the researcher's own clicks."""
    notes = []
    named = {plain(column): column for column in frame.columns}
    preview = pl.lit(value=False)
    if "status" in named:
        status = pl.col(named["status"]).str.strip_chars().str.to_lowercase().fill_null("")
        preview = preview | status.is_in(["survey preview", "preview", "1", "survey test", "2"])
    if "distributionchannel" in named:
        channel = pl.col(named["distributionchannel"]).str.strip_chars().str.to_lowercase()
        preview = preview | (channel.fill_null("") == "preview")
    kept = frame.filter(~preview)
    left = frame.height - kept.height
    if left:
        word = "row is a preview or test" if left == 1 else "rows are previews or tests"
        notes.append(f"{left:,} {word} of the survey, left out.")
    if "finished" in named:
        finished = pl.col(named["finished"]).str.strip_chars().str.to_lowercase()
        broken = kept.filter(finished.is_in(["false", "0"])).height
        if broken:
            notes.append(
                f"{counted(broken, 'respondent')} did not finish the survey; the answers given "
                "count."
            )
    return kept, notes


def _rater(cells: Cells, mapping: Mapping[str, str]) -> str:
    if "rater" in mapping:
        return mapping["rater"]
    named = {plain(column): column for column in cells.columns}
    for name in _RATER:
        if name in named and cells.given(named[name]).slice(_header_rows(cells)).len():
            return named[name]
    raise DialensError(
        f"{cells.name} is an export of Qualtrics without ResponseId. Name the column that says "
        f"who answered: --column rater=COLUMN. Columns: {listed(cells.columns[:10])}."
    )


def _is_answer(column: str, rater: str) -> bool:
    known = plain(column) in _METADATA or plain(column) in _RATER or column == rater
    return not known and _TECHNICAL.fullmatch(column) is None


def _apart(name: str, text: str) -> _Column:
    """The parts of a column's name.

    Examples:
        >>> _apart("1_Q3_2", "Rate it - Fluency").label, _apart("Q5_1", "").question
        ('Fluency', 'Q5')
    """
    loop = _LOOP.fullmatch(name)
    rest = loop[2] if loop else name
    statement = _STATEMENT.fullmatch(rest)
    if statement:
        return _Column(name, loop and loop[1], statement[1], statement[2], text)
    return _Column(name, loop and loop[1], rest, None, text)


def _answered(
    columns: Sequence[_Column], frame: pl.DataFrame, scale: Sequence[str] | None
) -> list[_Column]:
    """The columns that hold answers; those of one loop or matrix stand or fall together.

    An item on which all respondents agreed shows one word only, which tells no scale by itself.
    """
    answered = set(readable_columns(frame, [column.name for column in columns], scale))
    groups: dict[tuple[str | None, ...], list[str]] = {}
    for column in columns:
        if column.group is not None and given(frame[column.name]).count():
            groups.setdefault(column.group, []).append(column.name)
    for names in groups.values():
        together = pl.concat([frame[name].alias("answers") for name in names])
        if readable(together, scale) or 2 * len(answered.intersection(names)) >= len(names):
            answered.update(names)
    return [column for column in columns if column.name in answered]


def _ratings_among(columns: Sequence[_Column]) -> list[_Column]:
    """Loops if there are any, else statements, else everything: the rest are facts about raters."""
    loops = [column for column in columns if column.loop]
    if loops:
        return loops
    return [column for column in columns if column.statement] or list(columns)


def _roles(
    columns: Sequence[_Column], mapping: Mapping[str, str], file: str
) -> tuple[str, str | None]:
    """Which part of the names is the item, and which the quality."""
    asked = {name: mapping[name] for name in ("item", "quality") if name in mapping}
    for name, part in asked.items():
        if part not in _PARTS:
            raise DialensError(
                f"--column {name}={part}: in an export of Qualtrics {name} is one of "
                f"{listed(_PARTS)}."
            )
    if "item" in asked:
        item = asked["item"]
        there = [p for p in _PARTS if p != item and len({c.called(p) for c in columns}) > 1]
        default = there[-1] if there else None
        return item, asked.get("quality", default)
    if columns[0].loop:
        several = any(column.statement for column in columns)
        return "loop", asked.get("quality", "statement" if several else "question")
    questions = {column.question for column in columns}
    if not columns[0].statement:
        return "question", None
    if len(questions) == 1:
        return "statement", "question"
    shared = [{c.label for c in columns if c.question == question} for question in questions]
    stems = {column.stem for column in columns}
    if all(labels == shared[0] for labels in shared) and any(c.text for c in columns):
        return "question", "statement"
    if len(stems) == len(questions) and not set.intersection(*shared):
        return "statement", "question"
    raise DialensError(
        f"{file} is an export of Qualtrics with {len(questions)} questions of several statements "
        "each. Say what was rated: --column item=question (each question is about another item, "
        "its statements are qualities), or --column item=statement (each statement is an item, "
        "the questions are qualities)."
    )
