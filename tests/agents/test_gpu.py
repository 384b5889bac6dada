"""Models of one's own answer on a graphics card as they do without one."""

from pathlib import Path

import pytest
import torch

from dialens.agents import AgentError, AgentSpec, Message, make_agent
from dialens.base import DialensError
from tests.agents import tiny_models

TALK = [Message("partner", "Hello."), Message("agent", "Hi."), Message("partner", "Well?")]


def opened(folder: Path, **settings: str | float):
    return make_agent(AgentSpec("transformers", str(folder), parameters=settings))


def said(agent, seed: int = 0) -> str:
    """What a model without training says, which may be nothing."""
    try:
        return str(agent.reply(TALK, seed=seed).text)
    except AgentError as error:
        if error.kind != "empty":
            raise
        return ""


@pytest.mark.usefixtures("card")
@pytest.mark.parametrize("kind", ["causal", "seq2seq"])
def test_a_card_says_the_same(kind: str, tmp_path: Path) -> None:
    make = getattr(tiny_models, f"{kind}_folder")
    folder = make(tmp_path / "model")
    likeliest = {
        device: said(opened(folder, device=device, temperature=0.0, max_tokens=8))
        for device in ("cpu", "cuda")
    }
    assert likeliest["cpu"] == likeliest["cuda"]
    agent = opened(folder, max_tokens=12)
    assert agent.local.device == "cuda"  # what auto takes
    assert next(agent.local.model.parameters()).is_cuda
    state = torch.cuda.get_rng_state()
    drawn = [said(agent, seed) for seed in (2, 2, 3)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert torch.equal(state, torch.cuda.get_rng_state())
    if kind == "causal":
        on_card = agent.likelihoods(TALK, ["a", "b", "ab"])
        assert on_card == pytest.approx(
            opened(folder, device="cpu").likelihoods(TALK, ["a", "b", "ab"]), rel=1e-3
        )


def test_a_device_makes_no_other_agent(tmp_path: Path) -> None:
    folder = tiny_models.causal_folder(tmp_path / "model")
    agent = opened(folder, device="cpu")
    assert (agent.name, agent.local.device) == ("model", "cpu")
    with pytest.raises(DialensError, match="device cannot be 'tpu'"):
        opened(folder, device="tpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_said(tmp_path: Path) -> None:
    folder = tiny_models.causal_folder(tmp_path / "model")
    assert opened(folder).local.device in ("cpu", "mps")
    with pytest.raises(DialensError, match=r"device=cuda: PyTorch .*, or use device=cpu"):
        opened(folder, device="cuda")
