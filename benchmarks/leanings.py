"""Whether planted leanings (tag, length, first place) are found again, and how often nothing is.

Simulated participants take a small study in memory, as `dialens study simulate` would have them:
the same plan, the same simulated raters, the same rows, no database. Each replication has other
opinions, people and items. Printed are the share of 95 % intervals that hold what was put in, and
the share of tests below .05 where nothing was.

    python benchmarks/leanings.py [REPLICATIONS] [RATERS] [ITEMS]
"""

import sys
import time
from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl

from dialens.analysis.bias import StudyData, leanings, response_biases, study_data
from dialens.base import one_thread
from dialens.corpus import RATINGS
from dialens.studies import Study, seen, study_of
from dialens.studies._examples import TEA
from dialens.studies._judgements import rating_rows
from dialens.studies.instruments import validate
from dialens.studies.plan import plan
from dialens.studies.simulation import Population, World

FIRST, LENGTH, TAG = 6.0, 4.0, -8.0
"""Points that are planted: standing first, twice the length, the tag `ai`."""

_BESIDE = {
    "length": pl.Int64, "pair": pl.String, "order_shown": pl.Int64, "place": pl.Int64,
    "screen": pl.String,
}  # fmt: skip


def study(items: int, seed: int) -> Study:
    """Two agents, one of which writes half as much again; tags, two forms, both orders."""
    rng = np.random.default_rng(seed)
    entries = []
    for number in range(items):
        size = int(rng.integers(40, 160))
        texts = {"terse": "x" * size, "wordy": "y" * int(size * 1.5)}
        padded = {name: {"padded": f"{text} {'z' * 60}"} for name, text in texts.items()}
        entries.append(
            {"id": f"i{number}", "context": [f"Say {number}"], "responses": texts,
             "variants": padded}
        )  # fmt: skip
    return study_of(
        {
            **{key: TEA[key] for key in ("study", "title", "consent", "instructions")},
            "items": {"inline": entries},
            "qualities": {
                "good": {"instrument": "slider"},
                "better": {"instrument": "pairwise"},
            },
            "factors": {
                "tag": ["none", {"name": "ai", "note": "Written by an AI"}],
                "variant": ["plain", "padded"],
            },
            "presentation": {"responses": "swap"},
        }
    )


def rows(made: Study, people: Population, raters: int, seed: int) -> pl.DataFrame:
    """What simulated raters answer, as rows of an export."""
    world, found = World(made, people, seed=seed), []
    for number in range(1, raters + 1):
        person = world.person(number)
        for screen in plan(made, "all", number):
            reply = person.reply(seen(screen))
            for one in screen.fields if screen.kind == "rating" else ():
                value = validate(one, reply.answers[one.name])
                found += [
                    row | {"rater": f"r{number}", "rater_kind": "simulated", "screen": screen.id}
                    for row in rating_rows(screen, one, value)
                ]
    table = pl.DataFrame(found, schema={**RATINGS, **_BESIDE})
    levels = pl.col("factors").str.json_decode(pl.Struct({"tag": pl.String, "variant": pl.String}))
    return table.with_columns(levels.struct.unnest())


def main(replications: int, raters: int, items: int) -> None:
    """Run both conditions and print a table of each."""
    conditions = {
        "nothing planted": Population(agent_spread=0, scale_spread=0.1),
        "planted": Population(
            agent_spread=0, scale_spread=0.1, first_place=FIRST, length_effect=LENGTH,
            tags={"ai": TAG},
        ),
    }  # fmt: skip
    for name, people in conditions.items():
        held, clear, values = defaultdict(list), defaultdict(list), defaultdict(list)
        begun = time.perf_counter()
        for number in range(replications):
            data = study_data(rows(study(items, number), people, raters, seed=number))
            planted = people.length_effect != 0
            truths = {
                "tag, points": TAG * planted,
                "length, points a doubling": LENGTH * planted,
                "place, points a place down": -FIRST * planted,
                "agents at equal length, points": 0.0,
                "agents, length ignored, points": None,
                "agents, length ignored, share": None,
                "tag, share of choices": None if planted else 0.5,
                "length, share of choices": None if planted else 0.5,
                "first place, share of verdicts": None if planted else 0.5,
                "agents at equal length, share": 0.5,
            }
            for key, row in _numbers(data).items():
                if row is None or row["value"] is None:
                    continue
                values[key].append(row["value"])
                if row.get("p") is not None:
                    clear[key].append(row["p"] < 0.05)
                if truths[key] is not None and row["low"] is not None:
                    held[key].append(row["low"] <= truths[key] <= row["high"])
        seconds = (time.perf_counter() - begun) / replications
        print(f"\n{name}: {replications} studies of {raters} raters and {items} items, "
              f"{seconds:.1f} s each")  # fmt: skip
        print("| what | mean | intervals that hold it | p < .05 |\n|---|---|---|---|")
        for key in values:
            parts = [f"{np.mean(values[key]):.2f}"]
            parts += [f"{100 * np.mean(part[key]):.1f} %" if part[key] else "–" for part in
                      (held, clear)]  # fmt: skip
            print(f"| {key} | {' | '.join(parts)} |", flush=True)


def _numbers(data: StudyData) -> dict[str, dict[str, Any] | None]:
    moved, equal = leanings(data)
    places = response_biases(data)

    def one(table: pl.DataFrame, **wanted: str) -> dict[str, Any] | None:
        part = table.filter(**wanted)
        return part.row(0, named=True) if part.height else None

    rated, chosen = one(equal, measure="points"), one(equal, measure="share")
    return {
        "tag, points": one(moved, bias="tag", measure="points"),
        "length, points a doubling": one(moved, bias="length", measure="points"),
        "place, points a place down": one(places, bias="position"),
        "agents at equal length, points": rated,
        "agents, length ignored, points": rated and {"value": rated["uncontrolled"], "low": None},
        "tag, share of choices": one(moved, bias="tag", measure="share"),
        "length, share of choices": one(moved, bias="length", measure="share"),
        "first place, share of verdicts": one(moved, bias="first place", quality="better"),
        "agents at equal length, share": chosen,
        "agents, length ignored, share": chosen and {"value": chosen["uncontrolled"], "low": None},
    }


if __name__ == "__main__":
    given = [int(value) for value in sys.argv[1:]]
    with one_thread():
        main(*(given + [200, 20, 12][len(given) :]))
