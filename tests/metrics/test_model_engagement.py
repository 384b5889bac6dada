"""Engagement: the formula written out, the scorer alone, and what a reply is read after."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dialens.base import DialensError
from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import Scores, score
from dialens.models import EngagementScorer, Model, context, load
from tests.metrics import plain
from tests.metrics.model_talks import TALKS, groups, same, values
from tests.metrics.tiny_models import FORMULA, add_facts, make_model, tiny_folder, tiny_resources


def logit(task: str, pair: tuple[str, str]) -> float:
    model = load(task, folder=tiny_folder())
    assert isinstance(model, Model)
    return float(model.run([pair], task)[0, 0])


def engagement(before: str, reply: str, *pieces: str) -> float:
    """The formula, written out; `pieces` of a background count half, the one that fits best."""
    parts = {}
    for task in ("engagement", "relevance"):
        parts[task] = logit(task, (before, reply))
        if pieces:
            parts[task] = (parts[task] + max(logit(task, (one, reply)) for one in pieces)) / 2
    parts["log_specificity"] = math.log(1 + plain.specificity(reply))
    z = 0.0
    for name, weight in FORMULA["terms"].items():
        middle, spread = FORMULA["center"].get(name, 0.0), FORMULA["spread"].get(name, 1.0)
        z += weight * (parts[name] - middle) / spread
    return 1 / (1 + math.exp(-z))


def replies(talk: Dialogue) -> Iterator[tuple[int, str, str]]:
    """The agent's turns that can be scored, each with the two turns before it."""
    for number, turn in enumerate(talk.turns):
        if turn.role == "agent" and number and turn.text:
            before = [earlier.text for earlier in talk.turns[max(0, number - 2) : number]]
            yield number, "\n".join(before), turn.text


def test_engagement_follows_its_formula(scores: Scores) -> None:
    got = values(scores, "turn", "engagement")
    reactions = values(scores, "turn", "engagement_reactions")
    relevance = values(scores, "turn", "relevance")
    for talk in TALKS:
        for number, before, reply in replies(talk):
            key = (talk.system, talk.agent, talk.dialog, number)
            same(got[key], engagement(before, reply))
            same(reactions[key], 1 / (1 + math.exp(-logit("engagement", (before, reply)))))
            same(relevance[key], 1 / (1 + math.exp(-logit("relevance", (before, reply)))))
    for level, place, talks in groups():
        found = [engagement(b, r) for talk in talks for _, b, r in replies(talk)]
        same(values(scores, level, "engagement")[place], sum(found) / len(found))


def test_the_scorer_alone_gives_the_same() -> None:
    pairs = [(before, reply) for talk in TALKS for _, before, reply in replies(talk)]
    scorer = EngagementScorer.load(folder=tiny_folder())
    wanted = [engagement(*pair) for pair in pairs]
    np.testing.assert_allclose(scorer.score(pairs), wanted, atol=1e-3)
    small = EngagementScorer.load("engagement-small", folder=tiny_folder())
    chances = load("engagement-small", folder=tiny_folder()).predict(pairs)[:, 0]
    np.testing.assert_allclose(small.score(pairs), chances, atol=1e-3)
    assert context(["a", "b", "c"]) == "b\nc"


def test_a_reply_is_read_after_its_background_too() -> None:
    """The background counts in `engagement` and in nothing else; one that is long, in pieces."""
    before, reply = "i love the cat", "wow you never hate it"
    long = ["all the cat " * 20, "the zebra is happy " * 10, "thanks"]
    pieces = [long[0].strip(), f"{long[1].strip()}\nthanks"]
    known = {"none": None, "short": ["we're sad !", "do not hate ?"], "long": long}
    turns = {
        name: [Turn("U", "partner", before), Turn("B", "agent", reply, meta={"background": given})]
        for name, given in known.items()
    }
    corpus = Corpus.of([Dialogue("s", "a", name, talk) for name, talk in turns.items()])
    resources = tiny_resources()
    made = score(corpus, metrics=["engagement", "relevance"], resources=resources)
    got = {key[2]: value for key, value in values(made, "turn", "engagement").items()}
    wanted = {
        "none": engagement(before, reply),
        "short": engagement(before, reply, "we're sad !\ndo not hate ?"),
        "long": engagement(before, reply, *pieces),
    }
    assert len({round(value, 4) for value in wanted.values()}) == 3, "they must differ"
    for name, value in wanted.items():
        same(got[name], value)
    assert len(set(values(made, "turn", "relevance").values())) == 1
    scorer = EngagementScorer.load(folder=tiny_folder())
    texts = [None, "we're sad !\ndo not hate ?", "\n".join(long)]
    alone = scorer.score([(before, reply)] * 3, backgrounds=texts)
    np.testing.assert_allclose(alone, list(wanted.values()), atol=1e-3)


def test_the_formula_reads_its_own_folder(tmp_path: Path) -> None:
    """A relevance model of the user's own changes `relevance`, not `engagement`."""
    own = make_model(tmp_path / "own", {}, {"relevance": ["relevant"]}, seed=9)
    resources = tiny_resources(own={"relevance": own})
    made = score(Corpus.of(TALKS), metrics=["engagement"], resources=resources)
    pair = (TALKS[0].turns[0].text, TALKS[0].turns[1].text)
    key = ("s", "a", "d1", 1)
    same(values(made, "turn", "engagement")[key], engagement(*pair))
    same(values(made, "turn", "relevance")[key], float(load(own).predict([pair])[0, 0]))


def test_a_broken_formula_is_named(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "m", {}, {"engagement": ["engaging"]}, seed=1)
    add_facts(folder, engagement_formula={"terms": {"charm": 1.0}})
    with pytest.raises(DialensError, match="names 'charm'"):
        EngagementScorer.load(str(folder))
    add_facts(folder, engagement_formula={"terms": {"engagement": "much"}})
    with pytest.raises(DialensError, match="cannot be read"):
        EngagementScorer.load(str(folder))
