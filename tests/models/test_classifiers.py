"""Users' own classifiers that are not whole: refused with the place and what to do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

from dialens.base import DialensError
from dialens.models import EngagementScorer, load

READABLE = "Thank you so much!"
UNREADABLE = ["😭 🎉", "\u200b", "q" * 150, "", "[SEP] [MASK]"]


def change_config(folder: Path, **changes: Any) -> None:
    file = folder / "config.json"
    raw = json.loads(file.read_text())
    file.write_text(json.dumps(raw | changes))


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def junk(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"junk")


def without_a_head(folder: Path) -> None:
    transformers = import_module("transformers")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    model.bert.save_pretrained(folder)


def with_other_classes(folder: Path) -> None:
    change_config(folder, id2label={"0": "fine", "1": "toxic"}, label2id={"fine": 0, "toxic": 1})


def without_a_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def with_more_words(folder: Path) -> None:
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    raw = json.loads(tokenizer.to_str())
    vocabulary = raw["model"]["vocab"]
    vocabulary |= {f"word{n}": len(vocabulary) + n for n in range(50)}
    (folder / "tokenizer.json").write_text(json.dumps(raw))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (cut, "cannot be loaded: .*header.*Save or fetch it again"),
        (junk, "cannot be loaded: .*header.*Save or fetch it again"),
        (without_a_head, r"no trained classifier: .* lacks classifier\.bias, classifier\.weight"),
        (with_other_classes, r"another shape than config\.json says classifier\.bias"),
        (without_a_tokenizer, r"has no tokenizer \(tokenizer\.json"),
        (with_more_words, r"the tokenizer has \d+ tokens and the model \d+"),
    ],
)
def test_a_hugging_face_folder_that_is_not_whole(
    bert_folder: Path, tmp_path: Path, spoil: Callable[[Path], None], message: str, capfd
) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(bert_folder, folder)
    load(folder).predict([READABLE])
    spoil(folder)
    capfd.readouterr()
    model = load(folder)
    with pytest.raises(DialensError, match=rf"{folder}.*{message}"):
        _ = model.predict([READABLE]), model.check(["logits"])
    assert capfd.readouterr().err == "", "what is wrong is raised, not printed"


def test_weights_of_half_precision_are_read(bert_folder: Path, tmp_path: Path) -> None:
    torch, transformers = import_module("torch"), import_module("transformers")
    folder = tmp_path / "half"
    shutil.copytree(bert_folder, folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    model.to(torch.bfloat16).save_pretrained(folder)
    whole, half = (load(one).predict([READABLE]) for one in (bert_folder, folder))
    np.testing.assert_allclose(half, whole, atol=0.05)


def test_a_regression_is_not_put_through_a_sigmoid(bert_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "scale"
    shutil.copytree(bert_folder, folder)
    change_config(folder, problem_type="regression")
    with pytest.raises(DialensError, match="cannot do engagement: it gives plain numbers"):
        EngagementScorer(load(folder))


@pytest.mark.parametrize("which", ["bert", "exported", "tiny"])
def test_what_a_model_cannot_read_is_told(request, which: str) -> None:
    output = "emotion" if which == "tiny" else "logits"
    task = "emotion" if which == "tiny" else None
    model = load(request.getfixturevalue(f"{which}_folder"), task)
    texts = [READABLE, *UNREADABLE, f"{UNREADABLE[0]} {READABLE}"]
    found = model.read(texts, [output])
    assert found.known.tolist() == [True, *[False] * len(UNREADABLE), True]
    assert np.isfinite(found.outputs[output]).all()
    pairs = [(READABLE, text) for text in texts] + [(text, READABLE) for text in texts]
    assert model.read(pairs, [output]).known.tolist() == [*found.known, *found.known]


def plain(folder: Path, source: Path, **changes: Any) -> Path:
    shutil.copytree(source, folder)
    change_config(folder, **changes)
    return folder


@pytest.mark.parametrize("labels", [["fine", "toxic"], ["toxic"], list("abcd")])
def test_a_graph_must_give_a_number_for_each_label(
    exported_folder: Path, tmp_path: Path, labels: list[str]
) -> None:
    named = {str(n): label for n, label in enumerate(labels)}
    model = load(plain(tmp_path / "mine", exported_folder, id2label=named))
    wanted = rf"model\.onnx gives 3 numbers a text .*config\.json names {len(labels)} labels"
    with pytest.raises(DialensError, match=wanted):
        model.predict([READABLE])
    with pytest.raises(DialensError, match=wanted):
        model.check(["logits"])


def test_a_graph_must_know_every_token(exported_folder: Path, tmp_path: Path, capfd) -> None:
    folder = plain(tmp_path / "mine", exported_folder)
    load(folder).check(["logits"])
    with_more_words(folder)
    with pytest.raises(DialensError, match=r"model\.onnx cannot read what tokenizer\.json makes"):
        load(folder).check(["logits"])
    with pytest.raises(DialensError, match="both must come from one model"):
        load(folder).predict([READABLE, "word49"])
    assert capfd.readouterr().err == ""


def test_a_tokenizer_that_cannot_be_used_is_named(exported_folder: Path, tmp_path: Path) -> None:
    folder = plain(tmp_path / "mine", exported_folder)
    file = folder / "tokenizer.json"
    words = tokenizers.models.WordLevel({"<unk>": 0, "thank": 1}, unk_token="<unk>")
    tokenizers.Tokenizer(words).save(str(file))
    with pytest.raises(DialensError, match=r"tokenizer\.json cannot be used: .* neither <s> </s>"):
        load(folder).predict([READABLE])
    file.write_text("{}")
    with pytest.raises(DialensError, match=r"tokenizer\.json cannot be opened"):
        load(folder).predict([READABLE])
