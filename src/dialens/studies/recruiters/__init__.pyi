from ._bonuses import Due, bonuses_due, pay_bonuses, unsettled
from ._codes import completion_code, possible_outcomes
from ._guarding import (
    INVITATION,
    by_invitation,
    entrance_guard,
    entrance_secret,
    is_verified,
    signing_keys,
)
from ._invitations import (
    BY_BROWSER,
    LONGEST_ID,
    numbered_people,
    personal_links,
    read_people,
    wave_invitations,
)
from ._link import Link
from ._matching import Matched, match
from ._mturk import MechanicalTurk
from ._prolific import REJECTIONS, Prolific
from ._recruiter import Cost, Posting, Recruiter, Work, money
from ._registry import Access, RecruiterKind, recruiter_of, recruiters
from ._returning import PROLIFIC_DONE, Return
from ._signed_address import TOKEN, signed_ids

__all__ = [
    "BY_BROWSER",
    "INVITATION",
    "LONGEST_ID",
    "PROLIFIC_DONE",
    "REJECTIONS",
    "TOKEN",
    "Access",
    "Cost",
    "Due",
    "Link",
    "Matched",
    "MechanicalTurk",
    "Posting",
    "Prolific",
    "Recruiter",
    "RecruiterKind",
    "Return",
    "Work",
    "bonuses_due",
    "by_invitation",
    "completion_code",
    "entrance_guard",
    "entrance_secret",
    "is_verified",
    "match",
    "money",
    "numbered_people",
    "pay_bonuses",
    "personal_links",
    "possible_outcomes",
    "read_people",
    "recruiter_of",
    "recruiters",
    "signed_ids",
    "signing_keys",
    "unsettled",
    "wave_invitations",
]
