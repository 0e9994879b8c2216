"""Chat messages: OpenAI's with tool calls, Anthropic's with blocks; results of tau-bench, which have traj."""

from stepadv.importing.conversation import hear_messages, keep
from stepadv.importing.format import TRIALS, Format, Rollout, Rollouts, Where, about, digest_of_prompt, rollout_of
from stepadv.importing.values import Json, at, digest, fields, first, words

# Members that do not become metadata.
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
    return keep(rollout_of(where, record, {}, about(record) | names, hear_messages(messages), used=USED), messages)


def read(document: Json, where: Where) -> Rollouts:
    is_list = isinstance(document, list)
    is_one = is_list and "role" in fields(at(document, "0"))
    for record in [{"messages": document}] if is_one else document if is_list else [document]:
        yield read_record(fields(record), where)


# Members that other formats with messages have.
OTHERS = "!trajectory_format & !trajectory & !response & !sessionId & !info.mini_version"
NO_TAU2 = "!termination_reason | !task_id | !start_time"
FORMAT = Format(f"messages[].role & {OTHERS} & {NO_TAU2} || traj[] || [].role & !kind", read)
