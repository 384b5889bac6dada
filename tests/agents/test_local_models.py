"""Models in a folder or a GGUF file: what is read, what is refused, how they are asked."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch

from dialens.agents import AgentError, AgentSpec, Message, Wish, agent_kinds, make_agent
from dialens.base import DialensError
from tests.agents import tiny_models
from tests.conftest import component_missing

TALK = [
    Message("partner", "Hello."),
    Message("agent", "Hi."),
    Message("partner", "Well?"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    tiny_models.causal_folder(made / "chat", template=tiny_models.CHAT_TEMPLATE)
    tiny_models.causal_folder(made / "plain")
    tiny_models.seq2seq_folder(made / "blender")
    return made


def agent(folder: Path, name: str, **settings: str | float) -> Any:
    return make_agent(AgentSpec("transformers", str(folder / name), parameters=settings))


@pytest.mark.parametrize(
    ("name", "settings", "text"),
    [
        (
            "chat",
            {"persona": "Be kind.", "max_tokens": 20},
            "<system> Be kind.\n<user> Hello.\n<assistant> Hi.\n<user> Well?\n<assistant> ",
        ),
        ("plain", {"persona": "Kind."}, "Kind.\nA: Hello.\nB: Hi.\nA: Well?\nB:"),
        ("plain", {"layout": "joined"}, "Hello.<eos>Hi.<eos>Well?<eos>"),
        ("blender", {}, "Hello.  Hi.  Well?"),
    ],
)
def test_how_a_conversation_is_put(
    folder: Path, name: str, settings: dict[str, str | float], text: str
) -> None:
    made = agent(folder, name, **settings)
    tokens = made._inputs(TALK)["input_ids"][0]
    assert made.local.tokenizer.decode(tokens) == text


def test_the_oldest_turns_are_left_out(folder: Path) -> None:
    """128 tokens fit; 28 are kept for the answer, and a token is a letter."""
    made = agent(folder, "plain", max_tokens=28)
    long = [Message("partner", letter * 30) for letter in "abcdefgh"]
    tokens = made._inputs(long)["input_ids"][0]
    text = made.local.tokenizer.decode(tokens)
    assert text == "\n".join(f"A: {letter * 30}" for letter in "gh") + "\nB:"
    cut = made._inputs([Message("partner", "x" * 500)])["input_ids"]
    assert cut.shape[1] == 100


def test_greedy_answers_are_the_likeliest_tokens(folder: Path) -> None:
    """Step by step with the model itself: the token with the highest value, each time."""
    made = agent(folder, "plain", temperature=0, repetition_penalty=1, max_tokens=8)
    local = made.local
    tokens = made._inputs(TALK)["input_ids"]
    start = tokens.shape[1]
    with torch.inference_mode():
        for _ in range(8):
            following = local.model(tokens).logits[:, -1].argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, following], 1)
            if int(following) == local.tokenizer.eos_token_id:
                break
    expected = local.tokenizer.decode(tokens[0, start:], skip_special_tokens=True).strip()
    reply = made.reply(TALK)
    assert reply.text == expected
    assert (reply.tokens_in, reply.tokens_out) == (start, tokens.shape[1] - start)


def test_the_global_generator_is_left_alone(folder: Path) -> None:
    made = agent(folder, "chat", max_tokens=4)
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    made.reply(TALK, seed=8)
    assert torch.equal(torch.rand(3), expected)


def test_only_safetensors_are_read(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "pickled"
    shutil.copytree(folder / "plain", copy)
    (copy / "model.safetensors").unlink()
    (copy / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(DialensError, match=r"pytorch_model\.bin may run any program"):
        make_agent(f"transformers:{copy}")


def test_code_in_a_folder_is_not_run(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "own-code"
    shutil.copytree(folder / "plain", copy)
    (copy / "config.json").write_text(
        '{"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config"}}'
    )
    (copy / "mine.py").write_text("raise SystemExit('the code was run')")
    with pytest.raises(DialensError, match="cannot be loaded"):
        make_agent(f"transformers:{copy}")


@pytest.mark.parametrize(
    ("name", "words"),
    [("nowhere", "is not a folder"), ("bare", "has no config.json"), ("cut", "cannot be loaded")],
)
def test_folders_that_are_none(folder: Path, tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "bare").mkdir()
    shutil.copytree(folder / "plain", tmp_path / "cut")
    weights = tmp_path / "cut" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(DialensError, match=words):
        make_agent(f"transformers:{tmp_path / name}")


def needs_gguf() -> None:
    if missing := agent_kinds()["gguf"].why_not():
        component_missing("what reads GGUF files", missing)


def test_a_gguf_file_has_the_weights_that_were_written(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    needs_gguf()
    path = tiny_models.gguf_file(tmp_path / "tiny.gguf")
    made: Any = make_agent(f"gguf:{path}")
    assert capfd.readouterr() == ("", ""), "no bar is drawn where there is no terminal"
    written = {tensor.name: np.array(tensor.data) for tensor in gguf.GGUFReader(str(path)).tensors}
    model = made.local.model
    loaded = model.get_input_embeddings().weight.detach().numpy()
    assert np.array_equal(loaded, written["token_embd.weight"])
    down = model.model.layers[0].mlp.down_proj.weight.detach().numpy()
    assert np.array_equal(down, written["blk.0.ffn_down.weight"])
    tokens = made._inputs(TALK)["input_ids"][0]
    said = made.local.tokenizer.decode(tokens)
    assert said.endswith("<user> Well?\n<assistant> ")


@pytest.mark.parametrize("damage", ["cut", "text", "missing"])
def test_files_that_are_no_gguf(tmp_path: Path, damage: str) -> None:
    needs_gguf()
    path = tiny_models.gguf_file(tmp_path / "tiny.gguf")
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:2000])
    elif damage == "text":
        path.write_text("hello")
    else:
        path.unlink()
    words = {"cut": "cannot be loaded", "text": "not a GGUF file", "missing": "is not a file"}
    with pytest.raises(DialensError, match=words[damage]):
        make_agent(f"gguf:{path}")


@pytest.mark.parametrize("name", ["chat", "plain"])
def test_answers_are_weighed_as_continuations(folder: Path, name: str) -> None:
    """Against the definition: all ways to go on, one token after the other, add up."""
    used = agent(folder, name)
    answers = ["1", "10", "2", "100"]
    found = used.likelihoods(TALK, answers)
    prompt = used._inputs(TALK)["input_ids"]
    space = [used.local.tokenizer(" ")["input_ids"][0]] if name == "plain" else []

    def chance(text: str) -> float:
        tokens = prompt[0].tolist()
        log = 0.0
        for token in [*space, *used.local.tokenizer(text)["input_ids"]]:
            with torch.no_grad():
                logits = used.local.model(input_ids=torch.tensor([tokens])).logits[0, -1]
            log += float(torch.log_softmax(logits.float(), -1)[token])
            tokens.append(token)
        return float(np.exp(log))

    one, ten, two, hundred = (chance(text) for text in answers)
    expected = [one - ten, ten - hundred, two, hundred]
    assert found == pytest.approx(expected, rel=1e-4)
    assert used.count("abc") == 3


def test_an_answer_may_be_cooler_than_the_agent(folder: Path) -> None:
    warm = agent(folder, "chat", temperature=2.0, max_tokens=8)
    cool = agent(folder, "chat", temperature=0.5, max_tokens=12)
    wish = Wish(temperature=0.5, max_tokens=12)
    assert warm.answer(TALK, wish, seed=1).text == cool.reply(TALK, seed=1).text
    with pytest.raises(AgentError, match="two models"):
        agent(folder, "blender").likelihoods(TALK, ["1"])
