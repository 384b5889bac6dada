"""Whether a judge's planted leanings are found again, and its difference from people.

One simulated language model takes a small study in memory, every cell and several participations,
beside simulated people: the same plan, the same screens, the same rows as `dialens study judge`
and `dialens study simulate` would give, no database. Screens that read the same share one answer a
repeat; at temperature 0 repeats are equal too. Each replication has other opinions of the items and
other people. Printed are the share of 95 % intervals that hold what was put in, and the share of
tests below .05 where nothing was.

    python benchmarks/judge_effects.py [REPLICATIONS] [PEOPLE] [LINE]

Without people (0), which take most of the time, only the judge's own numbers are printed.
"""

import hashlib
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from dialens.analysis.bias import Resampling, effects, leanings, response_biases, study_data
from dialens.analysis.bias._beside_people import judge_tables
from dialens.base import one_thread
from dialens.corpus import RATINGS
from dialens.studies import Study, seen, study_of
from dialens.studies._examples import TEA
from dialens.studies._judgements import rating_rows
from dialens.studies.instruments import validate
from dialens.studies.judges._rendering import render
from dialens.studies.plan import plan
from dialens.studies.simulation import Population, World

SHOWN = 80.0
PLANTED: dict[str, dict[str, Any]] = {
    "people": {"anchor_pull": 0.2, "first_place": 2.0, "length_effect": 1.0, "tags": {"own": 3.0}},
    "judge": {"anchor_pull": 0.5, "first_place": 6.0, "length_effect": 4.0, "tags": {"own": 8.0}},
}
NOTHING: dict[str, Any] = {"anchor_pull": 0.0}
_PARTICIPATIONS = 4
_MORE = {
    "length": pl.Int64, "pair": pl.String, "order_shown": pl.Int64, "place": pl.Int64,
    "screen": pl.String, "judge": pl.String, "repeat": pl.Int64, "ask": pl.String,
    "attempt": pl.Int64,
}  # fmt: skip


@cache
def study(items: int) -> Study:
    """Two replies to each item, a number or none, a tag or none, two forms, both orders."""
    rng = np.random.default_rng(items)
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
            "qualities": {"good": {"instrument": "slider"}},
            "factors": {
                "anchor_value": [
                    "none", {"name": "80", "value": SHOWN, "note": "Another rater gave {value}."},
                ],
                "tag": ["none", {"name": "own", "note": "You wrote this reply"}],
                "variant": ["plain", "padded"],
            },
            "presentation": {"responses": "swap"},
        }
    )  # fmt: skip


@cache
def _screens(items: int, cell: str, seed: int) -> tuple[tuple[Any, Any, str], ...]:
    """Rating screens as planned, as seen, and as a judge reads them."""
    made = study(items)
    rated = [screen for screen in plan(made, cell, seed) if screen.kind == "rating"]
    return tuple((one, seen(one), render(seen(one), made.texts)) for one in rated)


def _rows(made: Study, answer: Any, cell: str, seed: int) -> list[dict[str, Any]]:
    found = []
    for screen, shown, text in _screens(len(made.items), cell, seed):
        who, ask = answer(text)
        reply = who.reply(shown)
        for one in screen.fields:
            value = validate(one, reply.answers[one.name])
            found += [
                row | {"screen": screen.id, "ask": ask, "attempt": seed}
                for row in rating_rows(screen, one, value)
            ]
    return found


def of_people(made: Study, world: World, count: int) -> list[dict[str, Any]]:
    """People, one cell each."""
    cells, found = [cell.name for cell in made.cells], []
    for number in range(1, count + 1):
        who = world.person(number)
        rows = _rows(made, lambda _, who=who: (who, None), cells[number % len(cells)], number)
        found += [row | {"rater": f"p{number}", "rater_kind": "human"} for row in rows]
    return found


def of_judge(made: Study, world: World, repeats: int, *, cold: bool) -> list[dict[str, Any]]:
    """One model in all cells: its answers follow the text, and the repeat if it is not cold."""
    usual, found = replace(world.person(1), scale=1.0, habit=1.0), []
    for repeat in range(1, repeats + 1):

        def asked(text: str, repeat: int = repeat) -> tuple[Any, str]:
            key = hashlib.sha256(f"{'' if cold else repeat} {text}".encode()).hexdigest()
            return replace(usual, number=int(key[:12], 16), _screens=[]), f"{repeat}-{key[:16]}"

        for cell in made.cells:
            for seed in range(1, _PARTICIPATIONS + 1):
                rows = _rows(made, asked, cell.name, seed)
                more = {"rater": f"m#{repeat}", "rater_kind": "llm", "judge": "m", "repeat": repeat}
                found += [row | more for row in rows]
    return found


def analysed(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The judge's numbers and the differences, by what they are."""
    table = pl.DataFrame(rows, schema={**RATINGS, **_MORE})
    levels = pl.col("factors").str.json_decode(pl.Struct({"tag": pl.String, "variant": pl.String}))
    data = study_data(table.with_columns(levels.struct.unnest()))
    models = data.without([name for name in data.raters["rater"] if name.startswith("p")])
    people = data.without([name for name in data.raters["rater"] if name.startswith("m")])
    known: dict[str, pl.DataFrame] = {}
    if people.raters.height:
        moved, equal = leanings(people)
        known = {
            "effects": effects(people), "leanings": moved, "equal_length": equal,
            "response_biases": response_biases(people),
        }  # fmt: skip
    found = judge_tables(data, models, Resampling(), known)
    own = {row["effect"]: row for row in found.effects.iter_rows(named=True)}
    own |= {
        f"{row['bias']}: {row['of']}": row
        for row in found.leanings.filter(raters="m", measure="points").iter_rows(named=True)
    }
    gaps = {
        row["effect"]: row | {"value": row["difference"]}
        for row in (found.beside.iter_rows(named=True) if known else ())
    }
    return {f"{name}, judge": own[name] for name in NAMES} | {
        f"{name}, judge − people": gaps[name] for name in NAMES if name in gaps
    }


NAMES = (
    "anchor pull", "tag: own against none", "length: twice as long",
    "position: a place further down",
)  # fmt: skip


def truth(name: str, given: Mapping[str, Any]) -> float:
    """What was put in; half of the ratings have an anchor, which moves them off their own."""
    pull = given["anchor_pull"]
    if name == "anchor pull":
        return float(pull)
    kept = 1 - pull / 2
    if name.startswith("tag"):
        return float(kept * given.get("tags", {}).get("own", 0.0))
    if name.startswith("length"):
        return float(kept * given.get("length_effect", 0.0))
    return float(-kept * given.get("first_place", 0.0))


LINES = ((8, 2, False), (8, 3, True), (20, 3, False), (40, 2, True))
"""Items, repeats, and whether these are equal."""


def main(replications: int, people: int, line: int) -> None:
    """Every number of items, with repeats drawn anew and with equal ones; or one line from 1."""
    plain: dict[str, Any] = {
        "agent_spread": 0.0,
        "scale_spread": 0.1,
        "item_spread": 8.0,
        "noise": 6.0,
        "level": 50.0,
    }
    conditions: dict[str, dict[str, dict[str, Any]]] = {
        "nothing planted": {"people": NOTHING, "judge": NOTHING},
        "planted": PLANTED,
    }
    for name, planted in conditions.items():
        for items, repeats, cold in LINES[line - 1 : line] if line else LINES:
            held, clear, values = defaultdict(list), defaultdict(list), defaultdict(list)
            begun = time.perf_counter()
            made = study(items)
            for number in range(replications):
                worlds = {
                    who: World(made, Population(**plain, **planted[who]), seed=number)
                    for who in planted
                }
                rows = of_people(made, worlds["people"], people)
                rows += of_judge(made, worlds["judge"], repeats, cold=cold)
                for key, row in analysed(rows).items():
                    what, _, whose = key.partition(", ")
                    right = truth(what, planted["judge"])
                    if whose != "judge":
                        right -= truth(what, planted["people"])
                    if row["value"] is None or row["low"] is None:
                        values[key].append(np.nan)
                        continue
                    values[key].append(row["value"] - right)
                    held[key].append(row["low"] <= right <= row["high"])
                    clear[key].append(row["p"] < 0.05)
            seconds = (time.perf_counter() - begun) / replications
            how = "equal" if cold else "drawn anew"
            print(f"\n{name}: {replications} × {items} items, {repeats} repeats {how}, "
                  f"{people} people, {seconds:.1f} s each")  # fmt: skip
            print("| what | mean error | intervals that hold | p < .05 | without |")
            print("|---|---|---|---|---|")
            for key, found in values.items():
                lost = int(np.isnan(found).sum())
                shares = [f"{100 * np.mean(part[key]):.1f} %" for part in (held, clear)]
                parts = [f"{np.nanmean(found):.3f}", *shares]
                print(f"| {key} | {' | '.join(parts)} | {lost} |", flush=True)


if __name__ == "__main__":
    given = [int(value) for value in sys.argv[1:]]
    with one_thread():
        main(*(given + [200, 12, 0][len(given) :]))
