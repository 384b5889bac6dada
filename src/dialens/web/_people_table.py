"""Everybody who took part in any version, as rows to sort, to filter and to download."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime

import polars as pl

from dialens.base import for_spreadsheet
from dialens.studies.store import OperationStore, StudyRecord
from dialens.web._rater_quality import RaterQuality
from dialens.web._site import Site

_AND = ", "
EXCLUDED = "excluded"
"""Beside the states of a session: somebody who is left out of the analysis."""


@dataclass(frozen=True)
class PersonRow:
    """A person as the table shows them.

    Attributes:
        participant: The pseudonym.
        state: Of the last attempt, as times are.
        excluded: Whether they are left out of the analysis.
        cell: The condition.
        version: Of the study.
        begun_at: When the last attempt began.
        minutes: From then to its end; none while it is under way.
        flags: What should be looked at twice; none where it is not known.
        code: The completion code; with commas between where they came back and got more.
        paid_at: When they were paid, as far as the database was told.
        excluded_at: When they were excluded.
        excluded_why: The reason.
        rater_kind: `human`, `llm` or `simulated`.
        wave: The last part of the study that they began.
    """

    participant: str
    state: str
    excluded: bool
    cell: str
    version: str
    begun_at: datetime
    minutes: float | None
    flags: tuple[str, ...] | None
    code: str | None
    paid_at: datetime | None
    excluded_at: datetime | None
    excluded_why: str | None
    rater_kind: str
    wave: int

    @property
    def codes(self) -> list[str]:
        """All completion codes."""
        return (self.code or "").split(_AND)


Key = Callable[[PersonRow], tuple[bool, str | float | datetime]]


def _key(value: Callable[[PersonRow], str | float | datetime | None], empty: str | float) -> Key:
    def key(row: PersonRow) -> tuple[bool, str | float | datetime]:
        found = value(row)
        return (False, empty) if found is None else (True, found)

    return key


SORTS: Mapping[str, Key] = {
    "participant": _key(lambda row: row.participant, ""),
    "state": _key(lambda row: EXCLUDED if row.excluded else row.state, ""),
    "cell": _key(lambda row: row.cell, ""),
    "wave": _key(lambda row: float(row.wave), 0.0),
    "version": _key(lambda row: row.version.zfill(8), ""),
    "begun": _key(lambda row: row.begun_at.timestamp(), 0.0),
    "minutes": _key(lambda row: row.minutes, 0.0),
    "flags": _key(lambda row: None if row.flags is None else len(row.flags), 0.0),
    "code": _key(lambda row: row.code, ""),
}
"""What the table can be sorted by; what is missing comes first in ascending order."""


@dataclass(frozen=True)
class Selection:
    """Which people are shown, and in what order; empty texts select everybody.

    Attributes:
        find: Part of a pseudonym or completion code.
        state: State of the last attempt, or `excluded`.
        cell: The condition.
        version: Of the study.
        flag: A flag, or `any`.
        sort: One of `SORTS`.
        order: `asc` or `desc`.
    """

    find: str = ""
    state: str = ""
    cell: str = ""
    version: str = ""
    flag: str = ""
    sort: str = "begun"
    order: str = "desc"

    def of(self, rows: Iterable[PersonRow]) -> list[PersonRow]:
        """The rows that are selected, sorted."""
        key = SORTS.get(self.sort, SORTS["begun"])
        return sorted(filter(self._has, rows), key=key, reverse=self.order != "asc")

    def _has(self, row: PersonRow) -> bool:
        sought = self.find.strip().lower()
        names = (row.participant.lower(), (row.code or "").lower())
        state = row.excluded if self.state == EXCLUDED else self.state in ("", row.state)
        flags = row.flags or ()
        return (
            (not sought or any(sought in name for name in names))
            and state
            and self.cell in ("", row.cell)
            and self.version in ("", row.version)
            and (not self.flag or (bool(flags) if self.flag == "any" else self.flag in flags))
        )

    def query(self, **changes: str) -> dict[str, str]:
        """As an address holds it, with some things changed; nothing that goes without saying."""
        usual = asdict(Selection())
        return {k: v for k, v in (asdict(self) | changes).items() if v != usual.get(k, "")}

    def sorted_by(self, column: str) -> dict[str, str]:
        """The address for sorting by a column, the other way round if it is sorted by already."""
        falls = self.sort == column and self.order == "desc"
        return self.query(sort=column, order="asc" if falls else "desc")


class People:
    """Everybody who took part in a study, whatever version they met."""

    def __init__(self, site: Site) -> None:
        """People of the site's study."""
        self._site = site
        self._sites = {site.study.hash: site, **site.versions}

    def rows(self) -> list[PersonRow]:
        """One row a person."""
        return [row for record in self._records() for row in self._of(record)]

    def under_way(self) -> str:
        """What is being worked out about them, in words; empty if nothing is."""
        qualities = [site.watch.quality() for site in self._sites.values()]
        return next((one.under_way for one in qualities if one.under_way), "")

    def quality(self, study: str, participant: str) -> RaterQuality | None:
        """How somebody answers; none where that is not known."""
        return self._raters(study).get(participant)

    def _records(self) -> Sequence[StudyRecord]:
        return [one for one in self._site.store.studies() if one.name == self._site.study.name]

    def _raters(self, study: str) -> dict[str, RaterQuality]:
        site = self._sites.get(study)
        if site is None:
            return {}
        return {one.participant: one for one in site.watch.quality().raters}

    def _of(self, record: StudyRecord) -> list[PersonRow]:
        raters = self._raters(record.hash)
        waves = OperationStore(self._site.store, "dashboard").participants_frame(record.hash)
        last = waves.group_by("rater", maintain_order=True).agg(
            pl.exclude("code").last(), pl.col("code").drop_nulls().str.join(_AND)
        )
        table = last.with_columns(pl.col("code").replace("", None))
        return [
            PersonRow(
                row["rater"],
                row["state"],
                row["excluded"],
                row["cell"],
                row["version"],
                row["begun_at"],
                row["minutes"],
                raters[row["rater"]].flags if row["rater"] in raters else None,
                row["code"],
                row["paid_at"],
                row["excluded_at"],
                row["excluded_why"],
                row["rater_kind"],
                row["wave"],
            )
            for row in table.iter_rows(named=True)
        ]


def as_csv(rows: Iterable[PersonRow]) -> str:
    """The rows as a spreadsheet reads them; times are in UTC."""
    names = [field.name for field in fields(PersonRow)]
    cells = [[_cell(getattr(row, name)) for name in names] for row in rows]
    table = pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String), orient="row")
    return for_spreadsheet(table).write_csv(line_terminator="\r\n")


def _cell(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or None
    return f"{value:.3f}" if isinstance(value, float) else str(value)
