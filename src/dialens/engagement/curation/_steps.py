"""The relational steps of labelling: one SQL statement a file, in one order, for every engine.

The files in ``sql/`` keep to what DuckDB and Spark SQL both read and read alike. ``$name`` stands
for a parameter; numbers that are not whole are given as ``CAST('…' AS DOUBLE)``, because a plain
``0.5`` is a decimal in both engines and would change the arithmetic.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template
from typing import Final, Literal

Kind = Literal["table", "view"]


@dataclass(frozen=True)
class Step:
    """One statement.

    Attributes:
        name: Of the table it makes; its file is ``sql/name.sql``.
        about: What it does, for people.
        kind: A table is written to disk and kept; a view is computed where it is used.
        share: Rows to expect for each comment, as seen on real months; None where the number of
            rows does not grow with the data.
        by: A column of whole numbers; rows with the same one come into a folder of their own.
    """

    name: str
    about: str
    share: float | None = None
    kind: Kind = "table"
    by: str | None = None


STEPS: Final = (
    Step("duplicated_comments", "ids that came more than once", 0.0),
    Step("chosen_duplicates", "the row kept of each", 0.0),
    Step("comments", "every comment once", 1.0, "view"),
    Step("duplicated_submissions", "submissions that came more than once", 0.0),
    Step("chosen_submissions", "the row kept of each", 0.0),
    Step("submissions", "every submission once", 0.1, "view"),
    Step("comment_reactions", "replies to each comment, counted and measured", 0.4),
    Step("submission_parents", "submissions that were answered", 0.1),
    Step("reacted", "comments that were answered", 0.4),
    Step("unanswered", "comments without one, with the reason against them", 0.6, "view"),
    Step("related", "what they answer, and filters that need no model", 0.4),
    Step("judged", "the same, and cycles", 0.4, "view"),
    Step("post_texts", "texts for the toxicity classifier", 0.3),
    Step("toxicity_texts", "each of them once", 0.3),
    Step("toxic", "posts that are toxic", 0.0),
    Step("weighed", "raw dimensions and popularity value", 0.3, "view"),
    Step("rejected", "comments that did not become posts", 0.7),
    Step("reasons", "how many each reason took"),
    Step("medians", "exact medians of the raw dimensions"),
    Step("reply_texts", "texts for the emotion classifier", 0.5),
    Step("emotion_texts", "each of them once", 0.5),
    Step("emotions", "emotional engagement", 0.3),
    Step("adjusted", "popularity adjustment", 0.3, "view"),
    Step("alphas", "exact medians of the adjusted dimensions"),
    Step("scored", "normalised dimensions and score", 0.3, "view"),
    Step("spread", "sums behind mean and deviation"),
    Step("labels", "z-scores and labels", 0.3, "view"),
    Step("classes", "sizes and means of the classes"),
    Step("chosen", "balanced classes, split by thread", 0.1),
    Step("numbers", "the posts in the order of ids", 0.3),
    Step("post_words", "what posts say", 0.3, by="slice"),
    Step("context_words", "what they answer", 0.3, by="slice"),
    Step("subreddits", "where posts come from"),
    Step("overview", "dates and what is not known about posts"),
    Step("comments_seen", "dates and what is not known about comments"),
    Step("submissions_seen", "how many submissions there are"),
)

BY_NAME: Final = {step.name: step for step in STEPS}


@cache
def _file(name: str) -> str:
    return (files("dialens.engagement.curation") / "sql" / f"{name}.sql").read_text("utf-8")


def statement(name: str, parameters: Mapping[str, object]) -> str:
    """The SQL of a step with its parameters put in.

    Raises:
        KeyError: A parameter is missing.

    Examples:
        >>> print(statement("duplicated_comments", {}).splitlines()[-1])
        SELECT id FROM raw_comments GROUP BY id HAVING count(*) > 1
    """
    return Template(_file(name)).substitute(parameters).strip()


def double(value: float) -> str:
    """A number as SQL that every engine reads as exactly this double.

    Examples:
        >>> double(0.1)
        "CAST('0.1' AS DOUBLE)"
    """
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def boolean(value: bool) -> str:  # noqa: FBT001
    """A truth value as SQL.

    Examples:
        >>> boolean(True)
        'TRUE'
    """
    return "TRUE" if value else "FALSE"


def one_of(column: str, values: tuple[str, ...]) -> str:
    """A condition that a column, in lower case, is one of some plain names; true if none is given.

    Examples:
        >>> one_of("c.subreddit", ("askreddit", "pics")), one_of("c.subreddit", ())
        ("lower(c.subreddit) IN ('askreddit', 'pics')", 'TRUE')
    """
    if not values:
        return "TRUE"
    listed = ", ".join(f"'{value}'" for value in values)
    return f"lower({column}) IN ({listed})"
