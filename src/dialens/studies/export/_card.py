"""The data card of an export: what was collected, from whom, when, and what to know about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from dialens.studies._study import Study
from dialens.studies.store import CellProgress, StudyRecord, Times

if TYPE_CHECKING:
    from dialens.studies.export._export import Exported

_FILES = (
    ("participants.parquet", "One row a person and wave: how far they came, flags, exclusions"),
    ("ratings.parquet", "One row a rating, with everything that was on the screen"),
    ("questionnaires.parquet", "One row an answer to a question; checks as passed or failed"),
    ("answers.parquet", "Every answer as it was given, with practice and checks, as JSON"),
    (
        "events.parquet",
        "What happened on the pages: shown, input, changes, hidden, submitted",
    ),
    ("screens.parquet", "One row a screen, with the device it was answered on, and how"),
    ("consents.parquet", "Who agreed to which statement, with a hash of the text"),
    ("changes.parquet", "What was changed while people took part, by whom and when"),
    ("csv/", "All of these tables as text, with scripts for R and SPSS"),
    ("codebook.md, codebook.json", "Every variable, its scale and its meaning"),
)
_COMPREHENSION_FILE = ("comprehension.parquet", "Answers to comprehension questions, try by try")
_TALK_FILES = (
    ("conversations/", "The conversations with their ratings, as a corpus for `dialens score`"),
    ("exchanges.parquet", "One row a message of a participant, with the reply and what it took"),
    ("failures.parquet", "One row each time an agent failed, with the reason"),
)
_JUDGES_FILE = (
    "judges.parquet",
    "What language models were asked and answered, with cost and reasons for what is missing",
)


@dataclass(frozen=True)
class ExportedVersion:
    """A version of a study, and how far it is."""

    record: StudyRecord
    study: Study
    progress: Sequence[CellProgress]
    times: Times
    precision: Sequence[str] = ()


def card_markdown(
    versions: Sequence[ExportedVersion], answers: pl.DataFrame, done: Exported
) -> str:
    """The data card, in Markdown; the newest version comes last."""
    study = versions[-1].study
    design = study.design
    files = _FILES if design.conversations is None else (*_FILES, *_TALK_FILES)
    if any(one.study.design.instructions.comprehension is not None for one in versions):
        files = (*files, _COMPREHENSION_FILE)
    if done.judges:
        files = (*files, _JUDGES_FILE)
    named = "; ".join(
        f"version {one.record.version}, definition `{one.record.hash[:12]}`" for one in versions
    )
    lines = [
        f"# Data card: {_line(design.title)}",
        "",
        f"Study `{study.name}`, {named}. {_line(design.description)}".rstrip(),
        "",
        *_table(("file", "content"), [(f"`{name}`", told) for name, told in files]),
        "## What was collected",
        "",
        f"{done.participants:,} participants ({_kinds(answers)}), {done.ratings:,} ratings, "
        f"{done.answers:,} answers, {done.events:,} events{_when(answers)}.",
        "",
        *_judges(done),
        *_talks(study, done),
        *_table(
            (
                "version",
                "cell",
                "wanted",
                "completed",
                "under way",
                "expired",
                "begun again",
                "ended early",
                "excluded",
            ),
            [(one.record.version, *_counts(cell)) for one in versions for cell in one.progress],
        ),
        *(line for one in versions for line in _times(one, several=len(versions) > 1)),
        *(line for one in versions for said in one.precision for line in (said, "")),
        "Sessions that expired or are under way are among the ratings as far as they got; the "
        "column `session_state` tells them apart. People who were excluded are there with "
        "`excluded` true, and are not counted as completed; `dialens study analyze` leaves them "
        "out. Every table has a column `version`.",
        "",
    ]
    if done.left_out:
        rows = [(reason, count) for reason, count in done.left_out.items()]
        lines += ["## Answers that are not among the ratings", "", *_table(("why", "n"), rows)]
    lines += [
        "## Times",
        "",
        "`shown_at` and `answered_at` are the server's, in UTC. `active_ms` is the time for which "
        "the screen was visible by the participant's own clock, hidden tabs left out, shared "
        "equally among the ratings on it; `screen_active_ms` is the whole of it. `screen_words` "
        "are the words of context and responses that the screen showed for the first time. `late` "
        "are the seconds after the screen's deadline, counted from when the server first sent it; "
        "answers of the first five seconds after it are in time, for the network's sake.",
        "",
        "## People",
        "",
        "Participants are pseudonyms without meaning. Ids of workers are not in these files, and "
        "of completion codes only the SHA-256 (`code_sha256`): a code stands beside a name where "
        "people are paid. "
        "Free text may name people: read it before you pass it on. Who asks to be forgotten is "
        "deleted from the database by pseudonym; then make the export again and delete this one.",
    ]
    return "\n".join(lines) + "\n"


def _judges(done: Exported) -> list[str]:
    """Who else judged, where somebody did."""
    if not done.judges:
        return []
    return [
        f"{done.judged:,} of the ratings are those of language models (`rater_kind` llm), from "
        f"{done.judges:,} screens or questions that they were shown.",
        "",
    ]


def _talks(study: Study, done: Exported) -> list[str]:
    if study.design.conversations is None:
        return []
    return [
        f"{done.conversations:,} conversations; agents failed {done.failures:,} times. Replies "
        "that never came are not rated.",
        "",
        *(line for said in done.conversations_said for line in (said, "")),
    ]


def _kinds(answers: pl.DataFrame) -> str:
    counts = answers.group_by("rater_kind").agg(pl.col("rater").n_unique()).sort("rater_kind")
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.iter_rows()) or "none yet"


def _when(answers: pl.DataFrame) -> str:
    if not answers.height:
        return ""
    first, last = answers.select(
        pl.col("answered_at").min().dt.date().alias("first"),
        pl.col("answered_at").max().dt.date().alias("last"),
    ).row(0)
    return f", from {first} to {last}"


def _counts(cell: CellProgress) -> tuple[object, ...]:
    reached = (cell.target, cell.completed, cell.live, cell.expired, cell.restarted)
    return (f"`{cell.cell}`", *reached, cell.ended, cell.excluded)


def _times(one: ExportedVersion, *, several: bool) -> list[str]:
    times = one.times
    if times.completed_minutes is None:
        return []
    who = f"Half of those who completed version {one.record.version}" if several else ""
    sentence = (
        f"{who or 'Half of those who completed'} took {times.completed_minutes:.1f} minutes or less"
    )
    if times.active_minutes is not None:
        sentence += f", {times.active_minutes:.1f} of them with the page visible"
    return [f"{sentence} (medians).", ""]


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    def line(cells: Iterable[object]) -> str:
        return "| " + " | ".join(_line(str(cell)).replace("|", "\\|") for cell in cells) + " |"

    return [line(head), "|" + "---|" * len(head), *(line(row) for row in rows), ""]


def _line(text: str) -> str:
    return " ".join(text.split())
