"""Telemetry: the traces of runs, as a fold of the record, for a collector that speaks OTLP.

    settings.py   `[telemetry]`: where spans go, and what they may say
    spans.py      the spans of a run: a pure function of its timeline, with the same ids and times everywhere
    otlp.py       spans as the bytes of OTLP (needs actum[otel])
    feature.py    which runs have spans that were not sent
    exporter.py   sends them: each run by one of all processes

The call path knows nothing of this room.
"""
