"""The log variables of CANN, honoured through the standard library's logging (core_spec 20).

Loggers follow the packages: `runtime`, `npuhal` and what is below them. They are silent unless the program gives them a
handler (logging.basicConfig(level=logging.DEBUG) shows devices, streams, loads and each launch), or one of these
variables is set:

=========================== ============================================================================================
ASCEND_GLOBAL_LOG_LEVEL     0 debug, 1 info, 2 warning, 3 error (default), 4 nothing; 0 and 1 log each launch, by phases
ASCEND_MODULE_LOG_LEVEL     NAME=level:NAME=level for `MODULES`; wins over the above, and one bad part voids all of it
ASCEND_GLOBAL_EVENT_ENABLE  0 leaves out the lines about devices and streams that come and go, which no level stops
ASCEND_LOG_PRINT_TO_STDOUT  1 writes to standard output and to no file (old name: ASCEND_SLOG_PRINT_TO_STDOUT)
ASCEND_PROCESS_LOG_PATH     folder of the files, before $ASCEND_WORK_PATH/log and $HOME/ascend/log
ASCEND_HOST_LOG_FILE_NUM    files of 20 MB that are kept per process, 1 to 1000, 10 by default
=========================== ============================================================================================

A value out of range counts as not set (`npuhal doctor` names it). The others have nothing to act on here: lines are
written when they arise (ASCEND_LOG_SYNC_SAVE), and there is one file per process (ASCEND_LOG_SAVE_MODE).
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from npuhal.late import logger
from npuhal.records import dataclass, field

if TYPE_CHECKING:
    import logging

EVENT = 60
"""Level of lines about the lives of devices and streams, above logging.CRITICAL; only ASCEND_GLOBAL_EVENT_ENABLE=0
stops them."""

_LIFE = logger(__name__)
_LAUNCH = logger("runtime.launch")
_DEBUG = 10
"""logging.DEBUG, which is not loaded for asking whether somebody listens."""

MODULES = {"RUNTIME": "runtime", "ASCENDCL": "runtime.api", "DRV": "npuhal"}
"""Loggers by the names that ASCEND_MODULE_LOG_LEVEL uses; other names belong to other components."""

_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", 51)
"""Levels by the numbers of the variables; with the last one, only events are logged."""
_ERROR, _INFO = 3, 1
_MODULE_LEVELS = r"\w+=[0-4](:\w+=[0-4])*"
_SWITCHES = (
    "ASCEND_GLOBAL_LOG_LEVEL", "ASCEND_MODULE_LOG_LEVEL", "ASCEND_PROCESS_LOG_PATH", "ASCEND_LOG_PRINT_TO_STDOUT",
    "ASCEND_SLOG_PRINT_TO_STDOUT",
)  # fmt: skip
_FILE_BYTES = 20 << 20
_FORMAT = "[%(levelname)s] %(name)s(%(process)d,%(threadName)s):%(asctime)s.%(msecs)03d %(message)s"
_TIME = "%Y-%m-%d-%H:%M:%S"
_HANDLER = "npuhal: log variables"
"""Name by which the handler made here is recognised."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What the environment asks for.

    Attributes:
        wanted: whether any of the variables that switch logging on is set.
        level: level of modules that are not listed, 0 to 4 as in the variable.
        modules: levels by module name.
        stdout: whether lines go to standard output and to no file.
        folder: where the files go, otherwise.
        files: how many files are kept.
        events: whether creation and end of devices and streams are logged.
    """

    wanted: bool
    level: int = _ERROR
    modules: Mapping[str, int] = field(default_factory=dict)
    stdout: bool = False
    folder: str = ""
    files: int = 10
    events: bool = True

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> LogSettings:
        """Read the variables; what is out of range counts as not set."""
        modules = environ.get("ASCEND_MODULE_LOG_LEVEL", "")
        stdout = environ.get("ASCEND_LOG_PRINT_TO_STDOUT", environ.get("ASCEND_SLOG_PRINT_TO_STDOUT"))
        return cls(
            wanted=any(environ.get(name) for name in _SWITCHES),
            level=_number(environ.get("ASCEND_GLOBAL_LOG_LEVEL"), 0, 4, _ERROR),
            modules={name: int(level) for name, level in (part.split("=") for part in modules.split(":"))}
            if modules and re.fullmatch(_MODULE_LEVELS, modules) else {},
            stdout=stdout == "1",
            folder=_folder(environ),
            files=_number(environ.get("ASCEND_HOST_LOG_FILE_NUM"), 1, 1000, 10),
            events=environ.get("ASCEND_GLOBAL_EVENT_ENABLE") != "0",
        )

    def life(self, text: str, *values: object) -> None:
        """Log a device or stream that came or went: as an event where CANN's variables ask for logs, else at DEBUG."""
        if not self.wanted:
            _LIFE.debug(text, *values)
        elif self.events:
            _loaded()
            _LIFE.log(EVENT, text, *values)

    @property
    def launches(self) -> bool:
        """Whether each launch is to be logged with its phases.

        Where CANN's variables ask for logs, their level for the runtime says so (info or lower); else the program's own
        settings do, such as logging.basicConfig(level=logging.DEBUG), when the runtime starts.
        """
        if not self.wanted:
            return "logging" in sys.modules and _LAUNCH.isEnabledFor(_DEBUG)
        return self.modules.get("RUNTIME", self.level) <= _INFO


def configure(environ: Mapping[str, str] = os.environ) -> LogSettings:
    """Let the loggers write what the environment asks for, and return it; a second call changes nothing.

    A folder that cannot be made is said once, on standard error; the program goes on without a log file.
    """
    settings = LogSettings.read(environ)
    if not settings.wanted and "logging" not in sys.modules:
        return settings
    logging = _loaded()
    root = logging.getLogger("runtime")
    if not settings.wanted or any(handler.name == _HANDLER for handler in root.handlers):
        return settings
    try:
        handler = _stdout() if settings.stdout else _file(settings)
    except OSError as problem:
        print(f"npuhal: no log file can be written: {problem}; set ASCEND_PROCESS_LOG_PATH", file=sys.stderr)
        return settings
    handler.name = _HANDLER
    handler.setFormatter(logging.Formatter(_FORMAT, _TIME))
    for name in ("runtime", "npuhal"):
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(_LEVELS[settings.level])
    for module, level in settings.modules.items():
        if module in MODULES:
            logging.getLogger(MODULES[module]).setLevel(_LEVELS[level])
    return settings


def _loaded() -> ModuleType:
    """Return `logging`, which knows the name of our level."""
    import logging  # late: few programs look at lines of ours

    logging.addLevelName(EVENT, "EVENT")
    return logging


def _stdout() -> logging.StreamHandler[Any]:
    """Return a handler for standard output, which a program's reader may close before it has ended (`... | head`)."""
    import logging

    class Stdout(logging.StreamHandler):  # type: ignore[type-arg]  # 3.10 cannot subscript it
        def handleError(self, record: logging.LogRecord) -> None:
            """Stop writing once nobody reads; other mistakes are reported as logging does."""
            if isinstance(sys.exc_info()[1], BrokenPipeError):
                self.setStream(open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - as long as the process
            else:
                super().handleError(record)

    return Stdout(sys.stdout)


def _file(settings: LogSettings) -> logging.StreamHandler[Any]:
    """Return a handler for the files of this process; the first one is made with the first line."""
    from logging.handlers import RotatingFileHandler

    folder = os.path.join(settings.folder, "debug", "plog")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"plog-{os.getpid()}_{time.strftime('%Y%m%d%H%M%S')}.log")
    return RotatingFileHandler(path, maxBytes=_FILE_BYTES, backupCount=settings.files - 1, delay=True)


def _folder(environ: Mapping[str, str]) -> str:
    if named := environ.get("ASCEND_PROCESS_LOG_PATH"):
        return named
    if work := environ.get("ASCEND_WORK_PATH"):
        return os.path.join(work, "log")
    return os.path.join(environ.get("HOME") or "/", "ascend", "log")


def _number(text: str | None, lowest: int, highest: int, default: int) -> int:
    if text is None or not re.fullmatch(r"\d+", text) or not lowest <= int(text) <= highest:
        return default
    return int(text)
