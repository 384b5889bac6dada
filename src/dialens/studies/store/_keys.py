"""The key of a database: found beside it, and checked against the one it was made with."""

from pathlib import Path

from sqlalchemy import Connection, func, insert, select

from dialens.studies.store._database import Database
from dialens.studies.store._problems import WrongKey
from dialens.studies.store._secrets import KEY_VARIABLE, Entropy, Secrets
from dialens.studies.store._tables import settings

FINGERPRINT = "key fingerprint"
"""The setting by which a database knows its key."""


def key_beside(database: Database, entropy: Entropy) -> Secrets:
    """The key in the file beside an SQLite database, made with the database."""
    if database.file is None:
        raise WrongKey(
            f"A study in PostgreSQL needs its key in {KEY_VARIABLE}, so that worker ids can be "
            "encrypted. Make one with: python -c 'import secrets, base64; "
            "print(base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())'"
        )
    path = Path(f"{database.file}.key")
    with database.reading() as connection:
        used = connection.execute(select(func.count()).select_from(settings)).scalar_one()
    return Secrets.from_file(path, create=not used, entropy=entropy)


def check_key(connection: Connection, secrets: Secrets) -> None:
    """Remember the first key's fingerprint, and refuse any other key."""
    query = select(settings.c.value).where(settings.c.name == FINGERPRINT)
    known = connection.execute(query.with_for_update()).scalar_one_or_none()
    mine = secrets.fingerprint()
    if known is None:
        connection.execute(insert(settings).values(name=FINGERPRINT, value=mine))
    elif known != mine:
        raise WrongKey(
            "The key does not fit this database: worker ids in it were encrypted with another. "
            f"Use the key file it was served with, or set {KEY_VARIABLE} to that key."
        )
