"""What the server of `tests.tools.processes` does once: it opens a machine of each generation, and closes it.

The tables that are read and built on the way are then there in all processes that come from it.
"""

from __future__ import annotations

from runtime.api import Runtime

for _soc in ("ascend910b3", "ascend950pr_9599"):
    _machine = Runtime(f"fake://{_soc}")
    _device = _machine.device(0)
    with _device.create_stream() as _stream, _device.create_event(shared=True) as _event:
        _stream.record(_event)
        _stream.wait_value(_device.upload(bytes(64)), 0)
        _stream.synchronize()
    _machine.close()
