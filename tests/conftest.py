import os
import signal

# Threads cost more than they gain on matrices this small. (Before NumPy is imported.)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import HealthCheck, Phase, settings

quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("ci", deadline=None, max_examples=25, suppress_health_check=quiet)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=15)
settings.register_profile("thorough", settings.get_profile("ci"), max_examples=2000)
# For a first look: says that something is wrong at once, without looking for a small example.
settings.register_profile(
    "fast", settings.get_profile("ci"), max_examples=2000, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# A shell starts what it runs in the background with Ctrl-C ignored, and every process that the
# tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
