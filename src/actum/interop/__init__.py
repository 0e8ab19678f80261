"""Tools of other frameworks here, and tools of here in other frameworks. `import actum` loads no framework.

    from actum.interop.langchain import from_tools, to_tools      # the same two names in actum.interop.llamaindex

`from_tools` makes a toolset for `tools=` of tools of a framework. `to_tools` makes tools of the framework. Each of
their calls takes the call path of actum: it is validated, judged by the policy and put on record
(`framework_calls.py`).
"""
