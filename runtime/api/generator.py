"""Random numbers of the device's own generator, by distribution, into device buffers."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from runtime import errors
from runtime.errors.arguments import BUFFERS, STREAMS, check_instance, check_same_runtime, number
from runtime.errors.not_copied import NotCopied
from runtime.launch.copy.random import Distribution, Number, Operand, RandomNumbers, check_generator, queue_random
from runtime.memory.device import DeviceBuffer

if TYPE_CHECKING:
    from runtime.api.devices import Device
    from runtime.api.streams import Stream

_TYPES = MappingProxyType({number.name.lower(): number for number in Number})
_COUNTER_BYTES = 16
_WORD_BYTES = 8


class RandomGenerator(NotCopied):
    """Draws random numbers on a device, in a stream's order; `device.create_generator(seed)` makes it.

    The same seed and the same order of draws give the same numbers again on the same kind of machine. A generator holds
    16 bytes of device memory until `close`; use one per stream, or order the streams by events.
    """

    def __init__(self, device: Device, seed: int) -> None:
        if not 0 <= seed < 1 << 64:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"seed {seed} of a random generator", hint="pass 0 to 2**64 - 1"
            )
        check_generator(device.chip, "Device.create_generator")
        self.device = device
        self.seed = seed
        self._drawn = 0
        self._counter: DeviceBuffer | None = device.upload(bytes(_COUNTER_BYTES))

    def uniform(self, stream: Stream, target: DeviceBuffer, low: float = 0, high: float = 1,
                dtype: str = "float32") -> None:
        """Queue the filling of a buffer with numbers from `low` to `high`.

        Args:
            dtype: float32, float16, bfloat16, int32, int64, uint32 or uint64.

        Raises:
            InvalidArgument 107000: there is no such type, or the bounds do not fit it.
            NotSupported 207000: the chip has no generator.
        """
        for name, bound in (("low", low), ("high", high)):
            number("uniform", name, bound)
        self._draw(stream, target, Distribution.UNIFORM, _number(dtype), (low, high))  # whole numbers stay exact

    def normal(self, stream: Stream, target: DeviceBuffer, mean: float = 0, deviation: float = 1,
               dtype: str = "float32", *, truncated: bool = False) -> None:
        """Queue the filling of a buffer with normal numbers of float32, float16 or bfloat16.

        Args:
            truncated: numbers beyond two standard deviations are drawn again.
        """
        how = Distribution.TRUNCATED_NORMAL if truncated else Distribution.NORMAL
        parameters = number("normal", "mean", mean), number("normal", "deviation", deviation)
        self._draw(stream, target, how, _number(dtype), parameters)

    def dropout_mask(self, stream: Stream, target: DeviceBuffer, ratio: float) -> None:
        """Queue the filling of a buffer with bits, each of which is 0 with the probability `ratio`: what is dropped."""
        ratio = number("dropout_mask", "ratio", ratio)
        self._draw(stream, target, Distribution.DROPOUT_MASK, Number.FLOAT32, (ratio,))

    def close(self) -> None:
        """Give the generator up; its memory goes when the last queued draw is done."""
        self._counter = None

    def __enter__(self) -> RandomGenerator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RandomGenerator with seed {self.seed} on device {self.device.user_id}, {self._drawn} numbers drawn>"

    def _draw(self, stream: Stream, target: DeviceBuffer, how: Distribution, number: Number,
              parameters: tuple[float, ...]) -> None:
        counter = self._counter
        check_instance("random numbers", "stream", stream, self.device.stream_type, STREAMS)
        check_instance("random numbers", "target", target, DeviceBuffer, BUFFERS)
        check_same_runtime("random numbers", self.device, stream, target)
        if counter is None:
            raise errors.fault(
                "ACL_ERROR_RT_INVALID_HANDLE", f"{self!r} was closed", hint="draw before it is closed"
            )
        target.check_open()
        count = target.size * 8 if how is Distribution.DROPOUT_MASK else target.size // number.bytes
        asked = RandomNumbers(
            distribution=how, number=number, parameters=tuple(_encoded(number, value) for value in parameters),
            seed=_word(self.seed), count=_word(count), result=target.address, counter=counter.address,
        )
        # The counter moves in the stream, so that draws which are still queued each start from their own count.
        stream.write_value(counter, self._drawn % (1 << 64))
        queue_random(stream, asked, f"RandomGenerator.{how.name.lower()}", counter, target)
        self._drawn += count


def _number(dtype: str) -> Number:
    number = _TYPES.get(str(dtype))
    if number is None:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"dtype {dtype!r} of random numbers", hint=f"there are {', '.join(_TYPES)}"
        )
    return number


def _encoded(number: Number, value: float) -> Operand:
    """Return a parameter in the type of the numbers."""
    import numpy as np

    if number is Number.BFLOAT16:
        return Operand(np.float32(value).tobytes()[2:])  # its upper half
    try:
        return Operand(np.array(value, number.name.lower()).tobytes())
    except OverflowError:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{value} as a bound of random {number.name.lower()}",
            hint="pass bounds that the type can hold",
        ) from None


def _word(value: int) -> Operand:
    return Operand(value.to_bytes(_WORD_BYTES, "little"))
