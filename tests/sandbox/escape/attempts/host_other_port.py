"""Another port of the allowed host, asked of the forwarder."""
import sys
import urllib.request

folder, tcp, *_ = sys.argv[1:]
urllib.request.urlopen(f"http://localhost:{tcp}/", timeout=5).read()
