from ._codes import completion_code, possible_outcomes
from ._link import Link
from ._matching import Matched, match
from ._mturk import MechanicalTurk
from ._prolific import REJECTIONS, Prolific
from ._recruiter import Cost, Posting, Recruiter, Work, money
from ._registry import Access, RecruiterKind, recruiter_of, recruiters

__all__ = [
    "REJECTIONS",
    "Access",
    "Cost",
    "Link",
    "Matched",
    "MechanicalTurk",
    "Posting",
    "Prolific",
    "Recruiter",
    "RecruiterKind",
    "Work",
    "completion_code",
    "match",
    "money",
    "possible_outcomes",
    "recruiter_of",
    "recruiters",
]
