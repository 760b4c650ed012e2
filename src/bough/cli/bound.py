"""The command `bough bound`: information gain and regret bounds of a setting."""

import math
from decimal import Decimal, InvalidOperation
from typing import Any

import click

from bough import theory
from bough.cli.options import json_option, shared
from bough.cli.shell import POSITIVE, Finite, parse_kernel, print_facts
from bough.kernels import Discounted, Kernel
from bough.theory._setting import MOST_PLAYS, check_setting
from bough.theory.gain import METHODS as GAINS

#: The description of each row.
WORDS = {
    "exact": "exact, I*(T)",
    "greedy": "greedy over eigenvectors",
    "waterfilling": "over all unit weights",
    "uniform": "plays split evenly",
    "hadamard": "any kernel",
    "theorem": "Theorem 1, any variance",
    "sum-beta": "each play's own beta",
    "envelope": "concave envelope, capped",
    "weighted-envelope": "concave envelope, weighted",
    "trivial": "no play is worse than the prior",
    "best": "the least of these",
    "agnostic": "any function of that norm",
    "ucb": "UCB, arms unrelated",
    "bast": "BAST, given the smallest gap",
    "olop": "OLOP, rate without constants",
}


@click.command("bound")
@shared("--branching", required=True)
@shared("--depth", required=True)
@shared("--kernel", required=True)
@shared("--noise", required=True)
@click.option("--plays", required=True, help="Number of plays, such as 1000 or 1e9.")
@click.option(
    "--delta",
    type=Finite(0, 1, min_open=True, max_open=True),
    default=0.05,
    help="Failure probability of the bounds.",
)
@click.option(
    "--regret", type=POSITIVE, help="Average regret for which to compute the number of plays."
)
@click.option(
    "--smallest-gap", "gap", type=POSITIVE, help="Smallest gap between arms, for BAST's bound."
)
@click.option("--norm", type=Finite(min=0), help="Norm of the rewards, for the agnostic bound.")
@json_option
def command(
    branching: int,
    depth: int,
    kernel: str,
    noise: float,
    plays: str,
    delta: float,
    regret: float | None,
    gap: float | None,
    norm: float | None,
    as_json: bool,
) -> None:
    """Bound information gain and regret for a tree, a kernel and a noise.

    \b
    bough bound --branching 200 --depth 10 --kernel gaussian:5 --noise 1 --plays 1e9
    """  # noqa: D301 - click wants a real backspace before lines that it must not join
    T = _count(plays)
    setting = (parse_kernel(kernel, fitted=False), branching, depth, noise)
    try:
        log_arms = check_setting(*setting).log_arms
        bounds = theory.regret_bound(*setting, T, delta, norm=norm, breakdown=True)
        gains = {name: theory.information_gain(*setting, T, method=name) for name in GAINS}
        facts = {
            "kernel": kernel,
            "branching": branching,
            "depth": depth,
            "noise": noise,
            "plays": T,
            "delta": delta,
            "log10_arms": log_arms / math.log(10),
            "information_gain": gains,
            "regret": bounds,
            "average_regret": bounds["best"] / T,
            "peers": _peers(*setting, T, delta, gap),
        }
        if regret is not None:
            facts["plays_needed"] = _plays_needed(*setting, regret, delta)
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None
    print_facts(_finite(facts), _page(facts), as_json=as_json)


def _plays_needed(*setting: Any) -> int | None:
    """Return the number of plays for an average regret; None if it is above 10^100."""
    try:
        return theory.plays_needed(*setting)
    except ValueError as error:
        if "10^100" not in str(error):
            raise
        return None


def _peers(
    kernel: Kernel, B: int, D: int, noise: float, plays: int, delta: float, gap: float | None
) -> dict[str, float | None]:
    """Return the peers' bounds; half of delta is for the spread of the rewards, half for noise."""
    spread = theory.regret_bound(kernel, B, D, noise, 1, delta / 2, method="trivial")
    arms = min(B**D, 10 * MOST_PLAYS) if D * math.log10(B) < 300 else 10 * MOST_PLAYS
    peers: dict[str, float | None] = {
        "ucb": theory.ucb_bound(arms, plays, noise=noise, spread=spread, delta=delta / 2, gap=gap),
        "bast": None,
        "olop": None,
    }
    if gap is not None:
        deltas = theory.smoothness(kernel, D, delta / 2, branching=B, among="arms").tolist()
        peers["bast"] = theory.bast_bound(
            B, D, deltas, gap, noise=noise, spread=spread, delta=delta / 2
        )
    if isinstance(kernel, Discounted) and kernel.discount and B > 1 and D > 0:
        peers["olop"] = theory.olop_rate_bound(B, kernel.discount, D, plays)
    return peers


def _count(text: str) -> int:
    """Return the number of plays in 1000, 1_000 or 1e9, without rounding."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise click.UsageError(f"--plays must be a number such as 1e9, got {text!r}.") from None
    if not number.is_finite() or number != number.to_integral_value():
        raise click.UsageError(f"--plays must be a whole number, got {text!r}.")
    if number < 1:  # before int(), which writes out all digits of -1e99999999
        raise click.UsageError(f"--plays must be at least 1, got {text!r}.")
    if number > MOST_PLAYS:
        raise click.UsageError(f"--plays must be at most 1e100, got {text!r}.")
    return int(number)


def _page(facts: dict[str, Any]) -> str:
    """Return the bounds as text."""
    arms = facts["log10_arms"]
    small = arms < 15
    count = f"{facts['branching'] ** facts['depth']:,}" if small else f"about 10^{arms:.0f}"
    lines = [
        f"{count} arms, {facts['kernel']}, noise {facts['noise']:g}, "
        f"{_number(facts['plays'])} plays, confidence {1 - facts['delta']:g}",
    ]
    sections = {
        "information gain, in nats": facts["information_gain"],
        "cumulative regret at most": facts["regret"],
        "other algorithms, under their own assumptions": facts["peers"],
    }
    for title, rows in sections.items():
        lines += ["", title]
        lines += [f"  {name:<20}{_number(x):>12}  {WORDS[name]}" for name, x in rows.items()]
    lines += ["", f"average regret at most {facts['average_regret']:.4g}"]
    if "plays_needed" in facts:
        needed = facts["plays_needed"]
        lines.append(f"plays needed: {'more than 1e100' if needed is None else _number(needed)}")
    return "\n".join(lines)


def _number(value: "float | int | None") -> str:
    if value is None:
        return "-"
    if isinstance(value, int) and abs(value) < 10**7:
        return f"{value:,}"
    return f"{float(value):.5g}"


def _finite(value: Any) -> Any:
    """Return the same with None for infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
