"""A trained agent as a folder: it talks without PyTorch, keeps to its guards, refuses damage."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dialens.agents import Agent, AgentError, AgentSpec, Message
from dialens.agents.neural import Shape, open_agent
from dialens.agents.neural._folder import CARD, WEIGHTS, write_agent
from dialens.agents.neural._guard import blocked_spellings, says_blocked
from dialens.agents.neural._shape import KINDS
from dialens.agents.neural._subwords import Subwords
from dialens.agents.neural._training import distinct
from dialens.agents.neural._weights import load_weights, save_weights
from dialens.base import DialensError
from tests.agents.neural.conftest import TALKS, small_shape
from tests.agents.neural.test_decoding import random_writer

HISTORY = [Message("partner", "do you like tea"), Message("agent", "yes"), Message("partner", "oh")]


def write_random(folder: Path, kind: str, *, blocked: tuple[str, ...] = ()) -> Path:
    words = Subwords.train([turn for talk in TALKS for turn in talk] * 3, size=330)
    shape = small_shape(kind, vocabulary=len(words), topic_words=4)
    writer = random_writer(kind, 11, Shape.of(shape.as_dict()))
    table = np.zeros((500, 4), int)
    table[1:, 0] = words.single("tea")
    write_agent(
        folder,
        shape=shape,
        weights=writer._weights,
        subwords=words,
        topic_table=table,
        blocked=blocked,
        card={"name": "random", "kind": kind},
    )
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_an_agent_that_keeps_its_word(kind: str, tmp_path: Path) -> None:
    agent = open_agent(AgentSpec(kind, str(write_random(tmp_path / "bot", kind))))
    assert isinstance(agent, Agent)
    assert agent.system == "bot"
    said = agent.reply(HISTORY, seed=3)
    assert said.text
    assert said.tokens_out is not None
    assert 4 <= said.tokens_out <= 40
    assert agent.reply(HISTORY, seed=3).text == said.text
    assert len({agent.reply(HISTORY, seed=seed).text for seed in range(6)}) > 1
    assert "".join(agent.stream(HISTORY, seed=3)) == said.text
    assert agent.reply([], seed=1).text  # it can begin
    assert agent.reply([Message("partner", "🙂 " * 500)], seed=1).text


def test_settings_make_agents_of_one_system(tmp_path: Path) -> None:
    folder = str(write_random(tmp_path / "bot", "hred"))
    beam = open_agent(AgentSpec("hred", folder, parameters={"method": "beam", "beam": 3}))
    assert beam.name == "method=beam,beam=3"
    assert len({beam.reply(HISTORY, seed=seed).text for seed in range(3)}) == 1
    with pytest.raises(DialensError, match="Did you mean temperature"):
        open_agent(AgentSpec("hred", folder, parameters={"temprature": 1}))


def test_blocked_words_are_never_said(tmp_path: Path) -> None:
    blocked = ("tea", "dog", "the", "soup", "film")
    folder = str(write_random(tmp_path / "bot", "seq2seq", blocked=blocked))
    plain = {"temperature": 3.0, "top_p": 1.0, "no_echo": 0, "contrast": 0}
    guarded = open_agent(AgentSpec("seq2seq", folder, parameters=plain))
    free = open_agent(AgentSpec("seq2seq", folder, parameters={**plain, "guard": "none"}))
    seeds = range(25)
    said = [guarded.reply(HISTORY, seed=seed).text for seed in seeds]
    assert not any(says_blocked(text, frozenset(blocked)) for text in said)
    assert any(says_blocked(free.reply([], seed=seed).text, frozenset(blocked)) for seed in seeds)


def test_what_no_guard_lets_pass_is_refused(tmp_path: Path) -> None:
    folder = str(write_random(tmp_path / "bot", "hred"))
    given: dict[str, str | float] = {"guard": "toxicity", "toxicity_threshold": 0.0}
    with pytest.raises(AgentError, match="guard") as caught:
        open_agent(AgentSpec("hred", folder, parameters=given)).reply(HISTORY)
    assert caught.value.kind == "refused"


def test_spellings_are_those_inside_a_sentence() -> None:
    words = Subwords.train(["the dog is a dog"] * 5, size=300)
    (spelled,) = blocked_spellings(["dog"], words)
    inside = words.ids(["a dog is"])[0]
    assert any(tuple(inside[at : at + len(spelled)]) == spelled for at in range(len(inside)))


def test_a_damaged_folder_is_refused(tmp_path: Path) -> None:
    folder = write_random(tmp_path / "bot", "thred")
    with pytest.raises(DialensError, match="holds a thred, not a hred"):
        open_agent(AgentSpec("hred", str(folder)))
    weights = folder / WEIGHTS
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(DialensError, match=r"weights\.safetensors is damaged"):
        open_agent(AgentSpec("thred", str(folder)))
    (folder / CARD).unlink()
    with pytest.raises(DialensError, match=r"card\.json cannot be read"):
        open_agent(AgentSpec("thred", str(folder)))


def test_talking_needs_no_torch(tmp_path: Path) -> None:
    folder = write_random(tmp_path / "bot", "thred")
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from dialens.agents._agent import AgentSpec, Message\n"
        "from dialens.agents.neural import open_agent\n"
        f"agent = open_agent(AgentSpec('thred', {str(folder)!r}))\n"
        "print(len(agent.reply([Message('partner', 'do you like tea')]).text) > 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


def test_weights_are_read_by_the_reference_library(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    drawn = np.random.default_rng(0)
    given = {"m": drawn.normal(size=(5, 7)), "v": drawn.normal(size=3)}
    save_weights(given, tmp_path / "w.safetensors")
    theirs = load_file(tmp_path / "w.safetensors")
    ours = load_weights(tmp_path / "w.safetensors")
    np.testing.assert_array_equal(theirs["m"] * theirs["m.scale"][:, None], ours["m"])
    largest = np.abs(given["m"]).max(axis=1, keepdims=True)
    assert (np.abs(ours["m"] - given["m"]) <= largest / 254 + 1e-6).all()
    np.testing.assert_allclose(ours["v"], given["v"], rtol=1e-3)
    (tmp_path / "w.safetensors").write_bytes(b"none of it")
    with pytest.raises(DialensError, match="holds no weights"):
        load_weights(tmp_path / "w.safetensors")


def test_distinct_by_hand() -> None:
    found = distinct(["I like tea.", "I like it."], 1)
    assert (found.value, found.of) == (5 / 8, 8)
    assert distinct(["hm"], 2).value is None


@pytest.mark.parametrize("kind", KINDS)
def test_the_agents_that_ship(kind: str) -> None:
    agent = open_agent(AgentSpec(kind, ""))
    assert agent.system == kind
    card = agent.folder.card
    assert card["kind"] == kind
    assert {"held_out_perplexity", "distinct_1", "distinct_2"} <= set(card["metrics"])
    assert card["licence"]
    assert card["limits"]
    folder = Path(json.__file__).parent  # anything that is no agent
    with pytest.raises(DialensError):
        open_agent(AgentSpec(kind, str(folder)))
    talk = [Message("partner", "What is your favourite film?")]
    for _ in range(3):
        said = agent.reply(talk, seed=2).text
        assert said not in [one.text for one in talk]
        talk += [Message("agent", said), Message("partner", "Why do you think so?")]
