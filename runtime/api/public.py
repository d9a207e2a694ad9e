"""What is public of the objects that users hold, as `dir()` lists it; other attributes are the runtime's own.

The reference pages of the documentation show the same names.
"""

from __future__ import annotations

from typing import Final


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


DEVICE: Final = _names("""
    alloc alloc_host alloc_managed chip close closed copy create_channel create_count_notify create_event
    create_generator create_message_queue create_notify create_physical create_stream default_stream download empty
    enable_peer_access fill granularity hal import_physical limit_cores load load_library load_triton memory_info
    memory_report memory_snapshot memory_summary open_event open_notify open_shared pool register_host reserve
    runtime share stream_of synchronize time_limits upload usable_cores user_id
""")
STREAM: Final = _names("""
    abort batch capture close closed copy copy_rows device fill host_function launch launch_many limit_cores name
    non_blocking priority query record record_external reduce set_failure_mode set_launch_blocking set_overflow_check
    stop stream_id synchronize task_group update usable_cores wait wait_external wait_value write_value
""")
_OF_ALL: Final = tuple(name for name in dir(object) if name.startswith("__"))


def listed(names: tuple[str, ...]) -> list[str]:
    """Return what `dir()` shows of an object with these public names."""
    return [*_OF_ALL, *names]
