"""The device layer of a framework: probing, streams, events, pinned memory, frees that wait for the device."""

import ctypes

import numpy as np

acl = None
TIME_LINE = 8


def ensure():
    global acl
    if acl is None:
        import acl as found

        acl = found
    return acl


def done(what, ret):
    if ret not in (0, 100002):
        raise RuntimeError(f"{what}: {ret}")


class Backend:
    def __init__(self):
        ensure()
        done("init", acl.init())
        done("init", acl.init())
        done("set_device", acl.rt.set_device(0))
        self.context, ret = acl.rt.create_context(0)
        done("create_context", ret)
        self.stream, ret = acl.rt.create_stream()
        done("create_stream", ret)
        self.later, self.later_host = [], []

    def activate(self):
        done("set_device", acl.rt.set_device(0))
        if hasattr(acl.rt, "set_context"):
            done("set_context", acl.rt.set_context(self.context))

    def new_stream(self, priority=0):
        self.activate()
        if hasattr(acl.rt, "create_stream_with_config"):
            try:
                stream, ret = acl.rt.create_stream_with_config(priority, 0)
            except TypeError:
                stream, ret = acl.rt.create_stream()
        else:
            stream, ret = acl.rt.create_stream()
        done("create_stream", ret)
        return stream

    def new_event(self, flag):
        make = acl.rt.create_event_with_flag if hasattr(acl.rt, "create_event_with_flag") else acl.rt.create_event
        event, ret = make(flag)
        done("create_event", ret)
        return event

    def upload(self, array, stream):
        size = array.nbytes
        device, ret = acl.rt.malloc(size, 0)
        done("malloc", ret)
        host, ret = acl.rt.malloc_host(size)
        done("malloc_host", ret)
        ctypes.memmove(int(host), int(array.ctypes.data), size)
        done("memcpy_async", acl.rt.memcpy_async(device, size, host, size, 1, stream))
        self.later_host.append(host)
        return device

    def download(self, device, like, stream):
        host, ret = acl.rt.malloc_host(like.nbytes)
        done("malloc_host", ret)
        done("memcpy_async", acl.rt.memcpy_async(host, like.nbytes, device, like.nbytes, 2, stream))
        done("synchronize_stream", acl.rt.synchronize_stream(stream))
        data = bytearray(acl.util.ptr_to_bytes(host, like.nbytes))
        done("free_host", acl.rt.free_host(host))
        self.later.append(device)
        return np.frombuffer(data, dtype=like.dtype).reshape(like.shape)

    def synchronize(self):
        done("synchronize_device", acl.rt.synchronize_device())
        for call, kept in ((acl.rt.free, self.later), (acl.rt.free_host, self.later_host)):
            while kept:
                done("free", call(kept.pop()))

    def finalize(self):
        acl.rt.destroy_stream(self.stream)
        acl.rt.destroy_context(self.context)
        acl.rt.reset_device(0)
        acl.finalize()


backend = Backend()
print(acl.get_soc_name(), acl.rt.get_mem_info(1)[1] > 0)
copies, compute = backend.new_stream(), backend.new_stream(1)
before, copied, after = (backend.new_event(TIME_LINE | 1) for _ in range(3))
data = np.arange(4096, dtype=np.float32).reshape(64, 64)
done("record_event", acl.rt.record_event(before, copies))
block = backend.upload(data, copies)
done("record_event", acl.rt.record_event(copied, copies))
done("stream_wait_event", acl.rt.stream_wait_event(compute, copied))
result = backend.download(block, data, compute)
done("record_event", acl.rt.record_event(after, compute))
for event in (before, after):
    done("synchronize_event", acl.rt.synchronize_event(event))
elapsed, ret = acl.rt.event_elapsed_time(before, after)
done("event_elapsed_time", ret)
print(bool((result == data).all()), elapsed >= 0)
for event in (before, copied, after):
    done("destroy_event", acl.rt.destroy_event(event))
for stream in (copies, compute):
    done("destroy_stream", acl.rt.destroy_stream(stream))
backend.synchronize()
backend.finalize()
print("done")
