"""How a study is run now: the server knows its definition, the database what changed since."""

import threading

from dialens.studies import Study
from dialens.studies.store import Store


class RunningStudy:
    """A study with its operation as the database has it; thread-safe.

    Targets and limits are read from the database wherever they matter. This is for the rest, such
    as closing words: dashboard, API and commands change them while the server runs.
    """

    def __init__(self, study: Study, store: Store) -> None:
        """Follow the operation of `study`, which is registered in `store`."""
        self._lock = threading.Lock()
        self._store = store
        self._study = study
        self._operation = study.operation

    def now(self) -> Study:
        """The study as it is run at this moment."""
        operation = self._store.operation(self._study.hash)
        with self._lock:
            if operation != self._operation:
                self._study = self._study.with_operation(operation)
                self._operation = operation
            return self._study
