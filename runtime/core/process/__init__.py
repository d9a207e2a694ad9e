"""The process: the one runtime, its lifetime, the device and context current in each thread, handles.

Owns what exists once per process or per thread. Everybody above may ask it; it asks devices to open and close.
"""
