"""Whose work is done: what people handed in at the platform, beside what the study's database has.

Only completed sessions speak for anybody, each for one piece of work. What does not match is shown
with the reason and left to a person; nobody is rejected here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from dialens.studies.recruiters._recruiter import APPROVED, SUBMITTED, Work
from dialens.studies.store import Store


@dataclass(frozen=True)
class Matched:
    """A piece of work and what the database says to it.

    Attributes:
        work: As the platform has it.
        participant: The pseudonym; none if nobody of that id took part.
        completed: Whether they reached the end of the study.
        doubt: Why it should be looked at before it is approved; empty if it need not be.
    """

    work: Work
    participant: str | None
    completed: bool
    doubt: str

    @property
    def payable(self) -> bool:
        """Whether it can be approved without a second look."""
        return self.work.state == SUBMITTED and not self.doubt


def match(store: Store, study: str, recruiter: str, works: Iterable[Work]) -> tuple[Matched, ...]:
    """Find the participant of each piece of work, and whether they completed the study.

    Args:
        store: The study's database.
        study: The hash of its definition.
        recruiter: As the store knows it.
        works: What people handed in. Of several by one person the first that is not refused
            counts; approved ones come before others.
    """
    codes = store.completions(study)
    spoken_for: set[str] = set()
    found: dict[str, Matched] = {}
    listed = list(works)
    for work in sorted(listed, key=lambda one: one.state != APPROVED):
        participant = store.participants_of(recruiter, work.worker).get(study)
        completed = participant in codes
        doubt = ""
        if participant is None:
            doubt = "nobody of this id took part"
        elif participant not in codes:
            doubt = "has not completed the study"
        elif participant in spoken_for:
            doubt = "this person's session already counts for other work"
        elif work.code is not None and work.code != codes[participant]:
            doubt = "handed in another completion code"
        if participant is not None and not doubt and work.state in (SUBMITTED, APPROVED):
            spoken_for.add(participant)
        found[work.id] = Matched(work, participant, completed, doubt)
    return tuple(found[work.id] for work in listed)
