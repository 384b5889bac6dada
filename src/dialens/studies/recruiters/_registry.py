"""Every kind of recruiter by name: ours, and those that other packages bring."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dialens.base import DialensError, Registry
from dialens.studies._kinds import named_by_kind
from dialens.studies.design import (
    ConnectRecruiter,
    KioskRecruiter,
    LinkRecruiter,
    MTurkRecruiter,
    PersonalRecruiter,
    ProlificRecruiter,
    ProviderRecruiter,
    RecruiterSettings,
)
from dialens.studies.recruiters._returning import Return, back_by_address, back_to_prolific

if TYPE_CHECKING:  # the study file is made of these settings: a study comes later
    from dialens.studies._study import Study
    from dialens.studies.recruiters._recruiter import Recruiter


@dataclass(frozen=True)
class Access:
    """How a platform is reached.

    Attributes:
        environment: Where a token is read from, when it is needed.
        production: Whether the real marketplace is meant, where people are paid.
        endpoint: Another server that speaks the platform's protocol.
    """

    environment: Mapping[str, str]
    production: bool = False
    endpoint: str | None = None


@dataclass(frozen=True)
class RecruiterKind:
    """A kind of recruiter.

    Attributes:
        name: What `kind:` takes in a study file.
        settings: What the study file may say of it, a pydantic model.
        open: Makes the recruiter of a study.
        parameters: What it adds to the address of the study; the first says who comes.
        entrance: What somebody reads who comes without that; empty if anybody may come.
        parameters_of: Gives the parameters, where the study file names them.
        back: Gives where people go at the end, if anywhere: from the settings, the completion code,
            and what the address held.
        sealed: Whether the first parameter is one that `dialens study links` made.
        secret: Which parameter is new with each participation and cannot be guessed; empty if none.
    """

    name: str
    settings: type[RecruiterSettings]
    open: "Callable[[Study, Access], Recruiter]"
    parameters: tuple[str, ...] = ("participant",)
    entrance: str = ""
    parameters_of: Callable[[RecruiterSettings], tuple[str, ...]] | None = None
    back: Callable[[RecruiterSettings, str, Mapping[str, str]], Return | None] | None = None
    sealed: bool = False
    secret: str = ""

    def names(self, settings: RecruiterSettings) -> tuple[str, ...]:
        """What the address of a study with these settings holds; the first says who comes."""
        return self.parameters if self.parameters_of is None else self.parameters_of(settings)

    def secret_name(self, settings: RecruiterSettings) -> str:
        """The parameter that only who takes part can know; empty if there is none."""
        if isinstance(settings, ProviderRecruiter):
            return settings.secret_parameter or ""
        return self.secret

    def __post_init__(self) -> None:
        """Refuse settings that a study file could not name."""
        named_by_kind(self.settings, self.name)


def _link(study: "Study", access: Access) -> "Recruiter":
    from dialens.studies.recruiters._link import Link

    return Link(study.design.recruiter.kind)


def _provider_parameters(settings: RecruiterSettings) -> tuple[str, ...]:
    assert isinstance(settings, ProviderRecruiter)
    return (settings.id_parameter, *settings.other_parameters)


def _mturk(study: "Study", access: Access) -> "Recruiter":
    from dialens.studies.recruiters._mturk import MechanicalTurk

    settings = study.design.recruiter
    sandbox = isinstance(settings, MTurkRecruiter) and settings.sandbox
    # The pages send workers back to the marketplace that the file names: both must agree.
    if access.production and sandbox:
        raise DialensError(
            f"--production was given, but recruiter.sandbox of {study.name} is true. Set "
            "`sandbox: false` in the study file, and serve it so."
        )
    if not access.production and not sandbox:
        raise DialensError(
            f"recruiter.sandbox of {study.name} is false: add --production to ask and pay real "
            "people, or set `sandbox: true` in the study file."
        )
    return MechanicalTurk(production=access.production, endpoint=access.endpoint)


def _prolific(study: "Study", access: Access) -> "Recruiter":
    from dialens.studies.recruiters._prolific import Prolific

    return Prolific(access.environment, endpoint=access.endpoint)


_OURS = (
    RecruiterKind("link", LinkRecruiter, _link),
    RecruiterKind(
        "personal",
        PersonalRecruiter,
        _link,
        ("invitation",),
        "Please open this study by the link that you were sent.",
        sealed=True,
    ),
    RecruiterKind("kiosk", KioskRecruiter, _link, ()),
    RecruiterKind(
        "prolific",
        ProlificRecruiter,
        _prolific,
        ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
        "Please open this study from its page on Prolific.",
        back=back_to_prolific,
        secret="SESSION_ID",
    ),
    RecruiterKind(
        "connect",
        ConnectRecruiter,
        _link,
        ("participantId", "assignmentId", "projectId"),
        "Please open this study from its page on CloudResearch Connect.",
        back=back_by_address,
        secret="assignmentId",
    ),
    RecruiterKind(
        "provider",
        ProviderRecruiter,
        _link,
        ("id",),
        "Please open this study from the page where you found it.",
        parameters_of=_provider_parameters,
        back=back_by_address,
    ),
    RecruiterKind(
        "mturk",
        MTurkRecruiter,
        _mturk,
        ("workerId", "assignmentId", "hitId", "turkSubmitTo"),
        "Please open this study from your task on Amazon Mechanical Turk.",
        secret="assignmentId",
    ),
)

RECRUITERS: Registry[RecruiterKind] = Registry(
    "recruiter", "dialens.recruiters", RecruiterKind, lambda: _OURS
)
"""All kinds by name; an entry point gives a `RecruiterKind`, or a list of them."""


def recruiters() -> Mapping[str, RecruiterKind]:
    """All kinds of recruiters by name, ours first; two of one name are refused.

    Examples:
        >>> recruiters()["prolific"].parameters[0]
        'PROLIFIC_PID'
    """
    return RECRUITERS


def recruiter_of(
    study: "Study",
    environment: Mapping[str, str],
    *,
    production: bool = False,
    endpoint: str | None = None,
) -> "Recruiter":
    """The recruiter of a study.

    Args:
        study: Whose file says which one.
        environment: Where Prolific's token is read from, when it is needed. Amazon's credentials
            are found as boto3 finds them.
        production: Whether Mechanical Turk's real marketplace is meant, where people are paid.
        endpoint: Another server that speaks the platform's protocol.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> recruiter_of(study_of(TEA), {}).name
        'link'
    """
    kind = RECRUITERS[study.design.recruiter.kind]
    return kind.open(study, Access(environment, production, endpoint))
