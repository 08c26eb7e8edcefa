"""Real servers on loopback, one module each: started when a test first needs one, once per test
process, and stopped when that ends.

    with serve() as facts: ...      in each module; `facts` says how to reach the server

`tests/servers/fixtures.py` gives each as a fixture for the whole session. What cannot be had on
this machine raises `Absent`; its tests are skipped and the summary says why.
"""
