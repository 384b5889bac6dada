"""The part of a study file that says where participants come from and what they get."""

import base64
import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field as Setting
from pydantic import model_validator

from dialens.studies.design._items import Section

_PARAMETER = r"^[A-Za-z0-9_.-]{1,60}$"
CODE = "code"
"""What stands in an address for the completion code."""

_FEWEST_BITS = 2048
_LEAST_EXPONENT = 3

PLACE = re.compile(r"\{([^{}]*)\}")
"""What stands in an address for something that is filled in."""


class RecruiterSettings(Section):
    """What every recruiter is told; each kind adds its own."""

    kind: str
    reward: float = Setting(default=0.0, ge=0)
    """What a participant is paid for the whole session."""
    currency: str = Setting(default="USD", pattern=r"^[A-Z]{3}$")
    """ISO code of the currency."""
    fee: float = Setting(default=0.0, ge=0, le=2)
    """What the platform takes on top of the reward, as a share of it."""


class LinkRecruiter(RecruiterSettings):
    """People who are sent the address of the study."""

    kind: Literal["link"] = "link"


class PersonalRecruiter(RecruiterSettings):
    """People who are sent a link of their own each; nobody else is let in."""

    kind: Literal["personal"] = "personal"


class KioskRecruiter(RecruiterSettings):
    """People who take part one after the other on the same computer."""

    kind: Literal["kiosk"] = "kiosk"


class ConnectRecruiter(RecruiterSettings):
    """CloudResearch Connect."""

    kind: Literal["connect"] = "connect"
    fee: float = Setting(default=0.25, ge=0, le=2)
    """Connect's share: 25 % of the reward for universities and charities, 40 % for others."""
    return_url: str | None = None
    """The redirect that Connect shows for the project; without one, set Connect's completion code
    as the code of the study."""

    @model_validator(mode="after")
    def _returns(self) -> Self:
        _check_return(self.return_url, ("participantId", "assignmentId", "projectId"))
        return self


class ProviderRecruiter(RecruiterSettings):
    """Any other panel or platform that puts its ids into the address."""

    kind: Literal["provider"] = "provider"
    name: str = Setting(default="", max_length=60)
    """What participants call it."""
    id_parameter: str = Setting(default="id", pattern=_PARAMETER)
    """Name of the part of the address that says who comes."""
    other_parameters: list[Annotated[str, Setting(pattern=_PARAMETER)]] = Setting(
        default_factory=list
    )
    """Names of other parts that are handed back at the end."""
    secret_parameter: str | None = None
    """Which of those is new with each participation and cannot be guessed: who comes back in
    another browser has to bring the same."""
    return_url: str | None = None
    """Where people go at the end; {code} stands for the completion code, and the name of a
    parameter for what it held."""

    @model_validator(mode="after")
    def _returns(self) -> Self:
        names = (self.id_parameter, *self.other_parameters)
        if len(set(names)) < len(names) or CODE in names:
            raise ValueError(
                f"id_parameter and other_parameters must differ, and none is called {CODE}; "
                f"seen: {', '.join(names)}"
            )
        if self.secret_parameter is not None and self.secret_parameter not in names[1:]:
            raise ValueError(
                f"secret_parameter is one of other_parameters; seen: {self.secret_parameter}"
            )
        _check_return(self.return_url, names)
        return self


def _check_return(url: str | None, names: tuple[str, ...]) -> None:
    """Refuse an address that nobody could be sent to."""
    if url is None:
        return
    known = (CODE, *names)
    wrong = set(PLACE.findall(url)) - set(known)
    if wrong:
        may = ", ".join(f"{{{name}}}" for name in known)
        raise ValueError(f"return_url may hold {may}; seen: {{{min(wrong)}}}")
    parts = urlsplit(url)
    if parts.scheme != "https" or not re.fullmatch(r"[A-Za-z0-9.-]+(:\d+)?", parts.netloc):
        raise ValueError(f"return_url is an https address, e.g. https://panel.org/; seen: {url!r}")


class MTurkRecruiter(RecruiterSettings):
    """Amazon Mechanical Turk."""

    kind: Literal["mturk"] = "mturk"
    fee: float = Setting(default=0.4, ge=0, le=2)
    """Amazon's share: 20 %, and another 20 % from ten assignments on; Masters cost 5 % more."""
    sandbox: bool = True
    """Whether the sandbox is used, where nobody is paid."""
    title: str = Setting(default="Judge replies in conversations", max_length=128)
    """What workers read in the list of tasks."""
    description: str = Setting(
        default="Read short conversations and judge replies.", max_length=2000
    )
    """What they read when they look closer."""
    keywords: list[str] = Setting(default_factory=lambda: ["conversation", "rating", "research"])
    """What they may search for."""
    approval_rate: int | None = Setting(default=95, ge=0, le=100)
    """Least share of approved work, in percent."""
    approved_hits: int | None = Setting(default=100, ge=0)
    """Least number of approved tasks."""
    masters: bool = False
    """Whether only Masters are let in."""
    countries: list[Annotated[str, Setting(pattern=r"^[A-Z]{2}$")]] = Setting(default_factory=list)
    """ISO codes of the countries workers may be in; everywhere if empty."""
    lifetime_days: float = Setting(default=7, gt=0, le=365)
    """How long the task is listed."""
    auto_approve_days: float = Setting(default=3, ge=0, le=30)
    """After how long work is approved by itself."""


class PublicKey(Section):
    """A key with which a platform signs, as it publishes it (JSON Web Key, RSA)."""

    kty: Literal["RSA"] = "RSA"
    """Its type."""
    kid: str
    """Its name."""
    n: str
    """The modulus, in base64."""
    e: str = "AQAB"
    """The exponent, in base64."""
    alg: str = "RS256"
    """What it is used with."""
    use: str = "sig"
    """What it is for."""
    key_ops: list[str] = Setting(default_factory=list)
    """What may be done with it."""

    @model_validator(mode="after")
    def _is_a_key(self) -> Self:
        if self.number(self.n).bit_length() < _FEWEST_BITS or self.number(self.e) < _LEAST_EXPONENT:
            raise ValueError(
                f"n is a number of at least {_FEWEST_BITS} bits in base64, and e such as AQAB"
            )
        return self

    @staticmethod
    def number(text: str) -> int:
        """A number as such keys write it; 0 if it is none.

        Examples:
            >>> PublicKey.number("AQAB")
            65537
        """
        try:
            plain = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except ValueError:
            return 0
        return int.from_bytes(plain)


class ProlificRecruiter(RecruiterSettings):
    """Prolific."""

    kind: Literal["prolific"] = "prolific"
    currency: str = Setting(default="GBP", pattern=r"^[A-Z]{3}$")
    """ISO code of the currency."""
    fee: float = Setting(default=1 / 3, ge=0, le=2)
    """Prolific's share."""
    title: str = Setting(default="Judge replies in conversations", max_length=120)
    """What participants read in the list of studies."""
    description: str = "Read short conversations and judge replies."
    """What they read when they look closer."""
    completion_code: str | None = None
    """The code that Prolific knows; made anew if not given."""
    devices: tuple[Literal["desktop", "tablet", "mobile"], ...] = ("desktop", "tablet", "mobile")
    """What participants may use."""
    filters: dict[str, list[str]] = Setting(default_factory=dict)
    """Prolific's own filters, by their identifiers."""
    keys: list[PublicKey] = Setting(default_factory=list)
    """Prolific's public keys. With them nobody is let in whose address Prolific did not sign."""
