"""What is public of the objects that users hold, as `dir()` lists it; other attributes are the runtime's own.

The reference pages of the documentation show the same names.
"""

from __future__ import annotations

from typing import Final

_NOTIFY: Final = "close closed device handle notify_id record site wait"
_BUFFER: Final = "address close closed device location nbytes size view"
NAMES: Final = {kind: tuple(sorted(text.split())) for kind, text in {
    "Device": """
        alloc alloc_host alloc_managed chip close closed copy counters create_channel create_count_notify create_event
        create_generator create_message_queue create_notify create_physical create_stream default_stream download empty
        enable_peer_access fill granularity hal import_physical limit_cores load load_library load_triton memory_info
        memory_report memory_snapshot memory_summary open_event open_notify open_shared pool register_host reserve
        runtime share stream_of synchronize time_limits upload usable_cores user_id
    """,
    "Stream": """
        abort batch capture close closed copy copy_rows device fill host_function launch launch_many limit_cores name
        non_blocking priority query record record_external reduce set_failure_mode set_launch_blocking
        set_overflow_check stop stream_id synchronize task_group update usable_cores wait wait_external wait_value
        write_value
    """,
    "Event": """
        close closed device event_id flags handle in_graph query record reset share site synchronize timestamp_ticks
        timing wait
    """,
    "Notify": f"{_NOTIFY} export",
    "CountNotify": _NOTIFY,
    "Program": """
        close closed cpu_kernel device entry global_variable kernel load load_size loaded name only operator
    """,
    "Kernel": """
        address argument_count bind bind_device_arguments code entries keep launch launch_at launch_many name program
        runs_simt tiling_key
    """,
    "KeptLaunch": "close closed kernel stream",
    "Graph": """
        capturing close closed cost debug_json device differences dot edges kernels launch model_id name node_list nodes
        outline state status times update
    """,
    "Model": """
        abort close closed device end execute idle load model_id name running status streams unbind
    """,
    "Buffer": _BUFFER,
    "DeviceBuffer": f"{_BUFFER} as_array",
    "PooledBuffer": f"{_BUFFER} as_array record_stream",
    "HostBuffer": f"{_BUFFER} numpy",
    "RegisteredBuffer": f"{_BUFFER} numpy device_address",
    "Pool": """
        alloc close empty_cache in_use limit max_memory_allocated max_memory_reserved memory_allocated memory_reserved
        memory_snapshot memory_stats memory_summary reset_accumulated_memory_stats reset_peak_memory_stats trim
    """,
    "Runtime": """
        close closed create_context current current_context default_device destroy_context device device_count
        exceptions logs machine monitor pid reset_device set_device snapshot soc_name thread_limits timeouts url visible
    """,
}.items()}
"""Class -> its public names; a class that is not here has those of its nearest base."""
_OF_ALL: Final = tuple(name for name in dir(object) if name.startswith("__"))


def listed(kind: type) -> list[str]:
    """Return what `dir()` shows of an object of a class."""
    for base in kind.__mro__:
        if base.__name__ in NAMES:
            return [*_OF_ALL, *NAMES[base.__name__]]
    return sorted({name for base in kind.__mro__ for name in vars(base)})
