"""The completion code, on which the server and the platform have to agree."""

import hashlib

from dialens.studies._study import Study
from dialens.studies.design import ProlificRecruiter


def completion_code(study: Study) -> str | None:
    """The code all participants of a study get; none where each gets their own.

    Prolific has to know it beforehand. Where the file names none it follows from the study's
    definition, so that the server and the posting agree without asking each other.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> completion_code(study_of(TEA))
        >>> len(completion_code(study_of(TEA | {"recruiter": {"kind": "prolific"}})))
        10
    """
    settings = study.design.recruiter
    named = study.design.completion.code
    if not isinstance(settings, ProlificRecruiter):
        return named
    made = hashlib.sha256(f"completion code of {study.hash}".encode()).hexdigest()
    return settings.completion_code or named or made[:10].upper()
