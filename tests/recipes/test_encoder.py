"""How the encoders were made, every step in miniature: random encoders, a few texts, seconds."""

import gzip
import json
import sys
from typing import Any

import numpy as np
import pytest

from dialens.models import POSITIVE_EMOTIONS
from dialens.models._engagement import Formula
from dialens.models.training import load_encoder
from recipes.encoder import chats, distil, emotion, engagement, formula, toxicity, transfer
from recipes.encoder.f1 import best_thresholds
from tests.engagement.dumps import conversation
from tests.models.tiny_encoder import sentences, tiny_encoder
from tests.recipes.labelled import make_red

pytestmark = pytest.mark.slow


def test_thresholds_separate_what_can_be_separated():
    chances = np.linspace(0, 1, 100)[:, None]
    thresholds = best_thresholds(chances, chances > 0.7, trust=0)
    assert 0.68 < thresholds[0] < 0.74


def rated_chats(folder):
    """Chats in the form of the rated sets that teach appeal: four raters, six dialogues each."""
    folder.mkdir()
    talks: dict[str, list[Any]] = {"ji2022_continuous": [], "dbdc3_en": []}
    for number in range(48):
        said = sentences(6, seed=number)
        turns = [{"speaker": ("user", "system")[i % 2], "text": t} for i, t in enumerate(said)]
        unit = {"dialog_id": f"d{number}", "context": turns, "raters": [f"r{number % 4}"]}
        liked = {"interesting": [number * 7 % 100], "fun": [number * 11 % 100]}
        talks["ji2022_continuous"].append({**unit, "response": "", "ratings": liked})
        broke = {"breakdown": [number % 3, 1, 0]}
        talks["dbdc3_en"].append({**unit, "response": "good dog", "ratings": broke})
    for name, units in talks.items():
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as out:
            out.write("".join(json.dumps(unit) + "\n" for unit in units))
    return folder


def test_appeal_ranks_the_dialogues_of_each_rater_apart(tmp_path):
    found = chats.read_appeal(rated_chats(tmp_path / "chats"))
    # 48 dialogues with three replies of the agent each, and 48 turns with breakdown votes.
    assert len(found.inputs) == 48 * 3 + 48
    assert found.target[-1] == 1 - (47 % 3 + 1 + 0) / 3 / 2
    # By rank among 12 dialogues of one rater the median is one half whatever the scale.
    first = found.target[0 : 48 * 3 : 3][:12]
    assert abs(np.median(first) - 0.5) < 0.05
    assert found.inputs[0][0] == sentences(6, seed=0)[0]


def test_replies_from_elsewhere_keep_their_context(tmp_path):
    human = chats.read_human_replies(rated_chats(tmp_path / "chats"))
    other = chats.mismatched(human, seed=1)
    assert [a for a, _ in human.inputs] == [a for a, _ in other.inputs]
    assert sorted(b for _, b in human.inputs) == sorted(b for _, b in other.inputs)
    assert human.part(held_out=True).held_out.all()


def test_the_formula_weighs_its_parts_the_same():
    generator = np.random.default_rng(0)
    parts = {"a": generator.normal(3, 2, 5000), "b": generator.normal(-1, 0.1, 5000)}
    made = Formula(**formula.unit_formula(parts))
    total = made.logit(parts)
    assert abs(total.std() - 1) < 0.03  # two independent parts of spread one, over √2
    assert abs(total.mean()) < 0.01


def test_every_command_in_miniature(tmp_path, monkeypatch):
    encoder = tiny_encoder(tmp_path / "encoder")
    data = tmp_path / "emotions"
    folder = data / "goemotions"
    folder.mkdir(parents=True)
    names = [*POSITIVE_EMOTIONS, *"abcdefghijklmno", "neutral"]
    (folder / "labels.txt").write_text("\n".join(names))
    for part, count in (("train", 80), ("dev", 40), ("test", 40)):
        lines = [f"{t}\t{i % 28}\tid" for i, t in enumerate(sentences(count, seed=count))]
        (folder / f"{part}.tsv").write_text("\n".join(lines) + "\n")
    tweets = ["id,class,tweet"] + [f"{i},{i % 3},{t}" for i, t in enumerate(sentences(90))]
    with gzip.open(data / "davidson_hate_offensive_24783.csv.gz", "wt") as out:
        out.write("\n".join(tweets))
    kinds = ("Toxic", "Not Toxic")
    rows = ["text,is_toxic"] + [f"{t},{kinds[i % 2]}" for i, t in enumerate(sentences(60, 2))]
    (data / "surge_toxicity_en.csv").write_text("\n".join(rows))
    made = conversation(seed=0, comments=1500)
    posts = make_red(tmp_path / "reddit", *made, "--emotion", "lexicon")

    def run(command, *arguments):
        monkeypatch.setattr(sys, "argv", ["x", *map(str, arguments)])
        command()

    teachers = tmp_path / "teachers"
    common = ("--encoder", encoder)
    run(emotion.main, "--data", folder, *common, "--epochs", 1, "--out", teachers / "emotion")
    run(toxicity.main, "--data", data, *common, "--epochs", 1, "--out", teachers / "toxicity")
    few = ("--pairs", 60, "--epochs", 1, "--posts", posts)
    talks = rated_chats(tmp_path / "chats")
    for variant in ("nsr", "soft", "relevance", "appeal"):
        out = teachers / variant
        given = ("--variant", variant, "--chats", talks, "--keep", "--out", out)
        run(engagement.main, *common, *few, *given)
    for what in ("texts", "pairs"):
        sources = ("--posts", posts, "--emotions", data, "--teachers", teachers, "--most", 50)
        more = ("--chats", talks, "--engagement", "nsr", "soft")
        run(transfer.main, what, *common, *sources, *more, "--out", tmp_path / what)
    run(
        distil.main,
        *("--transfer", tmp_path / "texts", tmp_path / "pairs"),
        *common,
        *("--layers", 1, "--posts", posts, "--emotions", data, "--epochs", 1),
        *("--chats", talks, "--out", tmp_path / "student"),
    )
    report = json.loads((tmp_path / "student" / "report.json").read_text())
    assert report["inputs"] > 100
    assert load_encoder(tmp_path / "student", transfer.OUTPUTS).shape.layers == 1
