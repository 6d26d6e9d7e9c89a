"""What the SDK's tests share: where KCP's published data lies, and how Hypothesis looks for examples."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples every time: a run says something about the change, not about luck. To look for more,
# set HYPOTHESIS_PROFILE=search.
settings.register_profile("house", derandomize=True, deadline=None, database=None)
settings.register_profile("search", max_examples=5_000, deadline=None, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


@pytest.fixture(scope="session")
def kcp_data() -> Path:
    """The directory of KCP's schemas, vectors and transcripts: $KCP_DATA, else beside the repository."""
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "kcp"
    directory = Path(os.environ.get("KCP_DATA", beside))
    if not directory.is_dir():
        pytest.skip(
            "KCP's data is not here: set KCP_DATA to the directory that holds vectors and transcripts"
        )
    return directory
