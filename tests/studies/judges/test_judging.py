"""Judges take a study: settings, prompts, answers, the ledger and the runner, with no model."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dialens.analysis.judges import judges_against_people
from dialens.base import DialensError
from dialens.corpus import RATINGS
from dialens.studies import Study, study_of
from dialens.studies._examples import TEA
from dialens.studies.judges import (
    JudgePlan,
    Judges,
    Ledger,
    ModelError,
    ModelReply,
    Said,
    Weighed,
    judge_ratings,
    judge_study,
    planned_costs,
    render_hash,
)
from dialens.studies.plan import plan
from tests.studies.samples import load_template


@dataclass
class Scripted:
    """A model that says what a function of the conversation says, and notes what it was asked."""

    says: Any
    identity: str = "scripted"
    weighs: bool = False
    prices: tuple[float, float] | None = (1.0, 2.0)
    chances: Mapping[str, float] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tokens(self, text: str) -> int:
        return len(text) // 4 + 1

    def ask(
        self,
        said: Sequence[Said],
        *,
        seed: int,
        temperature: float | None,
        schema: Mapping[str, Any] | None,
    ) -> ModelReply:
        with self._lock:
            self.asked.append(
                {"said": list(said), "seed": seed, "schema": schema, "t": temperature}
            )
        text = self.says(said, schema, seed)
        if isinstance(text, ModelError):
            raise text
        if isinstance(text, ModelReply):
            return text
        return ModelReply(text, tokens_in=100, tokens_out=10, cost=0.00012, seconds=0.5)

    def weigh(
        self, said: Sequence[Said], answers: Sequence[str], *, seed: int, temperature: float | None
    ) -> Weighed:
        with self._lock:
            self.asked.append({"said": list(said), "seed": seed, "answers": list(answers)})
        return Weighed(self.chances, "continuation", ModelReply("", tokens_in=10))


def right(said: Sequence[Said], schema: Mapping[str, Any] | None, seed: int) -> str:
    """A valid answer that the seed decides."""
    assert schema is not None
    generator = np.random.default_rng(seed)
    return json.dumps({name: _value(one, generator) for name, one in schema["properties"].items()})


def _value(schema: Mapping[str, Any], generator: np.random.Generator) -> Any:
    if "enum" in schema:
        return schema["enum"][generator.integers(len(schema["enum"]))]
    return int(generator.integers(1, 200)) if schema["type"] in ("number", "integer") else "words"


def planned(study: Study, model: Scripted, **settings: Any) -> JudgePlan:
    judges = Judges.model_validate({"judges": [{"name": "a", "agent": "script:x"}], **settings})
    return JudgePlan(study, judges, {"a": model})


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with Ledger.open(tmp_path / "judges.db", asking=True) as opened:
        yield opened


def test_a_judge_takes_all_cells_and_identical_screens_are_asked_once(ledger: Ledger) -> None:
    study = load_template("likert")
    cells = len(study.cells)
    model = Scripted(right)
    first = planned(study, model, repeats=3, participations=2)
    costs = planned_costs(first, ledger)[0]
    steps: list[int] = []
    done = judge_study(first, ledger, advance=steps.append)
    assert sum(steps) == costs.requests  # pace and time left are of what is asked
    frame = ledger.frame()
    screens = sum(len(first.questions(sitting)) for sitting in first.all_sittings())
    assert frame.height == screens == done.states["answered"]
    assert frame["cell"].n_unique() == cells
    # The texts do not depend on the order of screens, nor on who rates: one ask a text and repeat.
    texts = {q.text for sitting in first.all_sittings() for q in first.questions(sitting)}
    assert len(model.asked) == 3 * len(texts) == costs.requests == frame["key"].n_unique()
    assert done.saved == screens - len(model.asked) == costs.saved == frame["saved"].sum()
    assert done.saved_cost == pytest.approx(done.saved * 0.00012)
    # The repeat is in the key, so that each repeat is drawn anew.
    assert len({one["seed"] for one in model.asked}) == len(model.asked)
    assert set(frame["render_hash"]) == {render_hash(text) for text in texts}
    again = judge_study(first, ledger, advance=steps.append)
    assert sum(steps) == costs.requests
    known = (again.known["answered"], again.saved)
    assert (again.spent.requests, *known) == (0, len(model.asked), done.saved)


def test_what_a_judge_reads_is_the_prompt_the_instructions_and_the_screen(ledger: Ledger) -> None:
    study = load_template("likert")
    model = Scripted(right)
    made = planned(study, model, prompts={"p": "Dear judge.\n{instructions}\n--\n{screen}"})
    judge_study(made, ledger)
    text = model.asked[0]["said"][-1].text
    assert text.startswith("Dear judge.\n# ")
    assert study.design.instructions.text.split()[0] in text
    assert text.rstrip().splitlines()[-1].startswith('"')  # how to answer comes at the end
    consent = study.design.consent.text
    assert not any(consent[:40] in one["said"][-1].text for one in model.asked)
    assert len(model.asked) == len({q.text for q in made.questions(made.all_sittings()[0])})


def test_in_a_session_what_was_said_stays_in_the_conversation(ledger: Ledger) -> None:
    study = load_template("likert")
    model = Scripted(right)
    made = planned(study, model, memory="session")
    judge_study(made, ledger, at_once=3)
    lengths = [len(one["said"]) for one in model.asked]
    assert lengths == [2 * place + 1 for place in range(len(lengths))]
    last = model.asked[-1]["said"]
    assert [one.who for one in last] == ["study", "judge"] * (len(last) // 2) + ["study"]
    assert "Instructions" in last[0].text
    assert "Instructions" not in last[2].text
    assert planned_costs(made, ledger)[0].requests == 0
    before = len(model.asked)
    judge_study(made, ledger)
    assert len(model.asked) == before


def test_one_repair_with_the_words_that_a_participant_reads(ledger: Ledger) -> None:
    study = load_template("likert")

    def mends(said: Sequence[Said], schema: Any, seed: int) -> str:
        if len(said) == 1:
            return json.dumps(dict.fromkeys(schema["properties"], 99))
        return right(said, schema, seed)

    model = Scripted(mends)
    done = judge_study(planned(study, model), ledger)
    frame = ledger.frame()
    assert done.repaired == frame.height == frame["repaired"].sum()
    assert frame["requests"].unique().to_list() == [2]
    assert frame["cost"][0] == pytest.approx(0.00024)
    # Screens are asked side by side, so that a repair need not follow its first try at once.
    told = next(one["said"] for one in model.asked if len(one["said"]) > 1)[-1].text
    assert "Please choose a whole number from 1 to 5." in told
    assert "99" in frame["first_reply"][0]


def test_who_says_nothing_under_a_schema_is_asked_without_one(ledger: Ledger) -> None:
    study = load_template("likert")

    def shy(said: Sequence[Said], schema: Any, seed: int) -> str:
        names = [f"{q}-{slot}" for slot in (1, 2) for q in study.design.qualities]
        return "" if schema else json.dumps(dict.fromkeys(names, 3))

    done = judge_study(planned(study, Scripted(shy)), ledger)
    assert set(done.states) == {"answered"}
    assert done.repaired == ledger.frame().height


@pytest.mark.parametrize(
    ("reply", "state", "requests"),
    [
        ('{"x": 1}', "malformed", 2),
        ("I'm sorry, I cannot do that.", "refused", 2),
        (ModelReply("No.", refused=True), "refused", 1),
        ("", "malformed", 2),
    ],
)
def test_what_is_no_answer_is_missing_with_a_reason(
    ledger: Ledger, reply: Any, state: str, requests: int
) -> None:
    study = load_template("likert")
    model = Scripted(lambda said, schema, seed: reply)
    done = judge_study(planned(study, model), ledger)
    frame = ledger.frame()
    assert done.states == {state: frame.height}
    assert frame["answers"].null_count() == frame.height
    assert all(frame["reason"].to_list())
    assert len(model.asked) == requests * frame.height
    assert judge_ratings(study, ledger).height == 0
    judge_study(planned(study, model), ledger)
    assert len(model.asked) == requests * frame.height  # not asked again


def test_failures_are_tried_again_and_a_hopeless_model_is_left_alone(ledger: Ledger) -> None:
    study = load_template("likert")
    down = Scripted(lambda said, schema, seed: ModelError("no network", requests=5))
    done = judge_study(planned(study, down), ledger, at_once=1)
    assert len(down.asked) == 3
    assert done.spent.requests == 15 == ledger.spent().requests
    assert done.states == {"failed": ledger.frame().height}
    assert ledger.frame()["reason"].str.contains("no network").all()
    assert judge_ratings(study, ledger).height == 0
    up = Scripted(right)
    assert set(judge_study(planned(study, up), ledger).states) == {"answered"}
    assert ledger.spent().requests == 15 + len(up.asked)


def test_a_failed_repair_resumes_with_the_repair(ledger: Ledger) -> None:
    study = load_template("likert")
    model = Scripted(lambda said, schema, seed: "hm" if len(said) == 1 else ModelError("gone"))
    judge_study(planned(study, model), ledger, at_once=1)
    later = Scripted(right)
    judge_study(planned(study, later), ledger)
    mended = [one for one in later.asked if len(one["said"]) == 3]
    assert len(mended) == len(later.asked) == ledger.frame().height
    assert ledger.frame()["repaired"].all()


def test_the_budget_stops_cleanly_and_is_kept_over_runs(ledger: Ledger) -> None:
    study = load_template("likert")
    model = Scripted(right)
    done = judge_study(planned(study, model, budget={"requests": 2}), ledger, at_once=4)
    frame = ledger.frame()
    assert len(model.asked) == 2
    assert done.states == {"answered": 2, "over_budget": frame.height - 2}
    assert "2 requests" in done.stopped
    judge_study(planned(study, model, budget={"requests": 2}), ledger)
    assert len(model.asked) == 2
    cost = planned(study, model, budget={"cost": 1e-4 * 30})
    judge_study(cost, ledger)
    assert ledger.spent().cost <= 0.003
    assert set(judge_study(planned(study, model), ledger).states) == {"answered"}
    assert len(model.asked) == frame.height
    blind = Scripted(right, prices=None)
    with pytest.raises(DialensError, match=r"price_in and price_out"):
        planned(study, blind, budget={"cost": 1.0})


def test_probabilities_become_expected_ratings(ledger: Ledger) -> None:
    study = load_template("likert")
    chances = {"2": 0.1, "4": 0.5, "5": 0.2}
    model = Scripted(right, weighs=True, chances=chances)
    done = judge_study(planned(study, model, answer="probabilities"), ledger)
    assert set(done.states) == {"answered"}
    assert all(len(one["answers"]) == 5 for one in model.asked)
    ratings = judge_ratings(study, ledger)
    mean = (2 * 0.1 + 4 * 0.5 + 5 * 0.2) / 0.8
    assert ratings["value"].unique().to_list() == pytest.approx([mean])
    row = json.loads(ledger.frame()["probabilities"][0])
    kept = next(iter(row.values()))
    assert kept["outside"] == pytest.approx(0.2)
    assert kept["mode"] == 4
    assert kept["mean"] == pytest.approx(mean)
    shares = np.array([0.125, 0.625, 0.25])
    assert kept["entropy"] == pytest.approx(-(shares * np.log2(shares)).sum())
    assert kept["way"] == "continuation"


def test_probabilities_are_refused_where_there_are_none(ledger: Ledger) -> None:
    with pytest.raises(DialensError, match="gives no probabilities"):
        planned(load_template("likert"), Scripted(right), answer="probabilities")
    with pytest.raises(DialensError, match=r"\(magnitude\) takes others"):
        planned(study_of(TEA), Scripted(right, weighs=True), answer="probabilities")


def test_pairs_weighed_give_expected_preferences(ledger: Ledger) -> None:
    study = load_template("pairwise")
    model = Scripted(right, weighs=True, chances={"1": 0.6, "2": 0.2, "tie": 0.2})
    judge_study(planned(study, model, answer="probabilities"), ledger)
    ratings = judge_ratings(study, ledger)
    assert ratings.group_by("screen", "quality").agg(pl.col("value").sum())["value"].to_list() == (
        pytest.approx([1.0] * (ratings.height // 2))
    )
    instrument = next(iter(study.design.qualities.values())).instrument
    ties = instrument.model_dump()["ties"]
    first = 0.6 + 0.1 if ties else 0.75
    assert ratings.filter(pl.col("position") == 0)["value"].to_list() == pytest.approx(
        [first] * (ratings.height // 2)
    )


@pytest.mark.parametrize("answer", ["json", "probabilities"])
def test_pairs_in_both_orders_say_which_place_won(ledger: Ledger, answer: str) -> None:
    """A judge that always takes what stands first changes its choice with every swap."""
    study = load_template("judge-bias")
    model = Scripted(first_listed, weighs=True, chances={"1": 0.7, "2": 0.3})
    judge_study(planned(study, model, answer=answer), ledger)
    ratings = judge_ratings(study, ledger)
    choices = ratings.filter(pl.col("quality") == "overall")
    assert choices["place"].unique().to_list() == [1]
    assert choices.group_by("pair").agg(pl.col("order_shown").unique().sort())[
        "order_shown"
    ].to_list() == [[1, 2]] * len(study.items)
    assert ratings["length"].null_count() == 0
    assert ratings["shown_at"].null_count() == ratings.height  # nobody reads too fast
    (found,) = judges_against_people(
        ratings.with_columns(item=pl.col("dialog")).filter(pl.col("quality") == "overall")
    ).iter_rows(named=True)
    assert found["flip_rate"] == 1.0


def first_listed(said: Sequence[Said], schema: Mapping[str, Any] | None, seed: int) -> str:
    """The first of the allowed answers, everywhere."""
    assert schema is not None
    return json.dumps({name: one["enum"][0] for name, one in schema["properties"].items()})


def test_chats_and_pictures_are_not_judged(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(DialensError, match="participants talk with agents"):
        planned(load_template("three-bots"), Scripted(right))
    (tmp_path / "cup.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 40)
    picture = {"file": "cup.png", "alt": "a cup"}
    items = [
        {"id": "tea", "context": ["Tea?"], "media": [picture], "responses": {"x": "Yes."}},
        {"id": "milk", "context": ["Milk?"], "responses": {"x": "No."}},
    ]
    study = study_of(_likert(items), tmp_path)
    done = judge_study(planned(study, Scripted(right)), ledger)
    assert done.states == {"answered": 1, "unreadable": 1}
    assert ledger.frame().filter(pl.col("state") == "unreadable")["reason"].to_list() == [
        "shows an image"
    ]


def _likert(items: list[Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {name: TEA[name] for name in ("study", "title", "consent")}
    quality = {"instrument": {"kind": "likert", "points": 5}}
    return {
        **kept,
        "instructions": {"text": "Judge."},
        "qualities": {"good": quality},
        "items": {"inline": items},
    }


def test_ratings_have_the_columns_and_values_of_an_export(ledger: Ledger) -> None:
    study = load_template("anchoring2020")
    model = Scripted(right)
    judge_study(planned(study, model, temperatures=[0, 1], participations=2), ledger)
    ratings = judge_ratings(study, ledger)
    assert list(ratings.columns)[: len(RATINGS)] == list(RATINGS)
    assert ratings["rater_kind"].unique().to_list() == ["llm"]
    assert set(ratings["rater"]) == {"a/plain/t=0#1", "a/plain/t=1#1"}
    assert set(ratings["attempt"]) == {1, 2}
    assert {
        "judge",
        "prompt",
        "temperature",
        "memory",
        "think",
        "repeat",
        "anchor",
        "layout",
    } <= set(ratings.columns)
    # An independent reading of the ledger: every magnitude once, on the screen it was asked on.
    given = [
        (row["cell"], row["seed"], row["screen"], row["rater"], name, value)
        for row in ledger.frame().iter_rows(named=True)
        for name, value in json.loads(row["answers"]).items()
        if row["screen"].startswith("rate")
    ]
    screens = {
        (cell.name, seed): {s.id: s for s in plan(study, cell, seed)}
        for cell in study.cells
        for seed in (1, 2)
    }
    judged = [
        value
        for cell, seed, screen, _, name, value in given
        if screens[cell, seed][screen].kind == "rating"
        and next(f for f in screens[cell, seed][screen].fields if f.name == name).targets
    ]
    assert sorted(ratings["value"]) == pytest.approx(sorted(judged))


def test_two_runs_do_not_ask_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "judges.db"
    with (
        Ledger.open(path, asking=True),
        pytest.raises(DialensError, match="Another run is asking"),
        Ledger.open(path, asking=True),
    ):
        pass
    with Ledger.open(path) as reading:
        assert reading.frame().height == 0
    (tmp_path / "other.db").write_text("this is no database, only words " * 40)
    with pytest.raises(DialensError, match="is no ledger of judges"):
        Ledger.open(tmp_path / "other.db")
