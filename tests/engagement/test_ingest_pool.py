"""Polars' allocator is set for our commands and their processes, unless the user has set it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

NAME = "_RJEM_MALLOC_CONF"
OURS = "dirty_decay_ms:10000"
IMPORT = f"""
import os
import dialens, dialens.cli._app, dialens.engagement.curation._ingest
print(os.environ["{NAME}"])
"""
WORKER = f"""
import os, subprocess
import polars
from dialens.base import worker_environment
before = os.environ["{NAME}"]
with worker_environment(1):
    print(subprocess.check_output(["printenv", "{NAME}"], text=True))
assert os.environ["{NAME}"] == before
"""

COMMAND = f"""
import os, sys
from dialens.cli import main
sys.argv[1:] = ["--version"]
try:
    main()
except SystemExit:
    print(os.environ["{NAME}"])
"""


def printed(program: str, own: str | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != NAME}
    if own is not None:
        environment[NAME] = own
    command = [sys.executable, "-c", program]
    return subprocess.check_output(command, env=environment, text=True)


def test_importing_dialens_leaves_the_allocator_alone() -> None:
    assert printed(IMPORT) == printed(f"import os, polars; print(os.environ['{NAME}'])")


@pytest.mark.parametrize(("own", "last"), [(None, OURS), ("dirty_decay_ms:0", "dirty_decay_ms:0")])
def test_workers_keep_free_memory_unless_the_user_says_otherwise(
    own: str | None, last: str
) -> None:
    """Of settings that contradict each other the last one counts."""
    settings = printed(WORKER, own).strip().split(",")
    assert [entry for entry in settings if "dirty" in entry][-1] == last


@pytest.mark.parametrize("own", [None, "dirty_decay_ms:0", "muzzy_decay_ms:0"])
def test_a_command_sets_it_before_polars_is_loaded(own: str | None) -> None:
    settings = printed(COMMAND, own).splitlines()[-1].split(",")
    assert (
        settings
        == {
            None: [OURS],
            "dirty_decay_ms:0": ["dirty_decay_ms:0"],
            "muzzy_decay_ms:0": ["muzzy_decay_ms:0", OURS],
        }[own]
    )
