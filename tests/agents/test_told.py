"""What `dialens agents` tells of its runs: budgets that were passed, failures, names, requests."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dialens.agents import AgentSpec
from dialens.agents.talks import CollectionPlan, collect
from dialens.agents.users import read_pack
from dialens.analysis.comparison import pilot
from dialens.base import Budget, DialensError
from dialens.cli.agents._group import app
from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import score
from tests.agents.endpoint import Endpoint


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as served:
        yield served


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("user.txt").write_text("And then?\n" * 9)


def run(command: str, status: int = 0) -> str:
    done = CliRunner().invoke(app, shlex.split(command))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done.output


def test_an_endpoint_that_ignores_max_tokens_passes_a_budget_once_and_is_told(
    endpoint: Endpoint,
) -> None:
    """Forty words where five are allowed; each costs one, and 30 are to be spent."""
    settings: dict[str, str | float | int | bool] = {
        "endpoint": endpoint.url,
        "max_tokens": 5,
        "price_in": 0.0,
        "price_out": 1_000_000.0,
    }
    plan = CollectionPlan(
        (AgentSpec("openai", "words-40", parameters=settings),),
        (AgentSpec("script", "user.txt"),),
        turns=2,
        dialogues=10,
        budget=Budget(cost=30),
    )
    before = len(endpoint.requests)
    done = collect(plan, Path("talks"), workers=1)
    assert len(endpoint.requests) - before == 1  # the second would be foreseen to take forty
    spent = done.usage["words-40(max_tokens=5)"]
    assert (spent.cost, spent.beyond, spent.longest) == (40.0, 1, 40)
    options = " ".join(f"--set {name}={value}" for name, value in settings.items())
    told = run(
        f"collect -a openai:words-40 -p script:user.txt {options} --turns 2 --dialogs 3 -o more"
    )
    assert "more tokens than its max_tokens allows in 3 of 3 replies, up to 40" in told
    assert "a budget can be passed" in told


def test_where_everything_failed_the_failures_are_in_a_file_that_is_named(
    endpoint: Endpoint,
) -> None:
    agent = AgentSpec("openai", "status-500", parameters={"endpoint": endpoint.url, "attempts": 1})
    plan = CollectionPlan((agent,), (AgentSpec("script", "user.txt"),), turns=2, dialogues=3)
    with pytest.raises(DialensError, match=r"all 3 failed.*talks\.collecting/failures\.jsonl"):
        collect(plan, Path("talks"))
    rows = Path("talks.collecting/failures.jsonl").read_text().splitlines()
    assert [json.loads(row)["kind"] for row in rows] == ["failed"] * 3
    assert all(json.loads(row)["said"] for row in rows)


def test_settings_that_all_agents_share_are_in_no_name(endpoint: Endpoint) -> None:
    set_ = f"--set endpoint={endpoint.url} --set max_tokens=100 --set echo.temperature=0.5"
    told = run(f"collect -a openai:echo -a openai:words-3 -p script:user.txt {set_} --dry-run")
    assert "echo(temperature=0.5)" in told
    assert "max_tokens=" not in told
    Path("plan.yaml").write_text(
        json.dumps(
            {
                "agents": [
                    {"agent": f"openai:{model}", "set": {"endpoint": endpoint.url, "top_p": 0.5}}
                    for model in ("echo", "words-3")
                ],
                "partners": ["script:user.txt"],
            }
        )
    )
    assert "top_p=" not in run("collect plan.yaml --dry-run")


def test_what_was_written_before_takes_no_requests(endpoint: Endpoint) -> None:
    set_ = f"--set echo.endpoint={endpoint.url}"
    told = run(f"collect -a openai:echo -p script:user.txt {set_} --turns 4 --dialogs 2 -o talks")
    row = next(line.split() for line in told.splitlines() if line.startswith("user "))
    assert row[:3] == ["user", "4", "–"]
    row = next(line.split() for line in told.splitlines() if line.startswith("echo "))
    assert row[:3] == ["echo", "4", "4"]


def test_the_remedy_of_a_dry_run_is_one_that_can_be_followed(endpoint: Endpoint) -> None:
    set_ = f"--set echo.endpoint={endpoint.url} --set user.endpoint={endpoint.url}"
    told = run(
        f"collect -a openai:echo --users complaint --by openai:echo {set_} --dialogs 30 --dry-run"
    )
    assert "name further ones (--users FILE)" in told
    assert "--openings" not in told


def test_a_spread_that_rounding_makes_is_none() -> None:
    """Two of three words are distinct in every reply; only their number differs."""
    replies = ["a a b", "a a b c c d", "a a b c c d e e f"]
    talks = [
        Dialogue(
            "s",
            agent,
            f"{agent}{number}",
            [Turn("U", "partner", "Well?"), Turn("B", "agent", replies[number % 3])],
        )
        for agent in "xy"
        for number in range(11)
    ]
    names = ["length", "distinct_1"]
    found = pilot(score(Corpus.of(talks), metrics=names), names)
    assert found is not None
    assert list(found.deviations) == ["length"]  # it was said to find distinct words of 0.000


def test_scenarios_are_printed_with_what_ends_them() -> None:
    shown = run("scenarios complaint")
    for scenario in read_pack("complaint").scenarios:
        for words in (*scenario.satisfied_by, *scenario.leaves_on, *scenario.knowledge):
            assert words in shown
        if scenario.patience:
            assert f"patience, in replies: {scenario.patience}" in shown
