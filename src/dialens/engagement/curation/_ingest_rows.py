"""Rows of the tables from records as dumped: ids without prefixes, cleaned text, counts, flags.

Names of authors are looked at here for deletions and bots, and go no further.
"""

from typing import Final

import polars as pl

from dialens.engagement.curation import _reddit_text as reddit_text
from dialens.engagement.curation._dump_records import DELETED_AUTHOR
from dialens.engagement.curation._word_counter import WordCounter
from dialens.engagement.curation._work_folder import COMMENTS, SUBMISSIONS

# Together wherever that is possible: every call of Polars has a cost of its own.
_FLAGS: Final = (
    reddit_text.is_gone(pl.col("body")).alias("gone"),
    reddit_text.is_plain(pl.col("body")).alias("plain"),
    reddit_text.has_bot_name(pl.col("author")).alias("bot"),
)
_MARKED_FLAGS: Final = (
    reddit_text.has_quote(pl.col("body")).alias("quote"),
    reddit_text.says_bot(pl.col("body")).alias("bot"),
)
_BY_DELETED: Final = (pl.col("author") == DELETED_AUTHOR).fill_null(value=False)
_PARENT: Final = pl.col("parent_id").str.strip_prefix("t1_").str.strip_prefix("t3_")
_THREAD: Final = pl.col("thread").str.strip_prefix("t3_")
_OF_COMMENT: Final = pl.col("parent_id").str.starts_with("t1_")
_OF_SUBMISSION: Final = pl.col("parent_id").str.starts_with("t3_") | (
    ~_OF_COMMENT & (_PARENT == _THREAD)
)
_IDS: Final = (
    pl.col("id").str.strip_prefix("t1_"),
    _PARENT.alias("parent_id"),
    _OF_SUBMISSION.fill_null(value=False).alias("parent_is_submission"),
    _THREAD.alias("thread"),
)
_COMMENTS: Final = tuple(pl.col(name).cast(kind) for name, kind in COMMENTS.items())


def comment_rows(dumped: pl.DataFrame, counter: WordCounter | None = None) -> pl.DataFrame:
    """The table of comments; a deleted one has no text.

    A parent without a prefix (plain threads files) is the submission if it is the thread.

    Args:
        dumped: `comments` of :class:`dialens.engagement.curation._dump_records.Decoded`.
        counter: Remembers words from one table to the next, which saves time.

    Examples:
        >>> from dialens.engagement.curation._dump import Block
        >>> from dialens.engagement.curation._dump_records import decode
        >>> line = b'{"id": "c", "parent_id": "t1_b", "link_id": "t3_s", "body": "*Hi* all"}'
        >>> rows = comment_rows(decode(Block(0, 1, line)).comments)
        >>> rows.select("parent_id", "parent_is_submission", "thread", "text", "words").row(0)
        ('b', False, 's', 'Hi all', 2)
    """
    known = dumped.select(_FLAGS)
    gone = known["gone"]
    marked = (~(gone | known["plain"])).arg_true()
    raw = dumped["body"].gather(marked)
    flags = raw.to_frame("body").select(_MARKED_FLAGS)
    written = dumped.select(pl.when(~gone).then("body").otherwise(pl.lit(""))).to_series()
    text = written.scatter(marked, reddit_text.clean_marked(raw))
    return dumped.with_columns(
        *_IDS,
        *(counter or WordCounter()).count(text),
        text=text,
        deleted=gone | _BY_DELETED,
        quote=_flags(dumped.height, marked, flags["quote"]),
        bot=known["bot"] | _flags(dumped.height, marked, flags["bot"]),
    ).select(_COMMENTS)


def _flags(rows: int, where: pl.Series, flags: pl.Series) -> pl.Series:
    return pl.repeat(False, rows, eager=True).scatter(where, flags)


def submission_rows(dumped: pl.DataFrame) -> pl.DataFrame:
    """The table of submissions; the text is the title and what was written under it.

    Args:
        dumped: `submissions` of :class:`dialens.engagement.curation._dump_records.Decoded`.

    Examples:
        >>> from dialens.engagement.curation._dump import Block
        >>> from dialens.engagement.curation._dump_records import decode
        >>> line = b'{"id": "s", "title": "Why?", "selftext": "[removed]", "score": 2}'
        >>> rows = submission_rows(decode(Block(0, 1, line)).submissions)
        >>> rows.select("id", "score", "text", "deleted").row(0)
        ('s', 2, 'Why?', True)
    """
    title, below = dumped["title"], dumped["selftext"].fill_null("")
    gone = (reddit_text.is_gone(title), reddit_text.is_gone(below))
    written = pl.concat_str(
        pl.when(~gone[0]).then(title).otherwise(pl.lit("")),
        pl.when(~gone[1]).then(below).otherwise(pl.lit("")),
        separator=" ",
    )
    return (
        dumped.with_columns(
            pl.col("id").str.strip_prefix("t3_"),
            text=reddit_text.clean(dumped.select(written.alias("text")).to_series()),
            deleted=gone[0] | gone[1] | _BY_DELETED,
        )
        .select(SUBMISSIONS.names())
        .cast(SUBMISSIONS)
    )
