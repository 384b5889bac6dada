"""The recruiter that a study file names."""

from collections.abc import Mapping

from dialens.base import DialensError
from dialens.studies._study import Study
from dialens.studies.design import MTurkRecruiter, ProlificRecruiter
from dialens.studies.recruiters._link import Link
from dialens.studies.recruiters._mturk import MechanicalTurk
from dialens.studies.recruiters._prolific import Prolific
from dialens.studies.recruiters._recruiter import Recruiter


def recruiter_of(
    study: Study,
    environment: Mapping[str, str],
    *,
    production: bool = False,
    endpoint: str | None = None,
) -> Recruiter:
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
    settings = study.design.recruiter
    if isinstance(settings, MTurkRecruiter):
        # The pages send workers back to the marketplace that the file names: both must agree.
        if production and settings.sandbox:
            raise DialensError(
                f"--production was given, but recruiter.sandbox of {study.name} is true. Set "
                "`sandbox: false` in the study file, and serve it so."
            )
        if not production and not settings.sandbox:
            raise DialensError(
                f"recruiter.sandbox of {study.name} is false: add --production to ask and pay real "
                "people, or set `sandbox: true` in the study file."
            )
        return MechanicalTurk(production=production, endpoint=endpoint)
    if isinstance(settings, ProlificRecruiter):
        return Prolific(environment, endpoint=endpoint)
    return Link()
