"""How late a process of time sharing wakes up, every millisecond: late.py SECONDS."""

import sys
import time

late = []
due = time.monotonic_ns()
for _ in range(1000 * int(sys.argv[1])):
    due += 1_000_000
    time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
    late.append(time.monotonic_ns() - due)
late.sort()
n = len(late)
told = {q: late[int(n * q / 100)] // 1000 for q in (50, 99, 99.9)}
print(f"n {n}", *(f" p{q} {us} us" for q, us in told.items()), f" max {late[-1] // 1000} us")
