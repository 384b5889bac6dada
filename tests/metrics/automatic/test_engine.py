"""Families in the engine: units, references, each unit once, what is missing, what is kept."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import Corpus, Dialogue, Reference, Turn
from dialens.metrics import (
    Family,
    MetricCard,
    NotReadyError,
    Output,
    Resources,
    ResultCache,
    ScorerContext,
    ScorerSet,
    Unit,
    cards_of,
    check_names,
    forecast,
    make_plan,
    metrics,
    score,
    score_into,
    select,
)
from dialens.testing import check_metric
from tests.metrics.tiny_models import tiny_resources


class Lengths:
    """Characters of the reply, and of the context where there is one; notes what it is asked."""

    def __init__(self) -> None:
        self.signature = "lengths,v1"
        self.prepared: list[list[str]] = []
        self.seen: list[Unit] = []

    def prepare(self, references: Iterable[str]) -> None:
        self.prepared.append(list(references))
        self.signature += f",seen:{len(self.prepared[-1])}"

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> np.ndarray:
        self.seen += units
        advance(len(units))
        context = [sum(map(len, unit.context)) or np.nan for unit in units]
        return np.column_stack([[len(unit.response) for unit in units], context])


class Means:
    """A pool: mean characters of replies less those of references."""

    signature = "means"

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], advance: Callable[[int], None] = lambda _: None):
        self.embedded += texts
        return np.array([[len(text), 1.0] for text in texts])

    def compare(self, responses: np.ndarray, references: np.ndarray) -> np.ndarray:
        if len(responses) < 2:
            return np.array([np.nan])
        return np.array([responses[:, 0].mean() - references[:, 0].mean()])


def lengths(scorer: Lengths, **more: Any) -> Family:
    outputs = (Output("reply_length", "Reply"), Output("before", "Context", needs=("context",)))
    settings: dict[str, Any] = {"needs": ("reference",), **more}
    return Family("lengths", outputs, lambda _: scorer, lambda _: None, **settings)


def talk(name: str, *texts: str, references: dict[int, list[str]] | None = None) -> Dialogue:
    turns = [
        Turn("B", "agent", text[1:]) if text.startswith(">") else Turn("U", "partner", text)
        for text in texts
    ]
    given = [Reference(turn, text) for turn, some in (references or {}).items() for text in some]
    return Dialogue("s", "bot", name, turns, references=given)


TALKS = [
    talk("d1", "hello", ">hi you", ">  ", references={1: ["hey", " ", "hey", "good day"]}),
    talk("d2", ">hi you", references={0: ["hey", "good day"]}),
    talk("d3", "hello", ">alone"),
]


def rows(scores, metric: str, level: str) -> list[tuple[Any, ...]]:
    chosen = scores.table.filter(pl.col("metric") == metric, pl.col("level") == level)
    return chosen.select("value", "n", "n_missing", "reason").collect().rows()


def test_units_have_what_was_said_before_and_instead() -> None:
    scorer = Lengths()
    scores = score(Corpus.of(TALKS), metrics=cards_of(lengths(scorer)))
    assert len(scorer.seen) == 2
    assert set(scorer.seen) == {
        Unit((), "hi you", ("hey", "good day")),
        Unit(("hello",), "hi you", ("hey", "good day")),
    }
    assert scorer.prepared == [["good day", "good day", "hey", "hey", "hey"]]
    assert rows(scores, "reply_length", "turn") == [
        (6.0, 1, 0, None),
        (None, 0, 1, "nothing said"),
        (6.0, 1, 0, None),
        (None, 0, 1, "no reference"),
    ]
    assert [row[3] for row in rows(scores, "before", "turn")] == [
        None,
        "nothing said",
        "no context",
        "no reference",
    ]
    assert rows(scores, "reply_length", "agent") == [
        (6.0, 2, 2, "nothing said ×1; no reference ×1")
    ]
    assert scores.signatures["reply_length"] == "reply_length|v1|scorer:lengths,v1,seen:5"


def test_what_a_family_ignores_does_not_tell_units_apart() -> None:
    scorer = Lengths()
    score(Corpus.of(TALKS), metrics=cards_of(lengths(scorer, reads=("reference",))))
    assert scorer.seen == [Unit((), "hi you", ("hey", "good day"))]


def test_without_references_nothing_breaks() -> None:
    bare = [Dialogue("s", "b", one.dialog, one.turns) for one in TALKS]
    scores = score(Corpus.of(bare), metrics=["bleu_4", "mauve"])
    assert {row[3] for row in rows(scores, "bleu_4", "turn")} == {"no reference", "nothing said"}
    assert rows(scores, "bleu_4", "agent")[0][0] is None
    assert rows(scores, "mauve", "agent")[0][3] == "no reference"


def test_results_are_kept_and_not_computed_again(tmp_path: Path) -> None:
    cards = cards_of(lengths(first := Lengths()))
    one = score(
        Corpus.of(TALKS),
        metrics=cards,
        resources=Resources(scorers=ScorerSet(cache=ResultCache(tmp_path))),
    )
    assert len(first.seen) == 2
    cards = cards_of(lengths(second := Lengths()))
    resources = Resources(scorers=ScorerSet(cache=ResultCache(tmp_path)))
    two = score(Corpus.of(TALKS), metrics=cards, resources=resources)
    assert second.seen == []
    assert one.table.collect().equals(two.table.collect())
    cards = cards_of(lengths(third := Lengths(), version=2))
    resources = Resources(scorers=ScorerSet(cache=ResultCache(tmp_path)))
    score(Corpus.of(TALKS), metrics=cards, resources=resources)
    assert len(third.seen) == 2


def test_a_family_that_is_not_ready_says_so_and_the_others_go_on() -> None:
    def never(context: ScorerContext) -> Lengths:
        raise NotReadyError("the folder X is damaged.")

    outputs = (Output("broken", "Broken"),)
    broken = Family("broken", outputs, never, lambda _: None)
    wanting = Family("wanting", (Output("wanted", "W"),), never, lambda _: "give X")
    cards: list[MetricCard | str] = [
        *cards_of(broken),
        *cards_of(wanting),
        *cards_of(lengths(Lengths())),
        "length",
    ]
    corpus, resources = Corpus.of(TALKS), Resources()
    told = forecast(corpus, make_plan(cards, resources))
    assert "No values for broken: the folder X is damaged." in told.lines()
    assert "No values for wanted: give X." in told.lines()
    scores = score(corpus, metrics=cards, resources=resources)
    for level in ("turn", "dialog", "agent", "system"):
        for value, n, _, reason in rows(scores, "broken", level):
            assert (value, n) == (None, 0)
            assert reason.startswith("the folder X is damaged")
    assert rows(scores, "reply_length", "agent")[0][0] == 6.0
    assert rows(scores, "length", "agent")[0][0] is not None


def test_pools_belong_to_agents_and_systems() -> None:
    scorer = Means()
    family = Family(
        "means",
        (Output("gap", "Gap"),),
        lambda _: scorer,
        lambda _: None,
        ("reference",),
        kind="pool",
    )
    talks = [*TALKS, talk("d4", ">one", references={0: ["two", "three"]})]
    talks.append(Dialogue("s", "other", "d5", talks[-1].turns, references=talks[-1].references))
    scores = score(Corpus.of(talks), metrics=cards_of(family))
    assert scores.table.collect()["level"].unique().sort().to_list() == ["agent", "system"]
    bot, other = rows(scores, "gap", "agent")
    assert bot[0] == pytest.approx((6 + 6 + 3) / 3 - (3 + 8 + 3 + 8 + 3 + 5) / 6)
    assert bot[1:3] == (3, 2)
    assert other == (None, 1, 0, "too few replies")
    ((value, n, _, _),) = rows(scores, "gap", "system")
    assert value == pytest.approx((6 + 6 + 3 + 3) / 4 - (3 + 8 + 3 + 8 + 3 + 5 + 3 + 5) / 8)
    assert n == 4
    assert sorted(scorer.embedded) == sorted(set(scorer.embedded))  # each text once
    check_metric(*cards_of(family))  # in any batches, also where another process scored them


def test_selection() -> None:
    everything = set(metrics())
    field = {name for name, card in metrics().items() if "automatic" in card.groups}
    assert {card.name for card in select(["automatic"])} == field
    assert {card.name for card in select(["all"])} == everything
    assert {card.name for card in select(None)} == everything - field
    assert [card.name for card in select(["rouge"])] == ["rouge_1", "rouge_2", "rouge_l"]
    assert {"bleu_1", "chrf", "rouge_l", "meteor"} <= {c.name for c in select(["overlap"])}


def test_models_none_leaves_automatic_metrics_alone() -> None:
    plan = make_plan(["all"], tiny_resources("none"))
    names = {metric.name for metric in plan.metrics}
    assert "bert_score_f1" in names
    assert "toxicity" not in names


@pytest.mark.parametrize(
    ("context", "named"),
    [
        (ScorerContext(weights={"bert_scor": "x"}), "Did you mean bert_score"),
        (ScorerContext(options={"blue": {"tokenize": "x"}}), "Did you mean bleu"),
        (ScorerContext(options={"bleu": {"tokenise": "x"}}), "Did you mean tokenize"),
    ],
)
def test_unknown_names_are_refused(context: ScorerContext, named: str) -> None:
    families = [card.scored_by for card in select(["automatic"])]
    with pytest.raises(DialensError, match=named):
        check_names(context, families)


SLOWLY = """
import sys, time
from pathlib import Path
import numpy as np
from dialens.metrics import Resources, score
from dialens.metrics import ResultCache
from dialens.metrics import cards_of
from dialens.metrics import ScorerSet
from tests.metrics.automatic import test_engine
from dialens.corpus import Corpus
class Slow(test_engine.Lengths):
    def score(self, units, advance=lambda _: None):
        if self.seen:
            print("kept", flush=True)
            time.sleep(600)
        return super().score(units, advance)
score(
    Corpus.of(test_engine.many()),
    metrics=cards_of(test_engine.lengths(Slow())),
    resources=Resources(scorers=ScorerSet(cache=ResultCache(Path(sys.argv[1])))),
)
"""


def many() -> list[Dialogue]:
    return [talk(f"d{n}", f">reply {n}", references={0: ["x"]}) for n in range(100)]


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path, repository: Path) -> None:
    command = [sys.executable, "-c", SLOWLY, str(tmp_path)]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=repository, env={**os.environ}
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "kept\n"
    running.kill()
    running.wait()
    running.stdout.close()
    scorer = Lengths()
    resources = Resources(scorers=ScorerSet(cache=ResultCache(tmp_path)))
    scores = score(Corpus.of(many()), metrics=cards_of(lengths(scorer)), resources=resources)
    assert 0 < len(scorer.seen) < 100
    assert rows(scores, "reply_length", "agent")[0][1] == 100


def test_scores_in_a_folder_are_the_same(tmp_path: Path) -> None:
    told: list[int] = []
    plan = make_plan(["overlap"], Resources())
    made = score_into(Corpus.of(TALKS), tmp_path, plan, advance=told.append).table.collect()
    wanted = score(Corpus.of(TALKS), metrics=["overlap"]).table.collect()
    keys = ["metric", "level", "dialog", "turn"]
    assert made.sort(keys).equals(wanted.sort(keys))
    assert sum(told) == sum(len(one.turns) for one in TALKS)
