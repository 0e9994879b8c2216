"""SWE-agent: .traj, every version that has trajectory; demonstrations, which are a history alone.

    {"environment": "swe_main", "info": {"exit_status": "submitted"}, "history": [{"role": "user", "content": "…"}],
     "trajectory": [{"action": "ls", "observation": "a.py", "thought": "Look.", "state": "{}"}]}
"""

import re
from collections import Counter
from collections.abc import Iterator

from stepadv.importing.conversation import is_demo, keep, parse_arguments, reads_well, text_of
from stepadv.importing.format import Format, Rollout, Where, about, metadata, pick
from stepadv.importing.values import Json, at, digest, first, listed, objects, words

CUT_OFF = re.compile(r"exit_(cost|context|format|error|time)|early_exit")
REFUSED = re.compile(r"\s*(Your (proposed edit has introduced|command timed out)|EXECUTION TIMED OUT|COMMAND TIMED OUT)")
# The instance, where the file does not say it, is what follows the settings in its name.
SETTINGS = re.compile(r"^.*__install-[0-9]+(___[a-z]+(_[a-z]+)*)?__")
OF_META = {"environment": "environment", "exit_status": "info.exit_status", "submission": "info.submission",
           "model_stats": "info.model_stats"}  # fmt: skip


def trajectory_of(document: dict[str, Json], history: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Of a demonstration: what it did and what it was told next are the trajectory that it came from."""
    if isinstance(document.get("trajectory"), list):
        return objects(document["trajectory"])
    return [
        {
            "action": message["action"],
            "thought": message.get("thought"),
            "observation": None if after.get("role") == "assistant" else text_of(after.get("content")),
        }
        for message, after in zip(history, [*history[1:], {}], strict=False)
        if message.get("role") == "assistant" and isinstance(message.get("action"), str)
    ]


def call_of(step: dict[str, Json], place: int, said: list[dict[str, Json]]) -> tuple[str | None, Json, str | None]:
    """The call behind the action, where the model made one.  The history may have been cut: what was done tells, and
    the order if there was more of that."""
    ranks = [
        (i != place, message.get("thought") != step.get("thought"), i)
        for i, message in enumerate(said)
        if isinstance(message.get("tool_calls"), list) and message.get("action") == step.get("action")
    ]
    if not ranks:
        return None, None, None
    function = at(said[min(ranks)[2]], "tool_calls.0.function")
    args, _, repaired = parse_arguments(at(function, "arguments"))
    return text_of(at(function, "name")), args, repaired


def first_seen(history: list[dict[str, Json]]) -> str | None:
    """The last thing it was told before it spoke."""
    seen = None
    for message in history:
        if message.get("role") == "assistant":
            break
        if message.get("role") == "user":
            seen = text_of(message.get("content"))
    return seen


def steps_of(trajectory: list[dict[str, Json]], history: list[dict[str, Json]], repaired: Counter[str]) -> list[dict[str, Json]]:
    said = [m for m in history if m.get("role") == "assistant"]
    seen = first_seen(history)
    steps = []
    for place, step in enumerate(trajectory):
        action, told = text_of(step.get("action")), text_of(step.get("observation"))
        tool, args, broken = call_of(step, place, said)
        is_empty = not (action or "").strip()
        repaired["arguments that are no JSON"] += broken is not None
        repaired["turns without a command"] += is_empty
        if not is_empty and tool is None:
            # A line for the shell, whose commands are tools of the scaffold as well.
            tool, args = "bash", {"command": action}
        steps.append({
            "turn": place,
            "observation": seen,
            "next_observation": told,
            "action": action,
            "tool": tool,
            "args": args,
            "ok": None if is_empty or told is None else not REFUSED.match(told) and reads_well(told),
            "meta": pick({key: key for key in ("thought", "state", "execution_time")}, step) or None,
        })
        seen = told
    return steps


def read(document: Json, where: Where) -> Iterator[Rollout]:
    history = objects(document.get("history"))
    own = [m for m in history if not is_demo(m)]
    repaired: Counter[str] = Counter()
    status = at(document, "info.exit_status")
    name = where.base
    task = words(first(document, "instance_id replay_config.problem_statement.id"))
    task = task or (SETTINGS.sub("", name) if name else digest(document))
    rollout = {
        **about(document),
        **pick({"model": "replay_config.agent.model.name"}, document),
        **({"truncated": True} if isinstance(status, str) and CUT_OFF.search(status) else {}),
        "group_id": task,
        "rollout_id": where.try_of(task) if name else digest(document),
        "meta": metadata(where, **pick(OF_META, document)),
        "steps": steps_of(trajectory_of(document, own), own, repaired),
        "dropped": Counter({
            "system messages": sum(m.get("role") == "system" for m in history),
            "demonstrations": len(history) - len(own),
        }),
        "repaired": repaired,
    }
    yield keep(rollout, listed(document.get("history")))


def has_steps(document: Json) -> bool:
    steps = objects(document["trajectory"])[:1]
    return len(steps) == len(document["trajectory"][:1]) and all("action" in s and "observation" in s for s in steps)


def has_actions(document: Json) -> bool:
    return any(m.get("role") == "assistant" and "action" in m for m in objects(document.get("history")))


FORMAT = Format(
    (
        ("trajectory[]", ("trajectory[].action and observation", has_steps)),
        (("history[] of the role assistant with an action", has_actions), "!trajectory", "!messages"),
    ),
    read,
)
