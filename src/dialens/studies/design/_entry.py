"""The part of a study file that says who is let in, and who may go on in another browser."""

from typing import Literal

from dialens.studies.design._items import Section

AnotherBrowser = Literal["never", "same_address", "same_id"]

_BY_LINK = ("link", "personal")


class Entry(Section):
    """Who is let in."""

    invited: bool = False
    """Whether people who come by link need one that `dialens study links` made for them; with the
    recruiter `personal` they always do."""
    another_browser: AnotherBrowser = "same_address"
    """Who may go on with a session in another browser than the one that it was begun in: nobody;
    who comes by the same address, with what a platform puts there for this participation alone
    (SESSION_ID, assignmentId); or whoever gives the same id."""


def entry_problem(entry: Entry, recruiter: str) -> tuple[str, str] | None:
    """The setting that does not fit the recruiter, and why; none if they fit.

    Examples:
        >>> entry_problem(Entry(invited=True), "prolific")[0]
        'entry.invited'
    """
    if entry.invited and recruiter not in _BY_LINK:
        return (
            "entry.invited",
            f"is for people who come by link; the recruiter is {recruiter}, which makes addresses "
            "of its own. Leave it out, or set recruiter.kind to link",
        )
    return None
