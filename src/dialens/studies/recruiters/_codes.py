"""Completion codes, on which the server and the platform have to agree."""

import hashlib

from dialens.studies._study import Study
from dialens.studies._types import FAILED_COMPREHENSION, NO_CONSENT, SCREENED_OUT, WITHDRAWN
from dialens.studies._waves import FIRST, codes_of
from dialens.studies.design import ProlificRecruiter

COMPLETED = "completed"


def completion_code(study: Study, outcome: str = COMPLETED, wave: int = FIRST) -> str | None:
    """The code of all whose participation ends in this way; none where there is none.

    Without one in the file, those who complete a study get a code of their own each. Prolific has
    to know codes beforehand: there they follow from the study's definition, so that the server
    and the posting agree without asking each other. Each wave has codes of its own.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> completion_code(study_of(TEA))
        >>> len(completion_code(study_of(TEA | {"recruiter": {"kind": "prolific"}})))
        10
    """
    settings = study.design.recruiter
    named: str | None = getattr(codes_of(study.design, wave), outcome)
    if not isinstance(settings, ProlificRecruiter):
        return named
    text = f"completion code of {study.hash}"
    text += "" if outcome == COMPLETED else f" {outcome}"
    text += "" if wave == FIRST else f" wave {wave}"
    made = hashlib.sha256(text.encode())
    if outcome == COMPLETED and wave == FIRST:
        named = settings.completion_code or named
    return named or made.hexdigest()[:10].upper()


def possible_outcomes(study: Study) -> tuple[str, ...]:
    """How participations in a study can end, by which completion codes differ.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> possible_outcomes(study_of(TEA))
        ('completed', 'no_consent', 'withdrawn')
    """
    design = study.design
    asked = design.instructions.comprehension
    ends = {
        SCREENED_OUT: design.screening is not None,
        FAILED_COMPREHENSION: asked is not None and asked.failing == "screen_out",
    }
    early = [outcome for outcome, possible in ends.items() if possible]
    return (COMPLETED, NO_CONSENT, *early, WITHDRAWN)
