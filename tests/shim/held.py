"""A Python program that calls C code which keeps the interpreter's lock while another thread calls the driver."""

import ctypes
import signal
import sys

before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGCHLD)
held = ctypes.PyDLL(sys.argv[1])
count = held.ask_in_a_thread()
print(count, int((signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGCHLD)) != before))
