"""What the pages of the dashboard share: who is logged in, forms that only they can send."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from dialens.studies import Study
from dialens.studies.design import MTurkRecruiter
from dialens.studies.recruiters import Link, Recruiter, recruiter_of
from dialens.studies.store import OperationStore
from dialens.web._cookies import Login
from dialens.web._login import HOME, STEER, check_owner, check_ticket, login_of
from dialens.web._password import OWNER
from dialens.web._site import Site
from dialens.web._watching import Watch


@dataclass(frozen=True)
class Platform:
    """How the server reaches the recruiter's platform.

    Attributes:
        environment: Where a token is read from, when it is needed.
        endpoint: Another server that speaks the platform's protocol.
    """

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    endpoint: str | None = None

    def recruiter(self, study: Study) -> Recruiter:
        """The recruiter of a study; Mechanical Turk's sandbox if the study says so."""
        settings = study.design.recruiter
        production = isinstance(settings, MTurkRecruiter) and not settings.sandbox
        return recruiter_of(study, self.environment, production=production, endpoint=self.endpoint)


@dataclass(frozen=True)
class Desk:
    """A researcher's desk.

    Attributes:
        site: What is served.
        platform: Reaches the recruiter.
    """

    site: Site
    platform: Platform

    @property
    def watch(self) -> Watch:
        """Sees how the study stands."""
        return self.site.watch

    def logged_in(self, request: Request) -> Login:
        """The researcher's session."""
        return login_of(self.site)(request)

    @property
    def home(self) -> str:
        """Address of the first page; those of the others begin with it."""
        return self.site.root + HOME

    @property
    def records(self) -> OperationStore:
        """What is known of the people and changes of a study."""
        return OperationStore(self.site.store, "dashboard")

    def operating(self, login: Login) -> OperationStore:
        """Changes things in somebody's name."""
        return OperationStore(self.site.store, "dashboard", login.who)

    def now(self) -> datetime:
        """The time."""
        return self.site.clock()

    def check(self, form: Mapping[str, str], login: Login) -> None:
        """Refuse a form that does not come from a page of this session, or of who may only look."""
        check_owner(login)
        check_ticket(self.site, form, login)

    def page(self, template: str, login: Login, status: int = 200, **context: Any) -> Response:
        """A page of the dashboard, with what all of them show."""
        study = self.site.running.now()
        return self.site.researcher_pages.page(
            f"dashboard_{template}",
            status,
            study=study,
            all_studies=self.site.all_studies,
            here=template,
            as_of=self.now(),
            simulated=self._simulated(),
            pays=not isinstance(self.platform.recruiter(study), Link),
            ticket=self.site.cookies.ticket(STEER, login.session),
            who=login.who,
            looks_only=login.role != OWNER,
            **context,
        )

    def sure(
        self,
        login: Login,
        form: Mapping[str, str],
        *,
        title: str,
        lines: Sequence[str],
        action: str,
        word: str,
        back: str,
    ) -> Response | None:
        """The page that asks whether somebody is sure; none once they have said so."""
        if form.get("sure") == "yes":
            return None
        fields = {key: value for key, value in form.items() if key not in ("ticket", "sure")}
        return self.page(
            "sure",
            login,
            title=title,
            lines=lines,
            action=action,
            word=word,
            back=back,
            fields=fields,
        )

    def _simulated(self) -> tuple[int, int]:
        """How many people are simulated, and how many there are."""
        there = self.records.attendance(self.site.study.hash)
        return there.simulated, there.people
