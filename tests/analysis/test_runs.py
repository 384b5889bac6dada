"""Runs against each other: what pairs them, what they are called, what is not compared."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dialens.analysis.comparison import compare, join_runs, open_run, run_names
from dialens.base import DialensError
from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import Scores, metric, score, turn_mean


@metric("number", meaning="The number said", family="test")
def number(resources):
    return turn_mean("number", lambda batch: batch.turns["text"].cast(float).to_numpy())


@metric("twice", meaning="Twice the number said", family="test")
def twice(resources):
    return turn_mean("twice", lambda batch: 2 * batch.turns["text"].cast(float).to_numpy())


def run(
    values: list[float],
    *,
    agent: str = "bot",
    prompt: str | None = None,
    first: int = 0,
    system: str = "s",
    by=(number,),
) -> Scores:
    """An agent that answers numbered prompts (or one and the same) with numbers."""
    talks = [
        Dialogue(
            system,
            agent,
            f"case-{first + i}",
            [Turn("U", "partner", prompt or str(first + i)), Turn("B", "agent", str(value))],
        )
        for i, value in enumerate(values)
    ]
    return score(Corpus.of(talks), metrics=list(by))


def both(*parts: Scores) -> Scores:
    """Several agents in one run."""
    states = pl.concat([part.states.collect() for part in parts]).lazy()
    return replace(parts[0], states=states)


BEFORE = [1.0, 12, 3, 4, 25, 6, 7, 8]
APART = [1.0, 2, 3, 4, 2, 3, 1, 4]
AFTER = [a + b for a, b in zip(BEFORE, APART, strict=True)]


def test_runs_of_the_same_cases_are_paired_and_named_after_the_runs() -> None:
    table = compare({"v1": run(BEFORE), "v2": run(AFTER)})
    row = table.row(0, named=True)
    assert (row["a"], row["b"], row["paired"], row["n_shared"]) == ("v2", "v1", True, 8)
    assert row["difference"] == pytest.approx(np.mean(APART))
    assert row["standard_error"] == pytest.approx(stats.sem(APART))


def test_the_same_opening_and_id_pair_where_everyone_begins_with_hi() -> None:
    runs = {"v1": run(BEFORE, prompt="0"), "v2": run(AFTER, prompt="0")}
    row = compare(runs).row(0, named=True)
    assert (row["paired"], row["n_shared"]) == (True, 8)
    other = {"v1": run(BEFORE, prompt="0"), "v2": run(AFTER, prompt="0", first=100)}
    assert not compare(other)["paired"].item()


def test_prompts_that_were_answered_several_times_are_the_units() -> None:
    """Eight prompts three times each: the eight means are what varies independently."""
    rng = np.random.default_rng(0)
    sides = {}
    means = {}
    for name, shift in (("v1", 0.0), ("v2", 1.0)):
        values = rng.normal(shift, 1, (8, 3)).round(6)
        means[name] = values.mean(axis=1)
        talks = [
            Dialogue(
                "s",
                "bot",
                f"{prompt}-{again}",
                [Turn("U", "partner", str(prompt)), Turn("B", "agent", str(value))],
            )
            for prompt, row in enumerate(values)
            for again, value in enumerate(row)
        ]
        sides[name] = score(Corpus.of(talks), metrics=[number])
    row = compare(sides).row(0, named=True)
    assert (row["paired"], row["n_shared"]) == (True, 8)
    assert row["standard_error"] == pytest.approx(stats.sem(means["v2"] - means["v1"]))


def test_agents_are_called_by_what_tells_them_apart() -> None:
    apart = compare({"v1": run(BEFORE, agent="gpt"), "v2": run(AFTER, agent="claude")})
    assert apart.select("a", "b").row(0) == ("claude", "gpt")
    two = {
        name: both(run(values, agent="warm"), run(values[::-1], agent="cold"))
        for name, values in (("v1", BEFORE), ("v2", AFTER))
    }
    table = compare(two)
    assert table.select("a", "b").rows() == [("v2 / warm", "v1 / warm"), ("v2 / cold", "v1 / cold")]


def test_an_agent_of_one_run_only_is_named() -> None:
    first = both(run(BEFORE, agent="warm"), run(BEFORE, agent="cold"))
    joined = join_runs({"v1": first, "v2": run(AFTER, agent="warm")})
    assert joined.unmatched() == ["cold (v1)"]


def test_a_baseline_is_a_run_or_an_agent() -> None:
    runs = {"v1": run(BEFORE), "v2": run(AFTER), "v3": run(AFTER)}
    assert compare(runs)["a"].to_list() == ["v2", "v3", "v3"]
    assert compare(runs, baseline="v2").select("a", "b").rows() == [("v1", "v2"), ("v3", "v2")]
    with pytest.raises(DialensError, match="must be one of these: v1, v2 and v3"):
        compare(runs, baseline="v9")


@pytest.mark.parametrize(("arithmetic", "may_be"), [("fp16x2", True), ("int8", False)])
def test_scores_of_a_gpu_may_be_held_against_those_in_floats(arithmetic: str, may_be: bool) -> None:
    def scored_in(scores, name: str):
        metrics = (replace(one, signature=f"number|v1|model:m/{name}") for one in scores.metrics)
        return replace(scores, metrics=tuple(metrics))

    runs = {
        "v1": scored_in(run(BEFORE, by=(number,)), "fp32"),
        "v2": scored_in(run(AFTER, by=(number,)), arithmetic),
    }
    if may_be:
        assert compare(runs)["difference"].item() == pytest.approx(np.mean(APART))
    else:
        with pytest.raises(DialensError, match=r"different arithmetic \(v1: fp32; v2: int8\)"):
            compare(runs)


def test_a_metric_scored_in_another_way_has_a_reason_and_no_values() -> None:
    first, second = run(BEFORE, by=(number, twice)), run(AFTER, by=(number, twice))
    changed = tuple(
        replace(scored, signature="twice|v1|model:b") if scored.name == "twice" else scored
        for scored in second.metrics
    )
    runs = {"v1": first, "v2": replace(second, metrics=changed)}
    rows = {row["metric"]: row for row in compare(runs).iter_rows(named=True)}
    assert rows["number"]["difference"] == pytest.approx(np.mean(APART))
    assert rows["twice"]["difference"] is None
    assert rows["twice"]["reason"] == ("was scored in different ways (v1: without; v2: model:b)")
    with pytest.raises(DialensError, match=r"twice was scored in different ways.*same options"):
        compare(runs, metrics=["twice"])
    only = {
        "v1": run(BEFORE, by=(twice,)),
        "v2": replace(run(AFTER, by=(twice,)), metrics=changed[1:]),
    }
    with pytest.raises(DialensError, match="share no metric that may be compared"):
        compare(only)


def test_a_metric_of_one_run_is_said_to_be() -> None:
    runs = {"v1": run(BEFORE, by=(number, twice)), "v2": run(AFTER)}
    assert dict(join_runs(runs).not_everywhere) == {"twice": ("v1",)}
    assert compare(runs)["metric"].to_list() == ["number"]
    with pytest.raises(DialensError, match="twice was scored in v1 only"):
        compare(runs, metrics=["twice"])


def test_openings_have_the_same_key_in_every_version() -> None:
    """BLAKE2b of the text, eight bytes, as any other program computes it."""
    import hashlib

    keys = run([1.0, 2.0]).states.collect()["context"].to_list()
    wanted = [hashlib.blake2b(text, digest_size=8).digest() for text in (b"0", b"1")]
    assert keys == [int.from_bytes(digest, "little") for digest in wanted]


def test_the_same_place_twice_is_refused() -> None:
    with pytest.raises(DialensError, match="named twice"):
        run_names([Path("a/v1"), Path("a/v1")])


def test_conversations_are_scored_once(tmp_path: Path) -> None:
    talk = tmp_path / "talk.txt"
    talk.write_text("A: hello\nB: hello to you\n")
    said: list[str] = []
    cache = tmp_path / "cache"
    first = open_run(talk, metrics=["length"], cache=cache, say=said.append)
    again = open_run(talk, metrics=["length"], cache=cache, say=said.append)
    assert [sentence.split(": ")[0].rsplit(" ", 1)[1] for sentence in said] == [
        "conversations",
        "before",
    ]
    assert first.wide("agent").equals(again.wide("agent"))
    talk.write_text("A: hello\nB: hello to you too\n")
    changed = open_run(talk, metrics=["length"], cache=cache, say=said.append)
    assert changed.wide("agent")["length"].item() == first.wide("agent")["length"].item() + 1
    with pytest.raises(DialensError, match="does not exist"):
        open_run(tmp_path / "nowhere")
