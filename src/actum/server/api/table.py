"""The operations of our own API: the one table that the routes and the document are made from."""

from __future__ import annotations

from ...features.operation import AnswerKind, Operation
from . import approvals, audit, runs, sessions, tasks, tools, versions, workflows
from .bodies import (
    AnswerBody,
    Answered,
    ApprovalPage,
    ApprovalsQuery,
    AuditPage,
    AuditQuery,
    CallAnswer,
    CallBody,
    CallWaits,
    CancelBody,
    DraftBody,
    DraftText,
    ForkBody,
    OwnerQuery,
    PublishBody,
    ResumeBody,
    RollbackBody,
    RunBegun,
    RunBody,
    RunDetails,
    RunEvent,
    RunPage,
    RunsQuery,
    SessionForgotten,
    SessionMessages,
    SessionPage,
    SessionsQuery,
    TaskAccepted,
    TaskDetails,
    TaskPage,
    TaskQuery,
    TaskResult,
    TasksQuery,
    ToolPage,
    ToolSchema,
    ToolsQuery,
    UnpublishedWorkflow,
    WorkflowCheckBody,
    WorkflowChecked,
    WorkflowDetails,
    WorkflowDifference,
    WorkflowDiffQuery,
    WorkflowPage,
    WorkflowRunBody,
    WorkflowsQuery,
    WorkflowVersion,
    WorkflowVersionQuery,
    WorkflowVersions,
)

_RUN = "run_9f2c4d1e8b7a6c5d4e3f"
_ASK = "ask_5b1f0c7d2e9a8b3c4d6f"
_ASKED_AT = 1_790_000_000.25

_APPROVAL = {
    "id": _ASK,
    "kind": "approval",
    "run": _RUN,
    "agent": "desk",
    "principal": "ann",
    "message": "pay wants to spend: approve?",
    "tool": "pay",
    "arguments": {"to": "Ada", "amount": 20},
    "origins": {},
    "asked_at": _ASKED_AT,
    "expires": None,
    "verdicts": ["approve", "deny"],
    "approvers": [],
    "needs": 1,
    "agreed": [],
    "schema": None,
    "url": "",
}
_TOOL = {
    "name": "add",
    "title": "",
    "description": "Add two numbers.",
    "effects": ["read"],
    "approval": False,
}
_RUN_INFO = {
    "id": _RUN,
    "status": "done",
    "kind": "agent",
    "agent": "desk",
    "model": "openai:gpt-5",
    "question": "What is 2 and 3?",
    "session": "c1",
    "principal": "ann",
    "parent": "",
    "started": _ASKED_AT,
    "ended": _ASKED_AT + 1,
}
_RUN_WHOLE = _RUN_INFO | {
    "text": "5",
    "stop_reason": "",
    "usage": {"input_tokens": 41, "output_tokens": 7},
    "calls": [
        {
            "call": "1.0",
            "tool": "add",
            "arguments": {"a": 2, "b": 3},
            "is_over": True,
            "result": 5,
            "handle": None,
            "error": None,
        }
    ],
    "approvals": [],
    "forked": "",
}
_BEGUN = {"id": _RUN, "agent": "desk", "session": "c1", "events": f"/v1/runs/{_RUN}/events"}
_EVENT = {
    "id": "0",
    "event": "started",
    "data": f'{{"run":"{_RUN}","number":0,"at":{_ASKED_AT},"type":"started","text":"What is 2 and 3?"}}',
}
_TASK_INFO = {
    "task_id": _RUN,
    "state": "succeeded",
    "agent": "api",
    "principal": "ann",
    "priority": 5,
    "queued": _ASKED_AT,
    "due": _ASKED_AT,
    "attempt": 1,
    "changed": _ASKED_AT + 2,
    "ended": _ASKED_AT + 2,
    "problem": None,
}
_TASK = _TASK_INFO | {
    "tool": "add",
    "progress": None,
    "attempts": [{"attempt": 1, "started": _ASKED_AT, "ended": _ASKED_AT + 2, "error": ""}],
    "result": 5,
    "handle": None,
    "error": None,
    "approvals": [],
}
_ACCEPTED = {"task_id": _RUN, "state": "queued"}
_TASK_NAME = {"id": "The id of a task."}
_REPLY_TASK = AnswerKind(means="The task, as it stands.", body=TaskDetails, example=_TASK)
_REPLY_ACCEPTED = AnswerKind(
    means="The task is on record, and is carried out. `Location` names it.",
    body=TaskAccepted,
    example=_ACCEPTED,
    has_location=True,
)
_RUN_NAME = {"id": "The id of a run."}
_WORKFLOW_NAME = {"name": "The name of a workflow."}
_WORKFLOW = {
    "name": "booking",
    "description": "Books flights.",
    "version": 0,
    "digest": "4a5c0f",
}
_DRAFT = {
    "name": "booking",
    "text": "actum: workflow/1\nname: booking\nnodes: {}\n",
    "revision": 1,
    "at": _ASKED_AT,
    "by": "root",
    "published": 0,
}
_VERSION = {"number": 1, "digest": "4a5c0f", "at": _ASKED_AT, "by": "root", "again": 0}
_ADMIN = ("admin",)
_WORKFLOW_WHOLE = _WORKFLOW | {
    "inputs": {"type": "object", "required": ["budget"], "properties": {"budget": {"type": "integer"}}},
    "outputs": ["booked"],
    "nodes": [{"name": "find", "type": "tool"}, {"name": "book", "type": "tool"}],
    "definition": None,
}

_TOOLS, _RUNS = ("tools",), ("runs",)
_RUNS_OR_TOOLS = ("runs", "tools")
_WAITING = ("approve", "runs", "tools")

_REPLY_BEGUN = AnswerKind(
    means="The run is on record and under way. `Location` names it.", body=RunBegun, example=_BEGUN, has_location=True
)
_LINKS_OF_RUN = {
    "getRun": (202, "id", "/id"),
    "cancelRun": (202, "id", "/id"),
    "resumeRun": (202, "id", "/id"),
    "forkRun": (202, "id", "/id"),
}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listTools",
        method="get",
        path="/v1/tools",
        tag="tools",
        summary="List or search the tools that you may use.",
        scopes=_TOOLS,
        query=ToolsQuery,
        replies={200: AnswerKind(means="The tools.", body=ToolPage, example={"items": [_TOOL], "next": None})},
        handler=tools.list_tools,
    ),
    Operation(
        id="getTool",
        method="get",
        path="/v1/tools/{name}",
        tag="tools",
        summary="Get a tool with the schemas of its arguments and its result.",
        scopes=_TOOLS,
        names={"name": "The name of a tool."},
        replies={
            200: AnswerKind(
                means="The tool.",
                body=ToolSchema,
                example=_TOOL
                | {
                    "parameters": {
                        "type": "object",
                        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                        "required": ["a", "b"],
                    },
                    "result": {"type": "integer"},
                },
            )
        },
        handler=tools.get_tool,
    ),
    Operation(
        id="callTool",
        method="post",
        path="/v1/tools/{name}/call",
        tag="tools",
        summary="Call a tool.",
        description=(
            "The answer is 200 also where the tool failed: `error` says why, and what the call may have changed. 403 "
            "with the code `permission_denied`: the policy denies the call. 202: the call waits for a person; its run "
            "goes on when the person has answered. A client that hangs up does not end the call."
        ),
        scopes=_TOOLS,
        names={"name": "The name of a tool."},
        body=CallBody,
        takes_key=True,
        example={"arguments": {"a": 2, "b": 3}},
        replies={
            200: AnswerKind(
                means="The call has its outcome.",
                body=CallAnswer,
                example={"run": _RUN, "tool": "add", "result": 5, "content": [], "error": None},
            ),
            202: AnswerKind(
                means="The call waits for a person, and `Location` names its run. With `execute_async` the call is a "
                "task, and `Location` names the task.",
                body=CallWaits,
                other=TaskAccepted,
                example={"run": _RUN, "approval": _ASK, "approvals": [_APPROVAL]},
                has_location=True,
            ),
        },
        errors=(409,),
        handler=tools.call_tool,
    ),
    Operation(
        id="listRuns",
        method="get",
        path="/v1/runs",
        tag="runs",
        summary="List your runs, the latest first.",
        scopes=_RUNS_OR_TOOLS,
        query=RunsQuery,
        replies={
            200: AnswerKind(
                means="The runs.", body=RunPage, example={"items": [_RUN_INFO], "next": None, "count": None}
            )
        },
        handler=runs.list_runs,
    ),
    Operation(
        id="startRun",
        method="post",
        path="/v1/runs",
        tag="runs",
        summary="Have an agent answer a question.",
        description=(
            "The answer comes as soon as the run is on record. `GET /v1/runs/{id}` tells how the run stands, and "
            "`GET /v1/runs/{id}/events` tells what happens in it. A client that hangs up does not end the run."
        ),
        scopes=_RUNS,
        body=RunBody,
        takes_key=True,
        example={"agent": "desk", "question": "What is 2 and 3?", "session": "c1"},
        replies={
            202: AnswerKind(
                means="The run is on record and under way, and `Location` names it. With `execute_async` the run is a "
                "and `Location` names the task.",
                body=RunBegun,
                other=TaskAccepted,
                example=_BEGUN,
                has_location=True,
            )
        },
        errors=(404, 409),
        links=_LINKS_OF_RUN,
        handler=runs.start_run,
    ),
    Operation(
        id="getRun",
        method="get",
        path="/v1/runs/{id}",
        tag="runs",
        summary="Get a run: how it stands, its calls, and what it waits for.",
        scopes=_RUNS_OR_TOOLS,
        names=_RUN_NAME,
        replies={200: AnswerKind(means="The run.", body=RunDetails, example=_RUN_WHOLE)},
        handler=runs.get_run,
    ),
    Operation(
        id="followRun",
        method="get",
        path="/v1/runs/{id}/events",
        tag="runs",
        summary="Follow a run: what has happened in it, and what happens, as server-sent events.",
        description=(
            "The data of each event is a `RunEvent` as JSON. The id of an event is the number of an entry in the "
            "record of the run: send the last id as `Last-Event-ID` to go on behind it. The stream ends with the run; "
            "204 says that nothing more will come."
        ),
        scopes=_RUNS_OR_TOOLS,
        names=_RUN_NAME,
        takes_last_event=True,
        replies={
            200: AnswerKind(means="The events.", body=RunEvent, example=_EVENT, media_type="text/event-stream"),
            204: AnswerKind(means="The run is over, and the client has all its events."),
        },
        handler=runs.follow_run,
    ),
    Operation(
        id="cancelRun",
        method="post",
        path="/v1/runs/{id}/cancel",
        tag="runs",
        summary="Cancel a run.",
        description=(
            "What a tool is doing right now may have happened: the outcome of its call says so. 409: another server "
            "carries the run out."
        ),
        scopes=_RUNS_OR_TOOLS,
        names=_RUN_NAME,
        body=CancelBody,
        body_is_optional=True,
        example={},
        replies={200: AnswerKind(means="The run as it stands now.", body=RunDetails, example=_RUN_WHOLE)},
        errors=(409,),
        handler=runs.cancel_run,
    ),
    Operation(
        id="resumeRun",
        method="post",
        path="/v1/runs/{id}/resume",
        tag="runs",
        summary="Go on with a run that was interrupted or paused.",
        description=(
            "What the run has done is not done again, and a run that is over stays as it is: the same request can be "
            "sent again without an `Idempotency-Key`."
        ),
        scopes=_RUNS_OR_TOOLS,
        names=_RUN_NAME,
        body=ResumeBody,
        body_is_optional=True,
        example={"accept": False},
        replies={202: _REPLY_BEGUN},
        errors=(409,),
        handler=runs.resume_run,
    ),
    Operation(
        id="forkRun",
        method="post",
        path="/v1/runs/{id}/fork",
        tag="runs",
        summary="Begin a run that branches off from another run, and go on with it.",
        description=(
            "The new run has the entries of the other run up to the entry `at`. Calls of tools that the other run made "
            "after that entry ask for approval."
        ),
        scopes=_RUNS,
        names=_RUN_NAME,
        body=ForkBody,
        takes_key=True,
        example={"at": 0, "question": "What is 2 and 4?"},
        replies={202: _REPLY_BEGUN},
        errors=(409,),
        handler=runs.fork_run,
    ),
    Operation(
        id="listWorkflows",
        method="get",
        path="/v1/workflows",
        tag="workflows",
        summary="List the workflows that you may run.",
        scopes=_RUNS,
        query=WorkflowsQuery,
        replies={
            200: AnswerKind(means="The workflows.", body=WorkflowPage, example={"items": [_WORKFLOW], "next": None})
        },
        handler=workflows.list_workflows,
    ),
    Operation(
        id="getWorkflow",
        method="get",
        path="/v1/workflows/{name}",
        tag="workflows",
        summary="Get a workflow: what it is given, what it gives, and its nodes.",
        scopes=_RUNS,
        names=_WORKFLOW_NAME,
        query=WorkflowVersionQuery,
        replies={200: AnswerKind(means="The workflow.", body=WorkflowDetails, example=_WORKFLOW_WHOLE)},
        handler=workflows.get_workflow,
    ),
    Operation(
        id="checkWorkflow",
        method="post",
        path="/v1/workflows/{name}/check",
        tag="workflows",
        summary="Check a definition: everything that is wrong with it, with line, column and a hint.",
        description="Nothing is saved. The tools are those of the workflow of this name.",
        scopes=_RUNS,
        names=_WORKFLOW_NAME,
        body=WorkflowCheckBody,
        body_is_optional=True,
        example={"text": "actum: workflow/1\nname: booking\nnodes: {}\n"},
        replies={200: AnswerKind(means="What the check found.", body=WorkflowChecked, example={"problems": []})},
        handler=workflows.check_workflow,
    ),
    Operation(
        id="runWorkflow",
        method="post",
        path="/v1/workflows/{name}/run",
        tag="workflows",
        summary="Run a workflow.",
        description=(
            "The answer comes as soon as the run is on record. The run is a run like those of agents: "
            "`GET /v1/runs/{id}` tells how the run stands and what it gave, and `GET /v1/runs/{id}/events` tells what "
            "happens in it. A client that hangs up does not end the run."
        ),
        scopes=_RUNS,
        names=_WORKFLOW_NAME,
        body=WorkflowRunBody,
        takes_key=True,
        example={"inputs": {"budget": 2000}},
        replies={
            202: AnswerKind(
                means="The run is on record and under way, and `Location` names it. With `execute_async` the run is a "
                "task, and `Location` names the task.",
                body=RunBegun,
                other=TaskAccepted,
                example=_BEGUN,
                has_location=True,
            )
        },
        errors=(409,),
        links=_LINKS_OF_RUN,
        handler=workflows.run_workflow,
    ),
    Operation(
        id="getDraft",
        method="get",
        path="/v1/workflows/{name}/draft",
        tag="workflows",
        summary="Get the draft of a workflow.",
        scopes=_ADMIN,
        names=_WORKFLOW_NAME,
        replies={200: AnswerKind(means="The draft.", body=DraftText, example=_DRAFT)},
        handler=versions.get_draft,
    ),
    Operation(
        id="saveDraft",
        method="post",
        path="/v1/workflows/{name}/draft",
        tag="workflows",
        summary="Save the draft of a workflow.",
        description=(
            "409 with the code `stale`: somebody else has saved the draft since; `current` is the text as it is now. "
            "409 with the code `name_taken`: the name means something else on this server."
        ),
        scopes=_ADMIN,
        names=_WORKFLOW_NAME,
        body=DraftBody,
        example={"text": "actum: workflow/1\nname: booking\nnodes: {}\n", "revision": 0},
        replies={200: AnswerKind(means="The draft as it was saved.", body=DraftText, example=_DRAFT)},
        errors=(409,),
        handler=versions.save_draft,
    ),
    Operation(
        id="publishWorkflow",
        method="post",
        path="/v1/workflows/{name}/publish",
        tag="workflows",
        summary="Publish the draft of a workflow under the next number.",
        description="A definition in which something is wrong is not published: 422. Runs keep their versions.",
        scopes=_ADMIN,
        names=_WORKFLOW_NAME,
        body=PublishBody,
        body_is_optional=True,
        example={"revision": 1},
        replies={200: AnswerKind(means="The publication in use.", body=WorkflowVersion, example=_VERSION)},
        errors=(409,),
        handler=versions.publish,
    ),
    Operation(
        id="rollbackWorkflow",
        method="post",
        path="/v1/workflows/{name}/rollback",
        tag="workflows",
        summary="Publish an older publication of a workflow anew, under the next number.",
        scopes=_ADMIN,
        names=_WORKFLOW_NAME,
        body=RollbackBody,
        example={"number": 1},
        replies={200: AnswerKind(means="The publication in use.", body=WorkflowVersion, example=_VERSION)},
        errors=(409,),
        handler=versions.rollback,
    ),
    Operation(
        id="unpublishWorkflow",
        method="post",
        path="/v1/workflows/{name}/unpublish",
        tag="workflows",
        summary="Take a published workflow out of use.",
        description=(
            "Nothing new begins with the workflow until something is published under its name again. Runs under way go "
            "on with the versions with which they began, and all publications keep their numbers."
        ),
        scopes=_ADMIN,
        names=_WORKFLOW_NAME,
        replies={
            200: AnswerKind(
                means="What was in use, and who used it.",
                body=UnpublishedWorkflow,
                example={"number": 3, "used_by": ["desk"]},
            )
        },
        handler=versions.unpublish,
    ),
    Operation(
        id="listVersions",
        method="get",
        path="/v1/workflows/{name}/versions",
        tag="workflows",
        summary="List the publications of a workflow, the latest first.",
        scopes=_RUNS,
        names=_WORKFLOW_NAME,
        replies={200: AnswerKind(means="The publications.", body=WorkflowVersions, example={"items": [_VERSION]})},
        handler=versions.list_versions,
    ),
    Operation(
        id="compareVersions",
        method="get",
        path="/v1/workflows/{name}/diff",
        tag="workflows",
        summary="Get what differs between two versions of a workflow: nodes, edges and fields.",
        scopes=_ADMIN,
        names=_WORKFLOW_NAME,
        query=WorkflowDiffQuery,
        replies={
            200: AnswerKind(
                means="The differences.",
                body=WorkflowDifference,
                example={
                    "changes": [
                        {"kind": "added", "what": "node", "place": "book", "node": "", "old": None, "new": "tool"}
                    ]
                },
            )
        },
        errors=(422,),
        handler=versions.compare,
    ),
    Operation(
        id="listTasks",
        method="get",
        path="/v1/tasks",
        tag="tasks",
        summary="List your tasks, the latest first.",
        scopes=_RUNS_OR_TOOLS,
        query=TasksQuery,
        replies={200: AnswerKind(means="The tasks.", body=TaskPage, example={"items": [_TASK_INFO], "next": None})},
        errors=(409,),
        handler=tasks.list_tasks,
    ),
    Operation(
        id="getTask",
        method="get",
        path="/v1/tasks/{id}",
        tag="tasks",
        summary="Get a task: its state, progress, attempts and result.",
        description="With `wait` the answer comes when the task has ended or waits for a person, or the time is over.",
        scopes=_RUNS_OR_TOOLS,
        names=_TASK_NAME,
        query=TaskQuery,
        replies={200: _REPLY_TASK},
        handler=tasks.get_task,
    ),
    Operation(
        id="getTaskResult",
        method="get",
        path="/v1/tasks/{id}/result",
        tag="tasks",
        summary="Get the whole result of a task.",
        description="For results that are too large to be told with the state of their task: see `handle`.",
        scopes=_RUNS_OR_TOOLS,
        names=_TASK_NAME,
        replies={200: AnswerKind(means="The result.", body=TaskResult, example=TaskResult(result="..."))},
        handler=tasks.get_result,
    ),
    Operation(
        id="cancelTask",
        method="delete",
        path="/v1/tasks/{id}",
        tag="tasks",
        summary="Cancel a task.",
        description="What a tool is doing right now may have happened. 409: the task has ended; `state` says how.",
        scopes=_RUNS_OR_TOOLS,
        names=_TASK_NAME,
        replies={200: _REPLY_TASK},
        errors=(409,),
        handler=tasks.cancel_task,
    ),
    Operation(
        id="retryTask",
        method="post",
        path="/v1/tasks/{id}/retry",
        tag="tasks",
        summary="Begin a task again that failed or timed out.",
        description="What has an outcome is not done again: the task goes on with the same run.",
        scopes=_RUNS_OR_TOOLS,
        names=_TASK_NAME,
        replies={202: _REPLY_ACCEPTED},
        errors=(409,),
        handler=tasks.retry_task,
    ),
    Operation(
        id="listApprovals",
        method="get",
        path="/v1/approvals",
        tag="approvals",
        summary="List what waits for a person, the oldest first.",
        description="With the scope `approve` all that waits in your tenant; without it what your own runs wait for.",
        scopes=_WAITING,
        query=ApprovalsQuery,
        replies={200: AnswerKind(means="What waits.", body=ApprovalPage, example={"items": [_APPROVAL], "next": None})},
        handler=approvals.list_approvals,
    ),
    Operation(
        id="answerApproval",
        method="post",
        path="/v1/approvals/{id}",
        tag="approvals",
        summary="Approve or deny a call, or answer what is asked.",
        description=(
            "The run goes on by itself when nothing is left to be answered. Without the scope `approve` you can answer "
            "what your own runs ask of their user, and approve nothing."
        ),
        scopes=_WAITING,
        names={"id": "The id of what waits."},
        body=AnswerBody,
        example={"verdict": "approve"},
        replies={
            200: AnswerKind(
                means="The answer is on record.",
                body=Answered,
                example={"id": _ASK, "run": _RUN, "verdict": "approve", "is_complete": True, "goes_on": True},
            )
        },
        errors=(409,),
        handler=approvals.answer_approval,
    ),
    Operation(
        id="listSessions",
        method="get",
        path="/v1/sessions",
        tag="sessions",
        summary="List your sessions, the one that was talked in last first.",
        scopes=_RUNS,
        query=SessionsQuery,
        replies={
            200: AnswerKind(
                means="The sessions.",
                body=SessionPage,
                example={
                    "items": [
                        {
                            "id": "c1",
                            "owner": "ann",
                            "runs": 2,
                            "began": _ASKED_AT,
                            "latest": _ASKED_AT + 60,
                            "question": "What is 2 and 3?",
                            "status": "done",
                        }
                    ],
                    "next": None,
                },
            )
        },
        handler=sessions.list_sessions,
    ),
    Operation(
        id="listMessages",
        method="get",
        path="/v1/sessions/{id}/messages",
        tag="sessions",
        summary="Get the messages of a session, in order.",
        scopes=_RUNS,
        names={"id": "The id of a session."},
        query=OwnerQuery,
        replies={
            200: AnswerKind(
                means="The messages.",
                body=SessionMessages,
                example={
                    "items": [
                        {"role": "user", "text": "What is 2 and 3?", "calls": [], "tool": "", "error": None},
                        {"role": "agent", "text": "5", "calls": [], "tool": "", "error": None},
                    ],
                    "next": None,
                },
            )
        },
        handler=sessions.list_messages,
    ),
    Operation(
        id="forgetSession",
        method="delete",
        path="/v1/sessions/{id}",
        tag="sessions",
        summary="Forget a session: delete for good what its runs say.",
        scopes=_RUNS,
        names={"id": "The id of a session."},
        query=OwnerQuery,
        replies={
            200: AnswerKind(
                means="The session is forgotten.",
                body=SessionForgotten,
                example={"id": "c1", "runs": 2, "records": 11},
            )
        },
        errors=(409,),
        handler=sessions.forget_session,
    ),
    Operation(
        id="listAudit",
        method="get",
        path="/v1/audit",
        tag="audit",
        summary="List who did what, when, with what, and why it was allowed.",
        scopes=("audit",),
        query=AuditQuery,
        replies={
            200: AnswerKind(
                means="The lines of the audit, the latest runs first.",
                body=AuditPage,
                example={
                    "items": [
                        {
                            "at": _ASKED_AT,
                            "run": _RUN,
                            "number": 2,
                            "head": "5f0c",
                            "decision": "allowed",
                            "principal": "ann",
                            "agent": "desk",
                            "tool": "add",
                            "arguments": {"a": 2, "b": 3},
                            "rule": "",
                            "by": "",
                            "waited_s": None,
                            "attempt": 1,
                            "outcome": "",
                            "effect": "",
                            "key": "",
                            "text": "",
                        }
                    ],
                    "next": None,
                },
            )
        },
        handler=audit.list_audit,
    ),
)
