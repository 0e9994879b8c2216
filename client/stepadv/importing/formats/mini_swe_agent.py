"""mini-swe-agent: .traj.json; one command in a fence of each reply, or tool calls.

    {"trajectory_format": "mini-swe-agent-1", "info": {"exit_status": "Submitted"}, "messages": [
        {"role": "user", "content": "Fix it."}, {"role": "assistant", "content": "```bash\nls\n```"},
        {"role": "user", "content": "<returncode>0</returncode>…"}]}
"""

import re
from collections import Counter
from collections.abc import Iterator

from stepadv.importing.conversation import hear_messages, join, keep, reads_well, text_of
from stepadv.importing.format import Format, Rollout, Where, about, metadata, pick
from stepadv.importing.values import Json, at, digest, first, objects, words

FENCE = re.compile(r"```(?:mswea_)?bash(?:_command)?[ \t]*\r?\n(.*?)\r?\n[ \t]*```", re.DOTALL)
CUT_OFF = ("LimitsExceeded", "TimeExceeded", "CostLimitExceeded")
OF_META = {"exit_status": "info.exit_status", "submission": "info.submission", "model_stats": "info.model_stats",
           "trajectory_format": "trajectory_format"}  # fmt: skip


def commands_of(message: dict[str, Json], text: str) -> list[str]:
    actions = at(message, "extra.actions")
    if isinstance(actions, list):
        return [words(first(a, "command action") if isinstance(a, dict) else a) or "" for a in actions]
    return [command.strip(" \t\r\n") for command in FENCE.findall(text)]


def steps_of(messages: list[dict[str, Json]], repaired: Counter[str]) -> list[dict[str, Json]]:
    turns: list[list[dict[str, Json]]] = [[{}]]
    for message in messages:
        if message.get("role") == "assistant":
            turns.append([message])
        elif message.get("role") != "system":
            turns[-1].append(message)
    seen = [join(text_of(m.get("content")) for m in turn[1:]) for turn in turns]
    steps = []
    for number, (message, *_) in enumerate(turns[1:]):
        text, told = text_of(message.get("content")), seen[number + 1]
        commands = commands_of(message, text or "")
        step = {"turn": number, "observation": seen[number], "next_observation": told}
        if len(commands) == 1:
            ok = None if told is None else reads_well(told)
            step |= {"action": commands[0], "tool": "bash", "args": {"command": commands[0]}, "ok": ok, "meta": {"text": text}}
        else:
            repaired["turns without one command"] += 1
            step |= {"action": text, "ok": False}
        steps.append(step)
    return steps


def read(document: Json, where: Where) -> Iterator[Rollout]:
    messages = objects(document.get("messages"))
    task = words(first(document, "instance_id info.instance_id") or where.base or digest(document)) or ""
    rollout = {
        **about(document),
        **pick({"model": "info.config.model.model_name"}, document),
        **({"truncated": True} if at(document, "info.exit_status") in CUT_OFF else {}),
        "group_id": task,
        "rollout_id": where.try_of(task) if where.source else digest(document),
        "meta": metadata(where, **pick(OF_META, document)),
    }
    # Later versions call tools as everybody does.
    if any(isinstance(m.get("tool_calls"), list) for m in messages):
        rollout |= hear_messages(messages).about()
    else:
        repaired: Counter[str] = Counter()
        dropped = Counter({"system messages": sum(m.get("role") == "system" for m in messages)})
        rollout |= {"steps": steps_of(messages, repaired), "dropped": dropped, "repaired": repaired}
    yield keep(rollout, document.get("messages"))


FORMAT = Format((("messages[]", "trajectory_format=mini-swe-agent | info.mini_version"),), read)
