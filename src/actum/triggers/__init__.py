"""Triggers: what happens elsewhere begins a run, or wakes a run that waits for it.

    settings.py    `[triggers.NAME]`: what is listened for, and what begins then
    event.py       what happened, and by which id a second telling of it is known
    signature.py   who told of it: the signatures of GitHub, Stripe and Standard Webhooks, and plain tokens
    schedule.py    points in time, by cron expressions in a time zone
    states.py      which triggers are paused, and the last event of each
    intake.py      begins the run: exactly one for each event
    wake.py        wakes nodes that wait: each by exactly one event
    watch.py       looks at the clock, at files and at resources of MCP servers
    content.py     contents that change: one event for each change, whoever sees it
    watched_file.py, watched_resource.py, mcp_resource.py
                   what has a content that changes

A run that a trigger begins is a task (`actum.tasks`): it is on record before whoever told of the event is answered.
"""
