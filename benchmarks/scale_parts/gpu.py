"""Models on a graphics card beside the same machine's processor: how fast, and how alike.

    python benchmarks/scale.py gpu
    python benchmarks/scale.py gpu --texts 200 --compared 20 --whole 1k --device cpu    does it run?

Texts are generated, of mixed lengths; scores are compared on the replies of a file where one is
given (`--replies FILE`, a JSON list of context and reply a line). For each encoder: the rate of
int8 on two cores, the rate on the card from texts to numbers (`Model.read`), that of a bare loop
over the same network and batches that lie on the card already, and that of the same network in
plain half precision (PyTorch's own functions, all numbers halved). Then every task: how far the
card's probabilities are from the processor's in fp32 and in int8. Last the whole command: `dialens
score` with all models on generated turns, and without any. Nothing here asserts anything.
"""

import argparse
import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dialens.models import (
    Model,
    ModelCard,
    activated,
    chosen_device,
    list_models,
    token_batches,
)
from dialens.models._device_model import DeviceModel, open_device_model, placed
from dialens.models._inputs import TextInput, encode_inputs
from scale_parts.memory import measured
from scale_parts.talks import count, generate

ROUNDS = 3
COMPARED = 2_000
ON_PROCESSOR = {"small": 1_000, "base": 200, "ranker": 1_000}
"""Texts that the processor reads for its rate: some seconds' worth."""


def made_up(count: int, dice: random.Random) -> list[tuple[str, str]]:
    """Pairs of context and reply: mixed lengths as in chat logs, a median of about 12 words."""
    frequent = str.split("i you we the a to and of it is that was for on are do have not so but")
    drawn = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 9))) for _ in range(5_000)]
    words = [*drawn, *frequent * 40]

    def text() -> str:
        size = max(1, min(90, round(dice.lognormvariate(2.5, 0.8))))
        return " ".join(dice.choices(words, k=size)).capitalize() + dice.choice(".!?")

    return [(f"{text()}\n{text()}", text()) for _ in range(count)]


def read_replies(file: Path) -> list[tuple[str, str]]:
    """Pairs of context and reply from a file of JSON lists, a line each."""
    return [(str(a), str(b)) for a, b in map(json.loads, file.read_text("utf-8").splitlines())]


def best(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Seconds of the quickest of some rounds."""
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return min(took)


def cards() -> dict[str, ModelCard]:
    """The encoders that are installed, by name."""
    return {one.card.name: one.card for one in list_models()}


def inputs_for(pairs: Sequence[tuple[str, str]], *, pair: bool) -> list[TextInput]:
    """What a task reads."""
    return list(pairs) if pair else [reply for _, reply in pairs]


def outputs_of(card: ModelCard, *, pair: bool) -> list[str]:
    """The outputs of all tasks that read the same kind of input."""
    return [task.output for task in card.tasks.values() if task.pair == pair]


def on_card(model: DeviceModel, card: ModelCard, inputs: list[TextInput]) -> list[tuple[Any, ...]]:
    """Batches as `Model.read` makes them, that lie on the device already."""
    encoded = encode_inputs(model.tokenizer, inputs, longest=card.longest)
    batches = []
    for start in range(0, len(inputs), 16_384):
        part = np.arange(start, min(start + 16_384, len(inputs)))
        widths = -(-encoded.lengths[part] // 8) * 8
        for rows in token_batches(widths, model.tokens):
            arrays = (
                encoded.padded(part[rows], card.pad, multiple=8),
                encoded.lengths[part[rows]],
                encoded.second[part[rows]],
            )
            batches.append(tuple(placed(array, model.network.device) for array in arrays))
    return batches


def synchronise(device: str) -> None:
    """Wait for the device."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


def half_network(model: DeviceModel) -> Callable[..., Any]:
    """The same encoder as PyTorch's own modules in half precision, for a yardstick."""
    import torch
    from torch.nn import functional

    weights = model.network.weights
    device = model.network.device
    kind = torch.float16 if device.type == "cuda" else torch.float32

    def put(array: np.ndarray) -> Any:
        return torch.from_numpy(np.array(array)).to(device, kind)

    def matrix(linear: Any) -> tuple[Any, Any]:
        return put(linear.values * linear.scales[:, None]), put(linear.bias)

    blocks = weights.words.reshape(len(weights.words), weights.word_scales.shape[1], -1)
    table = put((blocks * weights.word_scales[..., None]).reshape(len(weights.words), -1))
    places = put(weights.positions)
    segments = None if weights.segments is None else put(weights.segments)
    relative = None if weights.relative is None else put(weights.relative)
    first = (put(weights.norm.weight), put(weights.norm.bias), weights.norm.epsilon)
    layers = [
        [matrix(one) for one in (layer.qkv, layer.out, layer.up, layer.down)]
        + [(put(n.weight), put(n.bias), n.epsilon) for n in (layer.norm1, layer.norm2)]
        for layer in weights.layers
    ]
    heads = {name: (put(a), put(b)) for name, (a, b) in weights.outputs.items()}

    def run(ids: Any, lengths: Any, second: Any, names: Sequence[str]) -> Any:
        batch, length = ids.shape
        width = table.shape[1]
        place = torch.arange(length, device=device)
        inside = place < lengths[:, None]
        state = functional.embedding(ids, table) + places[:length]
        if segments is not None:
            state = state + segments[((place >= second[:, None]) & inside).int()]
        state = functional.layer_norm(state, (width,), *first)
        bias = torch.where(inside, 0.0, -1e4).to(kind)[:, None, None, :]
        if relative is not None:
            distance = place[None, :] - place[:, None] + relative.shape[1] // 2
            bias = bias + relative[:, distance][None]
        bias = bias.expand(batch, weights.heads, length, length)
        for qkv, out, up, down, norm1, norm2 in layers:
            parts = functional.linear(state, *qkv)
            parts = parts.view(batch, length, 3, weights.heads, -1).permute(2, 0, 3, 1, 4)
            said = functional.scaled_dot_product_attention(
                parts[0], parts[1], parts[2], attn_mask=bias
            )
            said = said.transpose(1, 2).reshape(batch, length, width)
            state = functional.layer_norm(state + functional.linear(said, *out), (width,), *norm1)
            inner = functional.gelu(functional.linear(state, *up))
            state = functional.layer_norm(state + functional.linear(inner, *down), (width,), *norm2)
        weight = inside[:, :, None].to(kind)
        mean = (state * weight).sum(1) / weight.sum(1)
        return torch.cat([functional.linear(mean, *heads[name]) for name in names], dim=1)

    return run


def rates(
    name: str, card: ModelCard, pairs: list[tuple[str, str]], device: str, *, pair: bool
) -> dict[str, float]:
    """Texts a second, of everything that is compared."""
    import torch

    outputs = outputs_of(card, pair=pair)
    task = next(task.name for task in card.tasks.values() if task.pair == pair)
    inputs = inputs_for(pairs, pair=pair)
    few = inputs[: ON_PROCESSOR[name]]
    processor = Model(card, task, threads=2)
    processor.run_many(few[:64], outputs)
    found = {"int8": len(few) / best(lambda: processor.run_many(few, outputs), 2)}
    model = open_device_model(card, "int8.onnx", device)

    def read() -> None:
        model.read(inputs, outputs, longest=card.longest, pad=card.pad, advance=lambda _: None)

    read()
    found["whole"] = len(inputs) / best(read)
    batches = on_card(model, card, inputs)
    half = half_network(model)

    def bare(run: Callable[..., Any]) -> Callable[[], None]:
        def loop() -> None:
            with torch.inference_mode():
                for batch in batches:
                    run(*batch, outputs)
                synchronise(device)

        loop()
        return loop

    found["bare"] = len(inputs) / best(bare(model.network.run))
    found["half"] = len(inputs) / best(bare(half))
    encoded = encode_inputs(model.tokenizer, inputs[:20_000], longest=card.longest)
    found["tokens"] = float(encoded.lengths.mean())
    took = best(lambda: encode_inputs(model.tokenizer, inputs[:20_000], longest=card.longest), 2)
    found["tokenising"] = min(20_000, len(inputs)) / took
    return found


def likeness(
    card: ModelCard, pairs: list[tuple[str, str]], device: str, *, pair: bool
) -> list[dict[str, Any]]:
    """For each task, how far the device is from the processor, and from itself alone."""
    outputs = outputs_of(card, pair=pair)
    tasks = [task for task in card.tasks.values() if task.pair == pair]
    inputs = inputs_for(pairs, pair=pair)
    model = open_device_model(card, "int8.onnx", device)

    def read(some: list[TextInput]) -> dict[str, np.ndarray]:
        values, _ = model.read(
            some, outputs, longest=card.longest, pad=card.pad, advance=lambda _: None
        )
        return values

    here = read(inputs)
    order = np.random.default_rng(0).permutation(len(inputs))
    parts = [read([inputs[i] for i in order[at : at + 37]]) for at in range(0, len(order), 37)]
    mixed = {name: np.concatenate([part[name] for part in parts]) for name in outputs}
    exact = Model(card, tasks[0].name, precision="fp32").run_many(inputs, outputs)
    whole = Model(card, tasks[0].name).run_many(inputs, outputs)
    half = half_outputs(model, card, inputs, outputs)
    rows = []
    for task in tasks:
        seen = activated(here[task.output], task.activation)

        def apart(other: np.ndarray, task: Any = task, seen: np.ndarray = seen) -> np.ndarray:
            return np.abs(activated(other, task.activation) - seen)

        rows.append(
            {
                "model": card.name,
                "task": task.name,
                "n": len(inputs),
                "fp32": float(apart(exact[task.output]).max()),
                "batches": float(
                    np.abs(activated(mixed[task.output], task.activation) - seen[order]).max()
                ),
                "int8": float(apart(whole[task.output]).max()),
                "int8 mean": float(apart(whole[task.output]).mean()),
                "half": float(apart(half[task.output]).max()),
            }
        )
    return rows


def half_outputs(
    model: DeviceModel, card: ModelCard, inputs: list[TextInput], outputs: list[str]
) -> dict[str, np.ndarray]:
    """What plain half precision says, in the order of inputs."""
    import torch

    run = half_network(model)
    encoded = encode_inputs(model.tokenizer, inputs, longest=card.longest)
    widths = [model.widths[name] for name in outputs]
    values = np.empty((len(inputs), sum(widths)), np.float32)
    with torch.inference_mode():
        for rows in token_batches(encoded.lengths, model.tokens):
            arrays = (encoded.padded(rows, card.pad), encoded.lengths[rows], encoded.second[rows])
            feed = [placed(array, model.network.device) for array in arrays]
            values[rows] = run(*feed, outputs).float().cpu().numpy()
    return dict(zip(outputs, np.split(values, np.cumsum(widths)[:-1], axis=1), strict=True))


def whole_command(turns: int, device: str) -> dict[str, dict[str, float]]:
    """What `dialens score` takes with all models and with none, from start to end."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        generate(corpus, turns)
        plain = ["score", str(corpus), "-q", "--no-report", "--no-cache", "--any-language"]
        for models in ("default", "none"):
            out = ["-o", str(Path(folder) / models), "--device", device, "--models", models]
            took = measured([*plain, *out])  # but for the peak, which counts from this process's
            found[models] = {"clock": took.clock, "processor": took.processor}
    return found


def main(arguments: list[str]) -> None:
    """Measure, print, and leave the figures in a file if asked."""
    parser = argparse.ArgumentParser(prog="scale.py gpu", description=__doc__)
    parser.add_argument("--texts", type=int, default=200_000)
    parser.add_argument("--device", default="cuda")
    parser.add_argument(
        "--compared", type=int, default=COMPARED, help="Texts that scores are compared on."
    )
    parser.add_argument("--replies", type=Path)
    parser.add_argument("--whole", type=count, default=200_000, help="Turns of the whole command.")
    parser.add_argument("--json", type=Path, help="Write all figures there.")
    options = parser.parse_args(arguments)
    chosen_device(options.device)  # without a card it says what is missing
    import torch

    dice = random.Random(1)
    pairs = made_up(options.texts, dice)
    real = read_replies(options.replies) if options.replies else pairs
    name = torch.cuda.get_device_name() if options.device == "cuda" else platform.processor()
    print(f"{name or 'processor'}, PyTorch {torch.__version__}, {os.cpu_count()} cores")
    print(f"{len(pairs):,} texts; CPU: int8 on two cores; texts a second\n")
    print(
        "model  input   tokens   CPU int8     device   × CPU   bare loop   share   half loop  share"
    )
    figures: dict[str, Any] = {"device": name, "rates": [], "tasks": []}
    for model, pair in (("small", False), ("small", True), ("base", True), ("ranker", True)):
        if model not in cards():
            continue
        r = rates(model, cards()[model], pairs, options.device, pair=pair)
        figures["rates"].append({"model": model, "pair": pair, **r})
        print(
            f"{model:6} {'pairs' if pair else 'texts':6} {r['tokens']:7.1f} {r['int8']:10,.0f} "
            f"{r['whole']:10,.0f} {r['whole'] / r['int8']:7.0f} {r['bare']:11,.0f} "
            f"{r['whole'] / r['bare']:6.0%} {r['half']:11,.0f} {r['whole'] / r['half']:6.0%}"
            f"   (tokenising {r['tokenising']:,.0f})",
            flush=True,
        )
    print("\nprobabilities: farthest from the processor's (n a task), and in other batches")
    print("model  task                 n      fp32     batches   int8    int8 mean  plain half")
    compared = real[: options.compared]
    for card in cards().values():
        for pair in (False, True):
            if not outputs_of(card, pair=pair):
                continue
            for row in likeness(card, compared, options.device, pair=pair):
                figures["tasks"].append(row)
                print(
                    f"{row['model']:6} {row['task']:16} {row['n']:6} {row['fp32']:9.1e} "
                    f"{row['batches']:9.1e} {row['int8']:8.4f} {row['int8 mean']:9.5f} "
                    f"{row['half']:9.1e}",
                    flush=True,
                )
    figures["whole"] = {"turns": options.whole, **whole_command(options.whole, options.device)}
    print(f"\ndialens score, {options.whole:,} turns, half of them the agents'")
    for models in ("default", "none"):
        took = figures["whole"][models]
        clock, processor = f"{took['clock']:7.1f} s", f"{took['processor']:7.1f} s"
        print(f"--models {models:8} {clock} by the clock, {processor} of processors")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
