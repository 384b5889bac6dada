"""The relational steps of `dialens engagement label` as one would write them in pandas.

Everything in memory, from the shards that ingest wrote, without the neural steps: what
`curation.py` compares with, in time and row by row.
"""

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd

WEIGHTS = {"re": 3.0, "ae": 3.0, "be": 1.0}
COLUMNS = [
    "id",
    "parent_id",
    "thread",
    "subreddit",
    "context",
    "text",
    "re",
    "be",
    "ae",
    "pv",
    "re_adjusted",
    "be_adjusted",
    "re_norm",
    "be_norm",
    "ae_norm",
    "score",
    "z",
    "label",
]


def label_with_pandas(work: Path, folder: Path, *, seed: int = 0, kappa: float = 1.0) -> None:
    """Write posts, train, validation and rejected."""
    comments = _once(pd.read_parquet(work / "comments"))
    submissions = _once(pd.read_parquet(work / "submissions"))
    posts, rejected = _filtered(comments, submissions)
    posts = _scored(posts)
    posts["label"] = np.select([posts["z"] > kappa, posts["z"] < -kappa], [1.0, 0.0], np.nan)
    texts = comments.set_index("id")["text"]
    titles = submissions.set_index("id")["text"]
    posts["text"] = posts["id"].map(texts)
    posts["context"] = (
        posts["parent_id"]
        .map(texts)
        .where(~posts["parent_is_submission"], posts["parent_id"].map(titles))
    )
    posts = posts.sort_values("id")
    folder.mkdir(parents=True, exist_ok=True)
    posts[COLUMNS].to_parquet(folder / "posts.parquet", index=False)
    for side, rows in _sides(posts, seed).items():
        rows[COLUMNS].to_parquet(folder / f"{side}.parquet", index=False)
    rejected.sort_values("id").to_parquet(folder / "rejected.parquet", index=False)


def _once(table: pd.DataFrame) -> pd.DataFrame:
    ordered = table.sort_values("retrieved", ascending=False, na_position="last")
    return ordered.drop_duplicates("id")


def _filtered(
    comments: pd.DataFrame, submissions: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    speaks = (comments["words"] > 0) & ~comments["deleted"]
    replies = comments.assign(
        speaking=speaks,
        longest=comments["content_words"].where(speaks),
        edited=comments["edited"].fillna(value=False).astype(bool),
    )
    answers = replies[~replies["parent_is_submission"] & replies["parent_id"].notna()]
    answers = answers[answers["parent_id"] != answers["id"]]
    reactions = answers.groupby("parent_id").agg(
        replies=("id", "size"),
        speaking=("speaking", "sum"),
        longest=("longest", "max"),
        edits=("edited", "sum"),
    )
    direct = comments[comments["parent_is_submission"]].groupby("parent_id").size()
    wanted = ["id", "score", "deleted", "parent_id", "parent_is_submission"]
    above = comments[wanted].merge(reactions[["replies"]], left_on="id", right_index=True)
    above = above.assign(kind=False)
    roots = submissions[["id", "score", "deleted"]].merge(
        direct.rename("replies"), left_on="id", right_index=True
    )
    parents = pd.concat([above, roots.assign(kind=True)])
    parents = parents.rename(
        columns={
            "id": "parent_id",
            "kind": "parent_is_submission",
            "parent_id": "grandparent",
            "parent_is_submission": "parent_answers_submission",
            "score": "parent_score",
            "deleted": "parent_deleted",
            "replies": "parent_replies",
        }
    )
    table = comments.drop(columns=["text", "retrieved", "edited"])
    table = table.merge(reactions, how="left", left_on="id", right_index=True)
    table = table.merge(parents, how="left", on=["parent_id", "parent_is_submission"])
    table["be"] = table["score"].clip(lower=0).where(~(table["controversial"] == True), 0)  # noqa: E712
    table["pv"] = 2 * table["parent_replies"] + table["parent_score"]
    without_votes = table["score"].isna() & table["parent_score"].isna()
    table["pv"] = table["pv"].where(~without_votes, 2 * table["parent_replies"])
    table["reason"] = _reasons(table)
    chosen = table["reason"].isna()
    return table[chosen].copy(), table.loc[~chosen, ["id", "reason"]]


def _reasons(table: pd.DataFrame) -> pd.Series:
    own = ~table["parent_is_submission"] & (table["parent_id"] == table["id"])
    mutual = (table["grandparent"] == table["id"]) & (table["parent_answers_submission"] == False)  # noqa: E712
    answered = table["replies"].notna()
    found = [
        (own | (mutual & answered), "part of a cycle"),
        (table["parent_replies"].isna(), "no parent in the data"),
        (~answered, "no reply in the data"),
        (table["deleted"], "deleted or removed"),
        (table["parent_deleted"] == True, "parent deleted or removed"),  # noqa: E712
        (table["bot"], "bot"),
        (table["quote"], "quote"),
        (table["words"] == 0, "empty"),
        (table["speaking"] == 0, "no reply with text"),
        (~(table["pv"] > 0), "popularity cannot be ascertained"),
    ]
    chosen = np.select(
        [where.to_numpy(bool) for where, _ in found], [name for _, name in found], ""
    )
    return pd.Series(chosen, index=table.index).replace("", None)


def _scored(posts: pd.DataFrame) -> pd.DataFrame:
    posts["re"] = posts["replies"]
    posts["ae"] = posts["longest"] + 10 * posts["edits"]
    for name in ("re", "be"):
        x = posts[name]
        ratio = _median(posts["pv"]) / _median(x)
        posts[f"{name}_adjusted"] = x + ratio * (x / posts["pv"]) * x
    normal = {"re": posts["re_adjusted"], "be": posts["be_adjusted"], "ae": posts["ae"]}
    for name, x in normal.items():
        posts[f"{name}_norm"] = x / (x + _median(x))
    total = sum(WEIGHTS[name] * posts[f"{name}_norm"].fillna(0) for name in WEIGHTS)
    known = sum(WEIGHTS[name] * posts[f"{name}_norm"].notna() for name in WEIGHTS)
    posts["score"] = total / known
    posts["z"] = (posts["score"] - posts["score"].mean()) / posts["score"].std(ddof=0)
    return posts


def _median(values: pd.Series) -> float:
    return float(values.median()) or float(values[values > 0].min())


def _sides(posts: pd.DataFrame, seed: int, share: float = 0.2) -> dict[str, pd.DataFrame]:
    labelled = posts[posts["label"].notna()].copy()
    labelled["draw"] = labelled["id"].map(lambda key: _draw(seed, key))
    size = labelled.groupby("label").size().min()
    chosen = labelled.sort_values(["draw", "id"]).groupby("label").head(size).sort_values("id")
    below = f"{int(np.ceil(share * 2**32)):08x}"
    validation = chosen["thread"].map(lambda key: _draw(seed, key)) < below
    return {"train": chosen[~validation], "validation": chosen[validation]}


def _draw(seed: int, key: str) -> str:
    return hashlib.md5(f"{seed}:{key}".encode(), usedforsecurity=False).hexdigest()
