"""The sample of dialogues that a report shows, drawn without looking at all of them at once."""

import numpy as np
import polars as pl

from dialens.report._drilldown import sample_dialogs


def test_it_is_the_first_of_each_agent_in_a_random_order() -> None:
    agents = [0] * 500 + [1] * 3 + [2] * 60
    frame = pl.DataFrame({"agent": agents, "dialog": [f"d{n}" for n in range(len(agents))]})
    chances = np.random.default_rng([5, 1]).random(frame.height)
    order = sorted(range(frame.height), key=lambda row: chances[row])
    seen: dict[int, int] = {}
    turn = []
    for row in order:
        seen[agents[row]] = seen.get(agents[row], 0) + 1
        turn.append((seen[agents[row]], chances[row], row))
    expected = sorted(row for _, _, row in sorted(turn)[:40])
    drawn = sample_dialogs(frame.lazy(), 40, seed=5)
    assert list(drawn.dialogs) == [f"d{row}" for row in expected]
    assert (drawn.total, drawn.whole) == (563, False)


def test_all_are_taken_where_there_is_room() -> None:
    frame = pl.DataFrame({"agent": [0, 1], "dialog": ["x", "y"]})
    assert sample_dialogs(frame.lazy(), 2, seed=0).whole
