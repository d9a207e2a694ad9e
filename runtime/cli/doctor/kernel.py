"""The probe's last step: a compiled kernel through the whole runtime, once the driver layer has proved itself."""

from __future__ import annotations

from pathlib import Path

from runtime.cli.doctor.ladder import ProbeStep

__all__ = ["kernel_step"]

_BUFFER_BYTES = 64 << 10


def kernel_step(url: str, device_id: int, elf: Path, name: str | None) -> ProbeStep:
    """Return the step that loads a kernel file and launches one kernel of it, on one core, with buffers of zeros.

    A kernel may well fail on such arguments; what counts is that it is loaded, started and reported on.
    """

    def work() -> str:
        from runtime.api import Runtime

        machine = Runtime(url)
        try:
            with machine.device(device_id) as device:
                program = device.load(elf)
                kernel = program.kernel(name) if name else program.only
                if (fake := getattr(device.hal, "fake", None)) is not None:
                    fake.attach(kernel.code, lambda context: None, name=kernel.name, grid=True)
                buffers = [device.upload(bytes(_BUFFER_BYTES)) for _ in range(kernel.argument_count or 1)]
                with device.create_stream() as stream:
                    stream.launch(kernel, 1, *buffers)
                    stream.synchronize()
                return f"{kernel.name} with {len(buffers)} argument(s) on {device.chip.soc}"
        finally:
            machine.close(force=True)

    return ProbeStep("kernel", work, 120)
