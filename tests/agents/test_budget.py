"""What a collection would cost, and that it stops before it costs more than it may."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dialens.agents import AgentSpec
from dialens.agents.talks import (
    CollectionPlan,
    collect,
    open_plan,
    planned_use,
    read_plan,
    simulated_users,
    so_far,
)
from dialens.agents.talks._journal import JOURNAL, read_journal
from dialens.base import Budget, DialensError
from dialens.cli._app import app
from dialens.corpus import Corpus
from tests.agents.endpoint import Endpoint

TABLES = ("turns.parquet", "manifest.json")
LENGTH = 12
"""Words of a reply in these tests."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as served:
        yield served


@pytest.fixture
def plan(endpoint: Endpoint, tmp_path: Path) -> CollectionPlan:
    (tmp_path / "user.txt").write_text("And then?\nWhy is that?\nI see.\n")
    endpoint.requests.clear()
    return CollectionPlan(
        (priced(endpoint),),
        partners=(AgentSpec("script", str(tmp_path / "user.txt")),),
        turns=6,
        dialogues=4,
    )


def priced(endpoint: Endpoint, model: str = f"words-{LENGTH}", **settings: float) -> AgentSpec:
    return AgentSpec(
        "openai",
        model,
        parameters={
            "endpoint": endpoint.url,
            "attempts": 1,
            "price_in": 1_000_000.0,
            "price_out": 2_000_000.0,
            "max_tokens": LENGTH,
            **settings,
        },
    )


def asked(endpoint: Endpoint) -> int:
    return len(endpoint.requests)


@pytest.mark.parametrize("workers", [1, 4])
def test_a_budget_stops_and_a_larger_one_goes_on_where_it_stopped(
    endpoint: Endpoint, plan: CollectionPlan, tmp_path: Path, workers: int
) -> None:
    collect(plan, tmp_path / "free")
    free = asked(endpoint)
    assert free == 4 * 3
    endpoint.requests.clear()
    target = tmp_path / "talks"
    # Nine replies in four dialogues of three each: whoever goes first, one comes to its end.
    tight = replace(plan, budget=Budget(requests=9))
    done = collect(tight, target, workers=workers)
    assert done.stopped == "9 requests"
    assert done.left >= 1
    assert not done.failures
    assert done.dialogues + done.left == 4
    assert asked(endpoint) == 9
    done = collect(replace(plan, budget=Budget(requests=12)), target, workers=workers)
    assert not done.stopped
    assert asked(endpoint) == free, "nothing that was paid for is asked again"
    for name in TABLES:
        assert (target / name).read_bytes() == (tmp_path / "free" / name).read_bytes(), name


def test_cost_stays_below_the_budget_whatever_goes_on_at_once(
    endpoint: Endpoint, plan: CollectionPlan, tmp_path: Path
) -> None:
    plan = replace(plan, dialogues=12)
    whole = collect(plan, tmp_path / "free")
    cost = sum(one.cost or 0.0 for one in whole.usage.values())
    limited = replace(plan, budget=Budget(cost=0.7 * cost))
    done = collect(limited, tmp_path / "talks", workers=4)
    spent = sum(one.cost or 0.0 for one in done.usage.values())
    assert done.stopped
    assert 0 < spent <= 0.7 * cost
    again = collect(limited, tmp_path / "talks", workers=4)
    assert again.stopped
    in_all = sum(one.cost or 0.0 for one in again.usage.values())
    assert spent <= in_all <= 0.7 * cost, "earlier runs count"


def test_a_budget_too_small_for_one_dialogue_keeps_what_was_said(
    endpoint: Endpoint, plan: CollectionPlan, tmp_path: Path
) -> None:
    target = tmp_path / "talks"
    with pytest.raises(DialensError, match="larger budget goes on from there"):
        collect(replace(plan, budget=Budget(requests=2)), target, workers=1)
    assert asked(endpoint) == 2
    assert not target.exists()
    collect(plan, target)
    assert asked(endpoint) == 12


def test_failed_tries_count(endpoint: Endpoint, plan: CollectionPlan, tmp_path: Path) -> None:
    """A hundred dialogues with a server that fails would be tried; five requests are allowed."""
    broken = priced(endpoint, "status-500")
    both = replace(plan, agents=(*plan.agents, broken), dialogues=20, budget=Budget(requests=10))
    done = collect(both, tmp_path / "talks", workers=1)
    assert asked(endpoint) <= 10
    assert done.failures
    before = asked(endpoint)
    collect(both, tmp_path / "talks", workers=1)
    assert asked(endpoint) == before, "failed tries of the run before have used it up"


def test_what_a_server_does_not_tell_is_counted_about(
    endpoint: Endpoint, plan: CollectionPlan, tmp_path: Path
) -> None:
    silent = replace(plan, agents=(priced(endpoint, "no-usage"),), dialogues=50)
    done = collect(replace(silent, budget=Budget(tokens=3_000)), tmp_path / "talks")
    assert done.stopped == "3,000 tokens"
    assert done.left > 0


def test_an_unknown_price_is_refused_with_the_remedy(
    endpoint: Endpoint, plan: CollectionPlan, tmp_path: Path
) -> None:
    unpriced = AgentSpec("openai", "echo", parameters={"endpoint": endpoint.url})
    wanted = replace(plan, agents=(unpriced,), budget=Budget(cost=1.0))
    with pytest.raises(DialensError, match=r"prices of echo are not known.*price_in"):
        collect(wanted, tmp_path / "talks")
    assert asked(endpoint) == 0
    assert not list(tmp_path.glob("talks*"))
    collect(replace(wanted, budget=Budget(requests=1_000)), tmp_path / "talks")


def test_a_planned_use_reads_the_growing_conversation_again(plan: CollectionPlan) -> None:
    """By hand: an opening, then replies of twelve tokens; four for the marks of each turn."""
    one = replace(plan, partners="themselves", dialogues=1, openings=("Good morning to you.",))
    opened = open_plan(one)
    uses, spent = planned_use(one, opened)
    opened.close()
    (agent,) = uses
    opening = len("Good morning to you.") // 4 + 1
    assert agent.requests == 5
    assert agent.tokens_in == 5 * (opening + 4) + (1 + 2 + 3 + 4) * (LENGTH + 4)
    assert agent.tokens_out == 5 * LENGTH
    assert agent.cost == pytest.approx(agent.tokens_in * 1 + agent.tokens_out * 2)
    assert spent.requests == 0


def test_a_planned_use_knows_what_was_collected(
    endpoint: Endpoint, plan: CollectionPlan, tmp_path: Path
) -> None:
    collect(plan, tmp_path / "talks")
    more = replace(plan, dialogues=6)
    opened = open_plan(more)
    tries, corpus = so_far(opened, tmp_path / "talks")
    uses, spent = planned_use(more, opened, tries)
    opened.close()
    assert corpus is not None
    assert spent.requests == 4 * 3
    agent = next(use for use in uses if use.measured and use.cost)
    assert agent.requests == 2 * 3
    written = [t.tokens_out for one in tries for t in one.turns if t.tokens_out]
    assert agent.tokens_out == 6 * round(sum(written) / len(written))


def test_limits_a_minute_tell_the_time(endpoint: Endpoint, plan: CollectionPlan) -> None:
    limited = replace(plan, agents=(priced(endpoint, requests_per_minute=6.0),), dialogues=20)
    opened = open_plan(limited)
    uses, _ = planned_use(limited, opened)
    opened.close()
    assert max(use.minutes for use in uses) == pytest.approx(60 / 6)


def test_the_command_says_what_it_would_cost_stops_and_goes_on(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "user.txt").write_text("And then?\nWhy is that?\n")
    (tmp_path / "plan.yaml").write_text(
        f"""
agents:
  - agent: openai:words-{LENGTH}
    system: talker
    set: {{endpoint: "{endpoint.url}", price_in: 1000, price_out: 2000, max_tokens: {LENGTH}}}
partners: [script:user.txt]
turns: 4
dialogues: 10
budget: {{cost: 0.5}}
"""
    )
    assert read_plan(tmp_path / "plan.yaml").budget == Budget(cost=0.5)
    endpoint.requests.clear()
    command = ["agents", "collect", "plan.yaml", "-o", "talks"]
    told = CliRunner().invoke(app, [*command, "--dry-run"])
    assert told.exit_code == 0, told.output
    reads = 100 + 4, 2 * (100 + 4) + LENGTH + 4
    cost = 10 * (sum(reads) * 1000 + 2 * LENGTH * 2000) / 1e6
    assert f"Cost: about {cost:.4f}." in told.output
    assert "more than the budget of cost (0.5) allows" in told.output
    assert asked(endpoint) == 0
    stopped = CliRunner().invoke(app, command)
    assert stopped.exit_code == 1, stopped.output
    assert "Stopped: the budget (cost 0.5) is used up" in stopped.output
    assert "larger budget goes on from there" in stopped.output
    went_on = CliRunner().invoke(app, [*command, "--max-cost", "100"])
    assert went_on.exit_code == 0, went_on.output
    assert asked(endpoint) == 20
    assert Corpus.open(tmp_path / "talks").manifest["counts"]["turns"] == 40
    assert len({one.dialog for one in read_journal(tmp_path / "talks" / JOURNAL)}) == 10


def test_a_cost_of_all_with_an_unknown_price_is_at_least(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(
        f"""
agents:
  - agent: openai:echo
    set: {{endpoint: "{endpoint.url}", price_in: 1000, price_out: 2000}}
partners:
  - agent: openai:words-3
    set: {{endpoint: "{endpoint.url}"}}
turns: 4
dialogues: 1
"""
    )
    command = ["agents", "collect", "plan.yaml", "-o", "talks"]
    told = CliRunner().invoke(app, [*command, "--dry-run"])
    assert "Cost: at least" in told.output
    assert "the prices of words-3 are not known" in told.output
    done = CliRunner().invoke(app, command)
    assert "Cost of all: at least" in done.output


def test_who_plays_users_counts_too(endpoint: Endpoint, tmp_path: Path) -> None:
    """Simulated users are asked like agents: their task, their price, and a second draw."""
    (tmp_path / "bot.txt").write_text("Yes.\n" * 9)
    bot = AgentSpec("script", str(tmp_path / "bot.txt"))
    played = priced(endpoint)
    own = {name: value for name, value in played.parameters.items() if "price" not in name}
    free = simulated_users(["complaint"], replace(played, parameters=own))
    paid = simulated_users(["complaint"], played)
    plan = CollectionPlan((bot,), partners=paid, turns=6, dialogues=2)
    opened = open_plan(plan)
    (use,), _ = planned_use(plan, opened)
    opened.close()
    first = 2  # dialogues, whose openings are given by the scenario or drawn
    assert use.requests in (2 * 3, 2 * 3 - first)
    assert use.tokens_in > use.requests * 200  # the task is told each time
    assert use.cost == pytest.approx(use.tokens_in + 2 * use.tokens_out)
    unpriced = CollectionPlan((bot,), partners=free, turns=4, dialogues=1, budget=Budget(cost=1.0))
    with pytest.raises(DialensError, match="prices of user"):
        collect(unpriced, tmp_path / "unpriced")
    endpoint.requests.clear()
    few = replace(plan, budget=Budget(requests=3))
    with contextlib.suppress(DialensError):  # no dialogue may have come to its end
        collect(few, tmp_path / "few", workers=1)
    assert 0 < asked(endpoint) <= 3


@pytest.mark.parametrize("workers", [1, 4])
def test_users_who_leave_without_a_word_count(tmp_path: Path, workers: int) -> None:
    """A bare marker is drawn twice, and what that took stood nowhere: 45 requests for 40."""
    (tmp_path / "bot.txt").write_text("Yes.\n" * 9)
    program, count = tmp_path / "user.py", tmp_path / "count"
    program.write_text(
        "import json, sys\n"
        "sys.stdin.readline()\n"
        "open(sys.argv[1], 'a').write('x')\n"
        "print(json.dumps({'text': '[GIVES UP]', 'cost': 1.0, 'tokens_in': 7, 'tokens_out': 3}))\n"
    )
    player = AgentSpec("command", f"{sys.executable} {program} {count}")
    bot = AgentSpec("script", str(tmp_path / "bot.txt"))
    plan = CollectionPlan(
        (bot,),
        partners=simulated_users(["complaint"], player),
        turns=6,
        dialogues=8,
        budget=Budget(requests=6),
    )
    done = collect(plan, tmp_path / "talks", workers=workers)
    assert len(count.read_text()) == 6
    assert (done.dialogues, done.left) == (3, 5)
    spent = next(one for who, one in done.usage.items() if "complaint" in who)
    assert (spent.attempts, spent.cost, spent.tokens_in, spent.tokens_out) == (6, 6.0, 42, 18)
    again = collect(replace(plan, budget=Budget(requests=10)), tmp_path / "talks")
    assert (again.before, again.dialogues) == (3, 5)
    assert len(count.read_text()) == 10


def test_what_is_under_way_is_waited_for_before_a_budget_is_called_used_up(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    """Eight at once foresee more than the budget; what they take fits easily."""
    (tmp_path / "user.txt").write_text("And then?\n")
    agent = priced(endpoint, "words-3", max_tokens=40)
    user = AgentSpec("script", str(tmp_path / "user.txt"))
    plan = CollectionPlan((agent,), partners=(user,), turns=2, dialogues=8, budget=Budget(cost=250))
    done = collect(plan, tmp_path / "talks", workers=8)
    assert (done.dialogues, done.left, done.stopped) == (8, 0, "")
