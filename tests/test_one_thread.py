import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import linalg
from threadpoolctl import threadpool_info, threadpool_limits

from dialens.base import one_thread


def threads() -> set[int]:
    """Limits of the BLAS libraries that have one for the process, as NumPy's and SciPy's do."""
    return {pool["num_threads"] for pool in blas() if pool["threading_layer"] != "openmp"}


def blas() -> list[dict[str, Any]]:
    assert linalg.norm(np.ones(4)) == 2.0
    return [pool for pool in threadpool_info() if pool["user_api"] == "blas"]


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


def test_a_limit_of_each_thread_is_restored_by_that_thread() -> None:
    """A library on OpenMP, such as faiss brings along, counts threads for each thread."""
    pytest.importorskip("faiss")
    if not any(pool["threading_layer"] == "openmp" for pool in blas()):
        pytest.skip("no BLAS library here runs on OpenMP")
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with one_thread():
            inside.set()
            leave.wait(10)

    worker = threading.Thread(target=other)
    with one_thread():
        worker.start()
        assert inside.wait(10)
        assert {pool["num_threads"] for pool in blas()} == {1}
    leave.set()
    worker.join()
    assert {pool["num_threads"] for pool in blas()} == {2}
