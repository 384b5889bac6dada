import sys
import threading

import numpy as np

from dialens import one_thread


def test_the_last_to_leave_takes_the_setting_back(monkeypatch) -> None:
    threads = [4]

    def write(count: int) -> None:
        threads[0] = count

    monkeypatch.setattr(one_thread, "_controls", lambda _: [(lambda: threads[0], write)])
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with one_thread.one_thread():
            inside.set()
            leave.wait(10)

    with one_thread.one_thread():
        worker = threading.Thread(target=other)
        worker.start()
        assert inside.wait(10)
        assert threads == [1]
    assert threads == [1]  # the other is still inside
    leave.set()
    worker.join()
    assert threads == [4]


def test_numpy_is_found_where_its_wheel_brings_openblas() -> None:
    assert "numpy" in sys.modules
    assert np.linalg.norm(np.ones(4)) == 2.0
    for read, _ in one_thread._controls(("numpy",)):
        before = read()
        with one_thread.one_thread():
            assert read() == 1
        assert read() == before
