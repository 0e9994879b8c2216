"""verifiers: results.jsonl, a rollout a line; traces.jsonl (version 1 of its trace), an episode a line, or a trace."""

from collections import Counter
from collections.abc import Iterator

from stepadv.importing.conversation import firsts_of_turns, hear_messages, keep
from stepadv.importing.format import Format, Rollout, Where, about, pick, rollout_of
from stepadv.importing.formats.trl import hear_completion, messages_of
from stepadv.importing.values import (
    Json,
    at,
    digest,
    fields,
    first,
    is_number,
    listed,
    objects,
    path_of,
    time_at,
    words,
)

USED = ("prompt", "completion", "reward", "example_id", "is_truncated", "trajectory")
LIMITS = ("max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens", "context_length")
CHANNELS = {"eval": "validation", "train": "train"}
OF_RUN = {"run_id": "id", "policy_step": "work.step step", "policy_version": "work.policy.start work.step step"}
TABLE = {
    "meta.agent": "agent.name",
    "meta.trainable": "agent.trainable",
    "meta.info": "info",
    "meta.errors": "errors",
} | {f"meta.{key}": key for key in ("rewards", "metrics", "ok", "stop_condition")}


class Nodes:
    """A trace is a graph of messages: nodes, each with its parent before it.  What the model sampled are turns, in the
    order in which they were; what stands between them was told.  Where the conversation was begun anew (a node whose
    parent is not the one before it) what had been told is told again and left out."""

    def __init__(self, nodes: Json):
        self.messages: list[Json] = []
        self.tokens: list[dict[str, Json]] = []  # of each turn
        self.dropped: Counter[str] = Counter()
        sequences: list[list[Json]] = []  # the tokens from the root to each node
        told: set[str] = set()
        is_anew = False
        for i, node in enumerate(listed(nodes)):
            message, parent = at(node, "message"), at(node, "parent")
            is_known = type(parent) is int and 0 <= parent < i
            before, ids = sequences[parent] if is_known else [], listed(at(node, "token_ids"))
            sequences.append(before + ids)
            is_anew = is_anew or i > 0 and (not is_known or parent != i - 1)
            name = digest(message)
            if at(node, "sampled") is True:
                self.messages.append(message)
                self.tokens.append(self.turn(before, ids, node))
                is_anew = False
            elif at(message, "role") == "assistant":
                self.dropped["answers in the prompt"] += 1
            elif is_anew and name in told:
                self.dropped["messages told again"] += 1
            else:
                self.messages.append(message)
                told.add(name)

    @staticmethod
    def turn(before: list[Json], ids: list[Json], node: Json) -> dict[str, Json]:
        """Before what was sampled stands what the template puts there."""
        n = sum(m is True for m in listed(at(node, "mask")))
        begin, logprobs = max(len(ids) - n, 0), listed(at(node, "logprobs"))
        tokens = {"prompt_token_ids": before + ids[:begin], "response_token_ids": ids[begin:]}
        return (tokens | ({"rollout_logprobs": logprobs} if logprobs else {})) if n else {}


def reward_of(rewards: Json) -> float | None:
    """Rewards were numbers, and are a score and its weight."""
    found = [
        score * (weight if is_number(weight := at(reward, "weight")) else 1)
        for reward in fields(rewards).values()
        if is_number(score := reward if is_number(reward) else at(reward, "score"))
    ]
    return sum(found, 0.0) if found else None


def task_of(episode: dict[str, Json], trace: dict[str, Json], task: Json) -> str:
    name = at(trace, "agent.name")
    several = any(at(t, "agent.name") not in (None, name) for t in listed(episode.get("traces")))
    key = words(first(task, "key hash data.idx data.name")) or digest(at(task, "data"))
    return path_of(first(episode, "env.name env.id") or at(task, "type"), key, name if several else None) or ""


def times_of(trace: dict[str, Json]) -> dict[str, Json]:
    timing = fields(trace.get("timing"))
    begins = [b for b in (listed(timing.get("start")) or [timing.get("start")]) if is_number(b) and b > 0]
    ends = [e for part in timing.values() if is_number(e := at(part, "end")) and e > 0]
    return {"started_at": time_at(min(begins, default=None)), "ended_at": time_at(max(ends, default=None))}


def read_trace(episode: dict[str, Json], trace: dict[str, Json], where: Where) -> Rollout:
    """What an episode says of all its traces; a trace that stands alone says it of itself."""
    run, task = (trace.get(key) or episode.get(key) for key in ("run", "task"))
    run = episode.get("run") or run
    task_id, group = task_of(episode, trace, task), words(at(episode, "group.id"))
    nodes = Nodes(trace.get("nodes"))
    talk = hear_messages(messages_of(nodes.messages, "user"))
    talk.dropped += nodes.dropped
    calls = objects(trace.get("calls"))
    of_run = pick(OF_RUN, run)
    reasons = [c.get("finish_reason") for c in calls if "error" not in c]
    model = next((c["model"] for c in calls if c.get("model")), None)
    more = {
        "episode": episode.get("id") if "traces" in episode else None,
        "group": at(episode, "group.id"),
        "task": at(task, "data.name"),
    }
    members = {
        **of_run,
        **times_of(trace),
        "outcome": reward_of(trace.get("rewards")),
        "model": model or at(trace, "agent.config.model") or at(trace, "agent.model"),
        "channel": CHANNELS.get(str(first(run, "work.type type"))) if "policy_step" in of_run else None,
        "truncated": trace.get("stop_condition") in LIMITS or reasons[-1:] == ["length"],
        "task_id": task_id,
        "group_id": path_of(task_id, group),
        "rollout_id": trace.get("id"),
    }
    empty = {key: None for key in ("info", "errors") if not trace.get(key)}
    found = rollout_of(where, trace | empty, TABLE, talk, meta=more, **members)
    for step in firsts_of_turns(found["steps"]):
        step |= nodes.tokens[step["turn"]] if step["turn"] < len(nodes.tokens) else {}
    return keep(found, nodes.messages)


def read_result(record: dict[str, Json], where: Where) -> Rollout:
    talk, messages = hear_completion(record.get("prompt"), record.get("completion"))
    environment = record.get("env_id") or (record["task"] if isinstance(record.get("task"), str) else None)
    began = at(record, "timing.start_time")
    own = words(record.get("trajectory_id") or record.get("rollout_id")) or where.line or digest(record)
    members = {
        "started_at": time_at(began) if is_number(began) else None,
        "group_id": path_of(environment, first(record, "example_id id")) or "",
        "rollout_id": own,
    }
    table = {"truncated": "is_truncated"}
    return keep(rollout_of(where, record, table, talk, used=USED, **about(record) | members), messages)


def read(document: Json, where: Where) -> Iterator[Rollout]:
    traces = document.get("traces")
    if isinstance(traces, list):
        for trace in objects(traces):
            yield read_trace(document, trace, where)
        if not traces:
            yield {"dropped": {"episodes without a trace": 1}}
    elif isinstance(document.get("nodes"), list):
        yield read_trace(document, document, where)
    else:
        yield read_result(document, where)


FORMAT = Format(
    (
        ("example_id | id", "reward", "prompt", "completion", "!advantage | example_id"),
        ("traces[]", "env", "task.type", "task.data"),
        ("nodes[]", "rewards", "task.type", "task.data"),
    ),
    read,
)
