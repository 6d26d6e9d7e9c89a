"""KCP's schemas as a judge of what the daemon says: every reply and every event that a test harness receives.

`check_reply` and `check_event` raise `jsonschema.ValidationError` where a reply or an event is not what KCP's
schema says. They know nothing of our types. Operations that are not KCP's, and the two that have no schema
(claim and complete), are held to the reply's envelope alone.
"""

import calendar
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

from .kcp_vectors import NO_DATA, data_root

_FORMATS: Final = FormatChecker(formats=())


@_FORMATS.checks("date-time")
def _is_date(value: object) -> bool:
    """Whether the day of a timestamp exists; the rest is in the schema's pattern."""
    day = re.match(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", value) if isinstance(value, str) else None
    if day is None:
        return not isinstance(value, str)
    year, month, number = (int(part) for part in day.groups())
    # The proleptic calendar repeats every 400 years, and `calendar` knows no year 0.
    return 1 <= number <= calendar.monthrange(year % 400 + 400, month)[1]


def _root() -> Path:
    root = data_root()
    if root is None:
        raise FileNotFoundError(NO_DATA)
    return root / "schemas"


@cache
def _registry() -> Registry[Any]:
    """All schemas by their ids, so that references among them resolve without a network."""
    contents = (json.loads(file.read_text(encoding="utf-8")) for file in sorted(_root().rglob("*.json")))
    resources = (Resource.from_contents(content) for content in contents)
    return Registry[Any]().with_resources((str(resource.id()), resource) for resource in resources)


@cache
def validator(name: str) -> Draft202012Validator:
    """The validator of the schema in ``<name>.schema.json``, relative to the directory of schemas."""
    schema = json.loads((_root() / f"{name}.schema.json").read_text(encoding="utf-8"))
    return Draft202012Validator(schema, registry=_registry(), format_checker=_FORMATS)


def has_schema(operation: str) -> bool:
    """Whether KCP has a schema for that operation's result."""
    return (_root() / "ops" / f"{operation.replace('_', '-')}-result.schema.json").is_file()


def check_reply(operation: str, reply: object) -> None:
    """`reply`, parsed, as an answer to `operation`. Raises `jsonschema.ValidationError`."""
    validator("kcp-command-result").validate(reply)
    assert isinstance(reply, dict), "the schema has said so"
    if reply["outcome"] == "problem":
        validator("kcp-problem").validate(reply["problem"])
    elif has_schema(operation):
        validator(f"ops/{operation.replace('_', '-')}-result").validate(reply["result"])


def check_event(event: object) -> None:
    """`event`, parsed, as KCP's event envelope. Raises `jsonschema.ValidationError`."""
    validator("kcp-event").validate(event)
