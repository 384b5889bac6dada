"""Replies that nobody would find engaging, made by rule; and texts made to look like chat.

EnDex's four rules (random insertion, random deletion, copying the context, generic replies), two of
ours that broken generators are known for (loops, shuffled order), replies from another thread and
from elsewhere in the same thread.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

GENERIC = (
    "i don't know .",
    "I don't know what you mean.",
    "ok",
    "Okay, thanks.",
    "yes",
    "no",
    "yeah",
    "that is nice .",
    "That's good.",
    "that's cool .",
    "I see.",
    "lol",
    "i am not sure .",
    "I'm not sure what you're talking about.",
    "sure",
    "me too .",
    "i do not know .",
    "I think so.",
    "thank you .",
    "good for you",
    "what do you mean ?",
    "It is what it is.",
    "same here",
    "maybe",
    "i am good . how are you ?",
    "I'm sorry.",
    "that is great !",
    "nice",
    "cool , me too",
    "right",
)
PAPER_RULES = ("insert", "delete", "copy", "generic")
ALL_RULES = (*PAPER_RULES, "loop", "shuffle")

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_PUNCTUATION = re.compile(r"\s*([.,!?;:()\"])\s*")


def common_replies(texts: Sequence[str], *, times: int = 4) -> list[str]:
    """Return short texts that several people wrote: generic replies as a community has them.

    Examples:
        >>> common_replies(["Nice one!", "nice one!", "A long story"], times=2)
        ['Nice one!']
    """
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for text in texts:
        if len(text) < 40:
            counts[text.lower()] += 1
            first.setdefault(text.lower(), text)
    return [first[key] for key, count in counts.items() if count >= times]


def spoil(
    rule: str,
    text: str,
    context: str,
    words: Sequence[str],
    generic: Sequence[str],
    generator: np.random.Generator,
) -> str:
    """Return a bad reply by one of :data:`ALL_RULES`.

    Examples:
        >>> spoil("copy", "x", "Who are you?", ["a"], ["ok"], np.random.default_rng(0))
        'Who are you?'
    """
    own = text.split()
    if rule == "generic":
        return str(generic[int(generator.integers(len(generic)))])
    if rule == "copy":
        sentences = _SENTENCE.split(context)
        return context if generator.random() < 0.5 else sentences[-1]
    if rule == "delete":
        if generator.random() < 0.5:  # a run of words at the end
            return " ".join(own[: max(1, int(len(own) * generator.uniform(0.1, 0.5)))])
        keep = generator.random(len(own)) > generator.uniform(0.3, 0.7)
        kept = [word for word, stays in zip(own, keep, strict=True) if stays]
        return " ".join(kept or own[:1])
    if rule == "insert":
        count = max(1, int(len(own) * generator.uniform(0.3, 0.7)))
        for word in generator.integers(0, len(words), count):
            own.insert(int(generator.integers(0, len(own) + 1)), words[int(word)])
        return " ".join(own)
    if rule == "loop":
        start = int(generator.integers(0, max(1, len(own) - 2)))
        phrase = own[start : start + int(generator.integers(2, 7))]
        times = int(generator.integers(2, 4))
        return " ".join(own[:start] + phrase * times)
    if rule == "shuffle":
        return " ".join(own[i] for i in generator.permutation(len(own)))
    raise ValueError(f"no such rule: {rule}")


def chat_style(text: str) -> str:
    """Write a text as chat corpora do: lower case, a space around punctuation.

    Examples:
        >>> chat_style("Well, I'm in. You?")
        "well , i'm in . you ?"
    """
    return _PUNCTUATION.sub(r" \1 ", text.lower()).strip()


def opening(text: str, most_words: int) -> str:
    """Return the first sentences of a text, as many as fit (at least one).

    Examples:
        >>> opening("One two. Three four. Five.", 4)
        'One two. Three four.'
    """
    kept: list[str] = []
    count = 0
    for sentence in _SENTENCE.split(text):
        count += len(sentence.split())
        if kept and count > most_words:
            break
        kept.append(sentence)
    return " ".join(kept)
