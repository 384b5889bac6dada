"""Personal links: a link for each person on a list, which lets in that person and nobody else."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from dialens.base import DialensError
from dialens.studies._study import Study
from dialens.studies.recruiters._guarding import INVITATION, by_invitation
from dialens.studies.recruiters._registry import recruiters

if TYPE_CHECKING:
    from dialens.studies.store import Returning, Secrets

ID, LINK = "id", "link"
LONGEST_ID = 100
"""Bytes of an id at most: a link holds it."""
BY_BROWSER = "visitor-"
"""How ids begin that stand for a browser."""

_PLATFORMS = ("prolific", "mturk", "connect")


def numbered_people(count: int) -> list[dict[str, str]]:
    """People of whom nothing is known but their number.

    Examples:
        >>> numbered_people(2)
        [{'id': 'invited-1'}, {'id': 'invited-2'}]
    """
    return [{ID: f"invited-{number}"} for number in range(1, count + 1)]


def read_people(file: Path) -> list[dict[str, str]]:
    """People from a CSV file with a column `id`; other columns are kept, for mails to them.

    Raises:
        DialensError: Says which line is wrong.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines, strict=True)
            columns = list(rows.fieldnames or ())
            if ID not in columns or LINK in columns:
                raise DialensError(
                    f"{file}: the first line names the columns, `{ID}` among them and no `{LINK}`; "
                    f"seen: {', '.join(columns) or 'nothing'}."
                )
            people = [(rows.line_num, row) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DialensError(f"{file}: the list cannot be read ({error}).") from error
    seen: dict[str, int] = {}
    for line, row in people:
        if None in row or None in row.values():
            raise DialensError(f"{file}, line {line}: not as many columns as the first line has.")
        person = row[ID] = row[ID].strip()
        if not person or len(person.encode()) > LONGEST_ID:
            raise DialensError(
                f"{file}, line {line}: an id has 1 to {LONGEST_ID} characters; seen: {person!r}."
            )
        if person in seen:
            raise DialensError(
                f"{file}, line {line}: {person!r} stands in line {seen[person]} already."
            )
        seen[person] = line
    return [row for _, row in people]


def personal_links(
    study: Study, secrets: "Secrets", url: str, people: Sequence[Mapping[str, str]]
) -> list[dict[str, str]]:
    """People with a link each; the same person always gets the same one.

    Args:
        study: To which they are invited.
        secrets: The key of its database.
        url: Where it is served.
        people: With an `id` each.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> from dialens.studies.store import Secrets
        >>> tea = study_of(TEA | {"recruiter": {"kind": "personal"}})
        >>> (anna,) = personal_links(tea, Secrets(bytes(32)), "https://tea.org/", [{"id": "anna"}])
        >>> anna["link"][:28]
        'https://tea.org/?invitation='
    """
    if not by_invitation(study.design):
        raise DialensError(
            f"The recruiter of {study.name} is {study.design.recruiter.kind}, which lets people in "
            "without a personal link. Set `recruiter: {kind: personal}` in the study file, or "
            "`entry: {invited: true}` with the recruiter link."
        )
    start = _address(study, url)
    for person in people:
        if not 0 < len(person[ID].encode("utf-8", "surrogatepass")) <= LONGEST_ID:
            raise DialensError(f"An id has 1 to {LONGEST_ID} characters; seen: {person[ID]!r}.")
    return [
        {**person, LINK: start + secrets.invitation(study.name, person[ID])} for person in people
    ]


def _address(study: Study, url: str) -> str:
    """An address of the study, up to the id of somebody."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment:
        raise DialensError(
            "--url takes where the study is served, e.g. https://study.example.org/; "
            f"seen: {url!r}."
        )
    settings = study.design.recruiter
    own = recruiters()[settings.kind].names(settings)[0]
    name = INVITATION if by_invitation(study.design) else own
    whole = url if parts.path else f"{url}/"
    return f"{whole}{'&' if parts.query else '?'}{name}="


def wave_invitations(
    study: Study, secrets: "Secrets", url: str | None, people: "Sequence[Returning]"
) -> tuple[list[dict[str, str]], int]:
    """Whom to invite to a later wave, and how many cannot be: known by their browser alone.

    Where people come by an address of ours each gets a link; a platform invites by their ids.

    Args:
        study: To which they come back.
        secrets: The key of its database.
        url: Where it is served; not needed where a platform invites.
        people: Who completed the part before.
    """
    known = [one for one in people if one.worker and not one.worker.startswith(BY_BROWSER)]
    rows = [
        {
            ID: str(one.worker),
            "participant": one.participant,
            "opens_at": one.wave.opens_at.isoformat(timespec="seconds"),
            "closes_at": (one.wave.closes_at and one.wave.closes_at.isoformat(timespec="seconds"))
            or "",
            "begun": "yes" if one.begun else "no",
        }
        for one in known
    ]
    kind = study.design.recruiter.kind
    if kind in _PLATFORMS:
        return rows, len(people) - len(known)
    if url is None:
        raise DialensError(
            "Give --url, where the study is served: each person gets a link of their own."
        )
    if by_invitation(study.design):
        return personal_links(study, secrets, url, rows), len(people) - len(known)
    start = _address(study, url)
    linked = [{**row, LINK: start + quote(row[ID], safe="")} for row in rows]
    return linked, len(people) - len(known)
