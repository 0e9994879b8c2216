"""Chat messages: OpenAI's with tool calls, Anthropic's with blocks; results of tau-bench, which have traj."""

from collections.abc import Iterator

from stepadv.importing.conversation import hear_messages, keep
from stepadv.importing.format import TRIALS, Format, Rollout, Where, about, digest_of_prompt, rollout_of
from stepadv.importing.formats.responses import has_items
from stepadv.importing.values import Json, at, digest, fields, first, listed, words

# Members of a rollout, and no metadata.
USED = "traj messages reward outcome score success truncated model policy_version run_id policy_step".split()


def read_record(record: dict[str, Json], where: Where) -> Rollout:
    messages = next((record[k] for k in ("traj", "messages") if isinstance(record.get(k), list)), None)
    if messages is None:
        return {"problem": "a record has no list of messages (traj or messages)"}
    own = words(first(record, "group_id task_id instance_id"))
    group = own if own is not None else digest_of_prompt(messages)
    trial = words(first(record, TRIALS))
    rollout = words(first(record, "rollout_id uuid session_id" + (" id" if own is not None else "")))
    rollout = f"{group}-t{trial}" if group is not None and trial is not None else rollout or digest(messages)
    names = {"group_id": group, "rollout_id": rollout}
    return keep(rollout_of(where, record, {}, hear_messages(messages), used=USED, **about(record) | names), messages)


def read(document: Json, where: Where) -> Iterator[Rollout]:
    if isinstance(document, list):
        records = [{"messages": document}] if "role" in fields(at(document, "0")) else document
    else:
        records = listed(document.get("simulations")) or [document]
    for record in records:
        yield read_record(fields(record), where)


# What other formats with messages have beside them.
OTHERS = "!trajectory_format !trajectory !response !sessionId !info.mini_version".split()
FORMAT = Format(
    (
        ("messages[]", *OTHERS, "!termination_reason | !task_id | !start_time"),
        ("traj[]",),
        ("[].role", "role", "!kind", ("no items of the Responses interface", lambda d: not has_items(d))),
        ("simulations[]", "!info.environment_info"),
    ),
    read,
)
