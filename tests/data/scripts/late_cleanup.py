"""Objects that clean up when the interpreter drops them, which is after everything was finalised."""

import acl


class Resource:
    def __init__(self):
        acl.init()
        acl.rt.set_device(0)
        self.context, _ = acl.rt.create_context(0)
        self.stream, _ = acl.rt.create_stream()
        self.block, _ = acl.rt.malloc(4096, 0)
        self.buffer = acl.create_data_buffer(self.block, 4096)

    def __del__(self):
        codes = [acl.rt.free(self.block), acl.destroy_data_buffer(self.buffer), acl.rt.destroy_stream(self.stream),
                 acl.rt.destroy_context(self.context), acl.rt.reset_device(0), acl.finalize()]
        print("cleaned up", [type(code).__name__ for code in codes], flush=True)


resource = Resource()
acl.rt.reset_device(0)
print("finalize", acl.finalize())
