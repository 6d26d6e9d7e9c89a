"""A store that was removed on purpose: the person is told how to begin anew, and nothing begins by itself."""

from __future__ import annotations

import shutil
from pathlib import Path

from tally_program import Tally

from tally_cli.exits import Exit


def test_a_new_store_begins_where_a_person_says_so(tally: Tally, space: str) -> None:
    """The refusal names the verb and the id; after it a new store begins, and what was noted is kept."""
    store = tally.ok("status", "--json").object["store_id"]
    tally.ok("down")
    shutil.rmtree(tally.data_dir)
    refused = tally("init")
    assert refused.code == Exit.NOT_STARTED
    assert f"`tally anew {store}`" in refused.err
    assert tally("init").code == Exit.NOT_STARTED, "telling is no doing"
    told = tally.ok("anew", store, "--json").object
    assert told["given_up"] == store
    assert store in Path(told["kept"]).read_text()
    tally.ok("init")
    assert tally.ok("status", "--json").object["store_id"] != store
    assert tally.ok("space", "list").out == "", space


def test_a_store_that_is_there_is_not_given_up(tally: Tally, space: str) -> None:
    """Neither while a daemon runs, nor while anything stands in its directory, nor under another id."""
    store = tally.ok("status", "--json").object["store_id"]
    assert "tally down" in tally("anew", store).err
    tally.ok("down")
    in_place = tally("anew", store, "--json")
    assert (in_place.code, in_place.error["kind"]) == (Exit.USAGE, "not-given-up")
    for wrong in (store[:-1], "../x", "store-" + "0" * 32):
        assert tally("anew", wrong).code == Exit.USAGE
    elsewhere = tally("anew", store, "--data-dir", str(tally.root / "other"), "--json")
    assert (elsewhere.code, elsewhere.error["kind"]) == (Exit.USAGE, "no-store")
    assert tally.ok("space", "show", "--json").object["space_id"] == space
