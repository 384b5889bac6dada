"""When a reply is due: a study's pace holds for all its agents, the fast and the slow.

How long a reply takes depends on its length and on a draw that belongs to the exchange, not to the
agent, so that nobody can be told by their speed, and looking again shows nothing sooner.
"""

import hashlib
from datetime import datetime, timedelta
from statistics import NormalDist

from dialens.studies.design import Conversations
from dialens.studies.store import Lease, Session

_MOST_DEVIATIONS = 2.0


def due_at(talks: Conversations, reply: str, lease: Lease, session: Session) -> datetime | None:
    """When a reply is shown at the earliest; none if replies are shown as they come.

    Args:
        talks: The settings of the study.
        reply: What was said.
        lease: Of the exchange.
        session: Of the participant.
    """
    pace = talks.common_pace
    if pace is None:
        return None
    return lease.since + timedelta(seconds=pace.delay(reply, _draw(lease, session)))


def _draw(lease: Lease, session: Session) -> float:
    """A standard normal number without its tails, the same for all sides of an exchange."""
    exchange = (lease.talk.names[0], lease.exchange.number)
    place = (session.study, session.participant, session.attempt, *exchange)
    digest = hashlib.sha256("\x1f".join(map(str, place)).encode()).digest()
    within = (int.from_bytes(digest[:6]) + 0.5) / 2**48
    normal = NormalDist()
    low = normal.cdf(-_MOST_DEVIATIONS)
    return normal.inv_cdf(low + within * (1 - 2 * low))
