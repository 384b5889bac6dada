"""The part of a study file that says where participants come from and what they get."""

from typing import Annotated, Literal

from pydantic import Field as Setting

from dialens.studies.design._items import Section


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
