"""GGUF files in their own precision: with a real small model, where one is there."""

from __future__ import annotations

import json
import math
from importlib.util import find_spec
from pathlib import Path

import pytest

from dialens.agents import AgentSpec, Message, Wish, agent_kinds, make_agent
from dialens.base import DialensError
from dialens.testing import check_agent
from tests.agents.small_model import MODEL, here

QUESTION = [
    Message("partner", "Rate the reply 'Yes, I love tea.' from 1 to 10. Answer with a number only.")
]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    kind = agent_kinds()["llama"]
    if find_spec("xllamacpp") is None:
        assert kind.why_not() == "needs xllamacpp: pip install 'dialens[llama]'"
        with pytest.raises(DialensError, match=r"dialens\[llama\]"):
            make_agent("llama:x.gguf")
        return
    (tmp_path / "x.gguf").write_bytes(b"no such thing")
    with pytest.raises(DialensError, match="does not begin with GGUF"):
        make_agent(f"llama:{tmp_path / 'x.gguf'}")
    with pytest.raises(DialensError, match="Write llama:FILE"):
        make_agent("llama:nowhere.gguf")


@pytest.fixture(scope="module")
def agent():
    settings = {"context": 2048, "max_tokens": 24, "threads": 1}
    return make_agent(AgentSpec("llama", str(MODEL), parameters=settings))


@here
@pytest.mark.slow
def test_it_is_an_agent(agent) -> None:
    check_agent(lambda: agent)


@here
@pytest.mark.slow
def test_it_keeps_to_a_schema(agent) -> None:
    schema = {
        "type": "object",
        "properties": {"good": {"enum": [1, 2, 3, 4, 5]}},
        "required": ["good"],
        "additionalProperties": False,
    }
    replies = [agent.answer(QUESTION, Wish(1.0, schema), seed=seed) for seed in range(3)]
    assert all(json.loads(reply.text)["good"] in range(1, 6) for reply in replies)
    assert replies[0].tokens_in > 10
    assert replies[0].text == agent.answer(QUESTION, Wish(1.0, schema), seed=0).text


@here
@pytest.mark.slow
def test_answers_are_weighed_as_continuations(agent) -> None:
    """Single digits against the report of the first token; "10" is "1" and then "0"."""
    top = agent.answer(QUESTION, Wish(0.0, likeliest=200, max_tokens=1)).likeliest[0]
    digits = [str(number) for number in range(1, 10)]
    weighed = agent.likelihoods(QUESTION, digits)
    plain = [
        sum(math.exp(log) for token, log in top.items() if token.strip() == digit)
        for digit in digits
    ]
    assert weighed == pytest.approx(plain, rel=0.05, abs=1e-5)
    assert 0 < sum(weighed) < 1
    one, ten = agent.likelihoods(QUESTION, ["1", "10"])
    assert one + ten == pytest.approx(
        weighed[0] + (0 if "10" not in top else math.exp(top["10"])), rel=0.05
    )
    assert 0 < ten < one
