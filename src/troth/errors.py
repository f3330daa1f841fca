"""The one exception of troth: a refusal in one line."""


class TrothError(ValueError):
    """Bad input or a request that cannot be met.

    The message is one line that names the place, the reason and the remedy. The command line prints it after ``troth:``
    and exits with code 2.
    """


class DeviceMemoryError(TrothError):
    """A GPU's memory is too small: Suitor then goes on in batches, and else ``device="auto"`` takes the CPU."""
