"""A batch is gone as soon as nobody needs it."""

import gc
import weakref

import numpy as np
import polars as pl

from dialens.metrics import State, TurnBatch
from dialens.metrics._batch import Words


def _height(batch: TurnBatch) -> int:
    return batch.turns.height


def _units(state: State, factor: int) -> int:
    return factor * len(state.other_turns)


def test_what_is_remembered_keeps_no_owner_alive() -> None:
    batch = TurnBatch(pl.DataFrame({"text": ["a", "b"]}), Words({}))
    state = State({}, {}, np.zeros(3, np.int64))
    assert [batch.cached(_height), batch.cached(_height)] == [2, 2]
    assert [state.cached(_units, 2), state.cached(_units, factor=3)] == [6, 9]
    seen = [weakref.ref(batch), weakref.ref(state)]
    gc.disable()
    try:
        del batch, state
        assert [one() for one in seen] == [None, None]
    finally:
        gc.enable()
