"""Biases as factors: numbers shown, both orders, tags, variants, answers of one's own first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from dialens.analysis.bias import effects, study_data
from dialens.base import DialensError
from dialens.corpus import Dialogue, Turn, batches, write_corpus
from dialens.studies import (
    TEA,
    Entrance,
    RaterReply,
    Screen,
    Study,
    preview,
    rating_rows,
    seen,
    study_of,
    take_part,
)
from dialens.studies.export import tables
from dialens.studies.judges import render
from dialens.studies.plan import Planner, plan
from dialens.studies.simulation import Population, World, simulate_study
from dialens.studies.store import Store
from dialens.studies.templates import TEMPLATES
from tests.studies.samples import load_template

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TWO = {"good": {"instrument": "slider"}, "better": {"instrument": "pairwise"}}
TAGS = ["none", {"name": "ai", "note": "Written by an AI"}, {"name": "who", "note": "By {agent}"}]


def items(count: int = 6, **more: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"i{n}", "context": [f"Tea {n}?"], "responses": {"a": f"Yes {n}.", "b": f"No {n}."}}
        | more
        for n in range(count)
    ]


def study(factors: dict[str, Any], **more: Any) -> Study:
    given = {"items": {"inline": items()}, "qualities": TWO, "presentation": {}, **more}
    return study_of({**TEA, **given, "factors": factors})


def rated(made: Study, seed: int, cell: str = "all") -> list[Screen]:
    return [screen for screen in plan(made, cell, seed) if screen.kind == "rating"]


def test_numbers_of_the_factor_are_on_their_rows() -> None:
    made = study(
        {"anchor_value": {"levels": ["none", 20, 80], "assign": "within"}},
        presentation={"anchor": "numerical"},
    )
    levels: Counter[Any] = Counter()
    for screen in rated(made, 0):
        level = screen.state["factor.anchor_value"]
        levels[level] += 1
        (row, *_) = rating_rows(screen, screen.fields[0], 50.0)
        assert row["anchor"] == (None if level == "none" else level)
        assert screen.state["factor.anchor"] == ("none" if level == "none" else "numerical")
        choice = next(one for one in screen.fields if one.quality == "better")
        assert "anchor_value" not in choice.options  # it is not answered with a number
        blocks = [block for block in screen.body if block["kind"] == "anchor"]
        assert [block["values"][0]["value"] for block in blocks] == (
            [] if level == "none" else [float(str(level))]
        )
    assert levels == {"none": 2, "20": 2, "80": 2}


def test_a_note_tells_the_number_below_its_question() -> None:
    told = {"name": "four", "value": {"good": 40}, "note": "Another rater gave {value}."}
    made = study({"anchor_value": ["none", told]})
    screen = rated(made, 0, "anchor_value=four")[0]
    assert [one.options.get("anchor_note") for one in screen.fields] == [
        "Another rater gave 40.", "Another rater gave 40.", None,
    ]  # fmt: skip
    assert not [block for block in screen.body if block["kind"] == "anchor"]
    assert rating_rows(screen, screen.fields[0], 1.0)[0]["anchor"] == "40"
    assert render(seen(screen), made.texts).count("Another rater gave 40.") == 2
    assert not rating_rows(rated(made, 0, "anchor_value=none")[0], screen.fields[2], "1")[0][
        "anchor"
    ]


@pytest.mark.parametrize(
    ("factor", "presentation", "told"),
    [
        ([20, 300], {"anchor": "numerical"}, "300 cannot be the number of good"),
        ([20, 80], {}, "presentation.anchor is none"),
        (["low", 80], {"anchor": "numerical"}, "'low' needs a value"),
        ([20, 80], {"anchor": "numerical", "anchor_value": 3}, "leave this out"),
        ([{"name": "x", "value": {"better": 1}}, 20], {"anchor": "numerical"}, "has no number"),
        ([{"name": "x", "value": {"godo": 1}}, 20], {"anchor": "numerical"}, "Did you mean good"),
    ],
)
def test_numbers_that_cannot_be_are_refused(
    factor: list[Any], presentation: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        study({"anchor_value": factor}, presentation=presentation)


def test_swapped_items_come_twice_and_far_apart() -> None:
    made = study({}, presentation={"responses": "swap"})
    for seed in range(4):
        screens = rated(made, seed)
        places: dict[str, list[int]] = {}
        orders: dict[str, set[Any]] = {}
        for at, screen in enumerate(screens):
            pair = str(screen.state["pair"])
            places.setdefault(pair, []).append(at)
            orders.setdefault(pair, set()).add(screen.state["order_shown"])
            first = next(one for one in screen.fields if one.quality == "better").targets["1"]
            assert (first["response"] == "a") == (screen.state["order_shown"] == 1)
        assert all(b - a == len(made.items) for a, b in places.values())
        assert all(both == {1, 2} for both in orders.values())
    begins = [
        next(s.state["order_shown"] for s in rated(made, seed) if s.state["pair"] == "i0")
        for seed in range(2)
    ]
    assert set(begins) == {1, 2}


def test_the_place_that_won_is_on_the_row() -> None:
    screen = rated(study({}, presentation={"responses": "swap"}), 0)[0]
    choice = screen.fields[-1]
    rows = rating_rows(screen, choice, "2")
    assert [(row["place"], row["value"]) for row in rows] == [(2, 0.0), (2, 1.0)]
    assert {row["pair"] for row in rows} == {screen.state["pair"]}
    assert "place" not in rating_rows(screen, screen.fields[0], 3.0)[0]


def _levels(made: Study, name: str, seeds: int) -> Iterator[tuple[int, str, str, str, str]]:
    for seed in range(seeds):
        for screen in rated(made, seed):
            for slot, target in screen.fields[-1].targets.items():
                yield seed, str(screen.state["item"]), target["response"], slot, target[name]


def test_tags_go_round_over_responses_and_raters() -> None:
    made = study({"tag": TAGS})
    seen_by = Counter((item, who, tag) for _, item, who, _, tag in _levels(made, "tag", 6 * 3 * 2))
    assert set(seen_by.values()) == {12}  # 36 raters, three tags: each response has each equally
    by_place = Counter((slot, tag) for *_, slot, tag in _levels(made, "tag", 36))
    assert max(by_place.values()) - min(by_place.values()) <= 6
    pairs = set()
    for seed in range(3):
        for screen in rated(made, seed):
            pairs.add(tuple(t["tag"] for t in screen.fields[-1].targets.values()))
    assert len(pairs) == 6  # every two tags meet, either way round


def test_a_tag_stands_above_its_response_and_on_its_row() -> None:
    made = study({"tag": TAGS})
    told = {"none": None, "ai": "Written by an AI"}
    for screen in rated(made, 1):
        blocks = {b["slot"]: b.get("tag") for b in screen.body if b["kind"] == "response"}
        for slot, target in screen.fields[-1].targets.items():
            assert blocks[slot] == told.get(target["tag"], f"By {target['response']}")
        rows = rating_rows(screen, screen.fields[-1], "1")
        assert [f'"tag": "{t["tag"]}"' in row["factors"] for t, row in zip(
            screen.fields[-1].targets.values(), rows, strict=True)] == [True, True]  # fmt: skip
        for text in filter(None, blocks.values()):
            assert text in render(seen(screen), made.texts)


def test_variants_are_shown_with_their_length() -> None:
    padded = {"a": {"padded": "Yes, and so on."}, "b": {"padded": "No, and so on."}}
    made = study({"variant": ["plain", "padded"]}, items={"inline": items(variants=padded)})
    for screen in rated(made, 0):
        texts = {b["slot"]: b["text"] for b in screen.body if b["kind"] == "response"}
        forms = {s: t["variant"] for s, t in screen.fields[-1].targets.items()}
        assert sorted(forms.values()) == ["padded", "plain"]
        for row, slot in zip(rating_rows(screen, screen.fields[-1], "1"), "12", strict=True):
            assert row["length"] == len(texts[slot])
            assert texts[slot].endswith("so on.") == (forms[slot] == "padded")
    assert Study.from_definition(made.definition, made.operation).hash == made.hash


def test_a_missing_variant_is_named() -> None:
    with pytest.raises(DialensError, match="'a' of the item 'i0' has no variant 'padded'"):
        study({"variant": ["plain", "padded"]})
    with pytest.raises(DialensError, match="variants of 'c', which is no response"):
        study({}, items={"inline": items(variants={"c": {"padded": "x"}})})


def test_variants_come_from_a_field_of_a_corpus(tmp_path: Path) -> None:
    def talk(agent: str, name: str, text: str, meta: dict[str, Any]) -> Dialogue:
        turns = [Turn("U", "partner", "Tea?"), Turn(agent, "agent", text, meta=meta)]
        return Dialogue("s", agent, name, turns)

    dialogues = [
        talk("a", "d1", "Yes, and more.", {"form": "padded"}),
        talk("a", "d2", "Yes.", {}),
        talk("b", "d3", "No.", {"form": "plain"}),
        talk("b", "d4", "No, and more.", {"form": "padded"}),
    ]
    write_corpus(batches(dialogues), tmp_path / "corpus", source={"name": "test"})
    given = {**TEA, "qualities": TWO, "factors": {"variant": ["plain", "padded"]}}
    made = study_of(
        given | {"presentation": {}, "items": {"corpus": "corpus", "variants": "form"}}, tmp_path
    )
    (item,) = made.items
    assert [(c.key, c.text, dict(c.variants)) for c in item.candidates] == [
        ("a", "Yes.", {"padded": "Yes, and more."}),
        ("b", "No.", {"padded": "No, and more."}),
    ]


def test_a_preview_in_words_says_what_stands_beside() -> None:
    told = {"name": "high", "value": 60, "note": "Another rater gave {value}."}
    made = study({"tag": TAGS[:2], "anchor_value": ["none", told]})
    lines = "\n".join(preview(made, "anchor_value=high", seed=0))
    assert "[Written by an AI]: " in lines
    assert "(Another rater gave 60.)" in lines


def test_the_number_shown_is_analysed_where_everybody_sees_one(tmp_path: Path) -> None:
    """Numbers 20 and 80, shown to all: the index is the share that was planted."""
    made = study(
        {"anchor_value": {"levels": [20, 80], "assign": "within"}},
        qualities={"good": {"instrument": "slider"}},
        presentation={"anchor": "numerical"},
    )
    with Store.open(f"sqlite:///{tmp_path}/numbers.db") as store:
        simulate_study(store, made, Population(anchor_pull=0.4), participants=16, now=NOW, seed=1)
        ratings, answers, _ = tables(store.answers_frame(made.hash))
    data = study_data(ratings, answers)
    assert not data.factors
    (index,) = effects(data).iter_rows(named=True)
    assert index["effect"] == "anchoring index"
    assert index["low"] < 0.4 < index["high"]


def test_ones_own_answer_comes_first_and_its_words_are_kept(tmp_path: Path) -> None:
    made = study({"own_answer_first": [False, True]}, presentation={"responses": "swap"})
    screens = rated(made, 0, "own_answer_first=yes")
    own = [screen for screen in screens if screen.id.endswith("-own")]
    assert len(own) == len(made.items)  # not again when an item returns
    assert [screen.id for screen in screens[:2]] == ["rate-001-own", "rate-001"]
    assert not [block for block in own[0].body if block["kind"] == "response"]
    assert not [s for s in rated(made, 0, "own_answer_first=no") if s.id.endswith("-own")]
    with Store.open(f"sqlite:///{tmp_path}/own.db") as store:
        simulate_study(store, made, Population(), participants=4, now=NOW)
        answers = store.answers_frame(made.hash)
    ratings, _, _ = tables(answers)
    words = answers.filter(pl.col("field") == "own_answer")["value"]
    assert len(words) == 2 * len(made.items)
    assert all(len(word) > 2 for word in words)
    assert set(ratings["own_answer_first"]) == {"no", "yes"}


@pytest.mark.parametrize(
    ("factors", "more", "told"),
    [
        ({"tag": ["none", "ai"]}, {}, "'ai' needs a note"),
        ({"tag": {"levels": TAGS, "assign": "between"}}, {}, "leave assign out"),
        ({"own_answer_first": ["no", "perhaps"]}, {}, "is no level of own_answer_first"),
        ({"deadline": [{"name": "x", "seconds": 4, "value": 3}, "none"]}, {}, "is for the factor"),
    ],
)
def test_factors_that_cannot_be_are_refused(
    factors: dict[str, Any], more: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        study(factors, **more)


def test_one_response_cannot_be_swapped() -> None:
    alone = [{"id": "x", "context": ["Tea?"], "responses": {"a": "Yes."}}]
    with pytest.raises(DialensError, match="has one response"):
        study(
            {},
            items={"inline": alone},
            qualities={"good": {"instrument": "slider"}},
            presentation={"responses": "swap"},
        )


def test_leanings_are_points_on_what_is_given() -> None:
    made = study({"tag": TAGS}, presentation={"responses": "swap"})
    bare = Population(noise=0, scale_spread=0)
    moved = Population(noise=0, scale_spread=0, first_place=6, tags={"ai": -8}, length_effect=4)
    neutral, leaning = (World(made, people, seed=1).person(1) for people in (bare, moved))
    for screen in rated(made, 2):
        shown = seen(screen)
        before, after = neutral.reply(shown), leaning.reply(shown)
        assert before is not None
        assert after is not None
        for one in screen.fields:
            if one.quality != "good":
                continue
            ((slot, target),) = one.targets.items()
            text = next(b["text"] for b in screen.body if b.get("slot") == slot)
            points = 6 * (slot == "1") - 8 * (target["tag"] == "ai")
            points += 4 * pl.Series([len(text) / 100]).log(2.0)[0]
            gap = float(after.answers[one.name]) - float(before.answers[one.name])
            assert gap == pytest.approx(points, abs=1.0)  # sliders are whole numbers


@dataclass
class _Fifty:
    """Answers 50 to everything but the consent."""

    kind: str = "llm"
    name: str = "fifty-1"
    asked: int = 0

    def reply(self, screen: Screen) -> RaterReply | None:
        self.asked += 1
        answers: dict[str, Any] = {field.name: 50 for field in screen.fields}
        return RaterReply({"consent": "yes"} if screen.kind == "consent" else answers, 1.0)

    def returns(self, wave: int) -> None:
        return None


def test_an_invalid_answer_is_asked_again_then_missing_with_a_reason(tmp_path: Path) -> None:
    made = study({})
    rater = _Fifty()
    with Store.open(f"sqlite:///{tmp_path}/fifty.db") as store:
        store.register(made, now=NOW)
        door = Entrance(store, Planner(made), "judges", lambda: NOW)
        list(take_part(door, rater, tie_breaker=1))
        assert [cell.completed for cell in store.progress(made.hash)] == [1]
        answers, events = store.answers_frame(made.hash), store.events_frame(made.hash)
    screens = len(plan(made, "all", 0)) - 1
    assert rater.asked == screens + len(made.items)  # each rating screen once more
    values = dict(answers.group_by("field").agg(pl.col("value").unique()).iter_rows())
    assert values["better"] == ["null"]
    assert values["good-1"] == ["50.0"]
    refused = events.filter(pl.col("kind") == "refused")
    assert refused["field"].unique().to_list() == ["better"]
    assert refused.height == len(made.items)
    assert "Please" in refused["detail"][0]


@pytest.mark.parametrize("template", sorted(TEMPLATES))
def test_the_documented_rater_ends_no_template_with_an_error(template: str, tmp_path: Path) -> None:
    """50 to everything: what an instrument refuses is asked for again, then missing."""
    made, rater = load_template(template), _Fifty()
    with Store.open(f"sqlite:///{tmp_path}/fifty.db") as store:
        store.register(made, now=NOW)
        door = Entrance(store, Planner(made), "judges", lambda: NOW)
        list(take_part(door, rater, tie_breaker=1))
        answers, events = store.answers_frame(made.hash), store.events_frame(made.hash)
    assert rater.asked > 1
    refused = events.filter(pl.col("kind") == "refused")
    missing = answers.filter(pl.col("value") == "null")
    assert set(refused["field"].drop_nulls()) <= set(missing["field"])
