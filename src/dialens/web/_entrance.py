"""The first page: somebody arrives, and begins.

Nothing is stored by looking at it: a session begins when the form is sent.
"""

import logging
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlencode

from fastapi import HTTPException, Request
from fastapi.responses import JSONResponse, Response

from dialens.corpus import RATER_KINDS
from dialens.studies import HUMAN, RATER_HEADER
from dialens.studies.recruiters import (
    BY_BROWSER,
    by_invitation,
    entrance_secret,
    is_verified,
    signed_ids,
    signing_keys,
)
from dialens.studies.store import Blocked, EntryProof, Session, UnknownSession, no_place
from dialens.web._access import address_of, bearer_is_researcher
from dialens.web._arrival import Arrival, NotFilledIn, arrival, not_recruited
from dialens.web._coming_back import BEGIN, WAVE
from dialens.web._cookies import Visit
from dialens.web._forms import onward, wants_json
from dialens.web._logging import Seldom
from dialens.web._password import is_loopback, network_of
from dialens.web._quota import Quota
from dialens.web._refusal import Refusal
from dialens.web._site import Site, is_kiosk

_CROWD_S = 600
_SELDOM = Seldom(logging.getLogger(__name__))


class Entrance:
    """Handles those who arrive."""

    def __init__(self, site: Site) -> None:
        """Let participants into `site`."""
        self.site = site
        self._crowd = Quota(site.per_address, window_s=_CROWD_S, clock=time.monotonic)

    def _check_crowd(self, request: Request) -> None:
        """Refuse to let one address take all places; a proxy on this machine is no address."""
        address = address_of(request)
        if self.site.per_address and not is_loopback(address) and not is_kiosk(self.site.study):
            network = network_of(address)
            if not self._crowd.takes(network):
                _SELDOM.warn(
                    network,
                    f"More than {self.site.per_address:,} people began from {network} within "
                    f"{_CROWD_S / 60:.0f} minutes; others from there have to wait. Allow more with "
                    "--per-address.",
                )
                raise Refusal(429, "crowded", {"retry-after": str(_CROWD_S)})

    def arrive(self, request: Request) -> Response:
        """The first page; who is in a session already goes on where they are."""
        site = self.site
        came = self._came(request)
        visit = site.cookies.visit(request)
        if visit is not None and visit.token is not None and _same(visit.arrival, came):
            try:
                session = site.store.session(visit.token)
            except UnknownSession:
                visit = None
            else:
                if self._goes_on(session):
                    return self._onward(request, session, visit, came)
        if came.preview:
            return site.pages_for(request).page("preview", minutes=site.minutes)
        site.check_device(request)
        visitor = visit.visitor if visit is not None else secrets.token_urlsafe(24)
        ticket = site.cookies.ticket(BEGIN, visitor)
        language = site.language(request)
        shut = None
        if not wants_json(request):
            shut = no_place(site.store.database, site.study.hash, site.clock())
        if shut is not None and came.worker is None:  # nobody whom a session may wait for
            raise shut
        response: Response
        if wants_json(request):
            response = JSONResponse({"ticket": ticket})
        else:
            response = site.pages_in(language).page(
                "welcome",
                ticket=ticket,
                shut="" if shut is None else shut.reason,
                minutes=site.minutes,
                framed=bool(site.framed_by),
                here=str(request.url.path) + (f"?{request.url.query}" if request.url.query else ""),
                languages={name: self._in(request, name) for name in site.study.languages},
            )
        site.cookies.set_visit(request, response, Visit(visitor, came, language=language))
        return response

    def _came(self, request: Request) -> Arrival:
        """How somebody came, as the address says; where it has to prove that, it does."""
        site, design = self.site, self.site.running.now().design
        keys, host = signing_keys(design.recruiter), request.url.hostname or ""

        def signed(token: str) -> Mapping[str, str] | None:
            return signed_ids(token, keys, host=host, now=site.clock())

        try:
            return arrival(
                design.recruiter,
                request.query_params,
                invited=lambda link: site.store.secrets.invited(site.study.name, link),
                links_only=by_invitation(design),
                signed=signed if keys else None,
            )
        except NotFilledIn as error:
            _SELDOM.warn(
                f"not filled in {error.name}",
                f"Somebody came with a placeholder instead of {error.name} in the address, and was "
                "not let in: correct the link on the platform, which has to fill it in.",
            )
            raise

    def _in(self, request: Request, language: str) -> str:
        """The same address in another language."""
        return f"{self.site.root}/?{urlencode({**request.query_params, 'lang': language})}"

    def _goes_on(self, session: Session) -> bool:
        """Whether somebody is in a session, of this version or of another that can be finished."""
        site = self.site
        if session.state == "restarted" or not site.serves(session):
            return False
        done_before = session.study != site.study.hash and session.state == "completed"
        return not (done_before and site.running.now().design.admit_earlier)

    def _onward(
        self, request: Request, session: Session, visit: Visit, came: Arrival | None = None
    ) -> Response:
        """Lead on into a session, or to where somebody learns when the next part is open.

        Who comes back from a platform brings new parameters, which its last page has to know.
        """
        back = self.site.version_of(session).next_wave(session) is not None
        response = onward(request, WAVE if back else "/study")
        if back and came is not None and came.worker is not None:
            self.site.cookies.set_visit(request, response, replace(visit, arrival=came))
        return response

    def begin(self, request: Request, form: dict[str, str]) -> Response:
        """Give a place in the study, and the session that goes with it."""
        site = self.site
        visit = site.cookies.visit(request)
        if visit is None:
            here = form.get("here", "")
            home = f"{site.root}/"
            back = here if here.startswith(f"{home}?") else home
            return site.pages_in(form.get("lang")).page(
                "cookies", 403, framed=bool(site.framed_by), here=back
            )
        if not site.cookies.is_ticket(form.get("ticket", ""), BEGIN, visit.visitor):
            raise Refusal(403, "not_yours")
        site.check_device(request, form.get("device", ""))
        self._check_crowd(request)
        came, chosen = visit.arrival, form.get("lang")
        design = site.running.now().design
        if visit.token is None and not came.verified and is_verified(design):
            # The page was open when the study began to ask for more.
            raise not_recruited("personal" if by_invitation(design) else design.recruiter.kind)
        rater = self._rater(request)
        session = site.store.begin(
            site.study.hash,
            recruiter=came.recruiter,
            worker=came.worker or f"{BY_BROWSER}{visit.visitor}",
            now=site.clock(),
            seed_source=site.tie_breaker,
            rater_kind=rater,
            language=chosen if chosen in site.study.languages else site.language(request),
            proof=self._proof(visit) if rater == HUMAN else None,
        )
        if not site.serves(session):
            raise Blocked("earlier_version")
        response = self._onward(request, session, visit)
        site.cookies.set_visit(request, response, visit.with_token(session.token, session.language))
        return response

    def _proof(self, visit: Visit) -> EntryProof:
        """What shows that somebody is who they were: this browser, or what the address holds."""
        came, settings = visit.arrival, self.site.running.now().design.recruiter
        secret = entrance_secret(settings, came.worker, came.parameters or {})
        return EntryProof(visit.visitor, visit.token, secret)

    def _rater(self, request: Request) -> str:
        kind = request.headers.get(RATER_HEADER, HUMAN)
        if kind == HUMAN:
            return kind
        if kind not in RATER_KINDS or not bearer_is_researcher(self.site, request):
            raise HTTPException(403, "Only the researcher's programs may say so.")
        return kind


def _same(before: Arrival, came: Arrival) -> bool:
    """Whether an address leads to the person whose cookie this is."""
    return came.worker is None or (before.recruiter, before.worker) == (came.recruiter, came.worker)
