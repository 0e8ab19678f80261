"""The allowed host redirects to another port."""
import sys
import urllib.request

folder, tcp, *_ = sys.argv[1:]
allowed = open(folder + "/readable/allowed").read()
urllib.request.urlopen(f"http://localhost:{allowed}/{tcp}", timeout=5).read()
