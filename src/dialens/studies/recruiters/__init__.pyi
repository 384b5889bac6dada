from ._codes import completion_code
from ._link import Link
from ._matching import Matched, match
from ._mturk import MechanicalTurk
from ._prolific import Prolific
from ._recruiter import Cost, Posting, Recruiter, Work, money
from ._registry import recruiter_of

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
    "money",
    "recruiter_of",
]
