"""The pages of those for whom the study ends early, each with what to do on their platform."""

from fastapi import Request
from fastapi.responses import JSONResponse, Response

from dialens.studies import FAILED_COMPREHENSION, NO_CONSENT, SCREENED_OUT, WITHDRAWN
from dialens.studies.store import SessionOver
from dialens.web._forms import wants_json
from dialens.web._pages import number
from dialens.web._site import PROLIFIC_DONE, Site

FULL = "full"
ENDED = (SCREENED_OUT, FAILED_COMPREHENSION, WITHDRAWN, NO_CONSENT)
"""States of a session that ended early and of which something is kept."""


def early_page(request: Request, site: Site, outcome: str, *, deleted: bool = False) -> Response:
    """How a participation ended, and the code for it.

    Args:
        request: What is answered.
        site: The study.
        outcome: How it ended.
        deleted: Whether nothing about the person was kept.
    """
    code = None if outcome == FULL else site.code(outcome)
    if wants_json(request):
        return JSONResponse({"outcome": outcome, "code": code})
    title, text = _words(site, outcome, deleted=deleted)
    recruiter = site.study.design.recruiter.kind
    return site.pages.page(
        "early",
        title=title,
        text=text,
        code=code,
        recruiter=recruiter,
        back=f"{PROLIFIC_DONE}?cc={code}" if recruiter == "prolific" and code else None,
    )


def _words(site: Site, outcome: str, *, deleted: bool) -> tuple[str, str]:
    say, screening = site.texts.say, site.study.design.screening
    if outcome == SCREENED_OUT and screening is not None:
        title = screening.end.title or say("screened_out_title")
        return title, screening.end.text or say("screened_out_text")
    if outcome == WITHDRAWN:
        return say("withdrawn_title"), say("withdrawn_deleted" if deleted else "withdrawn_kept")
    return say(f"{outcome}_title"), say(f"{outcome}_text")


def why_over(site: Site, error: SessionOver) -> str:
    """Why a session takes no more answers, in the participant's language where a limit was."""
    if error.limit is None:
        return str(error)
    return site.texts.say(f"limit_{error.limit}", minutes=number(error.minutes))
