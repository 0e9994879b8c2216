"""SWE-agent: .traj, in every version that has trajectory."""

import re
from collections import Counter
from collections.abc import Iterator

from stepadv.importing.conversation import in_turn, is_demo, keep, parse_arguments, reads_well, text_of
from stepadv.importing.format import OF_INFO, Format, Rollouts, Where, about, pick, rollout_of
from stepadv.importing.values import Json, at, digest, first, listed, objects, words

REFUSED = re.compile(r"\s*(Your (proposed edit has introduced|command timed out)|(EXECUTION|COMMAND) TIMED OUT)")
# If the file does not have the instance, it is what follows the settings in the name of the file.
SETTINGS = re.compile(r"^.*__install-[0-9]+(___[a-z]+(_[a-z]+)*)?__")
TABLE = {
    "model": "replay_config.agent.model.name",
    "truncated": "info.exit_status~exit_(cost|context|format|error|time)|early_exit",
    "meta.environment": "environment",
} | OF_INFO
OF_STEP = {"thought": "thought", "state": "state", "execution_time": "execution_time"}


def call_of(step: dict[str, Json], place: int, said: list[dict[str, Json]]) -> tuple[str | None, Json, str | None]:
    """The call of the action, if the model made one.  The history may have been cut: of the messages with this action,
    the one at this place counts, else the first with this thought, else the first."""
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


def turns_of(trajectory: Json, said: list[dict[str, Json]], repaired: Counter[str]) -> Iterator[dict[str, Json]]:
    for place, step in enumerate(objects(trajectory)):
        action, told = text_of(step.get("action")), text_of(step.get("observation"))
        tool, args, broken = call_of(step, place, said)
        is_empty = not (action or "").strip()
        repaired["arguments that are not JSON"] += broken is not None
        repaired["turns without a command"] += is_empty
        if not is_empty and tool is None:
            # A line for the shell, whose commands include the scaffold's tools.
            tool, args = "bash", {"command": action}
        yield {
            "next_observation": told,
            "action": action,
            "tool": tool,
            "args": args,
            "ok": None if is_empty or told is None else not REFUSED.match(told) and reads_well(told),
            "meta": pick(OF_STEP, step) or None,
        }


def read(document: Json, where: Where) -> Rollouts:
    history = objects(document.get("history"))
    own = [m for m in history if not is_demo(m)]
    said = [m for m in own if m.get("role") == "assistant"]
    # The first observation is the last message of the user before the model's first.
    before = own[: own.index(said[0])] if said else own
    seen = next((text_of(m.get("content")) for m in reversed(before) if m.get("role") == "user"), None)
    repaired: Counter[str] = Counter()
    dropped = {
        "system messages": sum(m.get("role") == "system" for m in history),
        "demonstrations": len(history) - len(own),
    }
    name, task = where.base, words(first(document, "instance_id replay_config.problem_statement.id"))
    task = task or (SETTINGS.sub("", name) if name else digest(document))
    members = {
        **about(document),
        "group_id": task,
        "rollout_id": where.try_of(task) if name else digest(document),
        "steps": in_turn(seen, turns_of(document.get("trajectory"), said, repaired)),
        "dropped": Counter(dropped),
        "repaired": repaired,
    }
    yield keep(rollout_of(where, document, TABLE, members), listed(document.get("history")))


FORMAT = Format("trajectory[].action & trajectory[].observation & !response", read)
