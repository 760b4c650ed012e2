"""Benchmarks: costs and regrets, each a script such as `python -m benchmarks.core`."""
