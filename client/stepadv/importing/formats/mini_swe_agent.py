"""mini-swe-agent: .traj.json; each reply has one command in a code fence, or tool calls."""

import re
from collections import Counter

from stepadv.importing.conversation import hear_messages, in_turn, join, keep, reads_well, text_of
from stepadv.importing.format import OF_INFO, Format, Rollouts, Where, about, rollout_of
from stepadv.importing.values import Json, at, digest, first, objects, words

FENCE = re.compile(r"```(?:mswea_)?bash(?:_command)?[ \t]*\r?\n(.*?)\r?\n[ \t]*```", re.DOTALL)
TABLE = {
    "model": "info.config.model.model_name",
    "truncated": "info.exit_status~^(Limits|Time|CostLimit)Exceeded$",
    "meta.trajectory_format": "trajectory_format",
} | OF_INFO


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
    told = [join([text_of(m.get("content")) for m in turn[1:]]) for turn in turns]
    steps = []
    for (message, *_), back in zip(turns[1:], told[1:], strict=True):
        text = text_of(message.get("content"))
        commands = commands_of(message, text or "")
        step: dict[str, Json] = {"next_observation": back, "action": text, "ok": False}
        if len(commands) == 1:
            step |= {"action": commands[0], "tool": "bash", "args": {"command": commands[0]}, "meta": {"text": text}}
            step["ok"] = None if back is None else reads_well(back)
        repaired["turns without one command"] += len(commands) != 1
        steps.append(step)
    return in_turn(told[0], steps)


def read(document: Json, where: Where) -> Rollouts:
    messages = objects(document.get("messages"))
    task = words(first(document, "instance_id info.instance_id") or where.base or digest(document)) or ""
    names = {"group_id": task, "rollout_id": where.try_of(task) if where.source else digest(document)}
    # Later versions have tool calls.
    if any(isinstance(m.get("tool_calls"), list) for m in messages):
        made = hear_messages(messages).about()
    else:
        repaired: Counter[str] = Counter()
        dropped = Counter({"system messages": sum(m.get("role") == "system" for m in messages)})
        made = {"steps": steps_of(messages, repaired), "dropped": dropped, "repaired": repaired}
    yield keep(rollout_of(where, document, TABLE, about(document) | names | made), document.get("messages"))


FORMAT = Format("messages[] & trajectory_format=mini-swe-agent | info.mini_version", read)
