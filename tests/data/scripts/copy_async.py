"""Queued copies through media memory on one of two streams; the streams are left alive on purpose."""

import acl
import numpy as np

SIZE = 65536

assert acl.init() == 0
assert acl.rt.set_device(0) == 0
context, ret = acl.rt.create_context(0)
assert ret == 0
stream, ret = acl.rt.create_stream()
other, ret = acl.rt.create_stream()
host, ret = acl.rt.malloc_host(SIZE)
back, ret = acl.rt.malloc_host(SIZE)
device, ret = acl.media.dvpp_malloc(SIZE)
assert ret == 0
assert acl.rt.memset_async(host, SIZE, 7, SIZE, stream) == 0
assert acl.rt.synchronize_stream(stream) == 0
assert acl.rt.memcpy_async(device, SIZE, host, SIZE, 1, stream) == 0
assert acl.rt.memcpy_async(back, SIZE, device, SIZE, 2, stream) == 0
assert acl.rt.synchronize_stream(stream) == 0
data = np.zeros(SIZE, dtype=np.byte).tobytes()
assert acl.rt.memcpy(acl.util.bytes_to_ptr(data), SIZE, back, SIZE, 0) == 0
print(np.unique(np.frombuffer(data, dtype=np.byte)))
assert acl.media.dvpp_free(device) == 0
assert [acl.rt.free_host(each) for each in (host, back)] == [0, 0]
acl.rt.destroy_context(context)
acl.rt.reset_device(0)
acl.finalize()
print("run success!")
