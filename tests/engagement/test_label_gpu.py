"""`dialens engagement label` on a graphics card labels as the processor does in floats."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from dialens.cli._app import app
from dialens.engagement.curation import (
    EngineOptions,
    LabelOptions,
    Models,
    emotion_scorer,
    label,
    toxicity_scorer,
)
from dialens.models import POSITIVE_EMOTIONS, load
from tests.engagement.hand_made import write_work
from tests.engagement.test_label_command import forest
from tests.metrics.strategies import WORDS
from tests.metrics.tiny_models import make_model, tiny_folder

KAPPA = 0.5


@dataclass(frozen=True)
class InFloats:
    """The same classifier on the processor, in floats."""

    folder: str
    task: str
    labels: tuple[str, ...]

    @property
    def signature(self) -> str:
        return f"floats:{self.task}"

    def __call__(self, texts: Sequence[str]) -> NDArray[np.int64]:
        model = load(self.folder, self.task, precision="fp32")
        columns = [model.labels.index(name) for name in self.labels]
        summed = model.predict(list(texts))[:, columns].astype(np.float64).sum(axis=1)
        return np.floor(np.clip(summed, 0, 1) * 1e6 + 0.5).astype(np.int64)


@pytest.mark.usefixtures("card")
def test_labels_are_those_in_floats(tmp_path: Path) -> None:
    labels = [*POSITIVE_EMOTIONS, "anger", "neutral"]
    feels = str(make_model(tmp_path / "m", {"emotion": labels}, {}, seed=3, activation="softmax"))
    toxic = str(tiny_folder() / "small")
    comments, submissions = forest(400)
    for place, row in enumerate(comments):
        row["text"] = " ".join(WORDS[place * step % len(WORDS)] for step in (3, 5, 7, 11))
    work = write_work(tmp_path / "work", comments, submissions)
    done = CliRunner().invoke(
        app,
        [
            *("engagement", "label", str(work), "-o", str(tmp_path / "card"), "--device", "cuda"),
            *("--emotion", feels, "--toxicity", toxic, "--toxic-above", "0.9"),
            *("--kappa", str(KAPPA), "--threads", "2"),
        ],
        catch_exceptions=False,
    )
    assert done.exit_code == 0, done.output
    label(
        work,
        tmp_path / "floats",
        models=Models(
            InFloats(feels, "emotion", POSITIVE_EMOTIONS),
            InFloats(toxic, "toxicity", ("toxic",)),
        ),
        options=LabelOptions(kappa=KAPPA, toxic_above=0.9),
        engine=EngineOptions(threads=2),
    )
    on_card, floats = (
        pl.read_parquet(tmp_path / name / "posts.parquet").sort("id") for name in ("card", "floats")
    )
    assert on_card["id"].equals(floats["id"])
    assert floats["ee"].n_unique() > 5
    for name in ("ee", "score"):
        np.testing.assert_allclose(on_card[name], floats[name], atol=1e-3)
    # A label may only differ where a score lies at the line.
    assert (on_card["label"] != floats["label"]).sum() <= 2


def test_workers_compute_where_they_were_told_to() -> None:
    folder = str(tiny_folder() / "small")
    for scorer in (emotion_scorer(folder, "cuda"), toxicity_scorer(folder, "cuda")):
        there = pickle.loads(pickle.dumps(scorer))
        assert there.device == "cuda"
        assert there.signature == scorer.signature
