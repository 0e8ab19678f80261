"""HTTP APIs as tools: whole documents (OpenAPI, Swagger) and single endpoints, sent through the egress guard.

`toolset` calls, `credentials` shows who asks, `answer` makes results of answers.
"""
