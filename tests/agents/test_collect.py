"""Conversations between agents: what is held, kept, gone on with, and what fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from dialens.agents import AgentSpec
from dialens.agents.talks import CollectionPlan, collect, open_plan, read_plan, work_folder
from dialens.agents.talks._journal import JOURNAL, read_journal
from dialens.agents.talks._openings import OPENINGS
from dialens.base import DialensError
from dialens.corpus import Corpus
from tests.agents.endpoint import Endpoint

TABLES = ("turns.parquet", "ratings.parquet", "references.parquet", "manifest.json")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as served:
        yield served


@pytest.fixture
def scripts(tmp_path: Path) -> tuple[AgentSpec, ...]:
    (tmp_path / "ann.txt").write_text("I am Ann.\nI like rain.\n\nAnn here.\nAnd snow.\n")
    (tmp_path / "bob.txt").write_text("I am Bob.\nWhy?\n")
    return tuple(AgentSpec("script", str(tmp_path / f"{name}.txt")) for name in ("ann", "bob"))


def of(endpoint: Endpoint, model: str, **settings: float) -> AgentSpec:
    parameters: dict[str, str | float] = {"endpoint": endpoint.url, "attempts": 1, **settings}
    return AgentSpec("openai", model, parameters=parameters)


def rows(folder: Path) -> pl.DataFrame:
    return Corpus.open(folder).turns.collect()


def test_a_conversation_turn_by_turn(scripts: tuple[AgentSpec, ...], tmp_path: Path) -> None:
    plan = CollectionPlan(
        scripts[1:], partners=scripts[1:], openings=("Good morning.",), turns=5, dialogues=1
    )
    collect(plan, tmp_path / "talks")
    found = rows(tmp_path / "talks")
    assert found.select("turn", "speaker", "role", "text").rows() == [
        (0, "bob (partner)", "partner", "Good morning."),
        (1, "bob", "agent", "I am Bob."),
        (2, "bob (partner)", "partner", "Why?"),
        (3, "bob", "agent", "Why?"),
        (4, "bob (partner)", "partner", "I am Bob."),
    ]
    assert found["dialog"].unique().to_list() == ["bob+bob-001"]
    assert found["meta"].to_list() == ['{"opening":true}', None, None, None, None]


def test_everybody_talks_with_everybody_else(
    scripts: tuple[AgentSpec, ...], tmp_path: Path
) -> None:
    third = replace(scripts[1], system="carl")
    done = collect(CollectionPlan((*scripts, third), turns=4, dialogues=2), tmp_path / "talks")
    assert (done.dialogues, done.turns) == (12, 48)
    found = rows(tmp_path / "talks").group_by("system", "agent").agg(pl.col("dialog").n_unique())
    assert sorted(found.rows()) == [("ann", "ann", 4), ("bob", "bob", 4), ("carl", "carl", 4)]


def test_settings_are_agents_of_one_system(endpoint: Endpoint, tmp_path: Path) -> None:
    specs = tuple(of(endpoint, "echo", temperature=value) for value in (0.2, 0.9))
    plan = CollectionPlan(specs, partners=(of(endpoint, "words-5"),), turns=4, dialogues=2)
    collect(plan, tmp_path / "talks")
    corpus = Corpus.open(tmp_path / "talks")
    names = corpus.turns.select("system", "agent").unique().sort("agent").collect().rows()
    assert names == [("echo", "temperature=0.2"), ("echo", "temperature=0.9")]
    told = corpus.manifest["source"]["agents"]
    assert [agent["parameters"]["temperature"] for agent in told] == [0.2, 0.9]


def test_openings_are_the_same_for_all_and_taken_in_turn(
    endpoint: Endpoint, scripts: tuple[AgentSpec, ...]
) -> None:
    plan = CollectionPlan((of(endpoint, "echo"), of(endpoint, "told")), dialogues=3)
    talks = open_plan(plan).conversations
    assert [talk.given[0].text for talk in talks] == [
        opening for opening in OPENINGS[:3] for _ in range(2)
    ]
    own = open_plan(replace(plan, partners=scripts[:1])).conversations
    assert {talk.given for talk in own} == {()}, "a script brings its own first words"
    assert len(set(OPENINGS)) == len(OPENINGS)


def test_a_longer_plan_leaves_what_was_there(scripts: tuple[AgentSpec, ...]) -> None:
    short = {
        talk.dialog: talk for talk in open_plan(CollectionPlan(scripts, dialogues=2)).conversations
    }
    more = (*scripts, replace(scripts[0], system="dora"))
    long = {
        talk.dialog: talk for talk in open_plan(CollectionPlan(more, dialogues=4)).conversations
    }
    assert {name: talk.fingerprint for name, talk in short.items()}.items() <= {
        name: talk.fingerprint for name, talk in long.items()
    }.items()
    assert len({talk.seed for talk in long.values()}) == len(long)


def test_the_number_of_workers_changes_nothing(
    scripts: tuple[AgentSpec, ...], endpoint: Endpoint, tmp_path: Path
) -> None:
    plan = CollectionPlan((*scripts, of(endpoint, "echo")), turns=6, dialogues=4, name="same")
    for workers in (1, 8):
        collect(plan, tmp_path / str(workers), workers=workers)
    for name in TABLES:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "8" / name).read_bytes()


def test_only_what_may_have_a_price_is_missed_in_the_cost(
    endpoint: Endpoint, scripts: tuple[AgentSpec, ...], tmp_path: Path
) -> None:
    priced = of(endpoint, "words-5", price_in=1_000.0, price_out=10_000.0)
    agents = (priced, of(endpoint, "words-3"))
    done = collect(CollectionPlan(agents, partners=scripts[:1], dialogues=1), tmp_path / "t")
    assert {label: one.unpriced > 0 for label, one in done.usage.items()} == {
        "ann": False,
        "words-3": True,
        "words-5": False,
    }


def test_cost_and_tokens_are_summed(endpoint: Endpoint, tmp_path: Path) -> None:
    """Four replies of 5 words, by hand: whose own words come first is asked to begin, in 4."""
    agent = of(endpoint, "words-5", price_in=1_000.0, price_out=10_000.0)
    plan = CollectionPlan((agent,), openings=("Hello there.",), turns=5, dialogues=1)
    done = collect(plan, tmp_path / "talks")
    spent = done.usage["words-5"]
    assert (spent.replies, spent.attempts, spent.tokens_out) == (4, 4, 20)
    assert spent.tokens_in == 2 + (4 + 7) + 12 + (4 + 17)
    assert spent.cost == pytest.approx((46 * 1_000 + 20 * 10_000) / 1e6)


def test_failures_are_counted_with_their_reason(
    endpoint: Endpoint, scripts: tuple[AgentSpec, ...], tmp_path: Path
) -> None:
    (tmp_path / "moody.txt").write_text("Hm.\n!fail timeout: I fell asleep.\n")
    moody = AgentSpec("script", str(tmp_path / "moody.txt"))
    plan = CollectionPlan(
        (scripts[1], moody, of(endpoint, "empty")), partners=scripts[:1], dialogues=2
    )
    done = collect(plan, tmp_path / "talks")
    assert done.dialogues == 2
    counted = Counter((failure.who, failure.kind) for failure in done.failures.values())
    assert counted == {("moody", "timeout"): 2, ("empty", "empty"): 2}
    lines = (tmp_path / "talks" / "failures.jsonl").read_text().splitlines()
    first = next(one for one in map(json.loads, lines) if one["who"] == "moody")
    assert (first["turn"], first["reason"]) == (3, "I fell asleep.")
    assert [turn["role"] for turn in first["said"]] == ["partner", "agent", "partner"]
    assert Corpus.open(tmp_path / "talks").manifest["source"]["failed"] == {
        "timeout": 2,
        "empty": 2,
    }


def test_failed_conversations_are_tried_again(
    scripts: tuple[AgentSpec, ...], endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.counts.clear()
    plan = CollectionPlan(
        (scripts[0], of(endpoint, "flaky-1")), partners=scripts[1:], turns=3, dialogues=1
    )
    first = collect(plan, tmp_path / "talks", workers=1)
    assert (first.dialogues, len(first.failures)) == (1, 1)
    second = collect(plan, tmp_path / "talks", workers=1)
    assert (second.dialogues, second.before, len(second.failures)) == (2, 1, 0)
    assert not (tmp_path / "talks" / "failures.jsonl").exists()


def test_a_refused_key_is_not_tried_a_hundred_times(
    scripts: tuple[AgentSpec, ...], endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.counts.clear()
    plan = CollectionPlan((scripts[0], of(endpoint, "quota")), partners=scripts[1:], dialogues=100)
    done = collect(plan, tmp_path / "talks", workers=1)
    assert endpoint.counts["quota"] == 1
    assert (done.dialogues, len(done.failures)) == (100, 100)
    reasons = [failure.reason for failure in done.failures.values()]
    assert sum(reason.startswith("Not asked any more") for reason in reasons) == 99


def test_nothing_collected_is_an_error_and_leaves_no_corpus(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    plan = CollectionPlan((of(endpoint, "empty"),), dialogues=2)
    with pytest.raises(DialensError, match=r"all 2 failed\. The first, by empty: .*said nothing"):
        collect(plan, tmp_path / "talks")
    assert not (tmp_path / "talks").exists()


def test_conversations_may_end_by_themselves(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("One.\nTwo.\n")
    short = AgentSpec("script", str(tmp_path / "short.txt"), parameters={"repeat": False})
    done = collect(
        CollectionPlan((short,), openings=("Hi.",), turns=20, dialogues=1), tmp_path / "talks"
    )
    assert (done.turns, done.failures) == (4, {})


def test_another_plan_is_refused_and_fresh_begins_anew(
    scripts: tuple[AgentSpec, ...], tmp_path: Path
) -> None:
    target = tmp_path / "talks"
    collect(CollectionPlan(scripts, dialogues=1), target)
    for other in (
        CollectionPlan(scripts, dialogues=1, seed=1),
        CollectionPlan(scripts[:1], dialogues=1),
    ):
        with pytest.raises(DialensError, match="begun with another plan"):
            collect(other, target)
    Path(scripts[0].target).write_text("I am somebody else.\n")
    with pytest.raises(DialensError, match="took place with other settings"):
        collect(CollectionPlan(scripts, dialogues=1), target)
    assert collect(CollectionPlan(scripts, dialogues=1), target, fresh=True).before == 0


def test_somebody_elses_folder_is_refused(scripts: tuple[AgentSpec, ...], tmp_path: Path) -> None:
    target = tmp_path / "mine"
    target.mkdir()
    (target / "thesis.txt").write_text("important")
    with pytest.raises(DialensError, match="holds something else"):
        collect(CollectionPlan(scripts), target)
    assert (target / "thesis.txt").read_text() == "important"


def test_two_of_one_name_are_refused(scripts: tuple[AgentSpec, ...], tmp_path: Path) -> None:
    twice = (scripts[0], replace(scripts[0], parameters={"delay": 0.0}))
    with pytest.raises(DialensError, match="Two agents are called 'ann'"):
        collect(CollectionPlan(twice), tmp_path / "talks")


PLAN = """\
plan: killed
agents:
  - agent: script:ann.txt
    set: {delay: 0.01}
  - agent: script:bob.txt
    set: {delay: 0.01}
turns: 6
dialogues: 30
seed: 3
"""
RUN = """\
import sys
from pathlib import Path
from dialens.agents.talks import collect
from dialens.agents.talks import read_plan
collect(read_plan(Path(sys.argv[1])), Path(sys.argv[2]), workers=4)
"""


@pytest.mark.slow
def test_kill_and_run_again_gives_the_same_corpus(
    scripts: tuple[AgentSpec, ...], tmp_path: Path
) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    plan = read_plan(tmp_path / "plan.yaml")
    collect(plan, tmp_path / "whole", workers=8)
    target = tmp_path / "killed"
    command = [sys.executable, "-c", RUN, str(tmp_path / "plan.yaml"), str(target)]
    journal = work_folder(target) / JOURNAL
    kept = 0
    for wanted in (5, 20):
        process = subprocess.Popen(command)
        while not journal.exists() or journal.read_bytes().count(b"\n") < wanted:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not target.exists()
    raw = journal.read_bytes()
    journal.write_bytes(raw + b'{"dialog":"ann+bob-0')  # the line that was being written
    kept = len(read_journal(journal, raw[: raw.rfind(b"\n") + 1]))
    done = collect(plan, target)
    assert done.before == kept >= 19
    assert done.dialogues == 60
    assert not work_folder(target).exists()
    for name in TABLES:
        assert (target / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_two_runs_at_once_are_refused(scripts: tuple[AgentSpec, ...], tmp_path: Path) -> None:
    from dialens.agents.talks._journal import Journal

    target = tmp_path / "talks"
    with (
        Journal(work_folder(target)),
        pytest.raises(DialensError, match="Another run is collecting"),
    ):
        collect(CollectionPlan(scripts), target)


def test_a_damaged_journal_is_named(scripts: tuple[AgentSpec, ...], tmp_path: Path) -> None:
    target = tmp_path / "talks"
    collect(CollectionPlan(scripts, dialogues=1), target)
    lines = (target / JOURNAL).read_text().splitlines()
    (target / JOURNAL).write_text("\n".join([lines[0], "{", *lines[2:]]) + "\n")
    with pytest.raises(DialensError, match=rf"{JOURNAL}:2: this is no journal"):
        collect(CollectionPlan(scripts, dialogues=1), target)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agents: [hred]\ntunrs: 3\n", r"plan.yaml:2: tunrs: there is no such key. Did you mean"),
        ("turns: 3\n", r"plan.yaml:1: agents: is missing"),
        ("agents:\n  - hred\n  - opnai:x\n", r"plan.yaml:3: agents.1: .*Did you mean openai"),
        ("agents: [hred]\nturns: 1\n", r"plan.yaml:2: turns: .*has to be 2 or more"),
        ("agents: [hred]\npartners: nobody\n", r"plan.yaml:2: partners: 'nobody' is not known"),
        ("agents:\n  - agent: hred\n    set: {a: [1]}\n", r"plan.yaml:3: agents.0.set.a"),
        ("agents:\n  - agent: hred\n    nmae: x\n", r"plan.yaml:3: agents.0.nmae: .*mean name"),
        (
            "agents:\n  - agent: hred\n    name: x\n    vary: {beam: [1, 2]}\n",
            r"plan.yaml:2: agents.0: `name` is of one agent",
        ),
        ("agents: [hred\n", r"plan.yaml:\d: this is not YAML"),
        ("- hred\n", r"plan.yaml:1: keys and values are expected"),
        ("agents: [human]\n", r"cannot be the agent under study"),
    ],
)
def test_plans_that_cannot_be_read(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    with pytest.raises(DialensError, match=words):
        read_plan(path)


def test_a_plan_with_everything(tmp_path: Path) -> None:
    (tmp_path / "hello.txt").write_text("# greetings\nHello!\n\nGood day.\n")
    path = tmp_path / "plan.yaml"
    path.write_text(
        "plan: all\nagents:\n  - agent: openai:m\n    system: bot\n    set: {persona: Kind.}\n"
        "    vary: {temperature: [0, 1], top_p: [0.5, 1.0]}\n  - script:ann.txt\n"
        "partners: [human, 'command:./bot.sh --fast']\nopenings: {file: hello.txt}\n"
        "turns: 4\ndialogues: 2\nseed: 9\nfirst: agent\n"
    )
    plan = read_plan(path)
    assert [dict(spec.parameters) for spec in plan.agents[:4]] == [
        {"persona": "Kind.", "temperature": heat, "top_p": nucleus}
        for heat in (0, 1)
        for nucleus in (0.5, 1.0)
    ]
    assert plan.agents[4].target == str(tmp_path / "ann.txt")
    assert isinstance(plan.partners, tuple)
    assert plan.partners[1].target == f"{tmp_path / 'bot.sh'} --fast"
    assert plan.openings == ("Hello!", "Good day.")
    assert (plan.turns, plan.dialogues, plan.seed, plan.first) == (4, 2, 9, "agent")
    assert plan.with_people
