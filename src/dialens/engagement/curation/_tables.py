"""The tables that pass between the steps: comments and submissions as ingested."""

import polars as pl

COMMENTS = pl.Schema(
    {
        "id": pl.String,
        "parent_id": pl.String,
        "parent_is_submission": pl.Boolean,
        "thread": pl.String,
        "subreddit": pl.String,
        "created": pl.Int64,
        "retrieved": pl.Int64,
        "score": pl.Int64,
        "controversial": pl.Boolean,
        "edited": pl.Boolean,
        "text": pl.String,
        "words": pl.Int32,
        "content_words": pl.Int32,
        "deleted": pl.Boolean,
        "quote": pl.Boolean,
        "bot": pl.Boolean,
        "english": pl.Boolean,
    }
)
"""One row a comment. Ids have no `t1_`; `score` is null where votes are absent or hidden, `edited`
where the dump does not say. `text` is what a reader sees; the author is not kept."""

SUBMISSIONS = pl.Schema(
    {
        "id": pl.String,
        "subreddit": pl.String,
        "created": pl.Int64,
        "retrieved": pl.Int64,
        "score": pl.Int64,
        "text": pl.String,
        "deleted": pl.Boolean,
    }
)
"""One row a submission; `text` is its title and what was written under it."""

COMMENTS_FOLDER = "comments"
SUBMISSIONS_FOLDER = "submissions"
DONE_FOLDER = "done"
REJECTS_FOLDER = "rejects"
INGEST_RECORD = "ingest.json"
