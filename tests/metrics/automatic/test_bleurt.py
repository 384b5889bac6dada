"""BLEURT against transformers a pair at a time, and against the network written out."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from dialens.metrics import NotReadyError, ScorerContext, Unit
from dialens.metrics.families._bleurt import FAMILY
from tests.metrics.automatic import checkpoints
from tests.metrics.automatic.checkpoints import POSITIONS, SENTENCES

UNITS = [
    Unit((), SENTENCES[2], (SENTENCES[3],)),
    Unit((), SENTENCES[6], (SENTENCES[4], SENTENCES[7])),
    Unit((), SENTENCES[4], (SENTENCES[0],)),
    Unit((), SENTENCES[7], (SENTENCES[5],)),
]
MAKERS = {
    "bert": checkpoints.bleurt_bert,
    "rembert": checkpoints.bleurt_rembert,
    "port": lambda folder: checkpoints.bleurt_port(folder, factorised=False),
    "port_20": lambda folder: checkpoints.bleurt_port(folder, factorised=True),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("bleurt")
    return {name: make(place / name) for name, make in MAKERS.items()}


def scorer(folder: Path):
    return FAMILY.open(ScorerContext({"bleurt": str(folder)}, threads=1, device="cpu"))


def written_out(folder: Path, ids: list[int], types: list[int]) -> float:
    """The network of Sellam et al. from its weights: embeddings, layers, pooler, one number."""
    weights = {
        name.replace("rembert.", "bleurt.").replace("bert.", "bleurt.", 1)
        if not name.startswith(("bleurt.", "rembert."))
        else name.replace("rembert.", "bleurt."): values.double()
        for name, values in load_file(folder / "model.safetensors").items()
    }
    config = json.loads((folder / "config.json").read_text())
    heads, eps = config["num_attention_heads"], config["layer_norm_eps"]

    def linear(x: torch.Tensor, name: str) -> torch.Tensor:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        spread = ((x - x.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True)
        unit = (x - x.mean(-1, keepdim=True)) / (spread + eps).sqrt()
        return unit * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    words = weights["bleurt.embeddings.word_embeddings.weight"][ids]
    places = weights["bleurt.embeddings.position_embeddings.weight"][: len(ids)]
    kinds = weights["bleurt.embeddings.token_type_embeddings.weight"][types]
    x = norm(words + places + kinds, "bleurt.embeddings.LayerNorm")
    for name in ("embedding_projection", "embedding_hidden_mapping_in"):
        if f"bleurt.encoder.{name}.weight" in weights:
            x = linear(x, f"bleurt.encoder.{name}")
    for layer in range(config["num_hidden_layers"]):
        at = f"bleurt.encoder.layer.{layer}"
        parts = [
            linear(x, f"{at}.attention.self.{name}").view(len(ids), heads, -1).transpose(0, 1)
            for name in ("query", "key", "value")
        ]
        mixed = torch.softmax(
            parts[0] @ parts[1].transpose(1, 2) / parts[0].shape[-1] ** 0.5, dim=-1
        )
        heard = (mixed @ parts[2]).transpose(0, 1).reshape(len(ids), -1)
        x = norm(
            linear(heard, f"{at}.attention.output.dense") + x, f"{at}.attention.output.LayerNorm"
        )
        inner = linear(x, f"{at}.intermediate.dense")
        inner = inner * 0.5 * (1 + torch.erf(inner / 2**0.5))
        x = norm(linear(inner, f"{at}.output.dense") + x, f"{at}.output.LayerNorm")
    pooled = torch.tanh(linear(x[0], "bleurt.pooler.dense"))
    return float(linear(pooled, "classifier")[0])


def laid_out(folder: Path, reference: str, reply: str) -> tuple[list[int], list[int]]:
    """[CLS] reference [SEP] reply [SEP], with their segments."""
    tokenizer = AutoTokenizer.from_pretrained(str(folder.parent / "bert"))
    first, second = (
        tokenizer(text, add_special_tokens=False)["input_ids"] for text in (reference, reply)
    )
    begin, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    ids = [begin, *first, end, *second, end]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)


@pytest.mark.parametrize("name", MAKERS)
def test_equals_the_network_written_out(folders: dict[str, Path], name: str):
    got = scorer(folders[name]).score(UNITS)[:, 0]
    for value, unit in zip(got, UNITS, strict=True):
        wanted = max(
            written_out(folders[name], *laid_out(folders[name], one, unit.response))
            for one in unit.references
        )
        assert value == pytest.approx(wanted, abs=1e-5)
    assert np.std(got) > 0.01


@pytest.mark.parametrize("name", ["bert", "rembert"])
def test_equals_transformers_a_pair_at_a_time(folders: dict[str, Path], name: str):
    model = AutoModelForSequenceClassification.from_pretrained(folders[name]).eval()
    tokenizer = AutoTokenizer.from_pretrained(str(folders[name]))
    got = scorer(folders[name]).score(UNITS)[:, 0]
    for value, unit in zip(got, UNITS, strict=True):
        with torch.no_grad():
            wanted = max(
                float(model(**tokenizer(one, unit.response, return_tensors="pt")).logits[0, 0])
                for one in unit.references
            )
        assert value == pytest.approx(wanted, abs=1e-5)


def test_reference_comes_first(folders: dict[str, Path]):
    ours = scorer(folders["bert"])
    there, back = ours.score(
        [Unit((), SENTENCES[2], (SENTENCES[3],)), Unit((), SENTENCES[3], (SENTENCES[2],))]
    )
    assert abs(there[0] - back[0]) > 1e-3


@pytest.mark.parametrize("name", MAKERS)
def test_a_score_does_not_depend_on_the_batch(folders: dict[str, Path], name: str):
    ours = scorer(folders[name])
    told: list[int] = []
    together = ours.score(UNITS * 5, told.append)
    alone = np.concatenate([ours.score([unit]) for unit in UNITS])
    assert np.abs(together[: len(UNITS)] - alone).max() < 1e-5
    assert sum(told) == len(UNITS) * 5


def test_long_pairs_are_cut_from_the_longer(folders: dict[str, Path]):
    long, reply = " ".join(SENTENCES * 3), SENTENCES[4]
    ids, types = laid_out(folders["bert"], long, reply)
    over = len(ids) - POSITIONS
    assert over > 0
    end = types.index(1) - 1  # where the reference's [SEP] stands
    ids = ids[: end - over] + ids[end:]
    types = types[over:]
    got = scorer(folders["bert"]).score([Unit((), reply, (long,))])
    assert got[0, 0] == pytest.approx(written_out(folders["bert"], ids, types), abs=1e-5)


def test_a_pickle_needs_the_users_word(folders: dict[str, Path], tmp_path: Path):
    made = checkpoints.bleurt_port(tmp_path / "pickled", factorised=True)
    torch.save(load_file(made / "model.safetensors"), made / "pytorch_model.bin")
    (made / "model.safetensors").unlink()
    shop = ScorerContext({"bleurt": str(made)}, threads=1, device="cpu")
    assert "--allow-pickle" in (FAMILY.ready(shop) or "")
    with pytest.raises(NotReadyError, match="--allow-pickle"):
        FAMILY.open(shop)
    trusted = ScorerContext({"bleurt": str(made)}, device="cpu", allow_pickle=True)
    got = FAMILY.open(trusted).score(UNITS)
    assert np.abs(got - scorer(folders["port_20"]).score(UNITS)).max() < 1e-6


def test_other_models_are_refused(tmp_path: Path, folders: dict[str, Path]):
    three = checkpoints.bert(tmp_path / "three", head="ForSequenceClassification", num_labels=3)
    with pytest.raises(NotReadyError, match="3 labels"):
        scorer(three)
    with pytest.raises(NotReadyError, match="lacks classifier"):
        scorer(checkpoints.bert(tmp_path / "headless"))
    broken = checkpoints.bleurt_port(tmp_path / "broken", factorised=False)
    config = json.loads((broken / "config.json").read_text())
    (broken / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 4}))
    with pytest.raises(NotReadyError, match="cannot be loaded as BLEURT"):
        scorer(broken)
    assert "--weights bleurt=FOLDER" in (FAMILY.ready(ScorerContext()) or "")
