"""What a server does by itself: delete what was kept long enough, and take people out of exports.

Whoever declines or withdraws is deleted from the database at once, and from exports that lie on the
server's disk within a minute, since nobody should wait for that.
"""

import logging
from collections.abc import Sequence
from datetime import date

from anyio import sleep

from dialens.base import DialensError
from dialens.studies.export import recall
from dialens.studies.store import ExportLog, KnownExport, RetentionStore
from dialens.web._logging import Seldom
from dialens.web._site import Site
from dialens.web._turns import aside

_LOG = logging.getLogger(__name__)
_SELDOM = Seldom(_LOG)
_EVERY_S = 60.0


class Housekeeper:
    """Keeps house for one study."""

    def __init__(self, site: Site) -> None:
        """For a site; what is due is looked for when it starts, and then once a day."""
        self._site = site
        self._looked_on: date | None = None
        self._left: tuple[KnownExport, ...] = ()

    def tidy(self) -> None:
        """Do what is due now."""
        site, now = self._site, self._site.clock()
        if self._looked_on != now.date():
            gone = RetentionStore(site.store, "file").keep(site.study.name, now=now)
            if gone:
                _LOG.info(
                    "After the time that the study keeps them, worker ids of %d people were "
                    "deleted, and everything about %d.",
                    len(gone.worker_ids),
                    len(gone.answers),
                )
            self._looked_on = now.date()
        self._recall()

    def _recall(self) -> None:
        log = ExportLog(self._site.store.database, "file")
        if log.recalled() == self._left:
            return  # nothing but what has to be done by hand
        for one in recall(self._site.store):
            if one.left:
                _SELDOM.warn(
                    f"recall {one.export.number}",
                    f"Export number {one.export.number} still holds somebody who was deleted: see "
                    "Settings and changes, or `dialens study exports`.",
                )
        self._left = log.recalled()


async def keep_house(keepers: Sequence[Housekeeper], *, every_s: float = _EVERY_S) -> None:
    """Tidy up at once and then every minute, until the server stops."""
    while True:
        for keeper in keepers:
            try:
                await aside(keeper.tidy)
            except DialensError as error:  # the database is away, or a disk full: the next minute
                _SELDOM.warn("housekeeping", f"Nothing could be tidied up: {error}")
        await sleep(every_s)
