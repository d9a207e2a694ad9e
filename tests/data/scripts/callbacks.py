"""Callbacks in a thread of acl.util, in stream order, among them one that raises."""

import acl

log, running, context = [], [True], 0


def receive(words):
    acl.rt.set_context(context)
    while running:
        acl.rt.process_report(20)
    log.append(words[0])


def note(words):
    log.append(words)


def fail(words):
    raise KeyError(words)


assert acl.init() == 0
assert acl.rt.set_device(0) == 0
context, ret = acl.rt.create_context(0)
stream, ret = acl.rt.create_stream()
thread, ret = acl.util.start_thread(receive, ["ended"])
assert acl.rt.subscribe_report(thread, stream) == 0
for function, words in ((note, [1]), (fail, [2]), (note, [3])):
    assert acl.rt.launch_callback(function, words, 1, stream) == 0
assert acl.rt.synchronize_stream(stream) == 0
assert acl.rt.unsubscribe_report(thread, stream) == 0
running.clear()
assert acl.util.stop_thread(thread) == 0
print(log)
assert acl.rt.destroy_stream(stream) == 0
acl.finalize()
