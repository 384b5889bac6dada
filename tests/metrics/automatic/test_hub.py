"""Weights from a hub: the real client against a stand-in that speaks its protocol.

Each run is a process of its own, because the client reads its settings when it is imported.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
import transformers
from safetensors.torch import load_file

from dialens.metrics import ScorerContext, Unit
from dialens.metrics.families import _bert_score as bert_score
from dialens.metrics.families._weights import weights_signature
from tests.metrics.automatic import checkpoints
from tests.metrics.automatic.checkpoints import SENTENCES
from tests.metrics.automatic.hub import TOKEN, Break, Hub

PIECE = 10 * 2**20  # the client writes so many bytes at a time: what it has when it is cut off

FETCH = """
import json, sys
from dialens.metrics import NotReadyError, ScorerContext
from dialens.metrics.families._weights import load_folder

pickles, *places = sys.argv[1:]
for place in places:
    try:
        context = ScorerContext({"x": place}, allow_pickle=pickles == "pickles")
        print(json.dumps({"folder": str(load_folder(context, "x", "an encoder"))}))
    except NotReadyError as error:
        print(json.dumps({"refused": str(error)}))
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoints.bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def pickled(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same weights as a pickle, beside another pickle that is none of ours."""
    folder = Path(shutil.copytree(tiny, tmp_path_factory.mktemp("models") / "pickled"))
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    (folder / "training_args.bin").write_bytes(b"anything")
    return folder


@pytest.fixture
def hub(tiny: Path) -> Iterator[Hub]:
    with Hub() as made:
        made.add("org/tiny", tiny, branches=("main", "dev"), tags=("v1",))
        yield made


def pinned(hub: Hub, name: str) -> str:
    return f"hub:{name}@{hub.repositories[name].commit}"


def run(url: str, home: Path, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    """A new process that knows of no other hub, token or proxy."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    ours |= {"HF_ENDPOINT": url, "HF_HOME": str(home), "NO_PROXY": "127.0.0.1,localhost", **more}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=ours, capture_output=True, text=True, timeout=120)


def fetch(
    url: str, home: Path, *places: str, pickles: bool = False, **more: str
) -> list[dict[str, str]]:
    """What becomes of each place: a folder, or a refusal."""
    made = run(url, home, "-c", FETCH, "pickles" if pickles else "safe", *places, **more)
    assert made.returncode == 0, made.stderr
    assert "Traceback" not in made.stderr
    return [json.loads(line) for line in made.stdout.splitlines()]


def refusal(url: str, home: Path, place: str, **more: Any) -> str:
    (answer,) = fetch(url, home, place, **more)
    return answer["refused"]


@pytest.fixture(scope="module")
def units_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = []
    for number, unit in enumerate(UNITS):
        line = {
            "dataset": "made",
            "unit_id": f"u{number}",
            "dialog_id": f"c{number}",
            "level": "turn",
            "system": "bot",
            "context": [{"speaker": "A", "text": unit.context[0]}],
            "response": unit.response,
            "references": list(unit.references),
            "ratings": {"good": [3]},
            "raters": ["r1"],
        }
        lines.append(json.dumps(line) + "\n")
    file = tmp_path_factory.mktemp("corpus") / "made.jsonl"
    file.write_text("".join(lines))
    return file


UNITS = [
    Unit((before,), reply, (reference,))
    for before, reply, reference in zip(SENTENCES, SENTENCES[1:], SENTENCES[2:], strict=False)
]


def scored(url: str, home: Path, file: Path, out: Path, place: str) -> str:
    """Run `dialens score` with BERTScore from a place; what it said on the way."""
    made = run(
        url,
        home,
        *("-m", "dialens", "score", file, "-o", out, "-m", "bert_score,bleu"),
        *("--weights", f"bert_score={place}", "--device", "cpu", "--no-cache"),
    )
    assert made.returncode == 0, made.stderr
    assert "Traceback" not in made.stderr
    return made.stderr


@pytest.mark.slow
def test_scores_from_the_hub_are_those_of_the_folder_and_stay_without_it(
    hub: Hub, tiny: Path, units_file: Path, tmp_path: Path
) -> None:
    place, home = pinned(hub, "org/tiny"), tmp_path / "home"
    scored(hub.url, home, units_file, tmp_path / "first", place)
    files = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert sorted(hub.fetched()) == files
    hub.stop()
    scored(hub.url, home, units_file, tmp_path / "second", place)
    here = bert_score.FAMILY.open(ScorerContext({"bert_score": str(tiny)}, device="cpu"))
    expected = here.score(UNITS)[:, 2].tolist()
    for out in ("first", "second"):
        rows = pl.read_parquet(tmp_path / out / "scores.parquet").filter(
            pl.col("level") == "turn", pl.col("metric") == "bert_score_f1"
        )
        assert sorted(rows["value"]) == pytest.approx(sorted(expected), abs=1e-6)
        (signature,) = rows["signature"].unique()
        mark = here.signature.partition(",")[0].removeprefix("tiny")
        assert f"org/tiny{mark}" in signature  # the same files, the same hash


@pytest.mark.slow
def test_a_pickle_costs_one_metric_and_is_not_fetched(
    hub: Hub, pickled: Path, units_file: Path, tmp_path: Path
) -> None:
    hub.add("org/pickled", pickled)
    out, place = tmp_path / "out", pinned(hub, "org/pickled")
    told = scored(hub.url, tmp_path / "home", units_file, out, place)
    assert "No values for bert_score_precision" in told
    assert "has pytorch_model.bin, a pickle" in told
    assert "--allow-pickle" in told
    assert not any(file.endswith(".bin") for file in hub.fetched())
    rows = pl.read_parquet(out / "scores.parquet").filter(pl.col("level") == "turn")
    values = dict(rows.group_by("metric").agg(pl.col("value").count()).iter_rows())
    assert values["bert_score_f1"] == 0
    assert values["bleu_1"] == len(UNITS)


def test_the_users_word_fetches_the_pickle_and_no_other(
    hub: Hub, pickled: Path, tmp_path: Path
) -> None:
    hub.add("org/pickled", pickled)
    (made,) = fetch(hub.url, tmp_path, pinned(hub, "org/pickled"), pickles=True)
    got = (Path(made["folder"]) / "pytorch_model.bin").read_bytes()
    assert got == (pickled / "pytorch_model.bin").read_bytes()
    assert [file for file in hub.fetched() if file.endswith(".bin")] == ["pytorch_model.bin"]


def test_of_both_formats_only_numbers_are_fetched_and_signed(
    hub: Hub, tiny: Path, pickled: Path, tmp_path: Path
) -> None:
    both = Path(shutil.copytree(tiny, tmp_path / "tiny"))
    shutil.copy(pickled / "pytorch_model.bin", both)
    (both / "onnx").mkdir()
    (both / "onnx" / "config.json").write_text("{}")
    hub.add("org/both", both)
    home = tmp_path / "home"
    (made,) = fetch(hub.url, home, pinned(hub, "org/both"), pickles=True)
    assert "pytorch_model.bin" not in hub.fetched()
    assert hub.fetched().count("config.json") == 1
    of_hub, of_folder = (
        weights_signature(ScorerContext(), Path(p)) for p in (made["folder"], both)
    )
    assert of_hub.partition("@")[2] == of_folder.partition("@")[2]


def test_pieces_of_large_weights_are_fetched(hub: Hub, tiny: Path, tmp_path: Path) -> None:
    model = transformers.BertModel.from_pretrained(tiny)
    pieces = Path(shutil.copytree(tiny, tmp_path / "pieces"))
    (pieces / "model.safetensors").unlink()
    model.save_pretrained(pieces, max_shard_size="50KB")
    names = sorted(file.name for file in pieces.glob("model*"))
    assert len(names) > 2
    hub.add("org/pieces", pieces)
    (made,) = fetch(hub.url, tmp_path / "home", pinned(hub, "org/pieces"))
    assert sorted(file.name for file in Path(made["folder"]).glob("model*")) == names


def test_readiness_asks_nobody(hub: Hub, tmp_path: Path) -> None:
    given = f"bert_score={pinned(hub, 'org/tiny')}"
    made = run(hub.url, tmp_path, "-m", "dialens", "metrics", "bert_score_f1", "--weights", given)
    assert made.returncode == 0, made.stderr
    assert re.search(r"^ready +yes", made.stdout, re.MULTILINE)
    assert hub.requests == []


def test_a_tag_is_a_revision_and_is_remembered(hub: Hub, tmp_path: Path) -> None:
    (made,) = fetch(hub.url, tmp_path, "hub:org/tiny@v1")
    assert Path(made["folder"]).name == hub.repositories["org/tiny"].commit
    hub.stop()
    assert fetch(hub.url, tmp_path, "hub:org/tiny@v1") == [made]
    told = refusal(hub.url, tmp_path / "other", "hub:org/tiny@v1")
    assert told.startswith(f"org/tiny at v1 cannot be fetched from {hub.url} (")
    assert "Connection refused" in told
    assert "give a folder: --weights x=FOLDER" in told


def test_what_the_hub_does_not_have_is_told(hub: Hub, tiny: Path, tmp_path: Path) -> None:
    bare = Path(shutil.copytree(tiny, tmp_path / "bare"))
    (bare / "model.safetensors").unlink()
    hub.add("org/bare", bare)
    hub.add("org/shapeless", bare).files.pop("config.json")
    wordless = hub.add("org/wordless", tiny)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        wordless.files.pop(file)
    unknown = "b" * 40
    answers = fetch(
        hub.url,
        tmp_path / "home",
        f"hub:org/none@{unknown}",
        f"hub:org/tiny@{unknown}",
        "hub:org/tiny@v2",
        "hub:org/tiny@dev",
        pinned(hub, "org/bare"),
        pinned(hub, "org/shapeless"),
        pinned(hub, "org/wordless"),
    )
    none, commit, tag, branch, weights, config, words = (answer["refused"] for answer in answers)
    assert none.startswith(f"{hub.url}/org/none is not there, or private: check the name")
    assert commit.startswith(f"{hub.url}/org/tiny has no revision {unknown}: choose a commit or")
    assert tag.startswith(f"{hub.url}/org/tiny has no revision v2: ")
    assert branch.startswith("dev is a branch of org/tiny, which can move: name the commit")
    assert branch.endswith(f"--weights x={pinned(hub, 'org/tiny')}")
    assert "has no model.safetensors: choose a model" in weights
    assert "has no config.json: choose a model" in config
    assert "has no tokenizer (tokenizer.json, vocab.txt, " in words
    assert words.endswith("choose a model in the format of transformers")
    assert hub.fetched().count("model.safetensors") == 1  # of the one without a tokenizer


def test_a_gated_model_wants_a_token_which_stays_with_the_hub(
    hub: Hub, tiny: Path, tmp_path: Path
) -> None:
    hub.add("org/gated", tiny, gated=True)
    place = pinned(hub, "org/gated")
    told = refusal(hub.url, tmp_path, place)
    assert told.startswith(f"{hub.url}/org/gated is gated: accept its terms there and log in")
    assert "log in (" in refusal(hub.url, tmp_path, place, HF_TOKEN="hf_wrong")
    assert hub.fetched() == []
    hub.requests.clear()
    (made,) = fetch(hub.url, tmp_path, place, HF_TOKEN=TOKEN)
    assert (Path(made["folder"]) / "model.safetensors").is_file()
    sent = {(one.place, one.authorization) for one in hub.requests if "org" in one.path}
    assert sent == {("hub", f"Bearer {TOKEN}")}
    assert [one.authorization for one in hub.requests if one.place == "storage"] == [None]


def test_a_connection_cut_in_the_middle_is_taken_up_again(
    hub: Hub, tiny: Path, tmp_path: Path
) -> None:
    large = Path(shutil.copytree(tiny, tmp_path / "large"))
    content = random.Random(0).randbytes(2 * PIECE + 12345)
    (large / "model.safetensors").write_bytes(content)
    hub.add("org/large", large)
    hub.breaks["model.safetensors"] = [Break(PIECE + 777)]
    (made,) = fetch(hub.url, tmp_path / "home", pinned(hub, "org/large"))
    asked = [one.range for one in hub.requests if one.place == "storage"]
    assert asked == [None, f"bytes={PIECE}-"]
    assert (Path(made["folder"]) / "model.safetensors").read_bytes() == content


def test_a_connection_that_is_lost_leaves_nothing_half_done(
    hub: Hub, tiny: Path, tmp_path: Path
) -> None:
    hub.breaks["model.safetensors"] = [Break(1000, reset=True)]
    place = pinned(hub, "org/tiny")
    told = refusal(hub.url, tmp_path, place)
    assert "cannot be fetched" in told
    assert "run it again" in told
    (made,) = fetch(hub.url, tmp_path, place)
    got = (Path(made["folder"]) / "model.safetensors").read_bytes()
    assert got == (tiny / "model.safetensors").read_bytes()


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_file_that_is_not_what_was_promised_is_refused(
    name: str, hub: Hub, tiny: Path, tmp_path: Path
) -> None:
    content = (tiny / name).read_bytes()
    hub.swapped[name] = content[:-1] + bytes([content[-1] ^ 1])
    place = pinned(hub, "org/tiny")
    promised = hub.repositories["org/tiny"].files[name].etag
    told = refusal(hub.url, tmp_path, place)
    assert told.startswith(f"{name} of org/tiny at ")
    assert f"is not what the hub promised: its hash is not {promised}; delete " in told
    assert refusal(hub.url, tmp_path, place) == told  # the cache is not trusted either
    hub.swapped.clear()
    Path(told.partition("delete ")[2].removesuffix(" and run it again")).unlink()
    (made,) = fetch(hub.url, tmp_path, place)
    assert (Path(made["folder"]) / name).read_bytes() == content


def test_a_file_of_another_size_than_promised_is_refused(
    hub: Hub, tiny: Path, tmp_path: Path
) -> None:
    whole = (tiny / "model.safetensors").read_bytes()
    hub.swapped["model.safetensors"] = whole[:-8]
    told = refusal(hub.url, tmp_path, pinned(hub, "org/tiny"))
    assert f"should be of size {len(whole)} but has size {len(whole) - 8}" in told
    assert "run it again" in told
    hub.swapped.clear()
    (made,) = fetch(hub.url, tmp_path, pinned(hub, "org/tiny"))
    assert (Path(made["folder"]) / "model.safetensors").read_bytes() == whole
