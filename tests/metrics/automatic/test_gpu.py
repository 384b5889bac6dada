"""The learned metrics say on a graphics card what they say without one."""

from pathlib import Path

import numpy as np
import pytest

from dialens.metrics import ScorerContext, Unit
from dialens.metrics.families import _bart_score as bart_score
from dialens.metrics.families import _bert_score as bert_score
from dialens.metrics.families import _bleurt as bleurt
from dialens.metrics.families import _mauve as mauve
from dialens.metrics.families import _prism as prism
from tests.metrics.automatic import checkpoints
from tests.metrics.automatic.checkpoints import SENTENCES

FAMILIES = {
    "bert_score": (bert_score.FAMILY, checkpoints.mpnet),
    "bart_score": (bart_score.FAMILY, checkpoints.bart),
    "prism": (prism.FAMILY, checkpoints.prism),
    "bleurt": (bleurt.FAMILY, checkpoints.bleurt_rembert),
    "mauve": (mauve.FAMILY, checkpoints.gpt2),
}
UNITS = [
    Unit((before,), reply, (reference,))
    for before, reply, reference in zip(
        SENTENCES, SENTENCES[1:], SENTENCES[2:] + SENTENCES[:1], strict=False
    )
]


@pytest.mark.usefixtures("card")
@pytest.mark.parametrize("name", FAMILIES)
def test_a_card_changes_nothing(name: str, tmp_path: Path):
    family, make = FAMILIES[name]
    folder = make(tmp_path / name)
    found = []
    for device in ("cpu", "cuda"):
        scorer = family.open(ScorerContext({name: str(folder)}, device=device))
        found.append(scorer.embed(SENTENCES) if family.kind == "pool" else scorer.score(UNITS))
    assert np.isfinite(found[0]).all()
    assert np.allclose(found[0], found[1], atol=1e-3, rtol=0)
