"""Fills memory over and over and synchronises. Arguments: loops, fills in each, bytes."""

import sys

import acl

loops, inner, size = map(int, sys.argv[1:])
print("init", acl.init())
print("set_device", acl.rt.set_device(0))
ctx, ret = acl.rt.create_context(0)
print("create_context", ret)
stream, ret = acl.rt.create_stream()
print("create_stream", ret)
ptr, ret = acl.rt.malloc(size, 0)
print("malloc", ret)
for loop in range(loops):
    for _ in range(inner):
        ret = acl.rt.memset_async(ptr, size, loop % 256, size, stream)
        if ret != 0:
            raise SystemExit(15)
    if acl.rt.synchronize_stream(stream) != 0:
        raise SystemExit(16)
print("free", acl.rt.free(ptr))
print("destroy_stream", acl.rt.destroy_stream(stream))
print("destroy_context", acl.rt.destroy_context(ctx))
print("reset_device", acl.rt.reset_device(0))
print("finalize", acl.finalize())
print("PASS", "loops", loops)
