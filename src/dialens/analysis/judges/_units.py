"""Whether what was judged in a study is what stands in a corpus."""

from collections import Counter
from collections.abc import Mapping

import polars as pl

from dialens.base import DialensError, counted, listed
from dialens.corpus import Corpus
from dialens.studies import Study

_MOST_NAMED = 3
_Unit = tuple[str, int | None]


def known_units(
    units: pl.DataFrame, study: Study, corpus: Corpus, *, skip: bool, notes: list[str]
) -> pl.DataFrame:
    """Those units that the corpus has: the same dialogue and turn, agent and words.

    Args:
        units: agent, dialog, turn.
        study: In which they were judged.
        corpus: The conversations.
        skip: Whether others are left out, with a note; they are an error otherwise.
        notes: Takes the note.
    """
    said = _said(corpus, units["dialog"].unique().to_list())
    expected = _expected(study)
    problems: Counter[str] = Counter()
    named: dict[str, list[str]] = {}
    kept: list[_Unit] = []
    for agent, dialog, turn in units.sort("dialog", "turn", nulls_last=True).iter_rows():
        why = _problem(agent, (dialog, turn), said, expected)
        if why is None:
            kept.append((dialog, turn))
            continue
        problems[why] += 1
        named.setdefault(why, []).append(dialog if turn is None else f"{dialog}, turn {turn}")
    if problems:
        _tell(problems, named, study, skip=skip and bool(kept), notes=notes)
    return pl.DataFrame(kept, schema={"dialog": pl.String, "turn": pl.Int32}, orient="row")


def _said(corpus: Corpus, dialogs: list[str]) -> dict[str, pl.DataFrame]:
    """The turns of those of the dialogues that the corpus has."""
    turns = (
        corpus.turns.filter(pl.col("dialog").is_in(dialogs))
        .select("dialog", "agent", "turn", "text")
        .collect(engine="streaming")
    )
    return {str(name[0]): part for name, part in turns.group_by("dialog", maintain_order=True)}


def _expected(study: Study) -> dict[_Unit, list[str]]:
    """What was judged, in words, as the study has it."""
    return {
        (one.dialog, one.turn): (
            [said.text for said in item.context] if one.turn is None else [one.text]
        )
        for item in study.items
        for one in item.candidates
    }


def _problem(
    agent: str,
    unit: _Unit,
    said: Mapping[str, pl.DataFrame],
    expected: Mapping[_Unit, list[str]],
) -> str | None:
    dialog, turn = unit
    there = said.get(dialog)
    if there is None:
        return "not in the corpus"
    if there["agent"][0] != agent:
        return "of another agent in the corpus"
    rows = there if turn is None else there.filter(pl.col("turn") == turn)
    if not rows.height:
        return "about a turn that the corpus does not have"
    words = expected.get(unit)
    if words is not None and rows.sort("turn")["text"].to_list() != words:
        return "in other words in the corpus"
    return None


def _tell(
    problems: Counter[str],
    named: Mapping[str, list[str]],
    study: Study,
    *,
    skip: bool,
    notes: list[str],
) -> None:
    parts = []
    for why, count in problems.most_common():
        some = "; ".join(named[why][:_MOST_NAMED])
        more = " …" if count > _MOST_NAMED else ""
        parts.append(f"{count:,} {'is' if count == 1 else 'are'} {why} ({some}{more})")
    text = f"Of what was judged in {study.name}, {listed(parts)}"
    if skip:
        notes.append(f"{text}: left out.")
        return
    remedy = (
        "Name the conversations that the study was made of, or leave such ones out with --on-error "
        "skip."
    )
    if study.design.items.corpus is None:
        items = counted(len(study.items), "item")
        remedy = (
            f"Its {items} stand in the study file, not in a corpus: make a study of conversations "
            "with `dialens study new --corpus CHATS`."
        )
    raise DialensError(f"{text}. {remedy}")
