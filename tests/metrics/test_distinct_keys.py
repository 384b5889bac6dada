"""Sets of keys that do not fit into memory, against Python's."""

import errno
import gc
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialens.base import DialensError
from dialens.metrics import Scratch
from dialens.metrics import _distinct_keys as distinct_keys
from dialens.metrics._distinct_keys import DistinctKeys, distinct
from dialens.text import word_hashes

keys = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=30)
added = st.lists(st.tuples(st.integers(0, 3), keys), max_size=20)


@settings(max_examples=60, deadline=None)
@given(added, st.sampled_from([0, 16, 200, 2_000, 100_000]), st.sets(st.integers(0, 3)))
def test_counts_are_those_of_python_sets(
    parts: list[tuple[int, list[int]]], memory: int, asked: set[int]
) -> None:
    sets = DistinctKeys(Scratch(memory))
    wanted: dict[int, set[int]] = {}
    for group, some in parts:
        sets.add(group, distinct(np.array(some, np.uint64)))
        wanted.setdefault(group, set()).update(some)
    together = set().union(*(wanted.get(group, set()) for group in asked))
    assert sets.count(sorted(asked)) == len(together)
    assert [sets.count([group]) for group in wanted] == [len(s) for s in wanted.values()]


def test_large_runs_are_read_range_by_range() -> None:
    """Hashes as they come, spilled many times, with runs of all sizes."""
    draw = np.random.default_rng(7)
    everything = draw.integers(0, 2**64, 50_000, dtype=np.uint64)
    sets = DistinctKeys(Scratch(memory=80_000))
    wanted: dict[int, set[int]] = {0: set(), 1: set()}
    for step in range(60):
        size = int(draw.integers(1, 4_000))
        some = distinct(draw.choice(everything, size))
        sets.add(step % 7 // 6, some)
        wanted[step % 7 // 6] |= set(some.tolist())
    assert sets._written > 100_000
    assert (sets.count([0]), sets.count([1])) == (len(wanted[0]), len(wanted[1]))
    assert sets.count([0, 1]) == len(wanted[0] | wanted[1])


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs a list of open files")
def test_the_file_has_no_name_and_goes_with_the_sets(tmp_path: Path) -> None:
    def opened() -> list[str]:
        links = []
        for descriptor in Path("/proc/self/fd").iterdir():
            try:
                links.append(str(descriptor.readlink()))
            except FileNotFoundError:  # the one that lists them
                continue
        return [link for link in links if link.startswith(str(tmp_path))]

    sets = DistinctKeys(Scratch(16, tmp_path))
    sets.add(0, np.arange(10, dtype=np.uint64))
    assert len(opened()) == 1
    assert list(tmp_path.iterdir()) == []
    del sets
    gc.collect()
    assert opened() == []


def test_no_room_is_said_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    full = lambda **_: open("/dev/full", "r+b", buffering=0)  # noqa: E731, PTH123, SIM115
    monkeypatch.setattr(distinct_keys, "TemporaryFile", full)
    sets = DistinctKeys(Scratch(16, tmp_path))
    with pytest.raises(DialensError, match="Make room there") as refused:
        sets.add(0, np.arange(10, dtype=np.uint64))
    assert str(tmp_path) in str(refused.value)
    assert os.strerror(errno.ENOSPC) in str(refused.value)


def test_hashes_of_words_are_blake2b() -> None:
    import hashlib

    import polars as pl

    words = ["so", "happy", "größe", "雨", ""]
    found = word_hashes(pl.Series(words))
    wanted = [hashlib.blake2b(w.encode(), digest_size=8).hexdigest() for w in words]
    assert [f"{int(high):08x}{int(low):08x}" for high, low in found] == wanted
