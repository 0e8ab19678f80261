# Compute in threads.
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(8) as pool:
    assert sum(pool.map(lambda n: n * n, range(100))) == 328350
print("fine")
