"""Where participants go at the end: back to the platform that they came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from dialens.studies.design import (
    CODE,
    PLACE,
    ConnectRecruiter,
    ProviderRecruiter,
    RecruiterSettings,
)

PROLIFIC_DONE = "https://app.prolific.com/submissions/complete"


@dataclass(frozen=True)
class Return:
    """The way back to a platform.

    Attributes:
        address: Where it leads.
        platform: What participants call the platform; empty if the study file does not say.
    """

    address: str
    platform: str


def back_to_prolific(
    settings: RecruiterSettings, code: str, parameters: Mapping[str, str]
) -> Return:
    """Prolific takes the completion code in its address.

    Examples:
        >>> from dialens.studies.design import ProlificRecruiter
        >>> back_to_prolific(ProlificRecruiter(), "C1M7", {}).address
        'https://app.prolific.com/submissions/complete?cc=C1M7'
    """
    return Return(f"{PROLIFIC_DONE}?cc={quote(code, safe='')}", "Prolific")


def back_by_address(
    settings: RecruiterSettings, code: str, parameters: Mapping[str, str]
) -> Return | None:
    """The address of the study file, with what stands for the code and the parameters filled in.

    Examples:
        >>> from dialens.studies.design import ProviderRecruiter
        >>> panel = ProviderRecruiter(
        ...     id_parameter="rid", return_url="https://panel.org/end?rid={rid}&c={code}"
        ... )
        >>> back_by_address(panel, "A/B", {"rid": "7&8"}).address
        'https://panel.org/end?rid=7%268&c=A%2FB'
    """
    assert isinstance(settings, ConnectRecruiter | ProviderRecruiter)
    address = settings.return_url
    if address is None:
        return None
    known = {**parameters, CODE: code}
    filled = PLACE.sub(lambda place: quote(known.get(place[1], ""), safe=""), address)
    platform = "CloudResearch Connect"
    return Return(filled, settings.name if isinstance(settings, ProviderRecruiter) else platform)
