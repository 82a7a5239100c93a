"""The session file's records as a JSON Schema, made from the dataclasses that read and write them."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from .codec import LARGEST, Mark
from .records import CLASS_BY_KIND, SCHEMA

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def session_schema() -> dict[str, Any]:
    """Return the schema of one line of a session file: known kinds are checked, unknown kinds and fields allowed."""
    definitions: dict[str, Any] = {}
    for kind, cls in CLASS_BY_KIND.items():
        name = _define(cls, definitions)
        definitions[name]["properties"] = {"kind": {"const": kind}, **definitions[name]["properties"]}
        definitions[name]["required"] = ["kind", *definitions[name].get("required", [])]
    return {
        "$schema": DIALECT,
        "title": f"A line of a specview session, schema {SCHEMA}",
        "description": (
            "Each line of NAME.specview.jsonl is one such object: the header first, the footer last. Readers ignore "
            "kinds and fields they do not know."
        ),
        "type": "object",
        "properties": {"kind": {"type": "string"}},
        "required": ["kind"],
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind}}},
                "then": {"$ref": f"#/$defs/{cls.__name__}"},
            }
            for kind, cls in CLASS_BY_KIND.items()
        ],
        "$defs": definitions,
    }


def schema_text() -> str:
    """Return the schema as the text of the file that is published, docs/schemas/session.schema.json."""
    return json.dumps(session_schema(), indent=2, ensure_ascii=False) + "\n"


def _define(cls: type[Any], definitions: dict[str, Any]) -> str:
    """Add a dataclass, and those its fields are made of, under its name."""
    name = cls.__name__
    if name in definitions:
        return name
    made: dict[str, Any] = {"description": _first_sentence(cls), "type": "object"}
    definitions[name] = made
    hints = get_type_hints(cls, include_extras=True)
    made["properties"] = {each.name: _form(hints[each.name], definitions) for each in fields(cls)}
    required = [each.name for each in fields(cls) if each.default is MISSING and each.default_factory is MISSING]
    if required:
        made["required"] = required
    return name


def _form(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of one annotation; one that no record may use is a TypeError."""
    marks: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *rest = get_args(hint)
        marks = tuple(rest)
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is str:
        return {"type": "string"}
    if hint is bool:
        return {"type": "boolean"}
    if hint is int:
        return {"type": "integer", "minimum": 0, "maximum": LARGEST}
    if hint is float:
        return {"type": "number"} if Mark.SIGNED in marks else {"type": "number", "minimum": 0}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, UnionType) and len(arguments) == 2 and arguments[1] is NoneType:
        return {"anyOf": [_form(arguments[0], definitions), {"type": "null"}]}
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        if Mark.OBJECT in marks:
            value = get_args(arguments[0])[1]
            return {"type": "object", "additionalProperties": _form(value, definitions)}
        return {"type": "array", "items": _form(arguments[0], definitions)}
    if isinstance(hint, type):
        return {"$ref": f"#/$defs/{_define(hint, definitions)}"}
    raise TypeError(f"no record may have a field of type {hint}")


def _first_sentence(cls: type[Any]) -> str:
    return " ".join((cls.__doc__ or cls.__name__).split("\n\n")[0].split())
