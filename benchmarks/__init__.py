"""What bough costs, measured: `python -m benchmarks.core` and its neighbours."""
