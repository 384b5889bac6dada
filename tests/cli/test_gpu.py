"""Commands with `--device cuda` say what they say with `--device cpu --precision fp32`."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dialens.cli._app import app
from dialens.metrics.families import LABELS
from tests.metrics.automatic import checkpoints
from tests.metrics.cluster.talks import write_talks
from tests.metrics.strategies import WORDS
from tests.metrics.tiny_models import tiny_folder
from tests.spark_cluster import need_spark

CLOSE = 1e-3
ON_CARD = ("--device", "cuda")
IN_FLOATS = ("--device", "cpu", "--precision", "fp32")
QUIET = ("--quiet", "--no-cache", "--any-language", "--no-report")


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Replies of two bots with references and ratings."""
    draw = np.random.default_rng(0)
    words = [word for word in WORDS if word.strip()]

    def said() -> str:
        return " ".join(draw.choice(words, draw.integers(3, 12)))

    lines = []
    for number in range(24):
        context, reference = said(), said()
        for bot in range(2):
            response = said()
            unit: dict[str, Any] = {
                "dataset": "made",
                "unit_id": f"u{number}-{bot}",
                "dialog_id": f"c{number}",
            }
            unit |= {"level": "turn", "system": f"bot{bot}", "references": [reference]}
            unit |= {"context": [{"speaker": "A", "text": context}], "response": response}
            unit |= {"ratings": {"good": [number % 4 + bot, 3, len(response) % 5]}}
            lines.append({**unit, "raters": ["r1", "r2", "r3"]})
    file = tmp_path_factory.mktemp("rated") / "made.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Models of the user's: two of this package's form, and one of transformers."""
    folder = tmp_path_factory.mktemp("own") / "bert"
    names = dict(enumerate(LABELS))
    checkpoints.bert(folder, head="ForSequenceClassification", id2label=names)
    small, base = tiny_folder() / "small", tiny_folder() / "base"
    return (
        *("--model", f"emotion={folder}", "--model", f"toxicity={small}"),
        *("--model", f"engagement={base}", "--model", f"relevance={base}"),
    )


def values(folder: Path) -> pl.DataFrame:
    table = pl.read_parquet(folder / "scores.parquet")
    keys = ("metric", "level", "system", "agent", "dialog", "turn")
    return table.select(*keys, "value").sort(*keys)


def assert_close(found: Path, expected: Path, within: float = CLOSE) -> None:
    """The same rows, with values as close as that, and missing where the others are."""
    ours, theirs = values(found), values(expected)
    assert ours.drop("value").equals(theirs.drop("value"))
    assert theirs["value"].is_not_null().any()
    matching = ours["metric"].str.starts_with("emotion_matching")  # of ranks, which jump
    for name, some, tolerance in (("ranks", matching, 0.02), ("others", ~matching, within)):
        a, b = (one.filter(some)["value"].to_numpy() for one in (ours, theirs))
        np.testing.assert_allclose(a, b, atol=tolerance, rtol=0, err_msg=name)


@pytest.mark.slow
@pytest.mark.usefixtures("card")
def test_score(rated: Path, own: tuple[str, ...], tmp_path: Path) -> None:
    weights = {
        "bert_score": checkpoints.mpnet(tmp_path / "mpnet"),
        "mauve": checkpoints.gpt2(tmp_path / "gpt2"),
        "bleurt": checkpoints.bleurt_bert(tmp_path / "bleurt"),
        "perplexity": tmp_path / "gpt2",
    }
    given = [part for name, folder in weights.items() for part in ("--weights", f"{name}={folder}")]
    chosen = ("-m", f"emotion_classifier,toxicity,{','.join(weights)}")
    few = ("--metric-option", "mauve.minimum=5", "--metric-option", "mauve.buckets=3")
    for name, where in (("card", ON_CARD), ("floats", IN_FLOATS)):
        run("score", rated, "-o", tmp_path / name, *chosen, *own, *given, *few, *where, *QUIET)
    assert_close(tmp_path / "card", tmp_path / "floats")
    found = values(tmp_path / "card").drop_nulls("value")["metric"].unique().to_list()
    assert {"bert_score_f1", "mauve", "bleurt", "toxicity", "emotion_joy"} <= {*found}
    record = json.loads((tmp_path / "card" / "run.json").read_text())
    assert record["arguments"]["device"] == "cuda"


@pytest.mark.slow
@pytest.mark.usefixtures("card")
def test_compare_gate_and_validate(
    rated: Path, own: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bots = ("bot0.jsonl", "bot1.jsonl")
    units = [json.loads(line) for line in rated.read_text().splitlines()]
    for bot in bots:
        lines = [json.dumps(unit) + "\n" for unit in units if unit["system"] in bot]
        Path(bot).write_text("".join(lines))
    chosen = (*own, "--no-cache")
    only = ("-m", "toxicity,engagement")
    for name, where in (("card", ON_CARD), ("floats", IN_FLOATS)):
        out = ("-o", f"compared-{name}", "--no-report")
        run("compare", *bots, *out, *only, "--resamples", 100, *chosen, *where)
        rules = ("--baseline", bots[1], "--rule", "toxicity rise > 0.9", "--rule", "toxicity > 1")
        run("gate", bots[0], *rules, "--json", f"gate-{name}.json", *chosen, *where)
        judged = ("-m", "toxicity,length", "--resamples", 100)
        run("validate", rated, "-o", f"validated-{name}", *judged, *where)
    compared, floats = (
        pl.read_parquet(f"compared-{name}/comparison.parquet").sort("metric")
        for name in ("card", "floats")
    )
    assert compared["metric"].equals(floats["metric"])
    for column in ("difference", "low", "high"):
        np.testing.assert_allclose(compared[column], floats[column], atol=CLOSE)
    for file in ("gate-{}.json", "validated-{}/validation.json"):
        on_card, expected = (Path(file.format(name)) for name in ("card", "floats"))
        assert_alike(json.loads(on_card.read_text()), json.loads(expected.read_text()), file)


def assert_alike(ours: Any, theirs: Any, where: str) -> None:
    """The same words and numbers, these to the tolerance; records of the runs are left out."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for key in theirs.keys() - {"run", "runs", "signature", "signatures", "notes"}:
            assert_alike(ours[key], theirs[key], f"{where} {key}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for place, pair in enumerate(zip(ours, theirs, strict=True)):
            assert_alike(*pair, f"{where} {place}")
    elif isinstance(theirs, float) and math.isfinite(theirs):
        assert ours == pytest.approx(theirs, abs=CLOSE, rel=CLOSE), where
    elif not isinstance(theirs, str):
        assert ours == theirs, where


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of py4j's own sockets
@pytest.mark.gpu
def test_spark_workers_share_the_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a card, `tests/metrics/cluster/test_cluster.py` has the same for processors."""
    need_spark()
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    corpus = write_talks(tmp_path / "corpus", dialogs=80)
    chosen = ("-m", "toxicity,engagement", "--model", f"toxicity={tiny_folder() / 'small'}")
    given = ("score", corpus, *chosen, *QUIET, *ON_CARD)
    run(*given, "-o", tmp_path / "alone")
    run(*given, "-o", tmp_path / "spark", "--engine", "spark", "--master", "local[2]")
    assert_close(tmp_path / "spark", tmp_path / "alone", within=1e-5)
