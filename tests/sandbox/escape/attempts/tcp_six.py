"""TCP over IPv6, to the address of IPv4 in it."""
import socket
import sys

_, tcp, *_ = sys.argv[1:]
with socket.socket(socket.AF_INET6) as made:
    made.connect(("::ffff:127.0.0.1", int(tcp)))
