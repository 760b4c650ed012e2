"""Objectives in a module of their own, which worker processes can import."""

import os
import time

import numpy as np

import bough


def noisy(path, seed):
    return sum(path) / 8 + 0.1 * np.random.default_rng(seed).standard_normal()


def total(path):
    return sum(path) / 8


def slow(path):
    time.sleep(0.2)
    return sum(path) / 8


def deadly(path):
    if path[0] == 2:
        os.kill(os.getpid(), 9)
    return sum(path) / 8


def hanging(path):
    if path[0] == 2:
        time.sleep(1000)
    return sum(path) / 8


class Unsendable(Exception):  # noqa: N818
    """Cannot be unpickled: it is made of two arguments, and says it was made of one."""

    def __init__(self, code, words):
        super().__init__(f"{code}: {words}")


def raising(path):
    raise Unsendable(404, "not found")


def curve(params, trial):
    """A loss that falls like 1 / step, in 27 steps."""
    x, y = params.values() if isinstance(params, dict) else (params[0] / 4, params[1] / 4)
    for step in range(1, 28):
        value = (x - 0.3) ** 2 + 0.2 * y + (0.5 + y) / step
        trial.report(step, value)
        if trial.should_stop():
            return value
    return value


def on_disc(params):
    """Return the distance from a corner, squared, which the constraint excludes."""
    x, y = params["x"], params["y"]
    return bough.Outcome((x - 1) ** 2 + (y - 1) ** 2, constraints=[x**2 + y**2 - 1.0])
