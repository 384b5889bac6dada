"""Valid files of every format, damaged at random: read, or refused in a sentence that names them.

`benchmarks/fuzz_readers.py` does the same a hundred thousand times.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.corpus.mutations import KINDS, TARGETS, Mutation, Target, damaged, outcome

MUTATIONS = st.lists(
    st.builds(
        Mutation,
        st.sampled_from(KINDS),
        st.floats(0, 0.999),
        st.integers(0, 100),
        st.integers(0, 999),
    ),
    min_size=1,
    max_size=3,
)


SETTINGS = settings(
    max_examples=40,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
CASES = given(
    mutations=MUTATIONS, skip=st.booleans(), writes=st.sampled_from([True, False, False, False])
)
FOLDERS = ("corpus manifest.json", "data set, snapshot", "data set, saved")
"""Of several files each, which are all read again: these take longest."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "target",
    [target for target in TARGETS if target.name not in FOLDERS],
    ids=lambda target: target.name,
)
@SETTINGS
@CASES
def test_no_file_breaks_a_reader(
    target: Target,
    tmp_path_factory: pytest.TempPathFactory,
    mutations: list[Mutation],
    skip: bool,
    writes: bool,
) -> None:
    """A traceback of any kind fails this test; `outcome` checks what is said and left behind."""
    run(target, tmp_path_factory.mktemp("fuzz"), mutations, skip=skip, writes=writes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "target",
    [target for target in TARGETS if target.name in FOLDERS],
    ids=lambda target: target.name,
)
@settings(SETTINGS, max_examples=10)
@CASES
def test_no_file_breaks_the_reader_of_a_folder(
    target: Target,
    tmp_path_factory: pytest.TempPathFactory,
    mutations: list[Mutation],
    skip: bool,
    writes: bool,
) -> None:
    run(target, tmp_path_factory.mktemp("fuzz"), mutations, skip=skip, writes=writes)


def run(target: Target, root: Path, mutations: list[Mutation], *, skip: bool, writes: bool) -> None:
    source, file = target.put(root / "in")
    data = file.read_bytes()
    for mutation in mutations:
        data = damaged(data, mutation)
    file.write_bytes(data)
    assert outcome(source, file, root / "out", skip=skip, writes=writes) in ("read", "refused")
