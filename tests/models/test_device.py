"""Networks for graphics cards, computed here on the processor: the same numbers as the graphs.

No card is needed: the network that runs on one runs on processors too. What a card alone has, its
memory that is full, is stood in for by a network that refuses large batches.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from dialens.base import DialensError, DialensWarning
from dialens.models import (
    LanguageModel,
    Model,
    activated,
    chosen_device,
    list_models,
    load,
    read_card,
    shipped_folder,
)
from dialens.models import _device_model as device_models
from dialens.models._device_model import DeviceModel, arithmetic_of, open_device_model
from dialens.models._device_network import DeviceNetwork
from dialens.models._encoder_weights import read_encoder_weights
from dialens.models._inputs import encode_inputs
from dialens.models._likelihood import _Hidden, _OnDevice, _passes
from dialens.models._sessions import open_tokenizer
from dialens.models._word_pieces import WordPieces, cuts_at_blanks

SAME = 1e-4
TEXTS = ["Thank you so much!", "no", "What an idiot.", "", "ok " * 300, "犬 犬"]
PAIRS = [("What did you do?", "We learned to sail. Ever tried?"), ("", "Hello!"), ("a", "ok " * 90)]
JUDGED = Path(__file__).parents[3] / "shared/data/human_judgements/usr_personachat.jsonl.gz"

FOLDERS = {one.card.name: one.card for one in list_models()}


def read(model: DeviceModel, card, inputs, outputs):
    return model.read(inputs, outputs, longest=card.longest, pad=card.pad, advance=lambda _: None)


def outputs_of(card, *, pair: bool) -> list[str]:
    return [task.output for task in card.tasks.values() if task.pair in (None, pair)]


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("name", FOLDERS)
def test_every_shipped_task_is_as_in_floats(name: str, pair: bool) -> None:
    card = FOLDERS[name]
    outputs = outputs_of(card, pair=pair)
    if not outputs:
        pytest.skip(f"{name} reads no such inputs")
    inputs = PAIRS if pair else TEXTS
    tasks = [task for task in card.tasks.values() if task.output in outputs]
    values, known = read(open_device_model(card, "int8.onnx", "cpu"), card, inputs, outputs)
    exact = Model(card, tasks[0].name, precision="fp32").read(inputs, outputs)
    assert known.tolist() == exact.known.tolist()
    for task in tasks:
        np.testing.assert_allclose(
            activated(values[task.output], task.activation),
            activated(exact.outputs[task.output], task.activation),
            atol=SAME,
        )


def test_embeddings_too_and_in_any_order(tiny_folder: Path) -> None:
    model = load(tiny_folder, "emotion", precision="fp32")
    network = open_device_model(model.card, "int8.onnx", "cpu")
    together, _ = read(network, model.card, TEXTS, ["embedding", "emotion"])
    np.testing.assert_allclose(together["embedding"], model.embed(TEXTS), atol=SAME)
    for place, text in enumerate(TEXTS):
        alone, _ = read(network, model.card, [text], ["emotion", "embedding"])
        for name in alone:
            np.testing.assert_allclose(alone[name][0], together[name][place], atol=SAME)
    nothing, known = read(network, model.card, [], ["emotion"])
    assert nothing["emotion"].shape == (0, 3)
    assert known.shape == (0,)


def test_windows_and_batches_change_nothing(tiny_folder: Path, monkeypatch) -> None:
    card = read_card(tiny_folder)
    dice = np.random.default_rng(0)
    words = ["thanks", "ok", "lol", "no", "what", "why"]
    texts = [" ".join(dice.choice(words, size=n)) for n in dice.integers(0, 60, 300)]
    whole, _ = read(open_device_model(card, "int8.onnx", "cpu"), card, texts, ["emotion"])
    done: list[int] = []
    monkeypatch.setattr(device_models, "_LEAST_WINDOW", 7)
    network = open_device_model(card, "int8.onnx", "cpu")
    network.tokens = 64
    values, _ = network.read(
        texts, ["emotion"], longest=card.longest, pad=card.pad, advance=done.append
    )
    np.testing.assert_allclose(values["emotion"], whole["emotion"], atol=SAME)
    assert sum(done) == len(texts)


@pytest.mark.parametrize("kind", ["of several names", "links"])
def test_files_as_package_managers_and_hubs_lay_them(
    kind: str, tiny_folder: Path, tmp_path: Path
) -> None:
    """Caches hold each file once: what is installed is another name of it, or a link to it."""
    folder = tmp_path / "model"
    folder.mkdir()
    for file in tiny_folder.iterdir():
        place = folder / file.name
        (place.symlink_to if kind == "links" else place.hardlink_to)(file)
    card = read_card(folder)
    values, _ = read(open_device_model(card, "int8.onnx", "cpu"), card, TEXTS, ["emotion"])
    exact = Model(card, "emotion", precision="fp32").run(TEXTS, "emotion")
    np.testing.assert_allclose(values["emotion"], exact, atol=SAME)


class SmallCard(DeviceNetwork):
    """A network whose device has room for a few tokens only."""

    room = 200
    refused = 0

    def run(self, ids, lengths, second, names):
        if ids.numel() > self.room:
            self.refused += 1
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return super().run(ids, lengths, second, names)


def test_a_full_memory_makes_batches_smaller(tiny_folder: Path) -> None:
    card = read_card(tiny_folder)
    texts = ["ok lol no"] * 100 + ["thanks " * 20]
    whole, _ = read(open_device_model(card, "int8.onnx", "cpu"), card, texts, ["emotion"])
    network = SmallCard(read_encoder_weights(tiny_folder / "int8.onnx"), "cpu")
    small = DeviceModel(network, open_tokenizer(card))
    values, _ = read(small, card, texts, ["emotion"])
    np.testing.assert_allclose(values["emotion"], whole["emotion"], atol=SAME)
    assert network.refused
    assert small.network is network, "smaller batches were enough"


def test_without_room_for_one_text_the_processor_goes_on(tiny_folder: Path) -> None:
    card = read_card(tiny_folder)
    network = SmallCard(read_encoder_weights(tiny_folder / "int8.onnx"), "cpu")
    network.room = 0
    small = DeviceModel(network, open_tokenizer(card))
    device_models.say_that_it_is_slow.cache_clear()
    with pytest.warns(DialensWarning, match="too little free memory") as said:
        values, _ = read(small, card, TEXTS, ["emotion"])
    assert len(said) == 1
    read(small, card, TEXTS, ["emotion"])  # a second warning would be an error
    exact = Model(card, "emotion", precision="fp32").run(TEXTS, "emotion")
    np.testing.assert_allclose(values["emotion"], exact, atol=SAME)


def test_graphs_of_others_stay_on_processors(tmp_path: Path, tiny_folder: Path) -> None:
    from onnx import TensorProto, helper, save

    sent = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "length"])
    back = helper.make_tensor_value_info("logits", TensorProto.INT64, ["n", "length"])
    node = helper.make_node("Identity", ["input_ids"], ["logits"])
    save(helper.make_model(helper.make_graph([node], "g", [sent], [back])), tmp_path / "int8.onnx")
    with pytest.raises(DialensError, match="no encoder as dialens exports them"):
        read_encoder_weights(tmp_path / "int8.onnx")


@pytest.mark.skipif(shipped_folder("ranker") is None, reason="the larger models are not installed")
@pytest.mark.parametrize("each", [False, True])
def test_the_language_model_is_as_in_floats(each: bool) -> None:
    card = read_card(shipped_folder("ranker"))
    exact = LanguageModel(card, precision="fp32")
    texts = ["Thank you so much, this made my day!", "no", "What a strange idea."]
    likelihood = exact.score(texts, each=each)
    _, tokenizer, mask = exact._loaded()
    runner = _OnDevice(open_device_model(card, "likelihood.int8.onnx", "cpu"))
    encoded = encode_inputs(tokenizer, texts, longest=card.longest)
    for row, ids in enumerate(encoded.ids):
        passes = _passes(row, ids, each=each)
        found = runner.run(_Hidden.of(passes, card.pad, mask))
        assert found.sum() == pytest.approx(likelihood.total[row], abs=1e-2)


def test_signatures_name_the_arithmetic(tiny_folder: Path) -> None:
    card = read_card(tiny_folder)
    assert load(tiny_folder, "emotion").signature.endswith("|emotion|int8")
    assert load(tiny_folder, "emotion", precision="fp32").signature.endswith("|fp32")
    # A cluster's plan names what its workers compute in, whatever card the driver has.
    assert load(tiny_folder, "emotion", device="cuda").signature.endswith("|fp16x2")
    assert arithmetic_of(card, "cpu", "int8") == "int8"


no_card = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a graphics card")


@no_card
def test_a_card_that_is_not_there(tiny_folder: Path) -> None:
    assert chosen_device("auto") == "cpu"
    with pytest.raises(DialensError, match=r"--device cuda: PyTorch .*, or use --device cpu"):
        chosen_device("cuda")
    with pytest.raises(DialensError, match="--device cuda"):
        load(tiny_folder, "emotion", device="cuda").predict(["hi"])
    assert load(tiny_folder, "emotion", device="auto").predict(["hi"]).shape == (1, 3)


def test_without_pytorch_it_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(DialensError, match=r"not installed \(pip install 'dialens\[gpu\]'\)"):
        chosen_device("cuda")


TOO_OLD = (
    "The NVIDIA driver on your system is too old (found version 11040). Please update your GPU "
    "driver by downloading and installing a new version from the URL: "
    "http://www.nvidia.com/Download/index.aspx Alternatively, go to: https://pytorch.org to "
    "install a PyTorch version that has been compiled with your version of the CUDA driver."
)
NO_DRIVER = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed "
    "a driver from http://www.nvidia.com/Download/index.aspx"
)


@no_card
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            TOO_OLD,
            "The NVIDIA driver on your system is too old (found version 11040); update the driver, "
            "or install a PyTorch made for it (see pytorch.org)",
        ),
        (
            NO_DRIVER,
            "Found no NVIDIA driver on your system; install the driver (see nvidia.com)",
        ),
        (
            "No CUDA GPUs are available",
            "PyTorch sees no graphics card here; check nvidia-smi and CUDA_VISIBLE_DEVICES",
        ),
    ],
)
def test_a_driver_that_will_not_do(monkeypatch, said: str, reason: str) -> None:
    """PyTorch warns of it once a process, and raises it whenever it is asked to begin."""

    def init() -> None:
        raise RuntimeError(said)

    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch.cuda, "init", init)
    for _ in range(2):
        with pytest.raises(DialensError) as refused:
            chosen_device("cuda")
        assert str(refused.value) == f"--device cuda: {reason}, or use --device cpu"


@no_card
@pytest.mark.parametrize(
    ("warning", "error", "reason"),
    [
        (
            "\nTesla K80 with CUDA capability sm_37 is not compatible with the current PyTorch "
            "installation.\nThe current PyTorch install supports CUDA capabilities sm_75 sm_80.\n",
            RuntimeError("CUDA error: no kernel image is available for execution on the device"),
            "Tesla K80 with CUDA capability sm_37 is not compatible with the current PyTorch "
            "installation; install a PyTorch made for it (see pytorch.org)",
        ),
        (
            "",
            torch.AcceleratorError("CUDA error: all CUDA-capable devices are busy\nmore"),
            "the graphics card cannot be used (CUDA error: all CUDA-capable devices are busy); "
            "free or mend it",
        ),
        (
            "",
            torch.cuda.DeferredCudaCallError("CUDA call failed lazily at initialization"),
            "the graphics card cannot be used (CUDA call failed lazily at initialization); "
            "free or mend it",
        ),
    ],
)
def test_a_card_that_cannot_compute(monkeypatch, warning, error, reason) -> None:
    def zeros(*_: object, **__: object) -> None:
        if warning:
            warnings.warn(warning, UserWarning, stacklevel=2)
        raise error

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "zeros", zeros)
    with pytest.raises(DialensError) as refused:
        chosen_device("cuda")
    assert str(refused.value) == f"--device cuda: {reason}, or use --device cpu"


@no_card
def test_auto_loads_no_pytorch_where_there_is_no_card() -> None:
    program = (
        "import sys; from dialens.models import load; "
        "load('toxicity', device='auto').predict(['a']); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


ODD = "aé \u0301\u00a0\t\n犬ß.,'\u200b\ufeffİΣ#☃[SEP]<mask>\x00Ａ９ﬁ한"


@pytest.fixture(scope="module")
def small_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(FOLDERS["small"].folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(st.sampled_from(ODD), max_size=25), max_size=12), st.integers(1, 9))
def test_words_tokenised_once_give_the_tokens_of_texts(small_tokenizer, texts, most) -> None:
    assert cuts_at_blanks(small_tokenizer)
    pieces = WordPieces(small_tokenizer, most_words=most)
    pairs = list(zip(texts, texts[::-1], strict=True))
    both = [one for some in zip(pairs, texts, strict=True) for one in some]
    for inputs in (texts, texts[::-1], pairs, both):
        ours = encode_inputs(small_tokenizer, inputs, longest=16, pieces=pieces)
        plain = encode_inputs(small_tokenizer, inputs, longest=16)
        for name in ("tokens", "starts", "second", "cut", "known"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(plain, name))
    assert encode_inputs(small_tokenizer, both, longest=16).ids == [
        encode_inputs(small_tokenizer, [one], longest=16).ids[0] for one in both
    ]


ASCII = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30)


@settings(deadline=None, max_examples=100)
@given(st.lists(ASCII, max_size=8))
@pytest.mark.parametrize("name", FOLDERS)
def test_plain_words_have_the_tokens_of_the_tokenizer(name: str, texts: list[str]) -> None:
    tokenizer = open_tokenizer(FOLDERS[name])
    texts = [*texts, "It's x" * 40, "a[SEP]b <s> [MASK]", "Don't. 3,50$ ~`^|"]
    tokens, lengths = WordPieces(tokenizer).encode(texts)
    expected = [one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False)]
    assert lengths.tolist() == [len(ids) for ids in expected]
    assert tokens.tolist() == [token for ids in expected for token in ids]


def test_words_that_a_tokenizer_was_given_are_left_to_it(small_tokenizer: Tokenizer) -> None:
    own = Tokenizer.from_str(small_tokenizer.to_str())
    own.add_tokens(["lolcat"])
    tokens, _ = WordPieces(own).encode(["a lolcat", "cat"])
    assert tokens.tolist() == [
        *own.encode("a lolcat", add_special_tokens=False).ids,
        *own.encode("cat", add_special_tokens=False).ids,
    ]
    assert own.token_to_id("lolcat") in tokens.tolist()


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("device", [pytest.param("cuda", marks=pytest.mark.gpu), "cpu"])
@pytest.mark.parametrize("name", FOLDERS)
def test_all_tasks_score_real_replies_as_in_floats(name: str, device: str) -> None:
    card = FOLDERS[name]
    replies = 1_000 if device == "cuda" else 8
    rated = [json.loads(line) for line in gzip.decompress(JUDGED.read_bytes()).splitlines()]
    pairs = [
        ("\n".join(turn["text"] for turn in one["context"][-2:]), one["response"]) for one in rated
    ][:replies]
    network = open_device_model(card, "int8.onnx", device)
    for pair in (False, True):
        inputs = pairs if pair else [reply for _, reply in pairs]
        outputs = outputs_of(card, pair=pair)
        if not outputs:
            continue
        tasks = [task for task in card.tasks.values() if task.output in outputs]
        values, _ = read(network, card, inputs, outputs)
        exact = Model(card, tasks[0].name, precision="fp32").run_many(inputs, outputs)
        for task in tasks:
            np.testing.assert_allclose(
                activated(values[task.output], task.activation),
                activated(exact[task.output], task.activation),
                atol=2e-4,
                err_msg=task.name,
            )


@pytest.mark.gpu
@pytest.mark.parametrize("name", FOLDERS)
def test_a_real_card_says_the_same(name: str) -> None:
    card = FOLDERS[name]
    for pair, inputs in ((False, TEXTS), (True, PAIRS)):
        outputs = outputs_of(card, pair=pair)
        if outputs:
            on_card, _ = read(open_device_model(card, "int8.onnx", "cuda"), card, inputs, outputs)
            here, _ = read(open_device_model(card, "int8.onnx", "cpu"), card, inputs, outputs)
            for output in outputs:
                np.testing.assert_allclose(on_card[output], here[output], atol=1e-2, rtol=1e-3)
