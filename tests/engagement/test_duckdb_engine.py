"""A shard that was damaged after ingest: who is told what."""

import pytest

from dialens.base import DialensError
from dialens.engagement.curation import Models, label
from tests.engagement.hand_made import COMMENTS, SUBMISSIONS, write_work


def damage(path, start):
    whole = path.read_bytes()
    path.write_bytes(whole[:start] + b"\xa5" * 40 + whole[start + 40 :])


@pytest.mark.parametrize("where", ["footer", "values"])
def test_a_damaged_shard_is_named(tmp_path, where):
    work = write_work(tmp_path / "work", COMMENTS, SUBMISSIONS)
    shard = min((work / "comments").iterdir())
    # The footer lies at the end, before eight bytes that tell its size.
    damage(shard, shard.stat().st_size - 60 if where == "footer" else 400)
    with pytest.raises(DialensError, match=r"cannot be read: .*delete it and run") as told:
        label(work, tmp_path / "red", models=Models(None, None))
    assert shard.name in str(told.value)
