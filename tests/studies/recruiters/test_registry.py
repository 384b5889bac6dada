"""Every kind of recruiter keeps what all of them promise."""

import pytest

from dialens.studies.recruiters import RecruiterKind, recruiters
from dialens.testing import check_recruiter


@pytest.mark.parametrize("kind", recruiters().values(), ids=recruiters())
def test_it_keeps_its_promises(kind: RecruiterKind) -> None:
    check_recruiter(kind)
