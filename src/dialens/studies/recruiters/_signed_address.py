"""Addresses that Prolific signs: a JSON Web Token (RFC 7519) by keys that it publishes.

The token says who comes, to which study and with which submission. It is verified with the keys
in the study file, without asking anybody.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey, RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA256

from dialens.studies.design import PublicKey

TOKEN = "prolific_token"
"""The part of the address that Prolific adds."""

_CLAIM = "prolific"
_LONGEST = 8_000


def signed_ids(
    token: str, keys: Sequence[PublicKey], *, host: str, now: datetime
) -> Mapping[str, str] | None:
    """What Prolific says in a token, by the names of its parameters; none if it does not count.

    It has to be signed with one of the keys (RS256 alone, whatever it says itself), not expired,
    and made for an address of this host.

    Args:
        token: As the address holds it.
        keys: That Prolific publishes, as the study file holds them.
        host: Under which the study is served.
        now: The time.

    Examples:
        >>> from datetime import UTC
        >>> signed_ids("a.b.c", [], host="study.example.org", now=datetime.now(UTC)) is None
        True
    """
    parts = token.split(".") if len(token) <= _LONGEST else []
    if len(parts) != 3:
        return None
    try:
        head, claims = (json.loads(_decoded(part)) for part in parts[:2])
        signature = _decoded(parts[2])
    except (ValueError, RecursionError):
        return None
    if not isinstance(head, dict) or not isinstance(claims, dict) or head.get("alg") != "RS256":
        return None
    signed = ".".join(parts[:2]).encode("ascii")
    if not any(_is_signed(signed, signature, key) for key in keys if key.kid == head.get("kid")):
        return None
    return _ids(claims, host, now)


def _ids(claims: Mapping[str, Any], host: str, now: datetime) -> Mapping[str, str] | None:
    expires, said = claims.get("exp"), claims.get(_CLAIM)
    if not isinstance(expires, int | float) or expires <= now.timestamp():
        return None
    audience = claims.get("aud")
    meant = audience if isinstance(audience, list) else [audience]
    if host not in [_host_of(one) for one in meant if isinstance(one, str)]:
        return None
    if not isinstance(said, dict):
        return None
    return {name: value for name, value in said.items() if isinstance(value, str)}


def _host_of(audience: str) -> str | None:
    """The host of an address, or of a domain by itself."""
    try:
        return urlsplit(audience if "//" in audience else f"//{audience}").hostname
    except ValueError:
        return None


def _is_signed(text: bytes, signature: bytes, key: PublicKey) -> bool:
    try:
        _public(key).verify(signature, text, PKCS1v15(), SHA256())
    except InvalidSignature:
        return False
    return True


def _public(key: PublicKey) -> RSAPublicKey:
    return RSAPublicNumbers(key.number(key.e), key.number(key.n)).public_key()


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
