"""The table of participants: who took part, how far they came, and who is left out."""

import hashlib
from collections.abc import Mapping, Sequence

import polars as pl

from dialens.studies.store import PARTICIPANTS

_WITHOUT_CODE = [name for name in PARTICIPANTS.names() if name != "code"]


def participants_table(
    people: pl.DataFrame, flags: Mapping[str, Sequence[str]] | None
) -> pl.DataFrame:
    """Participants without what names them elsewhere.

    A completion code stands in lists of payments beside a name, so whoever has such a list could
    tell whose pseudonym it is: the table has the code's SHA-256 instead, by which a code that
    somebody sends can be looked up, and none can be read off.

    Args:
        people: In the columns of `dialens.studies.store.PARTICIPANTS`.
        flags: What should be looked at twice, by pseudonym; none if nobody looked.
    """
    marked = None if flags is None else [", ".join(flags.get(one, ())) for one in people["rater"]]
    return people.select(
        *_WITHOUT_CODE,
        pl.Series("flags", marked or [None] * people.height, dtype=pl.String),
        pl.Series("code_sha256", [_hashed(code) for code in people["code"]], dtype=pl.String),
    )


def _hashed(code: str | None) -> str | None:
    return None if code is None else hashlib.sha256(code.encode()).hexdigest()
