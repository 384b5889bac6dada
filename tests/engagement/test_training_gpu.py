"""A model of engagement that was trained on a graphics card runs without one."""

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from dialens.cli.engagement._train import train
from dialens.models import load
from dialens.models.training import best_device
from tests.engagement.red import tiny_encoder, write_red

app = typer.Typer()
app.command("train")(train)


@pytest.mark.slow
@pytest.mark.usefixtures("card")
def test_training_ends_in_a_model(tmp_path: Path) -> None:
    assert best_device().type == "cuda"
    out = tmp_path / "mine"
    red, encoder = write_red(tmp_path / "red"), tiny_encoder(tmp_path / "encoder")
    quick = ("--epochs", "3", "--rate", "3e-3", "--batch", "16", "--seeds", "0")
    given = [str(red), "-o", str(out), "--encoder", str(encoder), *quick]
    done = CliRunner().invoke(app, given, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    told = json.loads((out / "training.json").read_text())
    assert told["seeds"][0]["measures"]["validation AUC"] > 0.8
    good, bad = ("what is this ?", "so i love you"), ("what is this ?", "so i hate this")
    scores = load(out).predict([good, bad])[:, 0]
    assert scores[0] > scores[1]
    on_card = load(out, device="cuda").predict([good, bad])[:, 0]
    in_floats = load(out, precision="fp32").predict([good, bad])[:, 0]
    np.testing.assert_allclose(on_card, in_floats, atol=1e-4)
