"""Times in a table: read as ISO, seconds or the dates of a region, and the order they give.

Whether `01/05` is in May or in January is decided over the whole column (`_dates`). A guessed
column whose times cannot be read is kept beside the turns, unless the rows are plainly not in the
order of the conversation: then dialens stops, since it would score dialogues backwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import polars as pl

from dialens.base import DialensError
from dialens.corpus._checks import LINE
from dialens.corpus._columns import ColumnNames
from dialens.corpus._dates import WrittenDate, date_order, days_by_text
from dialens.corpus._intake import Intake
from dialens.corpus._source import Source
from dialens.corpus._tables import TURNS

_DATE = r"^\s*(\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4})\.?(?:$|[\sT,])"
_DATE_PARTS = r"^(\d+)([./-]) ?(\d+)([./-]) ?(\d+)$"
_AMERICAN = r"/.*\d ?[AP]M\b"
_CLOCK = r"(\d{1,2}):(\d\d)(?::(\d\d))?(?: ?([AaPp])\.?[Mm]\.?)?"
_CLOCKS = ("%H:%M:%S%.f", "%H:%M", "%I:%M%p", "%I:%M:%S%p")
_WEEKDAY = r"(?i)^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +"
_NAMED_MONTHS = tuple(
    f"{day} {clock}"
    for day in ("%B %d %Y", "%d %B %Y")
    for clock in ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p", "%H:%M:%S %z")
)
_IN_WORDS = {"dmy": "day, month, year", "mdy": "month, day, year", "ymd": "year, month, day"}


@dataclass(frozen=True)
class RowOrder:
    """What the turns of a dialogue follow where they have no numbers.

    Attributes:
        by_time: Their times; the rows if not.
        newest_first: Whether the rows run backwards, so that of equal times the later row counts
            first.
    """

    by_time: bool = False
    newest_first: bool = False


def time_of(dtype: pl.DataType | None) -> pl.Expr:
    """The column `created_at` of some type as a time; null where it is none."""
    value = pl.col("created_at")
    if dtype is None or dtype == pl.Null:
        return pl.lit(None, TURNS["created_at"]).alias("created_at")
    if isinstance(dtype, pl.Datetime):
        zoned = value.dt.convert_time_zone("UTC") if dtype.time_zone else value
        zoned = zoned if dtype.time_zone else zoned.dt.replace_time_zone("UTC")
        return zoned.cast(TURNS["created_at"])
    if dtype.is_numeric():
        return pl.from_epoch(value, "s").dt.replace_time_zone("UTC").cast(TURNS["created_at"])
    text = value.cast(pl.String).str.strip_chars().str.replace(r"^(\d{4}-\d\d-\d\d) ", "${1}T")
    seconds = pl.when(text.str.contains(r"^\d{10}(\.\d+)?$")).then(text).cast(pl.Float64)
    milliseconds = pl.when(text.str.contains(r"^\d{13}$")).then(text).cast(pl.Float64)
    epoch = pl.coalesce(seconds * 1e6, milliseconds * 1e3).cast(pl.Int64)
    zoned = text.str.replace(r"Z$", "+00:00")
    forms = [
        zoned.str.to_datetime(form, time_unit="us", strict=False)
        for form in ("%Y-%m-%dT%H:%M:%S%.f%:z", "%Y-%m-%dT%H:%M:%S%.f%z", "%Y-%m-%dT%H:%M%:z")
    ]
    naive = [
        text.str.to_datetime(form, time_unit="us", strict=False).dt.replace_time_zone("UTC")
        for form in ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d")
    ]
    counted = pl.from_epoch(epoch, "us").dt.replace_time_zone("UTC")
    return pl.coalesce(*forms, *naive, counted).alias("created_at")


def with_times(
    rows: pl.LazyFrame, columns: ColumnNames, source: Source, intake: Intake
) -> tuple[pl.LazyFrame, RowOrder]:
    """The rows with times that can be read, and the order they give.

    Raises:
        DialensError: Times cannot be read, and the rows are not in their order.
    """
    theirs = next((name for name, ours in columns.ours.items() if ours == "created_at"), None)
    if theirs is None:
        return rows, RowOrder()
    shown = theirs.strip()
    odd = _odd(rows)
    if odd.height and rows.collect_schema()["created_at"] == pl.String:
        rows = _in_iso(rows, shown, source, intake)
        odd = _odd(rows)
    if odd.height and theirs in columns.guessed:
        if (line := _earlier_below_later(rows)) is not None:
            raise DialensError(
                f"{source.path}: {shown!r} holds times that cannot be read (seen: {odd.item()}), "
                f"and the rows do not stand in their order: line {line} is earlier than the row of "
                "the same conversation above it.\nWrite the times as 2024-05-01 10:30:00, or sort "
                "the rows and leave the column out."
            )
        intake.note(
            f"{source.path.name}: {shown!r} holds times that cannot be read (seen: {odd.item()}), "
            "so turns stand in the order of the rows."
        )
        return rows.rename({"created_at": shown.lower() + " (not read)"}), RowOrder()
    return rows, RowOrder(by_time=True, newest_first=_newest_first(rows))


def _odd(rows: pl.LazyFrame) -> pl.DataFrame:
    """The first value that is no time, if there is one."""
    there = pl.col("created_at").cast(pl.String).str.strip_chars().fill_null("") != ""
    time = time_of(rows.collect_schema()["created_at"])
    return rows.filter(there & time.is_null()).select("created_at").head(1).collect()


def _in_iso(rows: pl.LazyFrame, shown: str, source: Source, intake: Intake) -> pl.LazyFrame:
    """The rows with the dates of a region and named months written as ISO; others as they are."""
    text = pl.col("created_at").str.strip_chars()
    unread = time_of(pl.String()).is_null()
    written = text.str.extract(_DATE)
    seen = rows.filter(unread).select(
        "dialog", written.alias("date"), text.str.contains(_AMERICAN).alias("american")
    )
    frame = seen.filter(pl.col("date").is_not_null()).collect()
    read = [_named_month(text)]
    if frame.height:
        dates = _written_dates(frame["date"].unique(maintain_order=True))
        runs = _runs(frame, dates)
        order = date_order(runs, american=bool(frame["american"].any()))
        days = days_by_text(dates, order)
        read.insert(0, _regional(text, written, days))
        if days:
            first, day = next(iter(days.items()))
            intake.note(
                f"{source.path.name}: took the dates in {shown!r} for {_IN_WORDS[order]} "
                f"({first} is {day.isoformat()})."
            )
    iso = pl.coalesce(read).dt.to_string("%Y-%m-%dT%H:%M:%S%.f")
    return rows.with_columns(
        pl.when(unread)
        .then(pl.coalesce(iso, "created_at"))
        .otherwise("created_at")
        .alias("created_at")
    )


def _written_dates(texts: pl.Series) -> dict[str, WrittenDate]:
    parts = texts.to_frame("date").select(
        "date", pl.col("date").str.extract_groups(_DATE_PARTS).alias("parts")
    )
    return {
        text: WrittenDate((int(one), int(two), int(three)), mark)
        for text, (one, mark, two, other, three) in (
            (text, tuple(parts.values())) for text, parts in parts.drop_nulls().iter_rows()
        )
        if mark == other
    }


def _runs(frame: pl.DataFrame, dates: dict[str, WrittenDate]) -> list[list[WrittenDate]]:
    """The dates of each dialogue in the order of its rows, days that follow each other once."""
    changed = (pl.col("date") != pl.col("date").shift().over("dialog")).fill_null(value=True)
    days = frame.filter(changed).group_by("dialog", maintain_order=True).agg("date")
    return [[dates[one] for one in run if one in dates] for run in days["date"]]


def _regional(text: pl.Expr, written: pl.Expr, days: Mapping[str, date]) -> pl.Expr:
    day = written.replace_strict(days, default=None, return_dtype=pl.Date)
    rest = text.str.replace(_DATE, "").str.to_uppercase()
    clock = rest.str.replace_all(r"[\s,]|UTC$|Z$", "").str.replace(r"([AP])\.?M\.?$", "${1}M")
    times = [clock.str.to_time(form, strict=False) for form in _CLOCKS]
    midnight = pl.when(clock == "").then(pl.time(0, 0))
    return day.dt.combine(pl.coalesce(*times, midnight), "us")


def _named_month(text: pl.Expr) -> pl.Expr:
    plain = text.str.replace(_WEEKDAY, "").str.replace_all(r",| at\b", " ")
    plain = plain.str.replace_all(r"\s+", " ").str.replace(r" (GMT|UTC)$", " +0000")
    forms = []
    for form in _NAMED_MONTHS:
        time = plain.str.to_datetime(form, time_unit="us", strict=False)
        forms.append(time.dt.replace_time_zone(None) if form.endswith("%z") else time)
    return pl.coalesce(forms)


def _earlier_below_later(rows: pl.LazyFrame) -> int | None:
    """The line of the first row that is earlier than the one before it in its dialogue.

    Of times that cannot be read, those can be compared that differ in nothing but their clocks.
    """
    text = pl.col("created_at").cast(pl.String).str.strip_chars()
    clock = text.str.extract_groups(_CLOCK).struct
    hour, minute, second = (
        clock[number].cast(pl.Int32, strict=False).fill_null(0) for number in range(3)
    )
    half = clock[3].str.to_lowercase()
    hours = pl.when(half == "p").then(hour % 12 + 12).when(half == "a").then(hour % 12)
    seconds = hours.otherwise(hour) * 3600 + minute * 60 + second
    seen = rows.select(
        LINE,
        "dialog",
        text.str.replace(_CLOCK, "").alias("rest"),
        pl.when(text.str.contains(_CLOCK)).then(seconds).alias("clock"),
        time_of(rows.collect_schema()["created_at"]).alias("time"),
    )
    before = pl.col("time", "rest", "clock").shift().over("dialog").name.prefix("before ")
    earlier = (pl.col("time") < pl.col("before time")).fill_null(value=False)
    same_day = (pl.col("rest") == pl.col("before rest")) & (
        pl.col("clock") < pl.col("before clock")
    )
    found = (
        seen.with_columns(before)
        .filter(earlier | same_day.fill_null(value=False))
        .select(LINE)
        .head(1)
        .collect()
    )
    return int(found.item()) if found.height else None


def _newest_first(rows: pl.LazyFrame) -> bool:
    """Whether times never run forwards, within dialogues or else from one to the next."""
    time = time_of(rows.collect_schema()["created_at"])
    steps = rows.select("dialog", time).select(
        within=pl.col("created_at").diff().over("dialog"), between=pl.col("created_at").diff()
    )
    none = pl.duration()
    counts = steps.select(
        (pl.col(name) > none if forth else pl.col(name) < none).sum().alias(f"{name} {forth}")
        for name in ("within", "between")
        for forth in (True, False)
    )
    found = counts.collect().row(0, named=True)
    name = "within" if found["within True"] or found["within False"] else "between"
    return bool(found[f"{name} False"]) and not found[f"{name} True"]
