# Much of the standard library: random numbers, hashes, time zones, JSON, decimals, a queue between threads.
import decimal
import hashlib
import json
import queue
import secrets
import socket
import threading
import time
import zoneinfo

assert hashlib.sha256(b"").hexdigest().startswith("e3b0")
assert zoneinfo.ZoneInfo("Europe/Berlin")
assert json.loads(json.dumps({"a": [1, None]})) == {"a": [1, None]}
assert decimal.Decimal("0.1") * 3 == decimal.Decimal("0.3")
assert len(secrets.token_hex()) == 64
box = queue.Queue()
threading.Thread(target=box.put, args=(time.time(),)).start()
assert box.get(timeout=5)
one, other = socket.socketpair()
one.sendall(b"x")
assert other.recv(1) == b"x"
print("fine")
