import threading
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import linalg
from threadpoolctl import threadpool_info, threadpool_limits

from dialens.base import one_thread


def threads() -> set[int]:
    """Of every BLAS library that NumPy and SciPy have loaded."""
    assert linalg.norm(np.ones(4)) == 2.0
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    with threadpool_limits(limits=2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("the BLAS library here cannot be limited")
        yield


def test_one_thread_inside_and_as_many_as_before_outside() -> None:
    with one_thread():
        assert threads() == {1}
    assert threads() == {2}


def test_the_last_to_leave_restores_the_limit() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with one_thread():
            inside.set()
            leave.wait(10)

    with one_thread():
        worker = threading.Thread(target=other)
        worker.start()
        assert inside.wait(10)
        assert threads() == {1}
    assert threads() == {1}  # the other is still inside
    leave.set()
    worker.join()
    assert threads() == {2}


def test_an_error_inside_restores_the_limit() -> None:
    with pytest.raises(ValueError, match="inside"), one_thread():
        raise ValueError("inside")
    assert threads() == {2}
