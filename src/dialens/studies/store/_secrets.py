"""The key of a study's database: worker ids are sealed with it, cookies signed with it.

One random key of 256 bits, from which a key for each purpose is derived (HKDF, RFC 5869), lies
beside an SQLite database or in the environment. Whoever has the database without the key has
pseudonyms only.
"""

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dialens.base import DialensError
from dialens.studies.store._problems import WrongKey

KEY_VARIABLE = "DIALENS_STUDY_KEY"
_BYTES, _CHARACTERS = 32, 44
_NONCE = 12

Entropy = Callable[[int], bytes]
"""Random bytes, as many as asked for."""


@dataclass(frozen=True)
class Secrets:
    """The key, and what is done with it.

    Attributes:
        key: 256 random bits; empty if it is lost.

    Examples:
        >>> secrets = Secrets(bytes(32))
        >>> sealed = secrets.seal("A1B2C3", owner="p7", entropy=os.urandom)
        >>> b"A1B2C3" in sealed, secrets.unseal(sealed, owner="p7")
        (False, 'A1B2C3')
        >>> secrets.mark("mturk", "A1B2C3") == secrets.mark("prolific", "A1B2C3")
        False
    """

    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if self.key and len(self.key) != _BYTES:
            raise DialensError(
                f"A study's key is {_BYTES} bytes, not {len(self.key)}. `dialens` makes one; "
                "do not write it by hand."
            )

    @classmethod
    def generate(cls, entropy: Entropy = os.urandom) -> "Secrets":
        """A new key."""
        return cls(entropy(_BYTES))

    @classmethod
    def from_text(cls, text: str, *, place: str) -> "Secrets":
        """A key as `to_text` wrote it; `place` is named if it cannot be read."""
        try:
            key = base64.b64decode(text.strip().encode("ascii"), altchars=b"-_", validate=True)
        except (binascii.Error, UnicodeEncodeError):
            key = b""
        if len(key) != _BYTES:
            raise DialensError(
                f"{place} does not hold a study's key: that is one line of {_CHARACTERS} letters "
                "and digits, as in study.db.key beside the database that was served."
            )
        return cls(key)

    @classmethod
    def from_file(cls, path: Path, *, create: bool, entropy: Entropy = os.urandom) -> "Secrets":
        """The key in a file that only its owner may read; a new one if there is none.

        Examples:
            >>> import tempfile
            >>> path = Path(tempfile.mkdtemp()) / "study.db.key"
            >>> first = Secrets.from_file(path, create=True)
            >>> Secrets.from_file(path, create=False) == first, oct(path.stat().st_mode & 0o777)
            (True, '0o600')
        """
        if create and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            scratch = path.with_name(f".{path.name}.{entropy(8).hex()}")
            created = cls.generate(entropy)
            handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(created.to_text() + "\n")
                file.flush()
                os.fsync(file.fileno())
            try:
                # A link, not a rename: of two servers that start together one wins, and both
                # read the winner's key.
                os.link(scratch, path)
            except FileExistsError:
                return cls.from_file(path, create=False)
            finally:
                scratch.unlink()
            return created
        if not path.exists():
            raise WrongKey(
                f"{path}, the key of the study's database, does not exist. Put it back from where "
                f"the database was served, or set {KEY_VARIABLE}."
            )
        return cls.from_text(path.read_text("ascii", errors="replace"), place=str(path))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Secrets | None":
        """The key in `DIALENS_STUDY_KEY`, if it is set.

        Examples:
            >>> Secrets.from_environment({}) is None
            True
        """
        text = environment.get(KEY_VARIABLE)
        return cls.from_text(text, place=KEY_VARIABLE) if text else None

    def to_text(self) -> str:
        """The key as text, for a file or the environment."""
        return base64.urlsafe_b64encode(self.key).decode("ascii")

    def signing_key(self) -> bytes:
        """The key that signs cookies."""
        return self._derived("cookies")

    def fingerprint(self) -> str:
        """What a database remembers of its key, to know it again; tells nothing about it."""
        return self._derived("fingerprint").hex()

    def mark(self, recruiter: str, worker: str) -> str:
        """The same mark for the same worker, which nobody without the key can make or check."""
        text = f"{len(recruiter)}:{recruiter}:{worker}".encode("utf-8", "surrogatepass")
        return hmac.new(self._derived("worker marks"), text, hashlib.sha256).hexdigest()

    def seal(self, worker: str, *, owner: str, entropy: Entropy) -> bytes:
        """Encrypt a worker's id (AES-256-GCM), bound to the pseudonym it belongs to."""
        nonce = entropy(_NONCE)
        plain = worker.encode("utf-8", "surrogatepass")
        return nonce + AESGCM(self._derived("worker ids")).encrypt(nonce, plain, owner.encode())

    def unseal(self, sealed: bytes, *, owner: str) -> str:
        """Decrypt what `seal` made."""
        cipher = AESGCM(self._derived("worker ids"))
        try:
            plain = cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], owner.encode())
        except (InvalidTag, ValueError) as error:
            raise WrongKey(
                f"The worker id of {owner} cannot be decrypted: it was sealed with another key or "
                "has been changed."
            ) from error
        return plain.decode("utf-8", "surrogatepass")

    def invitation(self, study: str, person: str) -> str:
        """What a personal link holds: who is invited to a study, which only the key can tell.

        The same person always gets the same link.

        Examples:
            >>> secrets = Secrets(bytes(32))
            >>> link = secrets.invitation("tea", "anna@example.org")
            >>> "anna" in link, secrets.invited("tea", link), secrets.invited("coffee", link)
            (False, 'anna@example.org', None)
        """
        key, plain = self._derived("invitations"), person.encode("utf-8", "surrogatepass")
        # A nonce may be used once: this one belongs to the study and the person alone.
        about = f"{len(study)}:{study}:".encode() + plain
        nonce = hmac.new(self._derived("invitation nonces"), about, hashlib.sha256).digest()[
            :_NONCE
        ]
        sealed = nonce + AESGCM(key).encrypt(nonce, plain, study.encode())
        return base64.urlsafe_b64encode(sealed).decode("ascii").rstrip("=")

    def invited(self, study: str, invitation: str) -> str | None:
        """Who is invited to a study; nobody if the link was not made with this key for it."""
        try:
            sealed = base64.urlsafe_b64decode(invitation + "=" * (-len(invitation) % 4))
            plain = AESGCM(self._derived("invitations")).decrypt(
                sealed[:_NONCE], sealed[_NONCE:], study.encode()
            )
        except (InvalidTag, ValueError):
            return None
        return plain.decode("utf-8", "surrogatepass")

    @property
    def is_lost(self) -> bool:
        """Whether there is no key, so that nothing encrypted can be read."""
        return not self.key

    def _derived(self, purpose: str) -> bytes:
        if self.is_lost:
            raise WrongKey(
                "The key of the study's database is lost, so that ids of people at the recruiter "
                f"cannot be read. Put the key file back beside the database, or set {KEY_VARIABLE}."
            )
        derivation = HKDF(SHA256(), _BYTES, salt=None, info=f"dialens study {purpose}".encode())
        return derivation.derive(self.key)
