"""What a cell of a rating says: a number, a number with its label, or a word of a declared scale.

Nobody's answers vanish: what cannot be read stops the reading, with its place and a remedy, or is
counted where the caller asked to skip it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from dialens.base import DialensError, counted, listed

NOT_GIVEN = ("", "na", "n/a", "nan", "null", "none", "-")
"""Cells that hold no answer."""

NOMINAL = "nominal"
"""Said instead of an order by those whose words have none."""

Place = Callable[[int], str]
"""Says where a row stands in its file: `line 7`."""

_NUMBER = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)"
_BEFORE = rf"^({_NUMBER})\s*(?:[-–—:=.)\]|]\s*|\(|\s)\s*[^\d\s.,%/].*$"
_AFTER = rf"^[^\d]*[^\d\s][^\d]*[(\[]\s*({_NUMBER})\s*[)\]]$"

_AGREE = ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree")
_WELL_KNOWN: tuple[tuple[str, ...], ...] = (
    _AGREE,
    (_AGREE[0], _AGREE[1], "Neither agree nor disagree", _AGREE[3], _AGREE[4]),
    (_AGREE[0], "Somewhat disagree", "Neither agree nor disagree", "Somewhat agree", _AGREE[4]),
    (
        "Strongly disagree", "Disagree", "Somewhat disagree", "Neither agree nor disagree",
        "Somewhat agree", "Agree", "Strongly agree",
    ),
    (
        "Strongly disagree", "Disagree", "Slightly disagree", "Neutral", "Slightly agree", "Agree",
        "Strongly agree",
    ),
    (
        "Strongly disagree", "Disagree", "Somewhat disagree", "Neutral", "Somewhat agree", "Agree",
        "Strongly agree",
    ),
    ("Strongly disagree", "Disagree", "Agree", "Strongly agree"),
    ("Never", "Rarely", "Sometimes", "Often", "Always"),
    ("Never", "Sometimes", "About half the time", "Most of the time", "Always"),
    ("Never", "Seldom", "Sometimes", "Often", "Always"),
    ("Very dissatisfied", "Dissatisfied", "Neutral", "Satisfied", "Very satisfied"),
    (
        "Extremely dissatisfied", "Somewhat dissatisfied", "Neither satisfied nor dissatisfied",
        "Somewhat satisfied", "Extremely satisfied",
    ),
    ("Very poor", "Poor", "Fair", "Good", "Very good"),
    ("Poor", "Fair", "Good", "Very good", "Excellent"),
    ("Very bad", "Bad", "Neutral", "Good", "Very good"),
    ("Not at all", "Slightly", "Moderately", "Very", "Extremely"),
    ("Not at all", "A little", "Moderately", "Quite a bit", "Extremely"),
    ("Not at all", "A little", "Somewhat", "Quite a bit", "Very much"),
    ("Very unlikely", "Unlikely", "Neutral", "Likely", "Very likely"),
    ("Very low", "Low", "Medium", "High", "Very high"),
    ("No", "Yes"),
    ("False", "True"),
)  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """How cells are to be read.

    Attributes:
        scales: The words of a quality's scale, the lowest first; under the empty name those of all
            qualities; `(NOMINAL,)` for words that have no order.
        keep_words: Whether a quality whose answers are all words is kept as categories.
        skip: Whether what cannot be read is left out and counted.
    """

    scales: Mapping[str, Sequence[str]] = field(default_factory=dict)
    keep_words: bool = True
    skip: bool = False

    def scale_of(self, quality: str) -> Sequence[str] | None:
        """The declared words of a quality."""
        return self.scales.get(quality, self.scales.get(""))


@dataclass(frozen=True)
class Values:
    """Answers read.

    Attributes:
        value: Numbers; null where nothing was said, or a word.
        label: Words of qualities that have nothing but words.
        scale: The JSON of a declared scale; null elsewhere.
        notes: What was taken for what, and what was left out, in sentences.
    """

    value: pl.Series
    label: pl.Series
    scale: pl.Series
    notes: tuple[str, ...]


def given(cells: pl.Series) -> pl.Series:
    """Cells without blanks around them, null where they hold no answer."""
    plain = cells.str.strip_chars()
    return plain.set(plain.str.to_lowercase().is_in(NOT_GIVEN), None)


def leading_number(cells: pl.Series) -> pl.Series:
    """The number that an answer is, or that stands beside its label.

    Examples:
        >>> cells = ["7 - Very much", "1 (not at all)", "5 = strongly agree", "Agree (4)", "3"]
        >>> leading_number(pl.Series(cells)).to_list()
        [7.0, 1.0, 5.0, 4.0, 3.0]
        >>> leading_number(pl.Series(["2024-01-05", "3-4", "4/5", "good", "1,000 a"])).to_list()
        [None, None, None, None, None]
    """
    plain = cells.cast(pl.Float64, strict=False)
    plain = plain.set(~plain.is_finite(), None)
    labelled = pl.coalesce(
        cells.str.extract(_BEFORE, 1).cast(pl.Float64, strict=False),
        cells.str.extract(_AFTER, 1).cast(pl.Float64, strict=False),
    )
    frame = pl.DataFrame({"plain": plain}).with_columns(labelled=labelled)
    return frame.select(pl.coalesce("plain", "labelled"))["plain"].alias(cells.name)


def well_known_scale(words: Sequence[str]) -> tuple[str, ...] | None:
    """The order in which words of a well-known scale stand; None for other words.

    Examples:
        >>> well_known_scale(["often", "never", "always"])
        ('Never', 'Rarely', 'Sometimes', 'Often', 'Always')
        >>> well_known_scale(["red", "green"]) is None
        True
    """
    said = {word.strip().lower() for word in words}
    fitting = [scale for scale in _WELL_KNOWN if said <= {word.lower() for word in scale}]
    return min(fitting, key=len) if fitting and len(said) > 1 else None


def readable(cells: pl.Series, scale: Sequence[str] | None = None) -> bool:
    """Whether a column holds answers: numbers, labelled numbers, or words of a scale.

    Examples:
        >>> readable(pl.Series(["1", "7 - Very much", None])), readable(pl.Series(["Hi!", "Yo."]))
        (True, False)
    """
    said = given(cells).drop_nulls()
    if not len(said):
        return False
    if leading_number(said).null_count() == 0:
        return True
    words = {word.lower() for word in said.unique()}
    known = scale or well_known_scale(said.unique().to_list())
    return known is not None and words <= {word.strip().lower() for word in known}


def readable_columns(
    frame: pl.DataFrame, columns: Sequence[str], scale: Sequence[str] | None = None
) -> list[str]:
    """The columns that hold answers, those on which everybody agreed among them.

    One word alone tells no scale: a column of nothing but "Yes" is known by the "No" in another.

    Examples:
        >>> frame = pl.DataFrame({"a": ["Yes", "No"], "b": ["Yes", "Yes"], "c": ["nice", "nice"]})
        >>> readable_columns(frame, ["a", "b", "c"])
        ['a', 'b']
    """
    own = [c for c in columns if readable(frame[c], scale)]
    spoken = {c: given(frame[c]).drop_nulls().unique(maintain_order=True) for c in columns}
    alone = {c: words[0] for c, words in spoken.items() if c not in own and len(words) == 1}
    words = [spoken[c] for c in own if leading_number(spoken[c]).null_count()]
    others = pl.concat(words).unique().to_list() if words else list(set(alone.values()))
    agreed = [c for c, word in alone.items() if well_known_scale([*others, word]) is not None]
    return [c for c in columns if c in own or c in agreed]


def read_values(
    table: pl.DataFrame, reading: Reading, file: str, place: Place | None = None
) -> Values:
    """Numbers and words from the text in `value`, quality by quality.

    Args:
        table: Columns `value` as text, and `quality`.
        reading: How to read.
        file: What to call the file in messages.
        place: Says where a row stands.

    Examples:
        >>> table = pl.DataFrame({"quality": ["q"] * 3, "value": ["Bad", "Good", "NA"]})
        >>> order = Reading({"": ["Bad", "So so", "Good"]})
        >>> read_values(table, order, "r.csv").value.to_list()
        [1.0, 3.0, None]
    """
    said = given(table["value"].cast(pl.String))
    rows = pl.DataFrame(
        {"said": said, "quality": table["quality"].cast(pl.String), "number": leading_number(said)}
    ).with_row_index("row")
    value, label, scale = (
        pl.Series(name, [None], kind).new_from_index(0, table.height)
        for name, kind in (("value", pl.Float64), ("label", pl.String), ("scale", pl.String))
    )
    notes: list[str] = []
    for (name,), part in rows.group_by(["quality"], maintain_order=True):
        quality = str(name)
        found = _read(part, quality, reading, file, place)
        value = value.scatter(part["row"], found.value)
        label = label.scatter(part["row"], found.label)
        scale = scale.scatter(part["row"], found.scale)
        notes += found.notes
    return Values(value, label, scale, tuple(notes))


def _read(
    part: pl.DataFrame, quality: str, reading: Reading, file: str, place: Place | None
) -> Values:
    """The answers about one quality."""
    words = part.filter(pl.col("said").is_not_null() & pl.col("number").is_null())
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, part.height)
    order = reading.scale_of(quality)
    if order is not None and tuple(order) != (NOMINAL,) and words.height:
        return _ordered(part, quality, order, reading, file, place)
    labelled = part.filter(
        pl.col("number").is_not_null() & pl.col("said").cast(pl.Float64, strict=False).is_null()
    )
    notes = []
    if labelled.height:
        first = labelled.row(0, named=True)
        notes.append(
            f"{quality}: {counted(labelled.height, 'answer')} with a label beside the number "
            f"({first['said']!r}) is taken as the number ({first['number']:g})."
            if labelled.height == 1
            else f"{quality}: {labelled.height:,} answers with a label beside the number "
            f"({first['said']!r}) are taken as the number ({first['number']:g})."
        )
    if not words.height:
        return Values(part["number"], nothing, nothing, tuple(notes))
    if words.height == part["said"].count():
        spoken = words["said"].unique(maintain_order=True).to_list()
        known = None if tuple(order or ()) == (NOMINAL,) else well_known_scale(spoken)
        ordered = known is not None and len(known) > 2 and len(spoken) > 2
        if reading.keep_words and not ordered:
            return Values(part["number"], part["said"], nothing, tuple(notes))
        if not (reading.skip and not reading.keep_words):
            raise DialensError(_all_words(quality, words, known, reading, file, place))
    if not reading.skip:
        raise DialensError(_some_words(quality, words, part, file, place))
    notes.append(
        f"{quality}: {counted(words.height, 'answer')} of {part.height:,} cannot be read as a "
        f"number (first: {_first(words, place)}) and left out."
    )
    return Values(part["number"], nothing, nothing, tuple(notes))


def _ordered(
    part: pl.DataFrame,
    quality: str,
    order: Sequence[str],
    reading: Reading,
    file: str,
    place: Place | None,
) -> Values:
    """Words as their place on the declared scale: 1 upwards, or 0 and 1 where there are two."""
    start = 0.0 if len(order) == 2 else 1.0
    codes = {word.strip().lower(): start + rank for rank, word in enumerate(order)}
    coded = part["said"].str.to_lowercase().replace_strict(codes, default=None)
    coded = coded.cast(pl.Float64, strict=False)
    wrong = part.with_columns(coded=coded).filter(
        pl.col("said").is_not_null() & pl.col("coded").is_null()
    )
    notes = [f"{quality}: {listed(list(order))} are taken as {start:g} to {max(codes.values()):g}."]
    if wrong.height:
        if not reading.skip:
            raise DialensError(
                f"{file}, {_first(wrong, place)} of {quality} is not on the scale that --scale "
                f"declares ({listed(list(order))}). Add it to the scale in its place, mend it, or "
                "leave such answers out with --on-error skip."
            )
        notes.append(
            f"{quality}: {counted(wrong.height, 'answer')} of {part.height:,} not on the declared "
            f"scale (first: {_first(wrong, place)}) left out."
        )
    kind: dict[str, object] = {"kind": "yes_no", "low": 0, "high": 1, "labels": list(order)}
    if len(order) > 2:
        kind |= {"kind": "likert", "low": 1, "high": len(order)}
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, part.height)
    scale = pl.Series([json.dumps(kind)], dtype=pl.String).new_from_index(0, part.height)
    return Values(coded, nothing, scale, tuple(notes))


def _first(words: pl.DataFrame, place: Place | None) -> str:
    row = words.row(0, named=True)
    where = f"row {row['row'] + 1}" if place is None else place(row["row"])
    return f"{where}: {row['said']!r}"


def _all_words(
    quality: str,
    words: pl.DataFrame,
    known: Sequence[str] | None,
    reading: Reading,
    file: str,
    place: Place | None,
) -> str:
    """Why answers in words need an order, and the option that gives it."""
    spoken = words["said"].unique(maintain_order=True).to_list()
    some = listed([repr(word) for word in spoken[:7]])
    paste = ",".join(known) if known else ",".join(sorted(spoken)[:7])
    ask = "" if known else " with the words in their order, the lowest first"
    nominal = f", or --scale {NOMINAL} if they have no order" if reading.keep_words else ""
    return (
        f"{file}, {_first(words, place)}: the answers about {quality} are words ({some}). Say "
        f'their order, the lowest first: --scale "{paste}"{ask}{nominal}.'
    )


def _some_words(
    quality: str, words: pl.DataFrame, part: pl.DataFrame, file: str, place: Place | None
) -> str:
    return (
        f"{file}, {_first(words, place)}: {words.height:,} of {part.height:,} answers about "
        f"{quality} cannot be read as a number, the others can. Write a number there (or NA where "
        "nothing was answered), or leave such answers out with --on-error skip."
    )
