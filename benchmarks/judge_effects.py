"""Whether a judge's planted leanings are found again, and its difference from people.

One simulated language model is asked everything that `dialens study judge` would ask it in a small
study, every cell and several participations, beside simulated people who take one cell each: the
screens, texts and rows are those of the study's plan, answers follow the formula of `dialens study
simulate`. Screens that read the same share one answer a repeat; at temperature 0 repeats are equal
too. Each replication has other opinions of the items and other people. Printed are the share of
95 % intervals that hold what was put in, and the share of tests below .05 where nothing was.

    python benchmarks/judge_effects.py [REPLICATIONS] [PEOPLE] [LINE]

Without people (0), which take most of the time, only the judge's own numbers are printed.
"""

import hashlib
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
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

SHOWN = 80.0
PLANTED: dict[str, dict[str, Any]] = {
    "people": {"anchor_pull": 0.2, "first_place": 2.0, "length_effect": 1.0, "tag": 3.0},
    "judge": {"anchor_pull": 0.5, "first_place": 6.0, "length_effect": 4.0, "tag": 8.0},
}
NOTHING: dict[str, Any] = {"anchor_pull": 0.0}
LEVEL, ITEMS, SCALE, NOISE = 50.0, 8.0, 0.1, 6.0
"""Mean opinion, and how far responses, people's scales and answers scatter."""
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


def _rows(made: Study, cell: str, seed: int) -> list[dict[str, Any]]:
    """What somebody would be asked, as rows of ratings that still have no value of their own."""
    found = []
    for screen in plan(made, cell, seed):
        if screen.kind != "rating":
            continue
        text = hashlib.sha256(render(seen(screen), made.texts).encode()).hexdigest()[:16]
        for one in screen.fields:
            found += [
                row | {"screen": screen.id, "ask": text, "attempt": seed}
                for row in rating_rows(screen, one, validate(one, 50))
            ]
    return found


@cache
def design(items: int, people: int, repeats: int) -> pl.DataFrame:
    """Who is shown what: people one cell each, the judge all cells, participations and repeats."""
    made, found = study(items), []
    cells = [cell.name for cell in made.cells]
    for number in range(1, people + 1):
        rows = _rows(made, cells[number % len(cells)], number)
        person = {"rater": f"p{number}", "rater_kind": "human", "ask": None}
        found += [row | person for row in rows]
    asked = [
        row for cell in cells for seed in range(1, _PARTICIPATIONS + 1)
        for row in _rows(made, cell, seed)
    ]  # fmt: skip
    for repeat in range(1, repeats + 1):
        more = {"rater": f"m#{repeat}", "rater_kind": "llm", "judge": "m", "repeat": repeat}
        found += [row | more | {"ask": f"{repeat}-{row['ask']}"} for row in asked]
    table = pl.DataFrame(found, schema={**RATINGS, **_MORE})
    levels = pl.col("factors").str.json_decode(pl.Struct({"tag": pl.String, "variant": pl.String}))
    return table.with_columns(levels.struct.unnest())


def answered(
    table: pl.DataFrame, planted: Mapping[str, Mapping[str, Any]], seed: int, *, cold: bool
) -> pl.DataFrame:
    """The same rows with answers, made as simulated participants make them.

    (1 − pull) · (scale · opinion + leaning + noise) + pull · number, on a slider of 0 to 100.
    """
    rng = np.random.default_rng([seed, 18])
    human = (table["rater_kind"] == "human").to_numpy()

    def each(name: str, default: float = 0.0) -> np.ndarray:
        ours, theirs = (planted[who].get(name, default) for who in ("people", "judge"))
        return np.where(human, ours, theirs)

    def drawn(keys: pl.Expr, spread: float) -> np.ndarray:
        index = table.select(keys.rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
        return rng.normal(0, spread, int(index.max()) + 1)[index]

    opinion = LEVEL + drawn(pl.concat_str("dialog", "agent", separator="|"), ITEMS)
    scale = np.where(human, 1 + drawn(pl.col("rater"), SCALE), 1.0)
    # One text has one answer a repeat; at temperature 0 in all repeats.
    text = pl.col("ask").str.split("-").list.last() if cold else pl.col("ask")
    shown = pl.concat_str("rater", "screen", separator="|")
    moment = pl.when(pl.col("rater_kind") == "human").then(shown).otherwise(text)
    noise = drawn(pl.concat_str(moment, "agent", separator="|"), NOISE)
    own = opinion * scale + noise
    own += each("first_place") * (table["position"] == 0).to_numpy()
    own += each("length_effect") * np.log2(table["length"].to_numpy() / 100)
    own += each("tag") * (table["tag"] == "own").to_numpy()
    pull = each("anchor_pull") * table["anchor"].is_not_null().to_numpy()
    value = np.clip(np.round((1 - pull) * own + pull * SHOWN), 0, 100)
    return table.with_columns(value=pl.Series(value))


def analysed(table: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The judge's numbers and the differences, by what they are."""
    data = study_data(table)
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
        return float(kept * given.get("tag", 0.0))
    if name.startswith("length"):
        return float(kept * given.get("length_effect", 0.0))
    return float(-kept * given.get("first_place", 0.0))


LINES = ((8, 2, False), (8, 3, True), (20, 3, False), (40, 2, True))
"""Items, repeats, and whether these are equal."""


def main(replications: int, people: int, line: int) -> None:
    """Every number of items, with repeats drawn anew and with equal ones; or one line from 1."""
    conditions: dict[str, dict[str, dict[str, Any]]] = {
        "nothing planted": {"people": NOTHING, "judge": NOTHING},
        "planted": PLANTED,
    }
    for name, planted in conditions.items():
        for items, repeats, cold in LINES[line - 1 : line] if line else LINES:
            held, clear, values = defaultdict(list), defaultdict(list), defaultdict(list)
            begun = time.perf_counter()
            shown = design(items, people, repeats)
            for number in range(replications):
                table = answered(shown, planted, number, cold=cold)
                for key, row in analysed(table).items():
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
