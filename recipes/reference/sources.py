"""The public conversations behind the reference values, each speaker as an agent.

A conversation between two people is read twice, once with each of them in the agent's place, so
that a unit is always one speaker in one dialogue. Of the systems' conversations only the system's
side counts. Names of people are replaced by numbers as soon as a file is read.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dialens.corpus import Dialogue, Turn

Talk = list[tuple[str, str]]
"""Who said what, in order."""

FEWEST_TURNS = 4


@dataclass(frozen=True)
class Source:
    """Conversations of one kind.

    Attributes:
        name: What the table calls it.
        group: `people` or `systems`.
        title: What it is, in words.
        found: Where it was published.
        licence: As stated there.
        when: When the conversations were held.
        read: Gives each conversation and whose turns count, by system.
        most: How many conversations of each system (or of people) are drawn.
    """

    name: str
    group: str
    title: str
    found: str
    licence: str
    when: str
    read: Callable[[Path], Iterator[tuple[str, Talk, Sequence[str]]]]
    most: int

    def dialogues(self, data: Path, seed: int) -> list[Dialogue]:
        """A random sample of its conversations, the same for the same seed."""
        by_system: dict[str, list[tuple[Talk, Sequence[str]]]] = {}
        for system, talk, speakers in self.read(data):
            by_system.setdefault(system, []).append((_joined(talk), speakers))
        rng = np.random.default_rng([seed, *self.name.encode()])
        chosen = []
        for system, talks in sorted(by_system.items()):
            drawn = rng.permutation(len(talks))[: self.most]
            chosen += [(system, int(place), *talks[place]) for place in np.sort(drawn)]
        return [
            _dialogue(f"{self.name}/{system}", f"{system}-{place}-{number}", talk, speaker)
            for system, place, talk, speakers in chosen
            for number, speaker in enumerate(speakers)
        ]


def _joined(talk: Talk) -> Talk:
    """Messages that one side sends in a row as one turn; empty ones are left out."""
    made: Talk = []
    for speaker, text in talk:
        if not text.strip():
            continue
        if made and made[-1][0] == speaker:
            made[-1] = (speaker, f"{made[-1][1]} {text}")
        else:
            made.append((speaker, text))
    return made


def _dialogue(system: str, dialog: str, talk: Talk, agent: str) -> Dialogue:
    turns = [
        Turn("agent", "agent", text) if speaker == agent else Turn("partner", "partner", text)
        for speaker, text in talk
    ]
    return Dialogue(system, system, f"{system}:{dialog}", turns)


def _rows(data: Path, name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(data / "human_judgements" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _talk(row: Mapping[str, Any]) -> Talk:
    return [(turn["speaker"], turn["text"]) for turn in row["context"]]


def _spot_the_bot(domain: str) -> Callable[[Path], Iterator[tuple[str, Talk, Sequence[str]]]]:
    """The human conversations of Spot the Bot; of each the longest part that raters saw."""

    def read(data: Path) -> Iterator[tuple[str, Talk, Sequence[str]]]:
        longest: dict[str, Talk] = {}
        for row in _rows(data, "spot_the_bot"):
            if row["system"] == f"{domain}/human":
                talk = _talk(row)
                if len(talk) > len(longest.get(row["dialog_id"], [])):
                    longest[row["dialog_id"]] = talk
        for talk in longest.values():
            yield "people", talk, ("entity0", "entity1")

    return read


def _wassa(data: Path) -> Iterator[tuple[str, Talk, Sequence[str]]]:
    """Conversations of crowd workers who had read the same newspaper article."""
    for part in ("conv_level_with_labels_train", "conv_level_dev"):
        table = pl.read_csv(
            data / "traits" / "wassa2023" / f"WASSA23_{part}.tsv",
            separator="\t",
            quote_char=None,
            columns=["conversation_id", "turn_id", "text", "speaker_number"],
            schema_overrides={"text": pl.String, "speaker_number": pl.String},
        ).sort("conversation_id", "turn_id")
        for _, rows in table.group_by("conversation_id", maintain_order=True):
            talk = [
                (str(who), text or "")
                for who, text in rows.select("speaker_number", "text").iter_rows()
            ]
            if len(talk) >= FEWEST_TURNS:
                yield "people", talk, ("1", "2")


def _reddit(name: str) -> Callable[[Path], Iterator[tuple[str, Talk, Sequence[str]]]]:
    """Ends of threads in which two people reply to each other at least twice each."""

    def read(data: Path) -> Iterator[tuple[str, Talk, Sequence[str]]]:
        with gzip.open(data / "reddit" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            comments = [json.loads(line) for line in lines]
        known = {f"t1_{comment['id']}": comment for comment in comments}
        replies = Counter(comment["parent_id"] for comment in comments)
        used: set[str] = set()
        for comment in comments:
            if replies[f"t1_{comment['id']}"]:
                continue
            path: list[dict[str, Any]] = []
            above: dict[str, Any] | None = comment
            while above is not None and _alternates(path, above):
                path.insert(0, above)
                above = known.get(above["parent_id"])
            # Threads branch: what two people said is counted once.
            fresh = used.isdisjoint(each["id"] for each in path)
            if len(path) >= FEWEST_TURNS and fresh and not any(_gone(each) for each in path):
                used.update(each["id"] for each in path)
                talk = [("AB"[place % 2], each["body"]) for place, each in enumerate(path)]
                yield "people", talk, ("A", "B")

    return read


def _alternates(path: Sequence[Mapping[str, Any]], above: Mapping[str, Any]) -> bool:
    if path and above["author"] == path[0]["author"]:
        return False
    return len(path) < 2 or above["author"] == path[1]["author"]


def _gone(comment: Mapping[str, Any]) -> bool:
    return comment["author"] in (None, "[deleted]", "AutoModerator") or comment["body"] in (
        "[deleted]",
        "[removed]",
        "",
    )


def _judged(
    name: str, *, leave_out: Sequence[str] = (), pooled: bool = False
) -> Callable[[Path], Iterator[tuple[str, Talk, Sequence[str]]]]:
    """Whole dialogues of systems with people."""

    def read(data: Path) -> Iterator[tuple[str, Talk, Sequence[str]]]:
        for row in _rows(data, name):
            system = "systems" if pooled else str(row["system"])
            if system not in leave_out and row["context"]:
                yield system, _talk(row), ("system",)

    return read


def _dbdc3(data: Path) -> Iterator[tuple[str, Talk, Sequence[str]]]:
    """The dialogues of the breakdown challenge: of each the unit with the longest context."""
    longest: dict[str, dict[str, Any]] = {}
    for row in _rows(data, "dbdc3_en"):
        if len(row["context"]) >= len(longest.get(row["dialog_id"], {"context": ()})["context"]):
            longest[row["dialog_id"]] = row
    for row in longest.values():
        yield row["system"], [*_talk(row), ("system", row["response"])], ("system",)


_FIGURES_ONLY = "none stated; only figures are derived from it"

SOURCES: tuple[Source, ...] = (
    Source(
        "convai2",
        "people",
        "Crowd workers getting to know each other in the roles of personas (ConvAI2)",
        "the human dialogues in github.com/jderiu/spot-the-bot-code; Dinan et al. 2019",
        _FIGURES_ONLY,
        "2018",
        _spot_the_bot("convai2"),
        180,
    ),
    Source(
        "empathetic_dialogues",
        "people",
        "Crowd workers, one telling of an emotional situation (EmpatheticDialogues)",
        "the human dialogues in github.com/jderiu/spot-the-bot-code; Rashkin et al. 2019",
        "CC BY-NC 4.0 (texts; only figures are derived from it)",
        "2018",
        _spot_the_bot("empathetic"),
        180,
    ),
    Source(
        "dailydialog",
        "people",
        "Everyday conversations written for learners of English (DailyDialog)",
        "the human dialogues in github.com/jderiu/spot-the-bot-code; Li et al. 2017",
        "CC BY-NC-SA 4.0 (texts; only figures are derived from it)",
        "2017",
        _spot_the_bot("dailydialog"),
        180,
    ),
    Source(
        "news_talk",
        "people",
        "Crowd workers talking about a newspaper article on a misfortune (WASSA 2023)",
        "shared task of WASSA 2023, track CONV; Omitaomu et al. 2022",
        "for research; only figures are derived from it",
        "2022",
        _wassa,
        60,
    ),
    Source(
        "reddit_threads",
        "people",
        "Two people replying to each other in Reddit threads",
        "27 complete threads, collected through Reddit's interface",
        _FIGURES_ONLY,
        "2010 to 2025",
        _reddit("praw_complete_threads_comments"),
        90,
    ),
    Source(
        "change_my_view",
        "people",
        "Two people arguing at length in r/changemyview",
        "paths of comments published by UKP Lab",
        _FIGURES_ONLY,
        "2016",
        _reddit("ukp_cmv_context3_comments"),
        90,
    ),
    Source(
        "parlai_models",
        "systems",
        "Ten retrieval, sequence-to-sequence and language models with and without a persona",
        "github.com/TianboJi/Dialogue-Eval; Ji et al. 2022",
        "MIT",
        "2021",
        _judged("ji2022_continuous", leave_out=("qc",)),
        16,
    ),
    Source(
        "ieval",
        "systems",
        "Four chatbots made to be empathetic, told of an emotional situation",
        "github.com/Sea94/ieval; Svikhnushina et al. 2022",
        "CC BY 4.0",
        "2022",
        _judged("ieval"),
        60,
    ),
    Source(
        "dbdc3",
        "systems",
        "Four chatbots of the Dialogue Breakdown Detection Challenge 3",
        "github.com/dbd-challenge/dbdc3; Higashinaka et al. 2017",
        "MIT",
        "2017",
        _dbdc3,
        25,
    ),
    Source(
        "conture",
        "systems",
        "Chatbots of the Alexa Prize and others, as rated in ConTurE",
        "github.com/alexa/conture; Ghazarian et al. 2022",
        "CC BY 4.0",
        "2020 to 2022",
        _judged("conture_dial", pooled=True),
        110,
    ),
    Source(
        "persona_language_models",
        "systems",
        "A large language model asked to have one of ten personalities, talking with people",
        "github.com/isle-dev/self-report",
        _FIGURES_ONLY,
        "2024",
        _judged("selfreport_bfi"),
        12,
    ),
)
"""All of them, people first."""
