"""The space behind the parameters that trials of Optuna have asked for.

Nobody declares it: a trial asks for one parameter after the other, and which ones may depend on the
values that it got. What all trials ask for is always there. What only some ask for is taken to
depend on a choice that was made before: the one whose value tells best whether it is asked for.

Choices are between the *numbers* of options, so that options may be anything that Optuna takes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial

from bough.spaces import Choice, Float, Int, Space
from bough.spaces.parameters import LARGEST_INT, Parameter

#: Whole numbers of so few values may decide on other parameters, as in the number of layers.
FEW_VALUES = 32

Params = Mapping[str, Any]
Distributions = dict[str, BaseDistribution]


def row_of(trial: FrozenTrial) -> dict[str, Any]:
    """Return the params of a trial; of choices, the number of the option."""
    row = dict(trial.params)
    for name, distribution in trial.distributions.items():
        if isinstance(distribution, CategoricalDistribution):
            row[name] = int(distribution.to_internal_repr(row[name]))
    return row


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
        options = _values(distribution)
        inner = [
            _space([row for row in rows if row[name] == value], depending[name], distributions)
            for value in options
        ]
        parameters[name] = Choice.with_spaces(options, inner)
    return Space(**parameters)


def _decider(name: str, rows: list[Params], deciders: list[str]) -> str | None:
    """Return the choice whose value tells best whether a parameter is asked for."""
    best, found = 0.0, None
    for decider in deciders:
        with_it = {row[decider] for row in rows if name in row}
        without = [row for row in rows if row[decider] not in with_it]
        told = len(without) / sum(name not in row for row in rows)
        if told > 0.0 and told >= best:  # the last one, if several say the same
            best, found = told, decider
    return found


def _may_decide(distribution: Any) -> bool:
    if isinstance(distribution, CategoricalDistribution):
        return True
    if not isinstance(distribution, IntDistribution):
        return False
    return (distribution.high - distribution.low) // distribution.step < FEW_VALUES


def _values(distribution: Any) -> Sequence[int]:
    """Return what one chooses between: the numbers of options, or whole numbers."""
    if isinstance(distribution, CategoricalDistribution):
        return range(len(distribution.choices))
    return range(distribution.low, distribution.high + 1, distribution.step)


def parameter_of(distribution: Any) -> Parameter:
    """Return the parameter of a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return Choice(_values(distribution))
    low, high, log, step = (
        distribution.low, distribution.high, distribution.log, distribution.step
    )  # fmt: skip
    if isinstance(distribution, IntDistribution):
        if max(abs(low), abs(high)) <= LARGEST_INT:
            return Int(low, high, log=log, step=step)
        return Float(low, high, log=log)  # which is rounded in the end
    assert isinstance(distribution, FloatDistribution)  # there are no others
    try:
        return Float(low, high, log=log, step=step)
    except ValueError:  # floats are too coarse for the step, or the scale
        return Float(low, high)


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

    (Somebody may have enqueued values from outside of the range.) What was not asked for, though
    the space has it, is taken from the middle.
    """
    found: dict[str, Any] = {}
    active = list(space.roots)
    for number in active:  # (it grows)
        slot = space.slots[number]
        parameter = slot.parameter
        if slot.name in row:
            value = row[slot.name]
            try:
                position = parameter.position(value, slot.name)
            except ValueError:
                return None
        else:
            count = parameter.count
            position = 0.5 if count is None else (count - 1) // 2
            value = parameter.value(position)  # type: ignore[arg-type]
        if isinstance(parameter, Choice):
            active.extend(slot.inner[int(position)])
        found[slot.name] = value
    return found


def suggestion(distribution: Any, value: Any) -> Any:
    """Return what comes nearest to a value of the space among those that a trial may get."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[value]
    low, high, step = distribution.low, distribution.high, distribution.step
    value = min(max(value, low), high)
    if isinstance(distribution, IntDistribution):
        return min(low + round((value - low) / step) * step, high)
    parameter = parameter_of(distribution)
    assert isinstance(parameter, Float)
    if parameter.count is not None:  # a grid
        value = parameter.value(min(round((value - low) / (step or 1.0)), parameter.count - 1))
    return float(value)
