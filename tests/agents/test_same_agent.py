"""One agent under three names: what comes of it is the same agent, and nothing differs.

A comparison that found differences here would find them anywhere. Three names make three seeds, so
that words differ as those of any agent do from one conversation to the next.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from dialens.agents import AgentSpec
from dialens.agents.talks import CollectionPlan, collect
from dialens.analysis.comparison import compare
from dialens.corpus import read
from dialens.metrics import score

METRICS = [
    "length", "question", "distinct_1", "distinct_2", "emotional_entropy",
    "language_style_matching", "joy_share", "sadness_share", "anger_share",
]  # fmt: skip
SEEDS = 6
BOT = """
import json, random, sys
STARTS = ["I am glad that", "I was so sad when", "Do you think that", "It made me angry that",
          "Why would you say that", "Well,", "Nobody told me that"]
MIDDLES = ["the dog", "my sister", "everybody at work", "a friend of ours", "the old garden",
           "we", "the whole family and half of the street"]
ENDS = ["came home.", "never called?", "sang all night long, which was lovely.", "left us.",
        "is happy now!", "lost the keys again?", "feared the storm and ran away to the hills."]
for line in sys.stdin:
    asked = json.loads(line)
    draw = random.Random(f"{asked['seed']} {len(asked['history'])}")
    said = [" ".join(draw.choice(part) for part in (STARTS, MIDDLES, ENDS))]
    if draw.random() < 0.4:
        said.append(" ".join(draw.choice(part) for part in (STARTS, MIDDLES, ENDS)))
    print(json.dumps({"text": " ".join(said)}), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("partner", ["recorded", "talking"])
def test_one_agent_under_three_names_does_not_differ(tmp_path: Path, partner: str) -> None:
    """With recorded users the comparison is paired; with a partner that draws, by its openings."""
    (tmp_path / "bot.py").write_text(BOT)
    program = f"{sys.executable} {tmp_path / 'bot.py'}"
    names = tuple(
        AgentSpec("command", program, system=name, parameters={"keep": True})
        for name in ("first", "second", "third")
    )
    whom = AgentSpec("command", program, system="user", parameters={"keep": True})
    if partner == "recorded":
        users = "\n\n".join(f"What about number {n}?\nAnd then?\nWhy?" for n in range(20))
        (tmp_path / "users.txt").write_text(users)
        whom = AgentSpec("script", str(tmp_path / "users.txt"))
    tables = []
    for seed in range(SEEDS):
        plan = CollectionPlan(names, partners=(whom,), turns=6, dialogues=20, seed=seed)
        done = collect(plan, tmp_path / f"talks{seed}", workers=2)
        tables.append(compare(score(read(done.folder), metrics=METRICS)))
    rows = pl.concat(tables).filter(pl.col("p").is_not_null())
    assert rows["paired"].all()
    assert rows.height >= 0.8 * SEEDS * 3 * len(METRICS)
    adjusted = (rows["p_adjusted"] < 0.05).sum() / rows.height
    assert adjusted <= 0.05, adjusted
    # Nothing is true, so that any finding is an error of its family, headline metrics or others.
    wrong = [table.filter(pl.col("p_adjusted") < 0.05).height > 0 for table in tables]
    assert sum(wrong) <= 1, [table.filter(pl.col("p_adjusted") < 0.05) for table in tables]
    share = (rows["p"] < 0.05).sum() / rows.height
    assert share < 0.09, share
