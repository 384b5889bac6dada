"""Drift in words: what changed behind a judge, said first, then how far its ratings moved."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from dialens.analysis.bias import StudyAnalysis
from dialens.analysis.judges import changed_behind
from dialens.base import interval, number, p_value
from dialens.report._page import Block, Finding, Findings, Remark, Section, Text, folded
from dialens.report._table import Table

_TOPIC = "drift"


def drift_sentences(drift: pl.DataFrame) -> Iterator[str]:
    """For the terminal: each judge and later occasion, then quality by quality."""
    for (judge, _), part in drift.group_by("judge", "occasion", maintain_order=True):
        said, another = _behind(part.row(0, named=True))
        yield f"{'! ' if another else ''}{judge}, {said}."
        for row in part.iter_rows(named=True):
            yield f"  {row['quality']}: {_numbers(row)}."


def drift_remarks(analysis: StudyAnalysis) -> list[Remark]:
    """Says where ratings of one judge are not all of one thing."""
    made = [
        Remark("Judges", f"{judge}: {text}.", warning=True)
        for judge, text in changed_behind(analysis.data.ratings).items()
    ]
    for (judge, _), part in analysis.drift.group_by("judge", "occasion", maintain_order=True):
        said, another = _behind(part.row(0, named=True))
        text = f"{judge}, {said}. Numbers are of the first occasion, but those under “Drift”."
        made.append(Remark("Judges", text, warning=another))
    return made


def drift_findings(analysis: StudyAnalysis) -> Iterator[Finding]:
    """How far each judge moved."""
    for row in analysis.drift.iter_rows(named=True):
        clear = row["p_adjusted"] is not None and row["p_adjusted"] < 0.05
        moved = "moved" if clear else "did not clearly move"
        moved = "did not move" if row["changed"] == 0 else moved
        if row["shift"] is None:
            moved = f"changed {number(row['changed'], percent=True)} of its choices"
        claim = f"{row['judge']} {moved} on {row['quality']} by occasion {row['occasion']}"
        yield Finding(claim, _numbers(row), clear=clear, topic=_TOPIC)


def drift_tables(analysis: StudyAnalysis) -> dict[str, Table]:
    """The table of drift, where judges were asked again."""
    if not analysis.drift.height:
        return {}
    rows = [
        (
            row["judge"],
            row["quality"],
            f"{row['occasion']}",
            row["date_after"] or "",
            row["fingerprint_after"] or "",
            f"{row['n']:,}",
            number(row["before"], 2),
            number(row["after"], 2),
            number(row["shift"], 2),
            interval(row["low"], row["high"], 2),
            "" if row["p_adjusted"] is None else p_value(row["p_adjusted"]),
            number(row["changed"], percent=True),
            number(row["changed_usual"], percent=True),
            row["reason"] or "",
        )
        for row in analysis.drift.iter_rows(named=True)
    ]
    heads = (
        "Judge", "Quality", "Occasion", "Asked", "Fingerprint", "Items", "Before", "After", "Shift",
        "95 % interval", "Corrected p", "Answers changed", "From repeat to repeat", "Why not",
    )  # fmt: skip
    note = (
        "The same screens judged again, against the first occasion. Shift: paired over items, by "
        "exchanging occasions (Hartigan 1969); answers that change from repeat to repeat need no "
        "drift."
    )
    return {_TOPIC: Table(_TOPIC, "Judges asked again", heads, rows, note, analysis.drift)}


def drift_section(analysis: StudyAnalysis, tables: Mapping[str, Table]) -> Iterator[Section]:
    """The section of drift; none where judges were asked once."""
    if _TOPIC not in tables:
        return
    lead = Text("The same judges read the same screens on a later occasion.")
    found = list(drift_findings(analysis))
    blocks: list[Block] = [lead, Findings(found), folded(tables[_TOPIC], open=True)]
    yield Section(_TOPIC, "Drift", blocks)


def _behind(row: Mapping[str, Any]) -> tuple[str, bool]:
    """When it was asked and what ran then; whether that is something else."""
    before, after = row["fingerprint_before"], row["fingerprint_after"]
    said = (
        f"occasion {row['occasion']} ({row['date_after']}) against the first ({row['date_before']})"
    )
    if before != after:
        told = f"fingerprint {after or 'unknown'} instead of {before or 'unknown'}"
        return f"{said}: another {told}, so the two are not of one judge", True
    return f"{said}: " + (f"the same fingerprint, {before}" if before else "no fingerprint"), False


def _numbers(row: Mapping[str, Any]) -> str:
    told = []
    if row["low"] is not None:
        told.append(
            f"moved by {number(row['shift'], 2)} points (95 % interval "
            f"{interval(row['low'], row['high'], 2)}, corrected p {p_value(row['p_adjusted'])}, "
            f"{row['n']:,} items)"
        )
    elif row["shift"] is not None:
        told.append(f"moved by {number(row['shift'], 2)} points ({row['reason']})")
    if row["changed"] is not None:
        usual = row["changed_usual"]
        beside = "" if usual is None else f"; {number(usual, percent=True)} from repeat to repeat"
        share = number(row["changed"], percent=True)
        told.append(f"{share} of {row['n_answers']:,} answers are others{beside}")
    return ", ".join(told) or str(row["reason"])
