"""Parameters written in a text, for names such as `drawn:gaussian:3` and `uct:exploration=0.4`."""


def parameters(text: str) -> tuple[list[object], dict[str, object]]:
    """Read parameters with colons between them: those by position, and those by name.

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
