"""Weights by name: whole, in pieces, pickled, and damaged in ways that files get damaged."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from dialens.metrics import NotReadyError
from dialens.metrics.families._tensors import read_tensors
from tests.metrics.automatic import checkpoints

WEIGHTS = {f"layer.{n}.weight": torch.arange(6.0).reshape(2, 3) + n for n in range(5)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_file(WEIGHTS, tmp_path / "model.safetensors")
    return tmp_path


@pytest.mark.parametrize("pickles", [False, True])
@pytest.mark.parametrize("pieces", [False, True])
def test_all_tensors_are_found(folder: Path, pickles: bool, pieces: bool) -> None:
    if pieces:
        checkpoints.in_pieces(folder, pickles=pickles)
    elif pickles:
        checkpoints.pickled(folder)
    found = read_tensors(folder)
    assert found.keys() == WEIGHTS.keys()
    for name, values in WEIGHTS.items():
        torch.testing.assert_close(found[name], values)


def test_numbers_come_before_pickles(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"never read")
    assert read_tensors(folder).keys() == WEIGHTS.keys()


def test_a_missing_piece_is_named(folder: Path) -> None:
    checkpoints.in_pieces(folder)
    gone = folder / "model-00002-of-00002.safetensors"
    gone.unlink()
    with pytest.raises(NotReadyError, match=f"{gone} is not there"):
        read_tensors(folder)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": [1]}))
    with pytest.raises(NotReadyError, match=r"index\.json cannot be read"):
        read_tensors(folder)


def test_a_pickle_of_something_else(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"state_dict": WEIGHTS, "epoch": 3}, folder / "pytorch_model.bin")
    with pytest.raises(NotReadyError, match="not tensors by name"):
        read_tensors(folder)
    torch.save({"layer": Path("x")}, folder / "pytorch_model.bin")  # a class: code
    with pytest.raises(NotReadyError, match="holds more than tensors") as told:
        read_tensors(folder)
    assert "weights_only" not in str(told.value)  # PyTorch advises to run it


@pytest.mark.filterwarnings("ignore")  # PyTorch's, at what is left of a file
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(["numbers", "zip", "plain"]),
    places=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=5),
    kept=st.floats(0.0, 1.0),
)
def test_damage_is_told_and_never_a_traceback(
    kind: str, places: list[tuple[float, int]], kept: float, tmp_path: Path
) -> None:
    name = "model.safetensors" if kind == "numbers" else "pytorch_model.bin"
    file = tmp_path / name
    if kind == "numbers":
        (tmp_path / "pytorch_model.bin").unlink(missing_ok=True)
        save_file(WEIGHTS, file)
    else:
        (tmp_path / "model.safetensors").unlink(missing_ok=True)
        torch.save(WEIGHTS, file, _use_new_zipfile_serialization=kind == "zip")
    content = bytearray(file.read_bytes())
    for place, byte in places:
        content[int(place * len(content))] = byte
    file.write_bytes(content[: int(kept * len(content))])
    told = str(file)
    try:
        read_tensors(tmp_path)
    except NotReadyError as error:
        told = str(error)
    assert str(file) in told
    assert "\n" not in told
