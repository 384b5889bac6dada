"""One plan, one engine: features that clash, scorers that fail, cards that are read once."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import (
    Family,
    MetricCard,
    Output,
    Resources,
    Scorer,
    Unit,
    WordCount,
    cards_of,
    make_plan,
    metric,
    metrics,
    score,
    score_into,
    turn_mean,
)
from dialens.metrics import _scoring as scoring
from dialens.metrics._engine import score_parts
from dialens.models import _card as model_card
from dialens.models import _store as store
from tests.metrics.model_talks import TALKS
from tests.metrics.tiny_models import tiny_folder, tiny_resources


def _letters(words: pl.Series) -> np.ndarray:
    return words.str.len_chars().cast(pl.Float64).to_numpy()[:, None]


@metric("letters", meaning="Letters in a turn", family="mine")
def letters(resources):
    counted = WordCount("words", _letters)
    return turn_mean("letters", lambda b: b.word_sums("words")[:, 0], features=(counted,))


@pytest.mark.parametrize("names", [["length", letters], [letters, "length"]])
def test_a_feature_of_ones_own_does_not_change_a_metric_of_ours(
    names: list[str | MetricCard],
) -> None:
    with pytest.raises(DialensError, match="'words' differently") as refused:
        score(Corpus.of(TALKS), metrics=names)
    for told in ("'length' (family 'surface')", "'letters' (family 'mine')", "another name"):
        assert told in str(refused.value)
    assert score(Corpus.of(TALKS), metrics=[letters]).wide("agent")["letters"].null_count() == 0


class Loudness:
    """Marks of exclamation; breaks down at the word it is told to."""

    signature = "loudness"

    def __init__(self, breaks_at: str | None = None) -> None:
        self._breaks_at = breaks_at

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing to learn."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> np.ndarray:
        if any(unit.response == self._breaks_at for unit in units):
            raise DialensError("the loudspeaker is broken.")
        advance(len(units))
        return np.array([[float(unit.response.count("!"))] for unit in units])


def loudness(scorer: Scorer) -> Family:
    outputs = (Output("loudness", "How loud"),)
    return Family("loudness", outputs, lambda _: scorer, reads=(), cached=False)


THEIRS = loudness(Loudness())
BOTH = [THEIRS, letters]


@pytest.mark.parametrize(("name", "brings"), [("THEIRS", 1), ("BOTH", 2)])
def test_a_family_of_another_package(
    installed: Callable[[str, str], None], name: str, brings: int
) -> None:
    before = len(metrics())
    installed("dialens.metrics", f"{__name__}:{name}")
    assert len(metrics()) == before + brings
    talks = [Dialogue("s", "b", "d", [Turn("B", "agent", "hey!"), Turn("B", "agent", "hm")])]
    made = score(Corpus.of(talks), metrics=["loudness"])
    assert made.wide("agent")["loudness"].to_list() == [0.5]
    assert made.signatures == {"loudness": "loudness|v1|scorer:loudness"}


def test_a_scorer_that_breaks_down_in_a_later_batch_is_the_reason_for_all_larger_units() -> None:
    talks = [
        Dialogue("s", name, name, [Turn("B", "agent", text), Turn("B", "agent", "")])
        for name, text in (("a", "hey!"), ("b", "break"), ("c", "ho!!"))
    ]
    plan = make_plan([*cards_of(loudness(Loudness("break"))), "length"], Resources())
    corpus = Corpus.of(talks)
    parts = list(score_parts(corpus.batches(turns=1), plan, threads=1))
    first, *later = [part for part in parts if part.level == "turn"]
    assert first.failures == {}
    assert first.columns["loudness"].values.value[0] == 1.0
    why = {"loudness": "the loudspeaker is broken"}
    assert [part.failures for part in later] == [why, why]
    assert plan.failures == why
    for part in parts[-3:]:  # agents, systems, positions
        assert part.failures == why
        values = part.columns["loudness"].values
        assert np.isnan(values.value).all()
        assert {values.reasons[code - 1] for code in values.code} == set(why.values())
        assert not np.isnan(part.columns["length"].values.value).all()
    agents = next(part for part in parts if part.level == "agent")
    assert agents.columns["loudness"].reason().to_list() == [
        "the loudspeaker is broken; nothing said ×1",
        "the loudspeaker is broken ×2",
        "the loudspeaker is broken ×2",
    ]
    assert agents.columns["loudness"].n_missing.tolist() == [1, 2, 2]


def test_why_a_model_failed_is_part_of_what_is_handed_on(tmp_path: Path) -> None:
    resources = tiny_resources(own={"toxicity": tmp_path / "nowhere"})
    plan = make_plan(["toxicity", "emotion_joy", "openness"], resources)
    parts = list(score_parts(Corpus.of(TALKS).batches(turns=100), plan))
    for part in parts:
        assert list(part.failures) == ["toxicity"]
        assert "no such folder" in part.failures["toxicity"]


def test_one_plan_and_every_card_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two dialogues, all metrics that are computed by default."""
    folder = tmp_path / "models"
    shutil.copytree(tiny_folder(), folder)
    read: Counter[Path] = Counter()
    plans = 0
    read_card, plan = model_card.read_card, scoring.make_plan

    def counted(place: Path):
        read[place] += 1
        return read_card(place)

    def counted_plan(*arguments):
        nonlocal plans
        plans += 1
        return plan(*arguments)

    monkeypatch.setattr(store, "read_card", counted)
    monkeypatch.setattr("dialens.metrics._encoders.read_card", counted)
    monkeypatch.setattr(scoring, "make_plan", counted_plan)
    made = score_into(
        Corpus.of(TALKS[:2]),
        tmp_path / "out",
        scoring.make_plan(None, tiny_resources(folder=folder)),
    )
    assert made.wide("agent")["engagement"].null_count() == 0
    assert read == {folder / "small": 1, folder / "base": 1}
    assert plans == 1
