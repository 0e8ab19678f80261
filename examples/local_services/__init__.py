"""Services that the examples start for themselves on this machine: real HTTP, small data.

`serving` starts one; `chat` and `ways` make the one that stands in for a language model; the others are looked up by
tools. What they know is made up, but for the encyclopedia's pages.
"""
