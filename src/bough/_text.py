"""Texts: parameters in names such as `drawn:gaussian:3`, and printable forms of any text."""

import re
from collections.abc import Mapping
from typing import Any

#: Characters that would control a terminal, change the direction of writing, or break a line; and
#: surrogates, which names of files may have.
UNPRINTABLE = (
    "\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff"
)
_UNPRINTABLE = re.compile(f"[{UNPRINTABLE}]")


def printable(text: object) -> str:
    r"""Return a text on one line, with escapes for unprintable characters.

    >>> printable("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    return _UNPRINTABLE.sub(escaped, str(text))


def brief(text: str | None) -> str:
    r"""Return the beginning of a text on one line.

    >>> brief("ValueError: no\nsecond line")
    'ValueError: no'
    """
    first = printable((text or "").strip().partition("\n")[0])
    return first if len(first) <= 100 else f"{first[:97]}..."


def listed(params: Mapping[str, Any]) -> str:
    """Return params on one line.

    >>> listed({"rate": 0.1, "layers": 3})
    'rate 0.1, layers 3'
    """
    return ", ".join(
        printable(f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}")
        for name, value in params.items()
    )


def escaped(match: "re.Match[str]") -> str:
    """Return a character as Python writes it."""
    return match[0].encode("unicode_escape").decode()


def parameters(text: str) -> tuple[list[object], dict[str, object]]:
    """Parse parameters separated by colons: return those by position, and those by name.

    >>> parameters("3:depth=5:select=arm")
    ([3], {'depth': 5, 'select': 'arm'})
    """
    places: list[object] = []
    names: dict[str, object] = {}
    for part in text.split(":") if text else []:
        name, equals, value = part.partition("=")
        if not (value if equals else part) or (equals and not name.isidentifier()):
            raise ValueError(f"parameters are written as 3 or depth=5, got {part!r}")
        if not equals:
            if names:
                raise ValueError(f"{part!r} stands after parameters with names: put it before them")
            places.append(_read(part))
        elif name in names:
            raise ValueError(f"{name} is given twice")
        else:
            names[name] = _read(value)
    return places, names


def _read(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
