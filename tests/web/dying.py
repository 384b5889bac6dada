"""A server that dies at the worst moment: what was sent is on disk, and nobody was told."""

from __future__ import annotations

import asyncio
import os
import signal
import time

from dialens.studies.store import PendingSubmission, Store
from dialens.web._intake import Intake
from tests.studies.store.people import NOON, given
from tests.web.servers import KEY


def die_before_the_reply(url: str, tokens: list[str]) -> None:
    """Store the first screen of several people, and die between the commit and the replies."""

    async def work(store: Store) -> None:
        intake = Intake(store)
        sent = [intake.submit(PendingSubmission(token, given(0), NOON)) for token in tokens]
        replies = asyncio.gather(*sent)
        while store.session(tokens[-1]).index == 0:
            await asyncio.sleep(0)  # the group leaves for its thread
            time.sleep(0.01)
        assert not replies.done()
        os.kill(os.getpid(), signal.SIGKILL)

    with Store.open(url, secrets=KEY) as store:
        asyncio.run(work(store))
