"""Reddit posts as `dialens engagement ingest` stored them: comments and submissions together."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from dialens.engagement.curation._work_folder import open_work

_COLUMNS = ("key", "parent", "thread", "text", "votes", "created", "usable")


def read_posts(folder: Path) -> pl.DataFrame:
    """Read the shards of one ingest, one row a comment or submission, in the order of keys.

    Args:
        folder: That `dialens engagement ingest` wrote.

    Returns:
        A table with the columns `key` (the id with Reddit's prefix), `parent` (the key of what is
        answered, null for submissions), `thread`, `text`, `votes` and `created` (null where not
        known), and `usable`: whether it may be a training text. Others still count as replies.

    Raises:
        DialensError: The folder is not one of ingest's, or not whole.
    """
    work = open_work(folder)
    prefix = pl.when("parent_is_submission").then(pl.lit("t3_")).otherwise(pl.lit("t1_"))
    tables = [
        pl.read_parquet(list(work.comments)).select(
            ("t1_" + pl.col("id")).alias("key"),
            (prefix + pl.col("parent_id")).alias("parent"),
            "thread",
            "text",
            pl.col("score").alias("votes"),
            "created",
            (pl.col("english") & ~pl.col("deleted") & ~pl.col("quote") & ~pl.col("bot")).alias(
                "usable"
            ),
        )
    ]
    if work.submissions:
        submissions = pl.read_parquet(list(work.submissions))
        tables.append(
            submissions.select(
                ("t3_" + pl.col("id")).alias("key"),
                pl.lit(None, pl.String).alias("parent"),
                pl.col("id").alias("thread"),
                "text",
                pl.col("score").alias("votes"),
                "created",
                (~pl.col("deleted")).alias("usable"),
            )
        )
    posts = pl.concat(tables).unique("key", keep="last", maintain_order=True).sort("key")
    written = pl.col("text") != ""
    return posts.with_columns((pl.col("usable") & written).fill_null(value=False)).select(_COLUMNS)
