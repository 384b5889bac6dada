"""Let two agents talk, keep the conversations as a corpus, and score them.

    python examples/two_agents_talk.py
    python examples/two_agents_talk.py hred openai:gpt-4o-mini

Without arguments two small scripts talk, so that it runs anywhere.
"""

import sys
import tempfile
from pathlib import Path

import dialens
from dialens.agents import parse_agent
from dialens.agents.talks import CollectionPlan, collect

SCRIPTS = {
    "warm": "Oh, that sounds lovely! How was it?\nI am happy for you. Tell me more?\n",
    "curt": "Fine.\nNo idea.\n",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for system, lines in SCRIPTS.items():
            (folder / f"{system}.txt").write_text(lines, encoding="utf-8")
        names = sys.argv[1:] or [f"script:{folder / system}.txt" for system in SCRIPTS]
        plan = CollectionPlan(tuple(parse_agent(name) for name in names), turns=6, dialogues=3)
        done = collect(plan, folder / "talks")
        print(f"{done.dialogues} conversations, {done.turns} turns")
        scores = dialens.score(dialens.read(done.folder), metrics=["question", "length"])
        for row in scores.table.filter(level="agent").collect().iter_rows(named=True):
            print(f"{row['agent']}: {row['metric']} {row['value']:.2f} over {row['n']} turns")


if __name__ == "__main__":
    main()
