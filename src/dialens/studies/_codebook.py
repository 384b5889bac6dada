"""The codebook of a study: every variable of its data, made from the design and instruments."""

from collections.abc import Mapping, Sequence

from dialens.studies._judgements import COMPREHENSION
from dialens.studies._paradata import paradata_columns
from dialens.studies._study import Study, quality_label
from dialens.studies._talk_columns import EXCHANGE_COLUMNS, FAILURE_COLUMNS
from dialens.studies._types import JSON, SCREEN_KINDS
from dialens.studies.design import (
    ANCHOR_VALUE,
    LANGUAGE,
    OWN_ANSWER,
    TAG,
    VARIANT,
    question_field,
)
from dialens.studies.instruments import instrument

RATING_COLUMNS: dict[str, str] = {
    "study": "The study's name",
    "rater": "Pseudonym of the participant",
    "rater_kind": "human, llm or simulated",
    "level": "What is judged: a turn or a dialog",
    "system": "System that the judged agent belongs to",
    "agent": "Agent that gave the response",
    "dialog": "Conversation (or item) that is judged",
    "turn": "Number of the judged turn, from 0; empty for whole conversations",
    "quality": "What it is judged on",
    "scale": "The instrument and its range, as JSON",
    "value": "The rating",
    "normalised": "The rating on a common scale; left to the analysis",
    "condition": "The participant's cell and the item's levels",
    "factors": "Levels of all factors, as JSON",
    "position": "Place of the response on the screen (or of the turn among those judged), from 0",
    "order": "Place of the item in the session, from 0",
    "anchor": "What was shown of the standard: its number, `textual`, or nothing",
    "shown_at": "When the screen was shown (UTC)",
    "answered_at": "When it was submitted (UTC)",
    "active_ms": "Milliseconds for which the screen was visible before it was submitted",
    "length": "Characters of the response, where it has text",
    "screen": "The screen's name in the plan",
    "screen_active_ms": "Milliseconds for which the whole screen was visible",
    "late": "Seconds after the deadline at which it came, 0 if in time; empty without a deadline",
    "screen_words": "Words of context and responses that the screen showed for the first time",
    "attempt": "Counts from 1; more where people began again or came back for a later wave",
    "wave": "The part of the study, from 1; more where people came back for it",
    "session_state": "completed, live or expired",
    "version": "Of the study",
    "excluded": "Whether the participant is left out of the analysis",
}
"""The columns of ratings.parquet."""

JUDGE_COLUMNS: dict[str, str] = {
    "judge": "Language model that rated, by its name in judges.yaml",
    "prompt": "Prompt that it read around the screen",
    "temperature": "Of sampling; empty for the model's own setting",
    "memory": "fresh: each screen by itself; session: after what was said before",
    "think": "none, short or long: how much it thought in words first",
    "answer_mode": "json, text or probabilities",
    "repeat": "Counts from 1: how often the same was asked",
    "ask": "The same where one answer to the same text stands in several places",
    "occasion": "Counts from 1: the same was asked again at another time (study judge --again)",
    "fingerprint": "Of what the server ran, where it says so",
    "cost": "What that answer cost, once for all rows that share it; empty where no price is known",
}
"""Further columns of ratings.parquet where language models took the study."""
SWAPPED_COLUMNS: dict[str, str] = {
    "pair": "The item, which comes twice",
    "order_shown": "1 if the first response of the study file stood first, 2 if it stood last",
    "place": "Of a choice: the place that won, from 1; 0 for a tie",
}
"""Further columns of ratings.parquet where responses are shown in both orders."""

PARTICIPANT_COLUMNS: dict[str, str] = {
    "study": "The study's name",
    "version": "Of the study",
    "rater": "Pseudonym of the participant",
    "rater_kind": "human, llm or simulated",
    "recruiter": "Where the participant came from",
    "wave": "The part of the study, from 1; more where people came back for it",
    "cell": "The participant's condition",
    "language": "In which the participant took part",
    "attempts": "How often the participant began, up to the end of this wave",
    "state": "completed, live, expired, or how else it ended: of the last attempt, as what follows",
    "screens": "Submitted so far",
    "begun_at": "When the participant began (UTC)",
    "consented_at": "When the consent was submitted (UTC)",
    "last_seen_at": "The last sign of life (UTC)",
    "ended_at": "When the session was completed or expired (UTC)",
    "minutes": "From beginning to end",
    "active_minutes": "For which screens were visible",
    "paid_at": "When the participant was paid, as far as the database was told (UTC)",
    "excluded": "Whether the participant is left out of the analysis",
    "excluded_at": "Since when (UTC)",
    "excluded_why": "Why",
    "flags": "What should be looked at twice, with commas between",
    "code_sha256": "SHA-256 of the completion code",
}
"""The columns of participants.parquet."""

CHANGE_COLUMNS: dict[str, str] = {
    "study": "The study's name",
    "version": "Of the study",
    "at": "When (UTC)",
    "by": "dashboard, api, file or command",
    "what": "The setting or the cell; excluded, paid; identities exported",
    "rater": "Pseudonym of the participant it is about",
    "before": "The value until then, as JSON",
    "after": "The value from then on, as JSON",
    "why": "The reason that was given",
}
"""The columns of changes.parquet."""

SCREEN_COLUMNS: dict[str, str] = {
    "screen": "The screen within the participation",
    "kind": ", ".join(SCREEN_KINDS[:-1]),
    "index": "Its place in the participation, from 0",
    "shown_at": "When it was shown (UTC)",
    "answered_at": "When it was submitted (UTC)",
    "active_ms": "Milliseconds for which it was visible before it was submitted",
    "late": "Seconds after the deadline at which it came, 0 if in time; empty without a deadline",
    **paradata_columns(),
}
"""The columns of screens.parquet, beside those that say whose they are."""

_NOTHING_ELSE = (
    "From `device` on, the page's script measured it, or it is empty: without a script nothing is "
    "known. Nothing else of a participant's device, browser or typing is recorded: no address, no "
    "fingerprint, no text before it is sent. `typing` and `pasting` are reasons to look twice; "
    "nobody is excluded by them."
)

_FACTOR_MEANING = {
    "anchor": "What participants see of the standard response",
    ANCHOR_VALUE: "The number that is shown before a rating",
    TAG: "What stands above a response",
    VARIANT: "The form of a response",
    OWN_ANSWER: "Whether participants reply themselves first",
    "layout": "How many questions share a screen",
    "scale": "The instrument all qualities are judged with",
    "order": "The order of the items",
    "deadline": "The time for a rating screen",
    "render": "Whether Markdown in what was said is shown as what it means",
}


def codebook(study: Study, *, judged: bool = False) -> dict[str, JSON]:
    """Every variable of a study's data, as JSON.

    Args:
        study: The study.
        judged: Whether language models took it too.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> made = codebook(study_of(TEA))
        >>> list(made), made["qualities"]["coherence"]["scales"][0]["title"]
        (['study', 'version', 'hash', 'title', 'ratings', 'participants', 'changes', 'qualities',
          'factors', 'cells', 'screens', 'questions', 'checks'], 'Magnitude estimation')
    """
    design = study.design
    return {
        "study": study.name,
        "version": design.version,
        "hash": study.hash,
        "title": design.title,
        "ratings": RATING_COLUMNS
        | (SWAPPED_COLUMNS if design.presentation.responses == "swap" else {})
        | ({} if design.conversations is None else {"partial": EXCHANGE_COLUMNS["partial"]})
        | {LANGUAGE: "In which the participant took part"}
        | (JUDGE_COLUMNS if judged else {}),
        "participants": PARTICIPANT_COLUMNS,
        "changes": CHANGE_COLUMNS,
        "qualities": {name: _quality(study, name) for name in design.qualities},
        "factors": _agents(study)
        | {
            name: {
                "meaning": _FACTOR_MEANING.get(name, "A factor of this study"),
                "assign": factor.assign,
                "levels": {level.name: level.note or "" for level in factor.levels},
            }
            for name, factor in design.factors.items()
        },
        "cells": study.targets,
        **_talk_columns(study),
        "screens": SCREEN_COLUMNS,
        "questions": _questions(study),
        "checks": _checks(study),
    }


def _agents(study: Study) -> dict[str, JSON]:
    talks = study.design.conversations
    if talks is None:
        return {}
    meaning = "The agent that participants talk with, blind to which"
    if talks.side_by_side:
        meaning = "The two agents that answer side by side, blind to which"
    levels = {
        level: " against ".join(f"{one.agent} of {one.of_system}" for one in agents)
        for level, agents in talks.line_ups.items()
    }
    return {talks.factor: {"meaning": meaning, "assign": talks.assign, "levels": levels}}


def _quality(study: Study, name: str) -> dict[str, JSON]:
    design = study.design
    quality = design.qualities[name]
    scale = design.factors.get("scale")
    used = [level.instrument for level in scale.levels] if scale else [quality.instrument]
    made = [instrument(settings.kind) for settings in used if settings is not None]
    return {
        "label": quality_label(design, name),
        "definition": quality.definition,
        "question": quality.question or quality_label(design, name),
        "required": quality.required,
        **({"level": quality.level} if quality.level else {}),
        "scales": [
            found.codebook(found.options(settings))
            for found, settings in zip(made, used, strict=True)
        ],
    }


def _talk_columns(study: Study) -> dict[str, JSON]:
    if study.design.conversations is None:
        return {}
    return {"exchanges": EXCHANGE_COLUMNS, "failures": FAILURE_COLUMNS}


def _questions(study: Study) -> dict[str, JSON]:
    asked, screening = study.design.questionnaires, study.design.screening
    made = {}
    for when, parts in (
        ("screening", [] if screening is None else [screening]),
        ("before", asked.before),
        ("after", asked.after),
    ):
        for part in parts:
            for name, question in part.questions.items():
                field = question_field(name, question)
                entry = instrument(field.instrument).codebook(field.options)
                if "statements" in field.options:
                    for line, text in field.options["statements"].items():
                        made[f"{name}.{line}"] = {
                            "prompt": f"{question.prompt} {text}",
                            "when": when,
                            "required": question.required,
                            **entry,
                        }
                    continue
                choices = {}
                if "choices" in field.options:
                    shown = instrument(field.instrument).form(field, study.texts)
                    choices = {choice.value: choice.label for choice in shown.choices}
                made[name] = {
                    "prompt": question.prompt,
                    "when": when,
                    "required": question.required,
                    **entry,
                    **({"choices": choices} if choices else {}),
                }
    return made


def _checks(study: Study) -> dict[str, JSON]:
    made: dict[str, JSON] = {}
    told = study.design.instructions.comprehension
    if told is not None:
        made[COMPREHENSION] = {
            "meaning": f"Comprehension questions ({told.tries} tries): {', '.join(told.questions)}",
            "values": "passed or failed",
        }
    for name, check in study.design.checks.attention.items():
        for number, after in enumerate(check.after, start=1):
            made[f"check_{name}_{number}"] = {
                "meaning": f"{check.question.prompt} (after {after} items)",
                "values": "passed or failed",
            }
    for item in study.gold:
        made[f"check_gold_{item.id}"] = {
            "meaning": f"Gold item {item.id}: {'; '.join(map(_rule, item.expect))}",
            "values": "passed or failed",
        }
    return made


def _rule(rule: Mapping[str, JSON]) -> str:
    words = {"at_least": "at least", "at_most": "at most", "above": "better than"}
    said = [f"{words[name]} {rule[name]}" for name in words if name in rule]
    return f"{rule['quality']} of {rule['response']} {' and '.join(said)}"


def codebook_markdown(study: Study, *, judged: bool = False) -> str:
    r"""The same for people.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> codebook_markdown(study_of(TEA)).split("\n")[0]
        '# Codebook: How good are these replies?'
    """
    book = codebook(study, judged=judged)
    lines = [
        f"# Codebook: {book['title']}",
        "",
        f"Study `{book['study']}`, version {book['version']}, definition `{book['hash'][:12]}`.",
        "",
        "## ratings.parquet: one row a rating",
        "",
        *_table(("column", "meaning"), [(f"`{k}`", v) for k, v in book["ratings"].items()]),
        "## participants.parquet: one row a person and wave",
        "",
        *_table(("column", "meaning"), [(f"`{k}`", v) for k, v in book["participants"].items()]),
        "## changes.parquet: one row a change while people took part",
        "",
        *_table(("column", "meaning"), [(f"`{k}`", v) for k, v in book["changes"].items()]),
        "## Qualities",
        "",
    ]
    for name, quality in book["qualities"].items():
        lines += [f"**{quality['label']}** (`{name}`). {quality['definition']}".rstrip(), ""]
        for scale in quality["scales"]:
            lines += [_scale(scale), ""]
    if book["factors"]:
        rows = [
            (f"`{name}`", factor["meaning"], factor["assign"], ", ".join(factor["levels"]))
            for name, factor in book["factors"].items()
        ]
        lines += ["## Factors", "", *_table(("factor", "meaning", "participants", "levels"), rows)]
    if "exchanges" in book:
        for name, what in (("exchanges", "a message"), ("failures", "a failure of an agent")):
            columns = [(f"`{k}`", v) for k, v in book[name].items()]
            lines += [f"## {name}.parquet: one row {what}", ""]
            lines += _table(("column", "meaning"), columns)
    columns = [(f"`{k}`", v) for k, v in book["screens"].items()]
    lines += ["## screens.parquet: one row a screen", "", _NOTHING_ELSE, ""]
    lines += _table(("column", "meaning"), columns)
    if book["questions"] or book["checks"]:
        rows = [
            (f"`{name}`", asked["prompt"], asked["title"], _answers(asked))
            for name, asked in book["questions"].items()
        ]
        rows += [(f"`{n}`", c["meaning"], "Check", c["values"]) for n, c in book["checks"].items()]
        lines += [
            "## questionnaires.parquet: one row an answer",
            "",
            *_table(("question", "asked", "kind", "answers"), rows),
        ]
    return "\n".join(lines).rstrip() + "\n"


def _scale(scale: Mapping[str, JSON]) -> str:
    inputs = ", ".join(f"{name} {entry['value']}" for name, entry in scale["inputs"].items())
    unit = f" In the table: {scale['unit']}." if scale["unit"] else ""
    cited = f" ({scale['citation']})" if scale["citation"] else ""
    return f"{scale['title']}{cited}: {scale['answer']}.{unit}" + (f" {inputs}." if inputs else "")


def _answers(asked: Mapping[str, JSON]) -> str:
    if "choices" in asked:
        return "; ".join(asked["choices"].values())
    return str(asked["answer"])


def _table(head: Sequence[str], rows: Sequence[Sequence[JSON]]) -> list[str]:
    def line(cells: Sequence[JSON]) -> str:
        return (
            "| " + " | ".join(str(c).replace("|", "\\|").replace("\n", " ") for c in cells) + " |"
        )

    return [line(head), "|" + "---|" * len(head), *(line(row) for row in rows), ""]
