"""A graphics card whose memory is full: smaller batches, then the processor, said once.

On a card its memory is really full: the process may take no more of it, and what is left over in
PyTorch's own store is taken first. Elsewhere the stand-in refuses tensors that are too large.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dialens.base import DialensError
from dialens.models import LanguageModel, load, read_card, run_batches, shipped_folder
from tests.conftest import ROOT

SAME = 1e-4

PROGRAM = """
import json, sys, warnings
import torch

kind, task, room, many, out, *folders = sys.argv[1:]
room = int(room)
if kind == "stand-in":
    import pytest
    from tests import stand_in_card
    stand_in_card.install(pytest.MonkeyPatch())
import numpy as np
from dialens.models import load

TEXTS = ["a b c d e f g h i j k l m n o p q r s t u v w x y z " * 2] * int(many) + ["thanks a lot"]
folders = [(folder, None if task == "own" else task) for folder in folders]
models = [load(folder, name, device="cuda") for folder, name in folders]
models[0].predict(["thanks"])  # so that libraries have their own memory
if kind == "stand-in":
    stand_in_card.CardTensor.room = room
else:
    torch.cuda.empty_cache()
    whole = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + room) / whole)
    taken = []
    for size in (2**24, 2**20, 2**16, 2**9) if not room else ():
        while True:
            try:
                taken.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            except torch.cuda.OutOfMemoryError:
                break
texts = TEXTS if room else TEXTS[-1:] * 40
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("default")
    found = [model.predict(texts) for model in models]
refused = (
    stand_in_card.CardTensor.refused
    if kind == "stand-in"
    else torch.cuda.memory_stats()["num_ooms"]
)
np.savez(out, *found)
where = [str(model._open.network.device.type) for model in models] if task != "own" else []
print(json.dumps({"said": [str(one.message) for one in said], "refused": refused, "on": where}))
"""


def in_a_full_card(
    card: str, task: str, room: int, out: Path, *folders: Path
) -> tuple[dict[str, Any], list[np.ndarray]]:
    """What a process that has so many bytes of a card left says, and predicts."""
    many = 4_000 if card == "card" else 60
    given = [card, task, str(room), str(many), str(out), *map(str, folders)]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *given],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with np.load(out) as arrays:
        return json.loads(done.stdout.splitlines()[-1]), [arrays[name] for name in arrays]


def expected(folder: Path, task: str | None, texts: list[str]) -> np.ndarray:
    values: np.ndarray = load(folder, task, precision="fp32").predict(texts)
    return values


LONG = "a b c d e f g h i j k l m n o p q r s t u v w x y z " * 2
SHORT = "thanks a lot"


@pytest.mark.slow
def test_batches_become_smaller(card: str, tiny_folder: Path, tmp_path: Path) -> None:
    # On a card, 65,536 tokens of this width take far more than 192 MB, and one text far less.
    room = 192 * 2**20 if card == "card" else 2**23
    said, (found,) = in_a_full_card(card, "emotion", room, tmp_path / "o.npz", tiny_folder)
    assert said["refused"] > 0
    assert said["said"] == []
    assert said["on"] == ["cuda"]
    for place, text in ((0, LONG), (-1, SHORT)):
        np.testing.assert_allclose(
            found[place], expected(tiny_folder, "emotion", [text])[0], atol=SAME
        )
    assert (np.ptp(found[:-1], axis=0) < SAME).all()


@pytest.mark.slow
def test_without_any_room_the_processor_goes_on_and_says_so_once(
    card: str, tiny_folder: Path, tmp_path: Path
) -> None:
    other = shutil.copytree(tiny_folder, tmp_path / "other")
    said, found = in_a_full_card(card, "emotion", 0, tmp_path / "o.npz", tiny_folder, other)
    assert said["on"] == ["cpu", "cpu"]
    assert len(said["said"]) == 1
    assert "too little free memory" in said["said"][0]
    for values in found:
        np.testing.assert_allclose(
            values[0], expected(tiny_folder, "emotion", [SHORT])[0], atol=SAME
        )


@pytest.mark.slow
def test_a_model_of_transformers_gets_smaller_batches(
    card: str, bert_folder: Path, tmp_path: Path
) -> None:
    room = 4 * 2**20 if card == "card" else 2**18
    said, (found,) = in_a_full_card(card, "own", room, tmp_path / "o.npz", bert_folder)
    assert said["refused"] > 0
    assert said["said"] == []
    for place, text in ((0, LONG), (-1, SHORT)):
        np.testing.assert_allclose(found[place], expected(bert_folder, None, [text])[0], atol=SAME)


def test_batches_are_cut_and_stay_so() -> None:
    seen: list[int] = []

    def run(rows: np.ndarray) -> int:
        seen.append(len(rows))
        if len(rows) > 3:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 MiB")
        return int(rows.sum())

    done = list(run_batches([np.arange(8), np.arange(8, 16)], run))
    assert [row for rows, _ in done for row in rows.tolist()] == list(range(16))
    assert [total for _, total in done] == [rows.sum() for rows, _ in done]
    assert seen == [8, 4, 2, 2, 2, 2, 2, 2, 2, 2]
    with pytest.raises(DialensError, match=r"even for one text\. Free it, or use --device cpu"):
        list(run_batches([np.arange(2)], lambda rows: run(np.arange(9))))
    with pytest.raises(RuntimeError, match="shapes"):
        list(run_batches([np.arange(2)], lambda rows: torch.ones(2, 3) @ torch.ones(2, 3)))


@pytest.mark.usefixtures("card")
@pytest.mark.skipif(shipped_folder("ranker") is None, reason="the larger models are not installed")
def test_likelihoods_in_smaller_batches_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shipped_folder("ranker")
    assert folder is not None
    texts = ["Thank you so much, this made my day!", "no", "What a strange idea."]
    model = LanguageModel(read_card(folder), device="cuda")
    whole = model.score(texts)
    runner: Any = model._loaded()[0]
    inner = runner._model.network
    run = inner.log_probabilities

    def narrow(ids: Any, *rest: Any) -> Any:
        if len(ids) > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 MiB")
        return run(ids, *rest)

    monkeypatch.setattr(inner, "log_probabilities", narrow)
    parts = model.score(texts)
    np.testing.assert_allclose(parts.total, whole.total, atol=1e-3)
    assert runner._model.network is inner, "smaller batches were enough"
