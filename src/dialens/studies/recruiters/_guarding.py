"""What guards the entrance of a study: who is let in, and who may go on in another browser."""

from collections.abc import Mapping

from dialens.studies.design import Design, ProlificRecruiter, PublicKey, RecruiterSettings
from dialens.studies.recruiters._registry import recruiters

INVITATION = "invitation"
"""What a personal link holds."""


def by_invitation(design: Design) -> bool:
    """Whether nobody is let in without a link that was made for them.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> by_invitation(Design.model_validate(TEA | {"entry": {"invited": True}}))
        True
    """
    return design.entry.invited or recruiters()[design.recruiter.kind].sealed


def signing_keys(settings: RecruiterSettings) -> tuple[PublicKey, ...]:
    """The keys by which a platform's addresses are verified; none where they are not."""
    return tuple(settings.keys) if isinstance(settings, ProlificRecruiter) else ()


def is_verified(design: Design) -> bool:
    """Whether it is sure who comes: by a link that was made for them, or a signed address."""
    return by_invitation(design) or bool(signing_keys(design.recruiter))


def entrance_secret(
    settings: RecruiterSettings, worker: str | None, parameters: Mapping[str, str]
) -> str | None:
    """What somebody has to bring again who comes back in another browser; none if nothing helps.

    It is what the platform put into the address for this participation alone. Where there is no
    such thing it is who they are: the address says nothing else, or is signed, so that it is sure.

    Args:
        settings: Of the recruiter.
        worker: Who the address says it is.
        parameters: What else it held.

    Examples:
        >>> from dialens.studies.design import LinkRecruiter, ProlificRecruiter
        >>> entrance_secret(ProlificRecruiter(), "5f00bb", {"SESSION_ID": "x1"})
        'x1'
        >>> entrance_secret(ProlificRecruiter(), "5f00bb", {}) is None
        True
        >>> entrance_secret(LinkRecruiter(), "anna", {})
        'anna'
    """
    name = recruiters()[settings.kind].secret_name(settings)
    return parameters.get(name) if name and not signing_keys(settings) else worker


def entrance_guard(design: Design) -> str:
    """One line for researchers: what guards the entrance of a study.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> print(entrance_guard(Design.model_validate(TEA)))
        Entrance: open to whoever has the address. In another browser, whoever gives the same
        participant goes on.
    """
    settings = design.recruiter
    kind = recruiters()[settings.kind]
    names = kind.names(settings)
    if not names:
        return "Entrance: open to whoever has the address. Nobody goes on in another browser."
    who = names[0]
    if by_invitation(design):
        let_in = "with a link of `dialens study links` alone"
    elif signing_keys(settings):
        let_in = f"for whoever comes with {who}, signed by the platform"
    elif kind.entrance:
        let_in = f"for whoever comes with {who}, which is not verified"
    else:
        let_in = "open to whoever has the address"
    return f"Entrance: {let_in}. In another browser, {_who_goes_on(design, who)}."


def _who_goes_on(design: Design, who: str) -> str:
    """Who may go on with a session in another browser."""
    how, settings = design.entry.another_browser, design.recruiter
    secret = recruiters()[settings.kind].secret_name(settings)
    if how == "never":
        return "nobody goes on"
    if by_invitation(design):
        return "whoever has the same link goes on"
    if signing_keys(settings):
        return f"who brings the same {who}, signed, goes on"
    if how == "same_address" and secret:
        return f"who brings the same {secret} goes on"
    return f"whoever gives the same {who} goes on"
