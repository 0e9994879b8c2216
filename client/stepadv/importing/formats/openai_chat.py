"""Chat messages: OpenAI's with tool calls, Anthropic's with blocks; results of tau-bench, which have traj.

    {"task_id": 7, "trial": 0, "reward": 1, "messages": [
        {"role": "user", "content": "Where is my bag?"},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "find_bag", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "on bus 5"}]}
"""

from collections.abc import Iterator

from stepadv.importing.conversation import hear_messages, keep
from stepadv.importing.format import TRIALS, Format, Rollout, Where, about, digest_of_prompt, metadata
from stepadv.importing.values import Json, at, digest, fields, first, listed, objects, words

# Members of a rollout, and no metadata.
USED = ("traj", "messages", "reward", "outcome", "score", "success", "truncated", "model", "policy_version", "run_id",
        "policy_step")  # fmt: skip


def has_items(document: Json) -> bool:
    """Of the Responses interface."""
    return any(
        "raw_item" in item
        or "rawItem" in item
        or item.get("type") in ("function_call", "function_call_output")
        or any(part.get("type") == "output_text" for part in objects(item.get("content")))
        for item in objects(document)
    )


def read_record(record: dict[str, Json], where: Where) -> Rollout:
    messages = next((record[k] for k in ("traj", "messages") if isinstance(record.get(k), list)), None)
    if messages is None:
        return {"problem": "a record has no list of messages (traj or messages)"}
    own = words(first(record, "group_id task_id instance_id"))
    group = own if own is not None else digest_of_prompt(messages)
    trial = words(first(record, TRIALS))
    if group is not None and trial is not None:
        rollout: str | None = f"{group}-t{trial}"
    else:
        rollout = words(first(record, "rollout_id uuid session_id" + (" id" if own is not None else "")))
    return keep({
        **about(record),
        "group_id": group,
        "rollout_id": digest(messages) if rollout is None else rollout,
        "meta": metadata(where, record, USED),
        **hear_messages(messages).about(),
    }, messages)  # fmt: skip


def read(document: Json, where: Where) -> Iterator[Rollout]:
    if isinstance(document, list):
        records = [{"messages": document}] if "role" in fields(at(document, "0")) else document
    else:
        records = listed(document.get("simulations")) or [document]
    for record in records:
        yield read_record(fields(record), where)


# What other formats with messages have beside them.
OTHERS = ("!trajectory_format", "!trajectory", "!response", "!sessionId", "!info.mini_version",
          "!termination_reason | !task_id | !start_time")  # fmt: skip
FORMAT = Format(
    (
        ("messages[]", *OTHERS),
        ("traj[]",),
        ("[].role", "role", "!kind", ("no items of the Responses interface", lambda d: not has_items(d))),
        ("simulations[]", "!info.environment_info"),
    ),
    read,
    has_lists=True,
)
