"""One of several processes that update one shard in S3; `test_s3_writers` starts it.

    python s3_writer.py URL OPTIONS FIRST STEP STOP GO

It sets element i to i + 1 for i in range(FIRST, STOP, STEP), one at a time, once the file GO is
there, and prints what it met.
"""

from __future__ import annotations

import json
import os
import sys
import time

import omnizarr
from omnizarr.stores import as_store
from omnizarr.testing import CountingStore


def main() -> None:
    url, options, first, step, stop, go = sys.argv[1:]
    store = CountingStore(as_store(url, storage_options=json.loads(options)))
    array = omnizarr.open_array(store, mode="r+")
    print("ready", flush=True)
    while not os.path.exists(go):
        time.sleep(0.001)
    store.reset()
    numbers = range(int(first), int(stop), int(step))
    for number in numbers:
        array[number] = number + 1
    counts = store.counts
    found = {"updates": len(numbers), "writes": counts["set_if_version"], "plain": counts["set"]}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
