"""Where somebody comes from, as the address they were sent to says."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dialens.base import DialensError
from dialens.studies.design import RecruiterSettings
from dialens.studies.recruiters import INVITATION, TOKEN, recruiters
from dialens.studies.texts import Texts

_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
_PLACEHOLDER = re.compile(r".*\{(?![0-9A-Fa-f-]{32,}\}).*\}.*|\[.+\]|<.+>|%\w+%")
"""What stands in the address where a platform was to put an id: `{{%PROLIFIC_PID%}}`, `[ID]`.

Some panels write ids of 32 digits in braces, which are ids."""
_IDENTIFIER = re.compile(r"[\x21-\x7e]{1,200}")


class NotRecruited(DialensError):
    """The address lacks what the recruiter puts there.

    Attributes:
        key: Of the text that says so, where there is one.
        values: That stand in it.
    """

    def __init__(self, message: str, key: str, **values: object) -> None:
        super().__init__(message)
        self.key = key
        self.values = values

    def said(self, texts: Texts) -> str:
        """What a participant reads; in English if a package brings the recruiter."""
        return texts.say(self.key, **self.values) if self.key in texts.texts else str(self)


class NotFilledIn(NotRecruited):
    """A placeholder of the address was not filled in: everybody would be the same person.

    Attributes:
        name: Of the parameter.
    """

    def __init__(self, name: str) -> None:
        super().__init__(Texts.of("en").say("recruit_incomplete"), "recruit_incomplete")
        self.name = name


class WrongDevice(DialensError):
    """The study is not for the device that somebody came with."""


@dataclass(frozen=True)
class Arrival:
    """How somebody came here.

    Attributes:
        recruiter: Its kind: `link`, `prolific`, or another of `dialens.studies.recruiters`.
        worker: Who they are there; none for people by link who were given no id.
        parameters: What else the recruiter sent, e.g. the assignment.
        preview: Whether they only look at the task and have not accepted it yet.
        verified: Whether it is sure who they are: by a link that was made for them, or a signed
            address.
    """

    recruiter: str
    worker: str | None = None
    parameters: Mapping[str, str] | None = None
    preview: bool = False
    verified: bool = False

    def as_json(self) -> dict[str, object]:
        """What a signed cookie keeps of it."""
        kept = {"r": self.recruiter, "w": self.worker, "p": dict(self.parameters or {})}
        return kept | ({"i": True} if self.verified else {})

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> "Arrival":
        """The arrival that a signed cookie kept."""
        parameters = value.get("p")
        kept = dict(parameters) if isinstance(parameters, Mapping) else {}
        worker = value.get("w")
        return cls(
            str(value.get("r")),
            None if worker is None else str(worker),
            kept,
            verified=value.get("i") is True,
        )


def not_recruited(recruiter: str) -> NotRecruited:
    """The error for somebody without what a recruiter puts into the address."""
    return NotRecruited(recruiters()[recruiter].entrance, f"recruit_{recruiter}")


def arrival(
    settings: RecruiterSettings,
    query: Mapping[str, str],
    *,
    invited: Callable[[str], str | None] = lambda _: None,
    links_only: bool = False,
    signed: Callable[[str], Mapping[str, str] | None] | None = None,
) -> Arrival:
    """Read the parameters of the study's recruiter; those of others are not looked at.

    Args:
        settings: Of the recruiter, as the study file has them.
        query: What the address holds.
        invited: Says who a personal link was made for.
        links_only: Whether nobody comes without a personal link, whatever the recruiter.
        signed: Gives what the platform says in a token of the address, where nobody comes without.

    Examples:
        >>> from dialens.studies.design import LinkRecruiter, MTurkRecruiter, ProlificRecruiter
        >>> arrival(LinkRecruiter(), {"participant": "anna-7"}).worker
        'anna-7'
        >>> arrival(MTurkRecruiter(), {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}).preview
        True
        >>> arrival(ProlificRecruiter(), {})
        Traceback (most recent call last):
        ...
        dialens.web._arrival.NotRecruited: Please open this study from its page on Prolific.
    """
    recruiter = settings.kind
    kind = recruiters()[recruiter]
    names = (INVITATION,) if links_only else kind.names(settings)
    if signed is not None:
        query = signed(query.get(TOKEN, "")) or {}
    present = {name: query[name].strip() for name in names if query.get(name, "").strip()}
    for name, value in present.items():
        if not _IDENTIFIER.fullmatch(value):
            told = Texts.of("en").say("recruit_invalid", name=name)
            raise NotRecruited(told, "recruit_invalid", name=name)
        if _PLACEHOLDER.fullmatch(value):
            raise NotFilledIn(name)
    if recruiter == "mturk" and present.get("assignmentId", _PREVIEW) == _PREVIEW:
        if "assignmentId" in present or "hitId" in present:
            return Arrival(recruiter, preview=True)
        raise not_recruited(recruiter)
    worker = present.pop(names[0], None) if names else None
    if (kind.sealed or links_only) and worker is not None:
        worker = invited(worker)
    if worker is None and links_only:
        raise not_recruited("personal")
    if worker is None and kind.entrance:
        raise not_recruited(recruiter)
    sure = kind.sealed or links_only or signed is not None
    return Arrival(recruiter, worker, present, verified=sure)
