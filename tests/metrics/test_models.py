"""Metrics with models behind them against plain loops over what the models say of single texts."""

import math
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dialens.base import DialensError
from dialens.corpus import Corpus, Dialogue
from dialens.metrics import (
    ModelChoice,
    Resources,
    ScorerContext,
    ScorerSet,
    Scores,
    ScoringPlan,
    forecast,
    make_plan,
    score,
)
from dialens.metrics._encoders import encoders_of
from dialens.metrics.families import LABELS
from dialens.models import Model, load
from dialens.models.traits import TraitModel
from dialens.models.traits import load as load_trait
from dialens.models.traits import save as save_trait
from tests.metrics import plain
from tests.metrics.model_talks import TALKS, groups, said, same, values
from tests.metrics.tiny_models import make_model, tiny_folder, tiny_resources, tiny_scorers

TASKS = ("emotion", "toxicity", "engagement", "relevance")
KIND = TraitModel(
    "kindness",
    pl.Series(["love", "hate"]),
    np.ones(2),
    np.array([1.0, -1.0]),
    1,
    np.zeros(0),
    np.zeros(0),
    np.zeros(0),
    3.0,
)
UNKNOWN = " qqzzqq qqzzqq qqzzqq "  # keeps n-grams from crossing turns; no model knows it


def probabilities(texts: list[str]) -> np.ndarray:
    """Of each text by itself."""
    model = load("emotion", folder=tiny_folder())
    read = [text for text in texts if text]
    if not read:
        return np.zeros((0, 28))
    return np.concatenate([model.predict([text]) for text in read])


def entropy(texts: list[str]) -> float | None:
    found = probabilities(texts)
    return float(stats.entropy(found[:, :27].sum(axis=0))) if len(found) else None


def matching(own: list[str], other: list[str]) -> float | None:
    a, b = probabilities(own), probabilities(other)
    if not len(a) or not len(b):
        return None
    return float(stats.spearmanr(a[:, :27].sum(axis=0), b[:, :27].sum(axis=0)).statistic)


def test_emotions_of_turns(scores: Scores) -> None:
    got = {
        name: values(scores, "turn", name)
        for name in (
            "emotion_joy",
            "emotion_neutral",
            "emotional_entropy_classifier",
            "emotion_matching_classifier",
        )
    }
    for talk in TALKS:
        for number, turn in enumerate(talk.turns):
            if turn.role != "agent":
                continue
            key = (talk.system, talk.agent, talk.dialog, number)
            found = probabilities([turn.text])
            joy = found[0, LABELS.index("joy")] if turn.text else None
            same(got["emotion_joy"][key], joy)
            same(got["emotion_neutral"][key], found[0, 27] if turn.text else None)
            same(got["emotional_entropy_classifier"][key], entropy([turn.text]))
            before = [earlier.text for earlier in talk.turns[:number]]
            same(got["emotion_matching_classifier"][key], matching([turn.text], before))


def test_emotions_of_larger_units_come_from_summed_probabilities(scores: Scores) -> None:
    for level, key, talks in groups():
        own, other = plain.said(talks, "agent"), plain.said(talks, "partner")
        found = probabilities(own)
        got = lambda name: values(scores, level, name)[key]  # noqa: B023, E731
        same(got("emotion_joy"), found[:, LABELS.index("joy")].mean())
        same(got("emotional_entropy_classifier"), entropy(own))
        same(got("emotion_matching_classifier"), matching(own, other))


def test_toxicity_is_the_mean_of_turns(scores: Scores) -> None:
    model = load("toxicity", folder=tiny_folder())
    for level, key, talks in groups():
        texts = [text for text in plain.said(talks, "agent") if text]
        wanted = np.mean([model.predict([text])[0, 0] for text in texts])
        same(values(scores, level, "toxicity")[key], float(wanted))


@pytest.mark.parametrize("name", ["agreeableness", "state_empathy", "neuroticism"])
def test_traits_of_turns_dialogues_and_agents(scores: Scores, name: str) -> None:
    model = load_trait(name)
    for talk in TALKS:
        for number, turn in enumerate(talk.turns):
            if turn.role == "agent":
                wanted = float(model.predict([turn.text])[0])
                got = values(scores, "turn", name)[talk.system, talk.agent, talk.dialog, number]
                same(got, None if math.isnan(wanted) else wanted)
    for level, key, talks in groups():
        pooled = [UNKNOWN.join(plain.said([talk], "agent")) for talk in talks]
        same(values(scores, level, name)[key], float(np.mean(model.predict(pooled))))


def test_reasons(scores: Scores) -> None:
    rows = scores.table.filter(pl.col("level") == "turn").collect()

    def reason(metric: str, dialog: str, turn: int) -> str | None:
        found = rows.filter(metric=metric, dialog=dialog, turn=turn).row(0, named=True)
        return found["reason"]

    for metric in ("engagement", "engagement_reactions", "relevance"):
        assert reason(metric, "d2", 0) == "no turn before it"
        assert reason(metric, "d3", 2) == "no text"
        assert reason(metric, "d3", 1) is None
    assert reason("toxicity", "d3", 2) == "no text"
    assert reason("emotion_joy", "d3", 2) == "no text"
    assert reason("emotional_entropy_classifier", "d3", 2) == "no text"
    assert reason("emotion_matching_classifier", "d2", 0) == "nothing to answer"
    assert reason("emotion_matching_classifier", "d3", 2) == "no text"
    assert reason("agreeableness", "d3", 2) == "no word the model knows"
    (row,) = (
        scores.table.filter(pl.col("level") == "agent", pl.col("agent") == "b")
        .filter(pl.col("metric") == "engagement")
        .collect()
        .iter_rows(named=True)
    )
    assert (row["n"], row["n_missing"], row["reason"]) == (1, 1, "no text ×1")


def test_signatures_name_the_weights(scores: Scores) -> None:
    small, base = (load(f"engagement-{size}", folder=tiny_folder()) for size in ("small", "base"))
    assert small.card.signature in scores.signatures["emotion_joy"]
    assert small.card.signature in scores.signatures["toxicity"]
    assert base.card.signature in scores.signatures["engagement"]
    assert "formula@" in scores.signatures["engagement"]
    plan = make_plan(["engagement_reactions"], tiny_resources("small"))
    plan.open()
    (metric,) = plan.metrics
    assert small.card.signature in metric.signature
    trait = load_trait("openness").card["files"]["model.npz"]
    assert trait[:8] in scores.signatures["openness"]


def test_tasks_of_one_folder_share_a_pass(scorers: ScorerSet) -> None:
    encoders = encoders_of(scorers.context)
    of = {task: encoders.reader(task).encoder for task in TASKS}
    assert of["emotion"] is of["toxicity"]
    assert of["engagement"] is of["relevance"]
    assert of["emotion"] is not of["engagement"]


def read_by(monkeypatch: pytest.MonkeyPatch) -> list[str | tuple[str, str]]:
    """Everything that goes through encoders from now on."""
    inputs: list[str | tuple[str, str]] = []
    read = Model.read

    def noted(self: Model, some, *arguments, **options):
        inputs.extend(some)
        return read(self, some, *arguments, **options)

    monkeypatch.setattr(Model, "read", noted)
    return inputs


def test_only_the_turns_that_are_needed_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = read_by(monkeypatch)
    corpus, resources = Corpus.of(TALKS), tiny_resources()
    score(corpus, metrics=["toxicity", "emotion_joy"], resources=resources)
    own, other = plain.said(TALKS, "agent"), plain.said(TALKS, "partner")
    assert sorted(seen) == sorted({text for text in own if text})
    score(corpus, metrics=["emotion_classifier"], resources=resources)
    assert sorted(seen) == sorted({text for text in (*own, *other) if text})


def test_every_pair_is_read_once_for_all_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = read_by(monkeypatch)
    score(Corpus.of(TALKS), metrics=["engagement"], resources=tiny_resources())
    assert seen
    assert len(seen) == len(set(seen))


def test_memory_is_bounded_and_only_saves_work(scores: Scores) -> None:
    little = tiny_scorers(cache_size=2)
    again = score(Corpus.of(TALKS), resources=Resources(scorers=little))
    texts = [text for text in plain.said(TALKS, "agent") if text]
    encoder = encoders_of(little.context).reader("emotion").encoder
    assert len(encoder.uncached(texts)) >= len(texts) - 2
    for one, two in zip(scores.wide("turn"), again.wide("turn"), strict=True):
        if one.dtype == pl.Float64:
            np.testing.assert_allclose(one.to_numpy(), two.to_numpy(), atol=1e-3)


def test_progress_counts_every_turn_once() -> None:
    steps: list[int] = []
    talks = [
        Dialogue("s", "a", f"d{i}", said(f"partner: cat {i}", f"agent: dog {i} zebra"))
        for i in range(300)
    ]
    chosen = tiny_resources()
    score(Corpus.of(talks), metrics=["engagement"], resources=chosen, advance=steps.append)
    assert sum(steps) == 600
    assert len(steps) > 1
    assert all(step > 0 for step in steps)


def test_what_cannot_be_loaded_is_missing_and_the_rest_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    shutil.copytree(tiny_folder(), folder, symlinks=True)
    (folder / "small" / "weights.bin").write_bytes(b"not weights")
    resources = tiny_resources(folder=folder)
    made = score(
        Corpus.of(TALKS), metrics=["toxicity", "engagement", "length"], resources=resources
    )
    wide = made.wide("agent")
    assert wide["toxicity"].null_count() == wide.height
    assert wide["engagement"].null_count() == 0
    assert wide["length"].null_count() == 0
    rows = made.table.filter(pl.col("metric") == "toxicity").collect()
    assert rows["reason"].str.contains("weights.bin is damaged", literal=True).all()
    told = forecast(Corpus.of(TALKS), make_plan(["toxicity", "engagement"], resources))
    assert told is not None
    assert "No values for toxicity" in told.lines()[1]
    assert "weights.bin is damaged" in told.lines()[1]


def test_an_empty_installation_says_what_is_missing(tmp_path: Path) -> None:
    resources = tiny_resources(folder=tmp_path)
    made = score(
        Corpus.of(TALKS), metrics=["emotion_joy", "openness", "length"], resources=resources
    )
    rows = made.table.filter(pl.col("level") == "turn").collect()
    by_metric = {name: rows.filter(metric=name)["reason"][0] for name in made.signatures}
    assert "no model for emotion is installed" in by_metric["emotion_joy"]
    assert by_metric["openness"].startswith("there is no model of it in ")
    assert by_metric["length"] is None
    assert made.signatures["emotion_joy"] == "emotion_joy|v2|model:none"


@pytest.mark.usefixtures("without_traits")
def test_without_the_research_models_traits_say_how_to_get_them(tmp_path: Path) -> None:
    traits = ["agreeableness", "openness", "state_empathy", "length"]
    told = forecast(Corpus.of(TALKS), make_plan(traits, Resources()))
    assert told is not None
    absent = "the trait models, for research only, are not installed (pip install dialens-traits)"
    assert told.lines()[-1] == f"No values for agreeableness and openness: {absent}."
    made = score(Corpus.of(TALKS), metrics=traits)
    rows = made.table.filter(pl.col("level") == "agent").collect()
    for name in ("agreeableness", "openness"):
        assert rows.filter(metric=name)["value"].null_count() == rows.filter(metric=name).height
        assert rows.filter(metric=name)["reason"].str.starts_with(absent).all()
        assert made.signatures[name].endswith("|model:none")
    for name in ("state_empathy", "length"):
        assert rows.filter(metric=name)["value"].count() > 0
    save_trait(KIND, tmp_path)
    own = ScorerSet(ScorerContext(models=ModelChoice(own={"agreeableness": tmp_path})))
    made = score(Corpus.of(TALKS), metrics=["agreeableness"], resources=Resources(scorers=own))
    assert "kindness@" in made.signatures["agreeableness"]
    with pytest.raises(
        DialensError, match=r"Others, for research only: pip install dialens-traits"
    ):
        load_trait("agreeableness")


def test_models_of_ones_own(tmp_path: Path) -> None:
    few = make_model(tmp_path / "few", {"emotion": ["joy", "anger", "neutral"]}, {}, seed=5)
    two = make_model(
        tmp_path / "two", {"insults": ["fine", "bad"]}, {}, seed=6, activation="softmax"
    )
    save_trait(KIND, tmp_path / "kind")
    own = {"emotion": few, "toxicity": two, "agreeableness": tmp_path / "kind"}
    resources = tiny_resources(own=own)
    made = score(
        Corpus.of(TALKS),
        metrics=["emotion_classifier", "toxicity", "agreeableness"],
        resources=resources,
    )
    rows = made.table.filter(pl.col("level") == "turn", pl.col("dialog") == "d1").collect()
    got = {name: rows.filter(metric=name).row(0, named=True) for name in made.signatures}
    text = TALKS[0].turns[1].text
    joy, anger, _ = load(few).predict([text])[0].tolist()
    same(got["emotion_joy"]["value"], joy)
    assert got["emotion_grief"]["value"] is None
    assert got["emotion_grief"]["reason"] == "the model has no such label"
    same(got["emotional_entropy_classifier"]["value"], float(stats.entropy([joy, anger])))
    same(got["toxicity"]["value"], float(load(two).predict([text])[0, 1]))
    assert got["agreeableness"]["value"] == 2.0  # one "hate" of unit length
    assert "few:" in made.signatures["emotion_joy"]
    assert "kindness@" in made.signatures["agreeableness"]


@pytest.mark.slow
def test_a_hugging_face_classifier_of_ones_own(tmp_path: Path) -> None:
    transformers = import_module("transformers")
    source = tiny_folder() / "small" / "tokenizer.json"
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(source), pad_token="[PAD]")
    shape = transformers.BertConfig(
        vocab_size=80,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=2,
    )
    folder = tmp_path / "classifier"
    transformers.BertForSequenceClassification(shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    own = {"toxicity": folder, "engagement": folder}
    resources = tiny_resources(own=own)
    made = score(Corpus.of(TALKS), metrics=["toxicity", "engagement"], resources=resources)
    model = load(folder)
    before, text = (turn.text for turn in TALKS[0].turns[:2])
    key = ("s", "a", "d1", 1)
    same(values(made, "turn", "toxicity")[key], float(model.predict([text])[0, 1]))
    wanted = float(model.predict([(before, text)])[0, 1])
    same(values(made, "turn", "engagement")[key], wanted)
    assert "classifier:" in made.signatures["toxicity"]


def test_a_model_that_reads_something_else_is_refused() -> None:
    resources = tiny_resources(own={"toxicity": "engagement-base"})
    made = score(Corpus.of(TALKS), metrics=["toxicity"], resources=resources)
    reasons = made.table.collect()["reason"]
    assert reasons.str.contains("reads pairs of context and reply", literal=True).all()


def test_a_size_that_a_task_lacks_is_its_default() -> None:
    plan = make_plan(["emotion_classifier", "engagement"], tiny_resources("base"))
    plan.open()
    assert label(plan, "emotion") == "small, int8"
    assert label(plan, "engagement") == "base, int8"
    plan = make_plan(["engagement"], tiny_resources("small"))
    plan.open()
    assert label(plan, "engagement") == "small, int8"
    assert label(plan, "relevance") == "base, int8"


def label(plan: ScoringPlan, family: str) -> str:
    """What the model behind a family is called."""
    model = plan.families[family].model
    assert model is not None
    return model(plan.scorers.context).label


def test_without_models() -> None:
    none = tiny_resources("none")
    names = [metric.name for metric in make_plan(None, none).metrics]
    assert "length" in names
    assert not {"engagement", "emotion_joy", "openness", "toxicity"} & set(names)
    with pytest.raises(DialensError, match="leaves those out"):
        make_plan(["engagement"], none)


@pytest.mark.parametrize(
    "code",
    [
        "import dialens",
        "import dialens; dialens.metrics.metrics()",
        "import dialens; from dialens.corpus import demo_path; from dialens.metrics import *; "
        "context = ScorerContext(models=ModelChoice('none')); "
        "score(dialens.read(demo_path()), resources=Resources(scorers=ScorerSet(context)))",
        "import dialens; from dialens.corpus import demo_path; from dialens.metrics import *; "
        "score(dialens.read(demo_path()), metrics=['personality'])",
    ],
)
def test_onnxruntime_is_not_loaded_for_nothing(code: str) -> None:
    check = f"{code}; import sys; assert not {{'onnxruntime', 'torch'}} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", check], check=True)
