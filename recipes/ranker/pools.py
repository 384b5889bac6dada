"""What the ranker learns from and is measured on: texts whole and broken, replies given and not.

Six heads and a language model share one encoder. `valid_utterance` and `next_utterance` are USL-H's
(Phy et al. 2020), the others DialogRPT's (Gao et al. 2020), all learned here from Reddit's threads
and from open chats. One thread or dialogue in eight is held out of everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dialens.statistics import area_under_curve, percentile_estimate
from recipes.encoder.chats import read_human_replies
from recipes.encoder.transfer import broken
from recipes.ranker.threads import RANKED, RankedPairs, Threads, ranked_pairs

HEADS = {
    "valid_utterance": slice(0, 1),
    "next_utterance": slice(1, 2),
    "human_vs_rand": slice(2, 3),
    "width": slice(3, 4),
    "depth": slice(4, 5),
    "updown": slice(5, 6),
}
OUTPUTS = 6
SHIPPED_HEADS = {name: part for name, part in HEADS.items() if name != "updown"}
"""Votes could not be learned from the few thousand pairs at hand: no better than chance."""

CLEAR_GAP = {"width": 2, "depth": 2, "updown": 4}
"""By how much replies must differ to count in the figures; training takes any difference."""
_SAME_THREAD = 0.3
_FEWEST_WORDS = 3
_MOST_BROKEN = 150_000


@dataclass(frozen=True)
class Pools:
    """One part of the data. Rows are numbers of texts; -1 is no text.

    Attributes:
        texts: All texts, whatever part they belong to.
        earlier: For each text, the turn before the one it answers.
        parent: For each text, what it answers.
        thread: For each text, where it stands; of use for resampling only.
        plain: Texts as people wrote them.
        whole: Some of them.
        spoilt: The same, broken by rule.
        given: Replies.
        elsewhere: For each of them, a reply that was given elsewhere.
        ranked: Pairs of replies to one parent.
    """

    texts: list[str]
    earlier: np.ndarray
    parent: np.ndarray
    thread: np.ndarray
    plain: np.ndarray
    whole: np.ndarray
    spoilt: np.ndarray
    given: np.ndarray
    elsewhere: np.ndarray
    ranked: dict[str, RankedPairs]

    def inputs(self, replies: np.ndarray, contexts: np.ndarray) -> list[tuple[str, str]]:
        """Return replies under the contexts of the replies in ``contexts``, as texts."""
        found = []
        for reply, row in zip(replies, contexts, strict=True):
            above = (self.earlier[row], self.parent[row])
            context = "\n".join(self.texts[i] for i in above if i >= 0)
            found.append((context, self.texts[reply]))
        return found


def make_pools(
    threads: Threads,
    chats: Path | None,
    *,
    held_out: bool,
    seed: int,
    most: int | None = None,
) -> Pools:
    """Draw one part of the data.

    Args:
        threads: From :mod:`recipes.ranker.threads`.
        chats: Folder of rated chats, for how people go on there; None leaves them out.
        held_out: Which part.
        seed: Of every choice.
        most: Of each kind, for measuring on a sample.
    """
    generator = np.random.default_rng(seed)
    size = len(threads)
    texts = list(threads.text)
    parent = list(threads.parent)
    earlier = [-1 if i < 0 else int(threads.parent[i]) for i in threads.parent]
    thread = list(threads.thread)
    given = threads.answered(held_out=held_out)
    if chats is not None:
        human = read_human_replies(chats).part(held_out=held_out)
        rows = []
        for number, (context, reply) in enumerate(human.inputs):
            texts += [context, reply]
            parent += [-1, len(texts) - 2]
            earlier += [-1, -1]
            thread += [-number - 1] * 2
            rows.append(len(texts) - 1)
        given = np.concatenate([given, np.array(rows, dtype=np.int64)])
    given = generator.permutation(given)[:most]
    own = np.flatnonzero(threads.usable & (threads.held_out == held_out))
    chatted = given[given >= size]
    enough = [i for i in (*own, *chatted) if len(texts[i].split()) >= _FEWEST_WORDS]
    plain = generator.permutation(np.array(enough, dtype=np.int64))[:most]
    whole = plain[:_MOST_BROKEN]
    ruined = broken([texts[i] for i in whole], generator)
    changed = np.array([a != texts[i] for a, i in zip(ruined, whole, strict=True)], dtype=bool)
    spoilt = len(texts) + np.arange(len(whole))
    texts += ruined
    blank = [-1] * len(ruined)
    ranked = {what: ranked_pairs(threads, what, held_out=held_out, seed=seed) for what in RANKED}
    all_threads = np.array(thread + [int(thread[i]) for i in whole])
    return Pools(
        texts=texts,
        earlier=np.array(earlier + blank),
        parent=np.array(parent + blank),
        thread=all_threads,
        plain=plain,
        whole=whole[changed],
        spoilt=spoilt[changed],
        given=given,
        elsewhere=_elsewhere(given, all_threads, size, generator),
        ranked=ranked,
    )


def _elsewhere(
    given: np.ndarray, thread: np.ndarray, reddit: int, generator: np.random.Generator
) -> np.ndarray:
    # Some from the same thread, where the subject is the same and only the answer does not fit;
    # chats are short, so there the reply of another chat is taken.
    found = np.empty_like(given)
    for kind in (given < reddit, given >= reddit):
        rows = given[kind]
        if len(rows):
            found[kind] = rows[generator.permutation(len(rows))]
    by_thread: dict[int, list[int]] = {}
    for row in given[given < reddit]:
        by_thread.setdefault(int(thread[row]), []).append(int(row))
    near = (generator.random(len(given)) < _SAME_THREAD) & (given < reddit)
    for place in np.flatnonzero(near):
        others = by_thread[int(thread[given[place]])]
        other = others[int(generator.integers(len(others)))]
        if other != given[place]:
            found[place] = other
    return found


def clear_pairs(pools: Pools, what: str, least: float | None = None) -> RankedPairs:
    """Return the pairs that count in the figures."""
    pairs = pools.ranked[what]
    return pairs.take(np.flatnonzero(pairs.gap >= (CLEAR_GAP[what] if least is None else least)))


def sample(pools: Pools, most: int, *, seed: int = 0) -> tuple[Pools, dict[str, np.ndarray]]:
    """Return a smaller part for the figures, and which rows it has of each kind asked for."""
    generator = np.random.default_rng(seed)
    rows = {name: np.arange(min(most, len(replies))) for name, (replies, _) in asked(pools).items()}
    ranked = {}
    for what in RANKED:
        pairs = clear_pairs(pools, what)
        chosen = np.sort(generator.permutation(len(pairs))[:most])
        ranked[what] = pairs.take(chosen)
        rows[f"{what} higher"] = rows[f"{what} lower"] = chosen
    smaller = replace(
        pools,
        whole=pools.whole[:most],
        spoilt=pools.spoilt[:most],
        given=pools.given[:most],
        elsewhere=pools.elsewhere[:most],
        ranked=ranked,
    )
    return smaller, rows


def asked(pools: Pools) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Return what a model is asked for the figures: replies, and whose contexts (None: alone)."""
    found: dict[str, tuple[np.ndarray, np.ndarray | None]] = {
        "whole": (pools.whole, None),
        "spoilt": (pools.spoilt, None),
        "given": (pools.given, pools.given),
        "elsewhere": (pools.elsewhere, pools.given),
    }
    for what in RANKED:
        pairs = clear_pairs(pools, what)
        found[f"{what} higher"] = pairs.higher, pairs.higher
        found[f"{what} lower"] = pairs.lower, pairs.higher
    return found


def figures(logits: Mapping[str, np.ndarray], pools: Pools) -> dict[str, dict[str, Any]]:
    """Return each head's figure with its interval, resampled over threads.

    Args:
        logits: By the names of :func:`asked`, one row an input, one column a head.
        pools: What was asked about.
    """
    found: dict[str, dict[str, object]] = {}
    column = {name: part.start for name, part in HEADS.items()}
    whole = logits["whole"][:, column["valid_utterance"]]
    spoilt = logits["spoilt"][:, column["valid_utterance"]]
    truth = np.repeat([1, 0], [len(whole), len(spoilt)])
    both = np.concatenate([whole, spoilt])
    found["valid_utterance"] = {
        "whole against broken texts, AUC": percentile_estimate(
            lambda rows: area_under_curve(both[rows], truth[rows]), len(both), resamples=200
        ).as_dict(digits=4)
    }
    owner = pools.thread[pools.given]
    for name in ("next_utterance", "human_vs_rand"):
        better = logits["given"][:, column[name]] - logits["elsewhere"][:, column[name]]
        found[name] = {"given against another reply, accuracy": _accuracy(better, owner)}
    words = np.array([len(one.split()) for one in pools.texts])
    for what in RANKED:
        pairs = clear_pairs(pools, what)
        if not len(pairs):
            continue
        owner = pools.thread[pairs.higher]
        better = logits[f"{what} higher"] - logits[f"{what} lower"]
        longer = (words[pairs.higher] - words[pairs.lower]).astype(float)
        found[what] = {
            "pair accuracy": _accuracy(better[:, column[what]], owner),
            "the longer one, accuracy": _accuracy(longer, owner),
        }
    return found


def _accuracy(better: np.ndarray, owner: np.ndarray) -> dict[str, float | int | str]:
    right = (better > 0) + 0.5 * (better == 0)
    _, place = np.unique(owner, return_inverse=True)
    sums, counts = np.bincount(place, right), np.bincount(place)
    result = percentile_estimate(
        lambda rows: float(sums[rows].sum() / counts[rows].sum()), len(sums)
    )
    return {**result.as_dict(digits=4), "n": len(better), "threads": len(sums)}
