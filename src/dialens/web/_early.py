"""The pages of those for whom the study ends early, each with what to do on their platform."""

from fastapi import Request
from fastapi.responses import JSONResponse, Response

from dialens.studies import FAILED_COMPREHENSION, NO_CONSENT, SCREENED_OUT, WITHDRAWN, Study
from dialens.studies.recruiters import PROLIFIC_DONE
from dialens.studies.store import SessionOver
from dialens.studies.texts import Texts
from dialens.web._forms import wants_json
from dialens.web._site import Site

FULL = "full"
ENDED = (SCREENED_OUT, FAILED_COMPREHENSION, WITHDRAWN, NO_CONSENT)
"""States of a session that ended early and of which something is kept."""

_KEYS = {NO_CONSENT: "declined", FULL: "taken"}
"""Keys of texts that have another name than the outcome."""


def early_page(
    request: Request, site: Site, outcome: str, *, deleted: bool = False, wave: int = 1
) -> Response:
    """How a participation ended, and the code for it.

    Args:
        request: What is answered.
        site: The study.
        outcome: How it ended.
        deleted: Whether nothing about the person was kept.
        wave: The part of the study that it was in.
    """
    code = None if outcome == FULL else site.code(outcome, wave)
    if wants_json(request):
        return JSONResponse({"outcome": outcome, "code": code})
    language = site.language(request)
    title, text = early_words(site.study.said_in(language), outcome, deleted=deleted)
    recruiter = site.study.design.recruiter.kind
    return site.pages_in(language).page(
        "early",
        title=title,
        text=text,
        code=code,
        recruiter=recruiter,
        back=f"{PROLIFIC_DONE}?cc={code}" if recruiter == "prolific" and code else None,
    )


def early_words(study: Study, outcome: str, *, deleted: bool) -> tuple[str, str]:
    """What is read of how a participation ended: the heading, and what stands below."""
    say, screening = study.texts.say, study.design.screening
    if outcome == SCREENED_OUT and screening is not None:
        title = screening.end.title or say("screened_out_title")
        return title, screening.end.text or say("screened_out")
    if outcome == WITHDRAWN:
        return say("withdrawn_title"), say("withdrawn_deleted" if deleted else "withdrawn_kept")
    key = _KEYS.get(outcome, outcome)
    return say(f"{key}_title"), say(key)


def why_over(texts: Texts, error: SessionOver) -> str:
    """Why a session takes no more answers, in the participant's language."""
    if error.limit is not None:
        return texts.say(f"limit_{error.limit}", minutes=error.minutes)
    key = f"over_{error.state}"
    return texts.say(key if key in texts.texts else "over_title")
