"""Conversations that people rated: what they liked, and how people themselves go on in a chat.

Reddit teaches what draws reactions; these sets, all under open licences, are in the style of chat.
None of them is a set that the models are reported on.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from dialens.base import DialensError
from dialens.statistics import ranks

CONTEXT_TURNS = 2
_TURNS_A_DIALOG = 6
_FEWEST_FOR_A_RATER = 4

Pair = tuple[str, str]


@dataclass(frozen=True)
class ChatPairs:
    """(context, reply) pairs of chats with a target in [0, 1]; whole dialogues are held out."""

    inputs: list[Pair]
    target: np.ndarray
    held_out: np.ndarray

    def part(self, *, held_out: bool) -> ChatPairs:
        """Return the pairs of one part."""
        return self._take(np.flatnonzero(self.held_out == held_out))

    def some(self, most: int, *, seed: int) -> ChatPairs:
        """Return a sample of at most so many."""
        order = np.random.default_rng(seed).permutation(len(self.inputs))
        return self._take(np.sort(order[:most]))

    def _take(self, rows: np.ndarray) -> ChatPairs:
        inputs = [self.inputs[i] for i in rows]
        return ChatPairs(inputs, self.target[rows], self.held_out[rows])


def read_units(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the units of one judgement file."""
    file = folder / f"{name}.jsonl.gz"
    if not file.exists():
        raise DialensError(f"{file} is missing: it holds rated conversations")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def held_out(dialog: str, *, share: int = 8) -> bool:
    """Tell whether a dialogue is for validation: one in ``share``, by its name alone.

    Examples:
        >>> sum(held_out(f"d{i}") for i in range(8000)) in range(900, 1100)
        True
    """
    return zlib.crc32(dialog.encode()) % share == 0


def read_appeal(folder: Path) -> ChatPairs:
    """Return agents' replies with how well people liked them.

    * Ji et al. (2022): a dialogue's "interesting" and "fun", ranked among the dialogues that the
      same person rated; every reply of the agent takes its dialogue's value.
    * DBDC3: the share of raters who saw no breakdown (half for "possible").
    """
    inputs: list[Pair] = []
    target: list[float] = []
    out: list[bool] = []
    for unit, value in _liked_dialogs(folder):
        turns = unit["context"]
        places = [i for i, turn in enumerate(turns) if i and turn["speaker"] == "system"]
        for place in places[-_TURNS_A_DIALOG:]:
            inputs.append((_context(turns, place), turns[place]["text"]))
            target.append(value)
            out.append(held_out(unit["dialog_id"]))
    for unit in read_units(folder, "dbdc3_en"):
        if unit["context"]:
            inputs.append((_context(unit["context"], len(unit["context"])), unit["response"]))
            target.append(1 - float(np.mean(unit["ratings"]["breakdown"])) / 2)
            out.append(held_out(unit["dialog_id"]))
    return ChatPairs(inputs, np.array(target), np.array(out))


def read_human_replies(folder: Path) -> ChatPairs:
    """Return how people answered in chats; the target is 1 throughout."""
    longest: dict[str, list[dict[str, str]]] = {}
    for name in ("ji2022_continuous", "dbdc3_en"):
        for unit in read_units(folder, name):
            known = longest.get(unit["dialog_id"], [])
            if len(unit["context"]) > len(known):
                longest[unit["dialog_id"]] = unit["context"]
    inputs: list[Pair] = []
    out: list[bool] = []
    for dialog, turns in longest.items():
        for place, turn in enumerate(turns):
            if place and turn["speaker"] == "user" and len(turn["text"].split()) > 2:
                inputs.append((_context(turns, place), turn["text"]))
                out.append(held_out(dialog))
    return ChatPairs(inputs, np.ones(len(inputs)), np.array(out))


def mismatched(pairs: ChatPairs, *, seed: int) -> ChatPairs:
    """Return the same contexts with replies from elsewhere; the target is 0 throughout.

    Examples:
        >>> some = ChatPairs([("a", "x"), ("b", "y")], np.ones(2), np.zeros(2, bool))
        >>> mismatched(some, seed=0).target.tolist()
        [0.0, 0.0]
    """
    generator = np.random.default_rng(seed)
    other = generator.permutation(len(pairs.inputs))
    inputs = [
        (pair[0], pairs.inputs[int(i)][1]) for pair, i in zip(pairs.inputs, other, strict=True)
    ]
    return ChatPairs(inputs, np.zeros(len(inputs)), pairs.held_out)


def _context(turns: list[dict[str, str]], place: int) -> str:
    return "\n".join(turn["text"] for turn in turns[max(0, place - CONTEXT_TURNS) : place])


def _liked_dialogs(folder: Path) -> Iterator[tuple[dict[str, Any], float]]:
    units = list(read_units(folder, "ji2022_continuous"))
    liked = np.array([(u["ratings"]["interesting"][0] + u["ratings"]["fun"][0]) / 2 for u in units])
    raters = np.array([unit["raters"][0] for unit in units])
    normal = NormalDist()
    for rater in np.unique(raters):
        rows = np.flatnonzero(raters == rater)
        if len(rows) < _FEWEST_FOR_A_RATER:
            continue
        # Raters use the scale in their own ways: ranks, spread as a normal and squashed again.
        shares = (ranks(liked[rows]) - 0.5) / len(rows)
        for row, share in zip(rows, shares, strict=True):
            yield units[int(row)], normal.cdf(0.8 * normal.inv_cdf(float(share)))
