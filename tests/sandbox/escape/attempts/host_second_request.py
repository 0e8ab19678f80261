"""A second request, behind one to the allowed host on the same connection; and two hosts in one head."""
import base64
import os
import socket
import sys
from urllib.parse import urlsplit

folder, tcp, *_ = sys.argv[1:]
allowed = open(folder + "/readable/allowed").read()


def opened():
    """A connection to the forwarder, or without a forwarder to the other port itself; and what to put into a head."""
    proxy = os.environ.get("http_proxy")
    if not proxy:
        return socket.create_connection(("127.0.0.1", int(tcp)), 5), ""
    found = urlsplit(proxy)
    pair = base64.b64encode(f"{found.username}:{found.password}".encode()).decode()
    return socket.create_connection((found.hostname, found.port), 5), f"Proxy-Authorization: Basic {pair}\r\n"


for first in (
    f"GET http://localhost:{allowed}/ HTTP/1.1\r\nHost: localhost:{tcp}\r\n",
    f"GET http://localhost:{allowed}@localhost:{tcp}/ HTTP/1.1\r\n",
    f"GET http://localhost:{allowed}#@localhost:{tcp}/ HTTP/1.1\r\n",
    f"CONNECT localhost:{allowed} HTTP/1.1\r\n",
):
    reached, password = opened()
    with reached:
        second = f"GET http://localhost:{tcp}/ HTTP/1.1\r\nHost: localhost:{tcp}\r\n{password}\r\n"
        reached.sendall(f"{first}{password}\r\n{second}".encode())
        try:
            while reached.recv(1000):
                pass
        except OSError:
            pass
