"""Make the table of reference values and its card from scored conversations.

    python -m recipes.reference.build --work WORK --out src/dialens/metrics/reference

Sources of a group count equally, however many speakers they have, so that no one kind of
conversation stands for all people. With `--add` the metrics in WORK are put into the table that is
there, in place of their earlier rows; everything else is kept. With `--beside` rows of the same
metrics by other models stay, too: engagement has rows of the base model and of the small one.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from dialens import __version__
from dialens.base import atomic_file
from recipes.reference.calibrate import calibration
from recipes.reference.sources import SOURCES
from recipes.reference.table import PROBABILITIES, distributions, values_of

GROUPS = {
    "people": {
        "title": "people",
        "meaning": "One person's side of a written conversation with another person, in English: "
        "crowd workers in the roles of personas, telling of emotional situations or talking about "
        "the news, everyday dialogues written for learners, and Reddit users.",
    },
    "systems": {
        "title": "public systems",
        "meaning": "A system's side of a written conversation with a person, in English: chatbots "
        "from before large language models, and one large language model with ten personalities.",
    },
}
LIMITS = [
    "A place among people says how usual a value is, not how good it is.",
    "Conversations of another register, topic or language than these differ for reasons of their "
    "own: compare with the sources one by one before drawing conclusions.",
    "People's turns are short. An agent that writes more than they do is held against the people "
    "who wrote most.",
    "Most of the systems are older than large language models.",
]


def _card(values: pl.DataFrame, table: pl.DataFrame, seed: int) -> dict[str, Any]:
    sources = []
    for source in SOURCES:
        units = values.filter(pl.col("source") == source.name, pl.col("metric") == "length")
        dialogs = units.filter(pl.col("level") == "dialog")
        sources.append(
            {
                "name": source.name,
                "group": source.group,
                "title": source.title,
                "found": source.found,
                "licence": source.licence,
                "when": source.when,
                "conversations": dialogs["conversation"].n_unique(),
                "speakers": dialogs.height,
                "turns": units.filter(pl.col("level") == "turn").height,
                "words_a_turn": round(float(dialogs["value"].mean() or 0), 1),  # type: ignore[arg-type]
            }
        )
    return {
        "name": "dialens-reference-values",
        "task": "What people and public systems score, to place an agent's values among them.",
        "made": datetime.now(UTC).date().isoformat(),
        "made_by": f"dialens {__version__}, python -m recipes.reference.score and .build",
        "seed": seed,
        "licence": "CC0-1.0",
        "method": "Each speaker of a sampled conversation was scored as an agent, turn by turn and "
        "over the dialogue. The table holds quantiles of these values, no text. Sources of a group "
        "have equal weight. Bands are those of the words of a turn, or of a speaker in a dialogue.",
        "probabilities": PROBABILITIES.tolist(),
        "groups": GROUPS,
        "sources": sources,
        "limits": LIMITS,
        "metrics": table["metric"].n_unique(),
        "calibration": calibration(values, seed=seed),
    }


def main() -> None:
    """Write `quantiles.parquet` and `card.json`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--work", type=Path, required=True, help="folder that score filled")
    parser.add_argument("--out", type=Path, required=True, help="folder of the table and its card")
    parser.add_argument("--add", action="store_true", help="keep other metrics of the table there")
    parser.add_argument(
        "--beside", action="store_true", help="keep the same metrics by other models, too"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the samples and the calibration")
    given = parser.parse_args()
    values = values_of(given.work)
    table = distributions(values)
    place, about = given.out / "quantiles.parquet", given.out / "card.json"
    if given.add or given.beside:
        card = json.loads(about.read_text(encoding="utf-8"))
        key = "signature" if given.beside else "metric"
        others = pl.read_parquet(place).filter(~pl.col(key).is_in(table[key].unique().implode()))
        table = pl.concat([others, table])
        fresh = calibration(values, seed=given.seed)
        if not given.beside:  # the card tells of the default models
            card["calibration"]["metrics"] |= fresh["metrics"]
        card["metrics"] = table["metric"].n_unique()
        card["made"] = datetime.now(UTC).date().isoformat()
    else:
        card = _card(values, table, given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    with atomic_file(place) as scratch:
        table.write_parquet(scratch, compression="zstd", compression_level=19)
    with atomic_file(about) as scratch:
        scratch.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(
        f"{table.height} distributions of {table['metric'].n_unique()} metrics, "
        f"{place.stat().st_size / 1000:.0f} kB"
    )


if __name__ == "__main__":
    main()
