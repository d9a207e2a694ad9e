"""HAL chapter "esched": messages to the queue schedule, the one process on a card that waits for any here."""

from __future__ import annotations

from typing import Any

from fakes.errors import NotModelled
from fakes.hal.chapter import Chapter
from npuhal import constants as c

_LONGEST = c.EVENT_MAX_MSG_LEN


class EventCalls(Chapter):
    """Functions of ascend_hal_base.h."""

    def halEschedSubmitEventSync(self, devid: int, event: Any, timeout: int, reply: Any) -> int:
        """Hand a message to a process on a card and return its answer."""
        device = self.device(devid)
        if device is None:
            return c.DRV_ERROR_INVALID_DEVICE
        if event is None or reply is None or not event.msg or not reply.buf or not 0 < event.msg_len <= _LONGEST:
            return c.DRV_ERROR_PARA_ERROR
        if event.event_id != c.EVENT_QS_MSG:
            raise NotModelled(f"halEschedSubmitEventSync of event {event.event_id}", "only the queue schedule listens")
        if not device.opened:
            return c.DRV_ERROR_NO_PROCESS
        from fakes.hal.message_queue.routes import schedule_of

        machine = self.machine
        message = machine.memory.read(event.msg, event.msg_len, "halEschedSubmitEventSync from")
        answer = schedule_of(machine, devid).answer(event.subevent_id, message)
        if reply.buf_len < len(answer):
            return c.DRV_ERROR_PARA_ERROR
        machine.memory.write(reply.buf, answer, "halEschedSubmitEventSync to")
        reply.reply_len = len(answer)
        return 0
