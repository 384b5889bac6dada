"""Where participants come from: people by link, Amazon Mechanical Turk, Prolific.

One protocol (`Recruiter`), one module a platform, nothing kept beside what the platforms and the
study's database know. Nobody is rejected without a person saying so, and nothing that spends money
spends it twice. May import `studies`; commands and pages build on it.
"""

from dialens.studies.recruiters.codes import completion_code
from dialens.studies.recruiters.link import Link
from dialens.studies.recruiters.matching import Matched, match
from dialens.studies.recruiters.mturk import MechanicalTurk
from dialens.studies.recruiters.prolific import Prolific
from dialens.studies.recruiters.recruiter import Cost, Posting, Recruiter, Work
from dialens.studies.recruiters.registry import recruiter_of

__all__ = [
    "Cost",
    "Link",
    "Matched",
    "MechanicalTurk",
    "Posting",
    "Prolific",
    "Recruiter",
    "Work",
    "completion_code",
    "match",
    "recruiter_of",
]
