"""Addresses that Prolific signs: with its keys in the study file nobody else is let in."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from dialens.studies import study_of
from dialens.studies.recruiters import entrance_guard
from dialens.studies.store import OperationStore
from dialens.web import Site
from tests.web.conftest import Make, Visit, tea
from tests.web.test_participation import Clock

OWN = rsa.generate_private_key(65537, 2048)
ANOTHER = rsa.generate_private_key(65537, 2048)


def _text(plain: bytes) -> str:
    return base64.urlsafe_b64encode(plain).decode().rstrip("=")


def _number(value: int) -> str:
    return _text(value.to_bytes((value.bit_length() + 7) // 8))


def jwk(key: rsa.RSAPrivateKey, kid: str = "k1") -> dict[str, Any]:
    """A key as Prolific publishes it."""
    numbers = key.public_key().public_numbers()
    return {
        "kty": "RSA",
        "kid": kid,
        "alg": "RS256",
        "n": _number(numbers.n),
        "e": _number(numbers.e),
        "use": "sig",
        "key_ops": ["verify"],
    }


def token(
    pid: str = "5f00bb",
    session: str = "x1",
    *,
    key: rsa.RSAPrivateKey = OWN,
    head: dict[str, Any] | None = None,
    **claims: Any,
) -> str:
    """What Prolific adds to an address."""
    ids = {"PROLIFIC_PID": pid, "STUDY_ID": "s", "SESSION_ID": session, "workspace_id": "w"}
    said = {
        "iss": "https://www.prolific.com",
        "sub": session,
        "aud": "http://testserver/?x=1",
        "exp": int(Clock()().timestamp()) + 3600,
        "prolific": ids,
    }
    parts = [{"alg": "RS256", "typ": "JWT", "kid": "k1"} | (head or {}), said | claims]
    signed = ".".join(_text(json.dumps(part).encode()) for part in parts)
    return f"{signed}.{_text(key.sign(signed.encode(), padding.PKCS1v15(), SHA256()))}"


def _hmac_by_public_key() -> str:
    """The classical forgery: the public key taken as the secret of another procedure."""
    signed = token(head={"alg": "HS256"}).rpartition(".")[0]
    made = hmac.new(jwk(OWN)["n"].encode(), signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{_text(made)}"


def _other_claims() -> str:
    """A signature of one text under another."""
    head, _, signature = token().split(".")
    return f"{head}.{token('somebody-else').split('.')[1]}.{signature}"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def site(make: Make, clock: Clock) -> Site:
    return make(tea(recruiter={"kind": "prolific", "keys": [jwk(OWN)]}), clock=clock)


@pytest.mark.parametrize(
    "forged",
    [
        "",
        "a.b.c",
        "..",
        "é.é.é",
        "[1].[2].[3]",
        token(key=ANOTHER),
        token(head={"kid": "k2"}),
        token(head={"alg": "none"}).rpartition(".")[0] + ".",
        token(head={"alg": "none"}),
        _hmac_by_public_key(),
        _other_claims(),
        token(exp=int(Clock()().timestamp())),
        token(exp=None),
        token(aud="https://another.example.org/"),
        token(aud=None),
        token(prolific=None),
        token(prolific={"SESSION_ID": "x1"}),
        token(prolific={"PROLIFIC_PID": 5}),
        "x" * 9_000,
    ],
)
def test_what_prolific_did_not_sign_lets_nobody_in(site: Site, visit: Visit, forged: str) -> None:
    ids = {"PROLIFIC_PID": "5f00bb", "STUDY_ID": "s", "SESSION_ID": "x1"}
    person = visit(site)
    refused = person.client.get("/", params=ids | {"prolific_token": forged})
    assert refused.status_code == 403
    assert "from its page on Prolific" in refused.text
    assert person.client.post("/begin", data={"ticket": "x"}).status_code == 403


@pytest.mark.parametrize("audience", ["http://testserver/", "testserver", ["other", "testserver"]])
def test_who_comes_is_who_the_token_says(site: Site, visit: Visit, audience: Any) -> None:
    person = visit(site)
    person.begin(f"/?PROLIFIC_PID=5fffff&SESSION_ID=y&prolific_token={token(aud=audience)}")
    assert site.store.worker(person.session.participant) == "5f00bb"
    code = person.finish(person.come("/study"))
    assert f"cc={code}" in person.come("/study").html


def test_with_a_signature_a_second_participation_goes_on(
    site: Site, visit: Visit, clock: Clock
) -> None:
    """It is sure who comes, so that the policy of the study is all that counts."""
    person, again = visit(site), visit(site)
    person.answer(person.answer(person.begin(f"/?prolific_token={token(session='x1')}")))
    again.begin(f"/?prolific_token={token(session='x2')}")
    assert again.session.participant == person.session.participant
    assert again.session.index == person.session.index
    clock.later(3600)  # the token expired; who is under way is not asked for it
    assert visit(site).client.get(f"/?prolific_token={token()}").status_code == 403
    assert 'name="screen"' in again.client.get("/study").text


def test_keys_may_be_set_and_renewed_while_a_study_runs(
    make: Make, visit: Visit, clock: Clock
) -> None:
    site = make(tea(recruiter={"kind": "prolific"}), clock=clock)

    def renew(*keys: dict[str, Any]) -> None:
        change = {"recruiter": {"keys": list(keys)}}
        OperationStore(site.store, "command").operate(site.study.hash, change, now=clock())

    reading = visit(site)
    welcome = reading.come("/?PROLIFIC_PID=5f00bb&SESSION_ID=x1")
    renew(jwk(ANOTHER))
    late = reading.client.post("/begin", data=welcome.hidden)
    assert (late.status_code, "page on Prolific" in late.text) == (403, True)
    assert visit(site).client.get(f"/?prolific_token={token()}").status_code == 403
    renew(jwk(ANOTHER), jwk(OWN))
    assert visit(site).client.get(f"/?prolific_token={token()}").status_code == 200


@pytest.mark.parametrize("change", [{"n": "AQAB"}, {"n": "?"}, {"e": ""}, {"kty": "EC"}])
def test_a_key_that_is_none_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=re.escape("keys.0")):
        study_of(tea(recruiter={"kind": "prolific", "keys": [jwk(OWN) | change]}))


def test_the_line_about_the_entrance_says_so(site: Site) -> None:
    assert "signed by the platform" in entrance_guard(site.study.design)
