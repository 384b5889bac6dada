"""Join scores with human ratings and correlate them: python examples/join_with_ratings.py."""

import json
import tempfile
from pathlib import Path

import polars as pl
from scipy import stats

import dialens

# Replies to "I got it!" and how engaging two raters found them. Invented, and only to show the
# join: a correlation worth having needs hundreds of replies.
RATED = {
    "Really? Tell me everything, when do you start?": [5, 5],
    "I'm so happy for you, well done!": [4, 5],
    "That's nice. Which job was it?": [3, 4],
    "Good for you.": [2, 3],
    "Noted.": [1, 1],
}


def main() -> None:
    said = {"dataset": "job", "level": "turn", "context": [{"speaker": "A", "text": "I got it!"}]}
    replies = [{"response": text, "ratings": {"engaging": given}} for text, given in RATED.items()]
    lines = [json.dumps({**said, "unit_id": f"u{n}", **reply}) for n, reply in enumerate(replies)]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "rated.jsonl").write_text("\n".join(lines), encoding="utf-8")
        corpus = dialens.read(Path(folder, "rated.jsonl"))
    turns = dialens.score(corpus, metrics=["length", "question"]).table.filter(level="turn")
    rated = corpus.ratings.group_by("dialog", "turn").agg(rating=pl.col("value").mean())
    joined = turns.join(rated, on=["dialog", "turn"]).drop_nulls("value").collect()
    for (name,), rows in joined.group_by("metric", maintain_order=True):
        rho = stats.spearmanr(rows["value"], rows["rating"]).statistic
        print(f"{name} and engaging: Spearman {rho:+.2f} (n = {rows.height} replies)")


if __name__ == "__main__":
    main()
