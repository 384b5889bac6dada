"""`dialens study judge` with a stand-in endpoint: from the file to the analysis, and kill -9."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from dialens.base import DialensError
from dialens.cli.study._group import app
from dialens.studies import load_study
from dialens.studies.judges import Ledger
from tests.agents.endpoint import Endpoint
from tests.agents.small_model import MODEL, here

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as served:
        yield served


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object, status: int = 0) -> str:
    done = CliRunner(env={"COLUMNS": "160"}).invoke(
        app, [str(part) for part in arguments], catch_exceptions=False
    )
    assert done.exit_code == status, done.output
    return done.output


def fails(*arguments: object) -> str:
    done = CliRunner(env={"COLUMNS": "160"}).invoke(app, [str(part) for part in arguments])
    assert isinstance(done.exception, DialensError), done.output
    return str(done.exception)


def judged(endpoint: Endpoint, template: str = "likert", **settings: Any) -> Path:
    """A study with a file of judges; those that name a scenario are behind the stand-in."""
    folder = Path("s")
    if not folder.exists():
        run("new", "--template", template, "-o", folder)
    reach = {"endpoint": endpoint.url, "price_in": 1.0, "price_out": 2.0}
    names = settings.pop("models", ["judge"])
    judges = [{"name": name, "agent": f"openai:{name}", "set": reach} for name in names]
    (folder / "judges.yaml").write_text(json.dumps({"judges": judges, **settings}))
    return folder


def test_from_the_file_to_the_analysis(endpoint: Endpoint) -> None:
    run("new", "--template", "likert", "-o", "s")
    assert "judges.yaml does not exist" in fails("judge", "s").replace("s/", "")
    assert "name your models" in run("judge", "s", "--new")
    assert "exists" in fails("judge", "s", "--new")
    folder = judged(endpoint, temperatures=[0, 1], repeats=2)  # in the place of that file
    before = len(endpoint.requests)
    told = run("judge", folder, "--dry-run")
    assert told.startswith("judge (4 raters")
    assert "20 screens to answer, for which 20 requests" in told.replace("\n", " ")
    assert "Nobody was asked." in told
    assert len(endpoint.requests) == before
    assert not (folder / "judges.db").exists()
    told = run("judge", folder, "--at-once", 3)
    assert "20 of 20 screens answered, none is missing; 20 requests" in told.replace("\n", " ")
    assert len(endpoint.requests) - before == 20
    assert {request["temperature"] for request in endpoint.requests[before:]} == {0, 1}
    with Ledger.open(folder / "judges.db") as ledger:
        frame = ledger.frame()
        spent = ledger.spent()
    assert frame["fingerprint"].unique().to_list() == ["fp_tests"]
    assert (frame["tokens_cached"] == frame["tokens_in"] // 2).all()
    assert frame["cost"].sum() == pytest.approx(
        (frame["tokens_in"].sum() + 2 * frame["tokens_out"].sum()) / 1e6
    )
    assert spent.cost == pytest.approx(frame["cost"].sum())
    again = run("judge", folder)
    assert "0 requests" in again
    assert "Of these, an earlier run had 20 answered." in again
    assert "0 requests" in run("judge", folder, "--dry-run")
    told = run("export", folder, "-o", "export")
    ratings = pl.read_parquet("export/ratings.parquet")
    assert f"{ratings.height:,} of the ratings are of language models" in told
    assert ratings["rater_kind"].unique().to_list() == ["llm"]
    assert ratings["rater"].n_unique() == 4
    assert pl.read_parquet("export/judges.parquet").height == 20
    assert "judges.parquet" in Path("export/card.md").read_text()
    assert "repeat" in json.loads(Path("export/codebook.json").read_text())["ratings"]


@pytest.mark.slow
def test_a_study_that_only_judges_took_is_analysed(endpoint: Endpoint) -> None:
    folder = judged(endpoint, repeats=2)
    run("judge", folder)
    run("analyze", folder, "-o", "out", "--resamples", 200)
    assert Path("out/report.html").exists()


def test_people_and_judges_stand_in_one_export(endpoint: Endpoint) -> None:
    folder = judged(endpoint)
    run("simulate", folder, "-n", 6)
    run("judge", folder)
    run("export", folder, "-o", "export", "--db", f"sqlite:///{folder.absolute()}/simulated.db")
    ratings = pl.read_parquet("export/ratings.parquet")
    assert set(ratings["rater_kind"]) == {"simulated", "llm"}
    people = ratings.filter(pl.col("rater_kind") != "llm")
    judges = ratings.filter(pl.col("rater_kind") == "llm")
    keys = ["quality", "system", "agent", "dialog", "turn", "level", "scale"]
    assert judges.select(keys).unique().sort(keys).equals(people.select(keys).unique().sort(keys))
    assert people["judge"].null_count() == people.height
    raters = set(pl.read_parquet("export/participants.parquet")["rater"])
    assert not raters & set(judges["rater"])


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("judge-fenced", "5 of 5 screens answered, none is missing; 5 requests"),
        ("judge-plain", "5 of 5 screens answered, none is missing; 6 requests"),
        ("judge-mends", "5 of 5 screens answered, none is missing; 10 requests"),
        ("judge-wrong", "0 of 5 screens answered, missing: 5 (5 malformed after a second try)"),
        ("judge-sorry", "0 of 5 screens answered, missing: 5 (5 refused)"),
        ("refusal", "0 of 5 screens answered, missing: 5 (5 refused); 5 requests"),
        ("status-401", "0 of 5 screens answered, missing: 5 (5 failed); 1 request,"),
    ],
)
def test_what_models_do(endpoint: Endpoint, model: str, told: str) -> None:
    folder = judged(endpoint, models=[model])
    status = 1 if "failed" in told else 0  # what was refused or malformed is a result
    said = run("judge", folder, "--at-once", 1, status=status).replace("\n", " ")
    assert told in said
    if "missing: 5" in told and not status:
        lost = told.partition("missing: 5 (")[2].partition(")")[0]
        other = folder / "other.yaml"
        other.write_text((folder / "judges.yaml").read_text().replace(model, "judge-keen"))
        assert f"an earlier run had {lost}." in run("judge", folder)
        assert model not in run("judge", folder, "--judges", other)
    if model == "judge-mends":
        assert "5 answers counted at the second try" in said
    if model == "judge-plain":
        assert "takes no schema" in _ledger(folder)["note"][0]


def _ledger(folder: Path) -> pl.DataFrame:
    with Ledger.open(folder / "judges.db") as ledger:
        return ledger.frame()


def test_other_ways_to_answer(endpoint: Endpoint) -> None:
    judges = [("judge-lines", "text"), ("judge-weighs", "probabilities")]
    folder = judged(endpoint)
    reach = {"endpoint": endpoint.url}
    (folder / "judges.yaml").write_text(
        json.dumps(
            {
                "judges": [
                    {"name": name, "agent": f"openai:{name}", "set": reach, "answer": mode}
                    for name, mode in judges
                ]
            }
        )
    )
    said = run("judge", folder).replace("\n", " ")
    assert "none is missing" in said
    frame = _ledger(folder)
    assert set(frame["answer"]) == {"text", "probabilities"}
    kept = json.loads(frame.filter(pl.col("answer") == "probabilities")["probabilities"][0])
    one = next(iter(kept.values()))
    assert (one["mode"], one["way"]) == (4, "first_token")
    assert one["mean"] == pytest.approx((0.5 * 4 + 0.25 * 5 + 0.125 * 3) / 0.875)
    assert one["outside"] == pytest.approx(0.125)


def test_nothing_is_sent_to_a_host_that_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_TESTS", "sk-test")
    run("new", "--template", "likert", "-o", "s")
    reach = {"endpoint": "https://judges.invalid/v1", "key_variable": "KEY_OF_TESTS"}
    file = Path("s/judges.yaml")
    entry = {"judges": [{"name": "a", "agent": "openai:m", "set": reach | {"attempts": 1}}]}
    file.write_text(json.dumps(entry))
    said = fails("judge", "s")
    assert "would be sent to judges.invalid (a)" in said
    assert "send_to: [judges.invalid]" in said
    assert not Path("s/judges.db").exists()
    assert "! The texts of this study would be sent" in run("judge", "s", "--dry-run")
    file.write_text(json.dumps({**entry, "send_to": ["Judges.Invalid"]}))
    assert "5 failed" in run("judge", "s", status=1).replace(
        "\n", " "
    )  # allowed now, and not to be found


def test_a_model_that_does_not_open_leaves_no_file(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("new", "--template", "likert", "-o", "s")
    file, asked = Path("s/judges.yaml"), ("judge", "s", "--agent", "openai:judge", "--dry-run")
    assert "OPENAI_API_KEY" in fails(*asked, "--send-to", "api.openai.com")
    assert not file.exists()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert "--send-to api.openai.com" in run(*asked).replace("\n", " ")
    assert not file.exists()
    assert "can be set there" in run(*asked, "--send-to", "api.openai.com")
    written = file.read_text()
    assert "Nobody was asked." in run(*asked, "--send-to", "api.openai.com")  # it says the same
    assert file.read_text() == written
    assert "exists and says something else" in fails("judge", "s", "--agent", "openai:other")
    assert "exists and says something else" in fails(*asked, "--send-to", "example.org")


def test_local_kinds_judge_too(tmp_path: Path) -> None:
    run("new", "--template", "likert", "-o", "s")
    study = load_study(Path("s"))
    names = [f"{q}-{slot}" for slot in (1, 2) for q in study.design.qualities]
    line = json.dumps(dict.fromkeys(names, 4))
    Path("s/fours.txt").write_text(f"{line}\n")
    file = Path("s/judges.yaml")
    file.write_text("judges: [{name: four, agent: 'script:fours.txt'}]\nbudget: {cost: 0}\n")
    said = run("judge", "s").replace("\n", " ")
    assert "5 of 5 screens answered, none is missing; 5 requests, 0 tokens, cost 0.0000" in said
    run("export", "s", "-o", "export")
    assert pl.read_parquet("export/ratings.parquet")["value"].unique().to_list() == [4.0]
    file.write_text("judges: [{name: four, agent: 'script:fours.txt'}]\ntemperatures: 1\n")
    assert "there is no setting 'temperature'" in fails("judge", "s")
    file.write_text("judges: [{name: four, agent: 'script:fours.txt'}]\nanswer: probabilities\n")
    assert "gives no probabilities" in fails("judge", "s")


def test_a_price_that_nobody_set_is_not_zero(endpoint: Endpoint) -> None:
    folder = judged(endpoint)
    entry = {"name": "judge", "agent": "openai:judge", "set": {"endpoint": endpoint.url}}
    (folder / "judges.yaml").write_text(json.dumps({"judges": [entry]}))
    told = run("judge", folder, "--dry-run").replace("\n", " ")
    assert "at a price that is not known" in told
    assert "0.00" not in told
    told = run("judge", folder).replace("\n", " ")
    assert "cost not known" in told
    assert "0.0000" not in told


def test_the_budget_says_that_it_stopped(endpoint: Endpoint) -> None:
    folder = judged(endpoint, budget={"requests": 3})
    assert "more than budget.requests allows (3)" in run("judge", folder, "--dry-run")
    said = run("judge", folder).replace("\n", " ")
    assert "3 of 5 screens answered, missing: 2 (2 over the budget); 3 requests" in said
    assert "Stopped: the budget is used up (3 requests)" in said


@here
@pytest.mark.slow
def test_a_real_small_model_judges() -> None:
    """Offline, in its own precision: JSON under the schema, and all answers weighed."""
    run("new", "--template", "likert", "-o", "s")
    design = YAML(typ="safe").load(Path("s/study.yaml").read_text())
    design["items"]["sample"] = {"count": 1, "by": "study"}
    Path("s/study.yaml").write_text(json.dumps(design))
    entry = {
        "name": "smol",
        "agent": f"llama:{MODEL}",
        "set": {"threads": 1, "max_tokens": 200},
        "answer": ["json", "probabilities"],
        "temperatures": 0,
    }
    Path("s/judges.yaml").write_text(json.dumps({"judges": [entry]}))
    said = run("judge", "s", "--at-once", 1).replace("\n", " ")
    assert "missing: 0" in said or "none is missing" in said
    run("export", "s", "-o", "export")
    ratings = pl.read_parquet("export/ratings.parquet")
    assert set(ratings["answer_mode"]) == {"json", "probabilities"}
    assert ratings["value"].is_between(1, 5).all()
    weighed = _ledger(Path("s")).filter(pl.col("answer") == "probabilities")
    kept = [next(iter(json.loads(row).values())) for row in weighed["probabilities"]]
    assert {one["way"] for one in kept} == {"continuation"}
    assert all(0 <= one["outside"] < 1 for one in kept)


@pytest.mark.slow
def test_kill_9_doubles_and_loses_nothing(endpoint: Endpoint) -> None:
    """A real process is killed while it asks; the next one asks only what is missing."""
    model, at_once = "judge-late-0.15", 3
    folder = judged(endpoint, models=[model], repeats=6, memory=["fresh", "session"])
    command = [sys.executable, "-m", "dialens", "study", "judge", str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    screens = 5 * 6 * 2
    wanted = screens - 6  # the first screen of a session reads as a fresh one, once a repeat
    before = len(endpoint.requests)

    def mine() -> list[dict[str, Any]]:
        return [one for one in endpoint.requests[before:] if one["model"] == model]

    process = subprocess.Popen(
        [*command, "--at-once", str(at_once)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        limit = time.monotonic() + 60
        while len(mine()) < 20 and time.monotonic() < limit:
            time.sleep(0.01)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    first = len(mine())
    assert 20 <= first < wanted
    kept = _ledger(folder)
    done = set(kept["key"])
    assert first - at_once <= len(done) <= first
    after = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert f"{screens} of {screens} screens answered" in after.stdout.replace("\n", " ")
    seeds = {int(key[:8], 16) & 0x7FFFFFFF for key in done}
    assert not seeds & {one["seed"] for one in mine()[first:]}  # what was kept is not asked again
    assert len(mine()) - first == wanted - len(done)
    frame = _ledger(folder)
    assert (frame.height, frame["key"].n_unique()) == (screens, wanted)
    replies = dict(frame.select("key", "reply").iter_rows())
    assert all(replies[key] == reply for key, reply in kept.select("key", "reply").iter_rows())
    assert kept["reply"].null_count() == 0
