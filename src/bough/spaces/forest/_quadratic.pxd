"""The C side of `_quadratic.py`: all types stand there."""
