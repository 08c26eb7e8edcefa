"""What every layer may use: forks, threads, cached properties, optional packages, the native core.

This package knows the process. It must not know arrays, stores or formats.
"""
