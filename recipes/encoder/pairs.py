"""Training and validation pairs for engagement, from labelled posts.

Variants: ``plain`` (EnDex), ``ns`` (+ rule-made negatives), ``nsr`` (+ random replies and replies
from elsewhere in the thread) and ``soft``: every post with its z-score as a soft label, all
negatives, and a part of the texts in the style of chat corpora. In ``soft`` the random
replies are themselves posts, put under another context, so that length tells nothing there.
``relevance`` is another task on the same posts: the reply that was given against one that was
given elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dialens.base import DialensError
from dialens.models.training import (
    ALL_RULES,
    GENERIC,
    PAPER_RULES,
    chat_style,
    common_replies,
    opening,
    spoil,
)
from recipes.encoder.posts import DIMENSIONS, Posts

VARIANTS = ("plain", "ns", "nsr", "soft", "relevance")
KAPPA = 1.0
"""Standard deviations above the mean that make a post one of an ablation's positives."""


@dataclass(frozen=True)
class Pairs:
    """(context, reply) pairs with a target and the kind of each: real, ns, random or thread.

    ``row`` is the number of the post behind a real pair, -1 behind others, where it was asked for.
    """

    inputs: list[tuple[str, str]]
    target: np.ndarray
    kind: np.ndarray
    row: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.inputs)


class PairMaker:
    """Draws pairs from the posts of one part of the data (training or validation)."""

    def __init__(self, posts: Posts, rows: np.ndarray) -> None:
        self.posts = posts
        self.rows = rows
        self.generic = list(GENERIC) + common_replies([posts.text[i] for i in rows])
        sample = rows[:: max(1, len(rows) // 4000)]
        self.words = [word for i in sample for word in posts.text[i].split()]
        self.by_thread: dict[int, list[int]] = {}
        for row in rows:
            self.by_thread.setdefault(int(posts.thread[row]), []).append(int(row))

    def context(self, row: int, generator: np.random.Generator) -> str:
        """Return the parent's text, half of the time with what came before it."""
        before = self.posts.earlier[row]
        parent = self.posts.context[row]
        return f"{before[-400:]}\n{parent}" if before and generator.random() < 0.5 else parent

    def negative(
        self, kind: str, row: int, rules: Sequence[str], generator: np.random.Generator
    ) -> tuple[str, str]:
        """Return a bad pair made from one post."""
        context = self.context(row, generator)
        if kind == "thread":
            others = self.by_thread[int(self.posts.thread[row])]
            other = others[int(generator.integers(len(others)))]
            if other != row and self.posts.context[other] != self.posts.context[row]:
                return context, self.posts.text[other]
            kind = "random"
        if kind == "random":
            return context, self.posts.text[int(generator.choice(self.rows))]
        rule = rules[int(generator.integers(len(rules)))]
        text = self.posts.text[row]
        parent = self.posts.context[row]
        return context, spoil(rule, text, parent, self.words, self.generic, generator)

    def draw(self, variant: str, *, most: int, seed: int, positive: str = "score") -> Pairs:
        """Draw about ``most`` pairs.

        Args:
            variant: One of :data:`VARIANTS`.
            most: Upper bound of their number.
            seed: Of all choices.
            positive: ``score``, or the one dimension that picks the positives (ablation).
        """
        if variant == "soft":
            return self._soft(most, seed)
        if variant == "relevance":
            return self._relevance(most, seed)
        generator = np.random.default_rng(seed)
        engaging = self.posts.label == 1 if positive == "score" else self._led_by(positive)
        high = self.rows[engaging[self.rows]]
        low = self.rows[self.posts.label[self.rows] == 0]
        size = min(len(high), len(low), most // 2)
        high = generator.permutation(high)[:size]
        shares = {
            "plain": {"real": 1.0},
            "ns": {"real": 0.6, "ns": 0.4},
            "nsr": {"real": 0.45, "ns": 0.25, "random": 0.15, "thread": 0.15},
        }[variant]
        inputs = [(self.context(int(i), generator), self.posts.text[int(i)]) for i in high]
        kinds = ["real"] * len(inputs)
        low = generator.permutation(low)
        used = int(size * shares["real"])
        inputs += [(self.context(int(i), generator), self.posts.text[int(i)]) for i in low[:used]]
        kinds += ["real"] * used
        for kind, share in shares.items():
            if kind == "real":
                continue
            for row in generator.choice(high, int(size * share)):
                inputs.append(self.negative(kind, int(row), PAPER_RULES, generator))
                kinds.append(kind)
        target = np.zeros(len(inputs))
        target[: len(high)] = 1
        return Pairs(inputs, target, np.array(kinds))

    def _soft(self, most: int, seed: int) -> Pairs:
        generator = np.random.default_rng(seed)
        real = generator.permutation(self.rows)[: int(most * 0.5)]
        good = self.rows[self.posts.z[self.rows] > -0.5]
        inputs: list[tuple[str, str]] = []
        kinds: list[str] = []
        targets: list[float] = []
        for row in real:
            inputs.append((self.context(int(row), generator), self.posts.text[int(row)]))
            kinds.append("real")
            targets.append(float(0.55 + 0.4 * np.tanh(0.8 * self.posts.z[row])))
        for kind, share in {"ns": 0.22, "random": 0.14, "thread": 0.14}.items():
            for row in generator.choice(good, int(most * share)):
                inputs.append(self.negative(kind, int(row), ALL_RULES, generator))
                kinds.append(kind)
                targets.append(0.03 if kind != "thread" else 0.08)
        inputs = [restyle(pair, generator) for pair in inputs]
        made_up = np.full(len(inputs) - len(real), -1)
        rows = np.concatenate([real, made_up])
        return Pairs(inputs, np.array(targets), np.array(kinds), rows)

    def _relevance(self, most: int, seed: int) -> Pairs:
        generator = np.random.default_rng(seed)
        inputs: list[tuple[str, str]] = []
        kinds = np.repeat(["real", "random", "thread"], [most // 2, most // 4, most // 4])
        for kind, row in zip(kinds, generator.choice(self.rows, len(kinds)), strict=True):
            if kind == "real":
                pair = self.context(int(row), generator), self.posts.text[int(row)]
            else:
                pair = self.negative(str(kind), int(row), PAPER_RULES, generator)
            inputs.append(restyle(pair, generator))
        return Pairs(inputs, (kinds == "real").astype(float), kinds)

    def _led_by(self, name: str) -> np.ndarray:
        values = self.posts.dimensions[:, list(DIMENSIONS).index(name)]
        known = values[~np.isnan(values)]
        if not len(known):
            raise DialensError(f"--positive {name}: no post has this dimension")
        result: np.ndarray = values - known.mean() > KAPPA * known.std()
        return result


def restyle(pair: tuple[str, str], generator: np.random.Generator) -> tuple[str, str]:
    """Sometimes write a pair as chat, keeping only the opening of a very long reply."""
    context, reply = pair
    if generator.random() < 0.4:
        reply = opening(reply, int(generator.integers(25, 60)))
        context, reply = chat_style(context), chat_style(reply)
    return context, reply


def validation_pairs(maker: PairMaker, *, most: int = 6000, seed: int = 7) -> dict[str, Pairs]:
    """Return what models are chosen by: EnDex classes, and engaging posts against each negative."""
    plain = maker.draw("plain", most=most, seed=seed)
    found = {"endex": plain}
    generator = np.random.default_rng(seed)
    real = [pair for pair, one in zip(plain.inputs, plain.target, strict=True) if one == 1]
    high = maker.rows[maker.posts.label[maker.rows] == 1]
    for kind in ("ns", "random", "thread"):
        rows = generator.choice(high, len(real))
        bad = [maker.negative(kind, int(row), ALL_RULES, generator) for row in rows]
        inputs = real + bad
        target = np.repeat([1.0, 0.0], [len(real), len(bad)])
        kinds = np.array(["real"] * len(real) + [kind] * len(bad))
        found[kind] = Pairs(inputs, target, kinds)
        chat = [restyle(pair, generator) for pair in inputs]
        found[f"{kind}, chat"] = Pairs(chat, target, kinds)
    chat = [restyle(pair, generator) for pair in plain.inputs]
    found["endex, chat"] = Pairs(chat, plain.target, plain.kind)
    return found
