"""What many processes do to one store at the same time, each function a process of its own."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from dialens.studies.store import Session, Store, StoreUnavailable
from tests.studies.store.conftest import KEY
from tests.studies.store.people import NOON, SECOND, given, seeds

STUDY = "hash-of-tea"


def arrive_often(url: str, number: int, times: int) -> None:
    """Begin again and again, each time as somebody new."""
    draw = seeds(number)
    with Store.open(url, secrets=KEY) as store:
        for _ in range(times):
            came = store.begin(STUDY, recruiter="link", worker=None, now=NOON, seed_source=draw)
            store.admit(came.token, now=NOON, seed_source=draw)


def arrive_as_the_same(url: str, number: int, people: int, log: Path) -> None:
    """Begin as each of the same people, and note who the store takes them for."""
    order = list(range(people))
    random.Random(number).shuffle(order)
    with Store.open(url, secrets=KEY) as store:
        for person in order:
            came = store.begin(
                STUDY,
                recruiter="mturk",
                worker=f"worker{person}",
                now=NOON,
                seed_source=seeds(number * 1000 + person),
            )
            came = store.admit(came.token, now=NOON, seed_source=seeds(number * 1000 + person))
            note(log, person, came.participant, came.cell, came.seed)


def submit_the_same(url: str, number: int, token: str, screens: int, log: Path) -> None:
    """Submit every screen of one session, while others do so too."""
    with Store.open(url, secrets=KEY) as store:
        at = 0
        while at < screens:
            receipt = store.submit(token, given(at, f"k{number}", number), now=NOON + SECOND)
            note(log, number, at, receipt.outcome, receipt.index)
            at = receipt.index


def write_until_killed(url: str, number: int, screens: int, log: Path) -> None:
    """Take the study over and over; note each answer that was acknowledged, and only then."""
    draw = seeds(number)
    with open_patiently(url) as store:
        while True:
            came = _insist(store, number, draw)
            for at in range(screens):
                value = draw() % 1000
                submission = given(at, f"k{at}", value)
                while True:
                    try:
                        receipt = store.submit(came.token, submission, now=NOON + SECOND)
                        break
                    except StoreUnavailable:
                        time.sleep(0.02)
                assert receipt.index == at + 1
                note(log, came.participant, submission.screen.id, value)


def open_patiently(url: str) -> Store:
    """Open a store as soon as its database is there."""
    while True:
        try:
            return Store.open(url, secrets=KEY)
        except StoreUnavailable:
            time.sleep(0.05)


def _insist(store: Store, number: int, draw: Callable[[], int]) -> Session:
    worker = f"{number}-{random.getrandbits(64)}"  # a retry is the same person
    while True:
        try:
            came = store.begin(
                STUDY,
                recruiter="link",
                worker=worker,
                now=NOON,
                seed_source=draw,
            )
            return store.admit(came.token, now=NOON, seed_source=draw)
        except StoreUnavailable:
            time.sleep(0.02)


def note(log: Path, *words: object) -> None:
    """A line that is in the file, whole, when this returns."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(handle, (" ".join(map(str, words)) + "\n").encode())
    os.close(handle)
