"""Rows of the tables from records as dumped: ids without prefixes, cleaned text, counts, flags.

Names of authors are looked at here for deletions and bots, and go no further.
"""

import polars as pl

from dialens.engagement import reddit_text
from dialens.engagement.dump_records import DELETED_AUTHOR
from dialens.engagement.tables import COMMENTS, SUBMISSIONS

_BY_DELETED = (pl.col("author") == DELETED_AUTHOR).fill_null(value=False)


def comment_rows(
    dumped: pl.DataFrame, counter: reddit_text.WordCounter | None = None
) -> pl.DataFrame:
    """The table of comments; a deleted one has no text.

    A parent without a prefix (plain threads files) is the submission if it is the thread.

    Args:
        dumped: `comments` of :class:`dialens.engagement.dump_records.Decoded`.
        counter: Remembers words from one table to the next, which saves time.

    Examples:
        >>> from dialens.engagement.dump import Block
        >>> from dialens.engagement.dump_records import decode
        >>> line = b'{"id": "c", "parent_id": "t1_b", "link_id": "t3_s", "body": "*Hi* all"}'
        >>> rows = comment_rows(decode(Block(0, 1, line)).comments)
        >>> rows.select("parent_id", "parent_is_submission", "thread", "text", "words").row(0)
        ('b', False, 's', 'Hi all', 2)
    """
    counter = counter or reddit_text.WordCounter()
    gone = reddit_text.is_gone(dumped["body"])
    raw = dumped.select(pl.when(~gone).then("body").otherwise(pl.lit(""))).to_series()
    marked = (~reddit_text.is_plain(raw)).arg_true()
    raw_marked = raw.gather(marked)
    text = raw.clone().scatter(marked, reddit_text.clean_marked(raw_marked))
    parent = pl.col("parent_id").str.strip_prefix("t1_").str.strip_prefix("t3_")
    thread = pl.col("thread").str.strip_prefix("t3_")
    of_comment = pl.col("parent_id").str.starts_with("t1_")
    of_submission = pl.col("parent_id").str.starts_with("t3_") | (~of_comment & (parent == thread))
    return (
        dumped.with_columns(
            pl.col("id").str.strip_prefix("t1_"),
            parent_id=parent,
            parent_is_submission=of_submission.fill_null(value=False),
            thread=thread,
            text=text,
            deleted=gone | _BY_DELETED,
            quote=_flags(dumped.height, marked, reddit_text.has_quote(raw_marked)),
            bot=reddit_text.has_bot_name(dumped["author"])
            | _flags(dumped.height, marked, reddit_text.says_bot(raw_marked)),
        )
        .with_columns(counter.count(text))
        .select(COMMENTS.names())
        .cast(COMMENTS)
    )


def _flags(rows: int, where: pl.Series, found: pl.Series) -> pl.Series:
    return pl.repeat(False, rows, eager=True).scatter(where, found)


def submission_rows(dumped: pl.DataFrame) -> pl.DataFrame:
    """The table of submissions; the text is the title and what was written under it.

    Args:
        dumped: `submissions` of :class:`dialens.engagement.dump_records.Decoded`.

    Examples:
        >>> from dialens.engagement.dump import Block
        >>> from dialens.engagement.dump_records import decode
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
