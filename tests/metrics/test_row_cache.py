"""What encoders remember: the newest rows, as many and as long as there is room for."""

from __future__ import annotations

import numpy as np

from dialens.metrics._row_cache import RowCache


def rows(*values: float) -> np.ndarray:
    return np.array(values, np.float32)[:, None]


def kept(cache: RowCache, inputs: list) -> dict:
    places = cache.places(inputs)
    there = [item for item, place in zip(inputs, places, strict=True) if place >= 0]
    return dict(zip(there, cache.rows(places[places >= 0])[:, 0].tolist(), strict=True))


def test_the_newest_are_kept_and_found_after_many_rounds() -> None:
    cache = RowCache(3, 1)
    for start in range(0, 20, 2):
        cache.put([str(start), str(start + 1)], rows(start, start + 1))
    assert kept(cache, [str(n) for n in range(20)]) == {"17": 17.0, "18": 18.0, "19": 19.0}


def test_of_more_than_there_is_room_for_the_last_are_kept() -> None:
    cache = RowCache(2, 1)
    cache.put(["a", "b", "c"], rows(1, 2, 3))
    assert kept(cache, ["a", "b", "c"]) == {"b": 2.0, "c": 3.0}
    nothing = RowCache(0, 1)
    nothing.put(["a"], rows(1))
    assert kept(nothing, ["a"]) == {}


def test_long_inputs_are_bounded_by_their_characters() -> None:
    cache = RowCache(10, 1, most_characters=9)
    cache.put(["aaaa", ("bb", "bb"), "c"], rows(1, 2, 3))
    assert kept(cache, ["aaaa", ("bb", "bb"), "c"]) == {"aaaa": 1.0, ("bb", "bb"): 2.0, "c": 3.0}
    cache.put(["dddd"], rows(4))
    assert kept(cache, ["aaaa", ("bb", "bb"), "c", "dddd"]) == {
        ("bb", "bb"): 2.0,
        "c": 3.0,
        "dddd": 4.0,
    }
    cache.put(["e" * 10], rows(5))
    assert kept(cache, ["dddd", "e" * 10]) == {}
