"""A plan as the TOML text from which `gaudit audit` runs it again."""

import json
from collections.abc import Iterator
from typing import Any

from ...audit.planning.plan import Plan


def plan_text(plan: Plan) -> str:
    """TOML that reads back as the same plan; what has its default value is left out."""
    content = plan.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    tables = {k: v for k, v in content.items() if isinstance(v, dict) and v}
    lists = {k: v for k, v in content.items() if isinstance(v, list) and v and isinstance(v[0], dict)}
    plain = {k: v for k, v in content.items() if k not in tables and k not in lists and v not in ({}, [])}
    lines = [*_lines(plain)]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *_lines(table)]
    for name, rows in lists.items():
        for row in rows:
            lines += ["", f"[[{name}]]", *_lines(row)]
    return "\n".join(lines).strip() + "\n"


def _lines(values: dict[str, Any]) -> Iterator[str]:
    return (f"{_key(name)} = {_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(_lines({k: v for k, v in value.items() if v is not None})) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    # a JSON string is one of TOML but for the delete character
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else _value(name)
