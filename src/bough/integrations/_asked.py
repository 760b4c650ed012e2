"""The space behind the parameters that trials of Optuna have asked for.

Nobody declares it: a trial asks for one parameter after the other, and which ones may depend on the
values that it got. What all trials ask for is always there. What only some ask for is taken to
depend on a choice that was made before: the one whose value tells best whether it is asked for.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from bough.spaces import Choice, Float, Int, Space
from bough.spaces.parameters import Parameter

#: Whole numbers of so few values may decide on other parameters, as in the number of layers.
FEW_VALUES = 32

Params = Mapping[str, Any]
Distributions = dict[str, BaseDistribution]


def space_of(rows: Sequence[Params], distributions: Distributions) -> Space:
    """Return the space of trials that have asked for these params, in this order."""
    return _space(list(rows), list(distributions), distributions)


def _space(rows: list[Params], names: list[str], distributions: Distributions) -> Space:
    always = [name for name in names if rows and all(name in row for row in rows)]
    deciders = [name for name in always if _may_decide(distributions[name])]
    depending: dict[str, list[str]] = {}
    for name in names:
        if name in always or not any(name in row for row in rows):
            continue
        decider = _decider(name, rows, deciders)
        if decider is None:
            always.append(name)  # chance, or a real number, decides: it is there, asked for or not
        else:
            depending.setdefault(decider, []).append(name)
    parameters: dict[str, Parameter] = {}
    for name in always:
        distribution = distributions[name]
        if name not in depending:
            parameters[name] = parameter_of(distribution)
            continue
        options = [_label(value) for value in _values(distribution)]
        inner = [
            _space([row for row in rows if row.get(name) == value], depending[name], distributions)
            for value in _values(distribution)
        ]
        choice = Choice(options)
        choice.spaces = tuple(inner)
        parameters[name] = choice
    return Space(**parameters)


def _decider(name: str, rows: list[Params], deciders: list[str]) -> str | None:
    """Return the choice whose value tells best whether a parameter is asked for."""
    best, found = 0.0, None
    for decider in deciders:
        with_it = {_label(row[decider]) for row in rows if name in row}
        without = [row for row in rows if _label(row[decider]) not in with_it]
        told = len(without) / sum(name not in row for row in rows)
        if told > 0.0 and told >= best:  # the last one, if several say the same
            best, found = told, decider
    return found


def _may_decide(distribution: BaseDistribution) -> bool:
    if isinstance(distribution, CategoricalDistribution):
        return True
    return isinstance(distribution, IntDistribution) and len(_values(distribution)) <= FEW_VALUES


def _values(distribution: Any) -> Sequence[Any]:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices
    return range(distribution.low, distribution.high + 1, distribution.step)


def _label(value: Any) -> Any:
    """Return a value as an option, by which 1 and True and 1.0 are not the same."""
    return value if isinstance(value, str) else (type(value).__name__, repr(value))


def parameter_of(distribution: BaseDistribution) -> Parameter:
    """Return the parameter of a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return Choice([_label(value) for value in distribution.choices])
    if isinstance(distribution, IntDistribution):
        return Int(
            distribution.low, distribution.high, log=distribution.log, step=distribution.step
        )
    assert isinstance(distribution, FloatDistribution)  # there are no others
    return Float(distribution.low, distribution.high, log=distribution.log, step=distribution.step)


def joined(old: BaseDistribution | None, new: BaseDistribution) -> BaseDistribution:
    """Return a distribution that has the values of both: ranges may change between trials."""
    if old is None or isinstance(new, CategoricalDistribution) or old == new:
        return new
    assert isinstance(old, (FloatDistribution, IntDistribution))  # a kind does not change
    low, high = min(old.low, new.low), max(old.high, new.high)  # type: ignore[attr-defined]
    if isinstance(new, IntDistribution):
        aligned = old.step == new.step and (old.low - new.low) % new.step == 0
        return IntDistribution(
            int(low), int(high), log=new.log, step=new.step if aligned else 1
        )  # (high may lie beside the grid, which is only that of the space inside)
    assert isinstance(new, FloatDistribution)
    same = old.step == new.step and old.low == new.low
    return FloatDistribution(low, high, log=new.log, step=new.step if same else None)


def params_in(space: Space, row: Params) -> dict[str, Any] | None:
    """Return the params of a trial as the space has them; None if they do not fit.

    What was not asked for, though the space has it, is taken from the middle.
    """
    found: dict[str, Any] = {}
    active = list(space._first)
    for number in active:  # (it grows)
        slot = space._slots[number]
        parameter = slot.parameter
        if slot.name not in row:
            count = parameter.count
            value = parameter.value(0.5 if count is None else (count - 1) // 2)  # type: ignore[arg-type]
        elif isinstance(parameter, Choice):
            value = _label(row[slot.name])
        else:
            value = nearest(parameter, row[slot.name])
        if isinstance(parameter, Choice):
            try:
                choice = parameter.position(value, slot.name)
            except ValueError:
                return None
            active.extend(slot.inner[choice])
        found[slot.name] = value
    return found


def nearest(parameter: Float | Int, value: float) -> float:
    """Return the value of a parameter that is nearest to a number."""
    value = min(max(value, parameter.low), parameter.high)
    if parameter.step is None or parameter.count is None:
        return value
    index = min(max(round((value - parameter.low) / parameter.step), 0), parameter.count - 1)
    return parameter.value(index)


def suggestion(distribution: BaseDistribution, value: Any) -> Any:
    """Return what comes nearest to a value of the space among those that a trial may get."""
    if isinstance(distribution, CategoricalDistribution):
        return _by_label(distribution.choices, value)
    if isinstance(value, (str, tuple)):  # a whole number that decides on others
        value = _by_label(_values(distribution), value)
    parameter = parameter_of(distribution)
    assert not isinstance(parameter, Choice)
    found = nearest(parameter, value)
    return int(found) if isinstance(parameter, Int) else float(found)


def _by_label(values: Sequence[Any], label: Any) -> Any:
    for value in values:
        if _label(value) == label:
            return value
    return values[0]
