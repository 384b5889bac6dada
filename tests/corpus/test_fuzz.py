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


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@settings(
    max_examples=40,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(mutations=MUTATIONS, skip=st.booleans(), writes=st.sampled_from([True, False, False, False]))
def test_no_file_breaks_a_reader(
    target: Target,
    tmp_path_factory: pytest.TempPathFactory,
    mutations: list[Mutation],
    skip: bool,
    writes: bool,
) -> None:
    """A traceback of any kind fails this test; `outcome` checks what is said and left behind."""
    root: Path = tmp_path_factory.mktemp("fuzz")
    source, file = target.put(root / "in")
    data = file.read_bytes()
    for mutation in mutations:
        data = damaged(data, mutation)
    file.write_bytes(data)
    assert outcome(source, file, root / "out", skip=skip, writes=writes) in ("read", "refused")
