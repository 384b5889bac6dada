"""How Polars keeps its memory is said before it is loaded, unless somebody has said it before."""

import os
import subprocess
import sys

import pytest

NAME = "_RJEM_MALLOC_CONF"
ASK = f"import os, sys, dialens; print('polars' in sys.modules, os.environ['{NAME}'])"


@pytest.mark.parametrize("own", [None, "dirty_decay_ms:0"])
def test_a_setting_of_the_users_own_stays(own: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != NAME}
    if own is not None:
        environment[NAME] = own
    said = subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True
    ).stdout.split()
    assert said == ["False", own or "dirty_decay_ms:10000"]
