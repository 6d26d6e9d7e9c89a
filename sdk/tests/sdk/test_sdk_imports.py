"""What importing the SDK costs: a program at the shell pays for what it uses alone."""

import subprocess
import sys

import pytest

import tallystick
from tallystick.protocol import families

HEAVY = ("trio", "asyncio", "cryptography", "apsw", "click", "msgspec", "tallystick.protocol.records")


def loaded(source: str) -> set[str]:
    """The modules that a fresh interpreter has after running the source."""
    script = f"{source}\nimport sys\nprint(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(out.stdout.split())


@pytest.mark.parametrize(
    "source",
    [
        "import tallystick",
        "import tallystick.blocking, tallystick.calls.methods",
        "from tallystick import Client, WorkerClient, Reply, SpaceRef, Unreachable, KeyStore",
        "from tallystick import Assistant, ask, run_one",
        "from tallystick import calls, core; core.prepare(calls.contributions.append("
        "calls.SpaceRef('p', 's', 'b'), 'claim', 'x'))",
    ],
)
def test_importing_loads_nothing_heavy(source: str) -> None:
    """Neither trio nor msgspec nor anything else that takes tens of milliseconds is there before it is
    needed."""
    assert loaded(source).isdisjoint(HEAVY)


def test_every_public_name_can_be_had() -> None:
    """Each name that the package promises is there, and no other."""
    for name in tallystick.__all__:
        assert getattr(tallystick, name).__name__ == name
    assert set(tallystick.__all__) <= set(dir(tallystick))
    with pytest.raises(AttributeError):
        tallystick.nothing_of_that_name  # noqa: B018


def test_trio_is_only_had_by_its_name() -> None:
    """The trio client's module imports trio, and nothing else does."""
    assert "trio" in loaded("import tallystick.trio_client")


def test_a_module_of_calls_is_loaded_when_it_is_used() -> None:
    """Building one family's call, and asking it, loads no other family's."""
    modules = loaded(
        "import tallystick.blocking; from tallystick import calls; calls.lenses.lens_show('p', 'l')"
    )
    found = {name.rpartition(".")[2] for name in modules if name.startswith("tallystick.calls.")}
    assert found & set(families.NAMES) == {"lenses"}
