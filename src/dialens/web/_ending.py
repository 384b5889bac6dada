"""The last page: thanks, the completion code, and the way back to the platform."""

from fastapi.responses import Response

from dialens.studies import Screen
from dialens.web._arrival import Arrival
from dialens.web._coming_back import ShownWave
from dialens.web._pages import Pages
from dialens.web._site import Site


def end_page(
    site: Site,
    pages: Pages,
    screen: Screen,
    code: str,
    came: Arrival,
    *,
    next_ticket: str = "",
    wave: ShownWave | None = None,
) -> Response:
    """The page of those who completed the study.

    Args:
        site: The study.
        pages: In the participant's language.
        screen: The closing words.
        code: The completion code.
        came: How the participant came here.
        next_ticket: For the form that lets the next person begin; empty if nobody took part.
        wave: The part to come back for; none if there is none.
    """
    back, say = site.back(came, code), pages.texts.say
    back_to = say("return_anywhere")
    if back is not None and back.platform:
        back_to = say("return_to", platform=back.platform)
    return pages.page(
        "end",
        screen=screen,
        code=code,
        recruiter=came.recruiter,
        back=None if back is None else back.address,
        back_to=back_to,
        next_ticket=next_ticket,
        wave=wave,
        submit_to=site.submit_to,
        assignment=(came.parameters or {}).get("assignmentId", ""),
    )
