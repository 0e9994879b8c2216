"""ATIF, the trajectories of Harbor, versions 1.0 to 1.7: every step of the agent is a turn."""

import os
import re

from stepadv.importing.conversation import Conversation, firsts_of_turns, hear_message, text_of
from stepadv.importing.format import Format, Parts, Rollout, Rollouts, Where, about, pick, rollout_of, tokens_of
from stepadv.importing.values import Json, at, digest, fields, first, given, listed, objects, words

MARK = b"ATIF-v"  # at the beginning of a file
# Names of parts: s-cont-1, trajectory.summarization-1-summary.json.
PART = re.compile(r"(.+?)[-._](cont|summarization)-[0-9]+")
TABLE = {"started_at": "steps.0.timestamp", "ended_at": "steps.-1.timestamp"}
TABLE |= {f"meta.{key}": key for key in ("agent", "final_metrics", "notes", "schema_version")}
OF_CALL = {"id": "tool_call_id", "name": "function_name", "arguments": "arguments"}
OF_SUB_AGENT = {"id": "trajectory_id session_id", "agent": "agent.name"}
ROLES = {"agent": "assistant", "user": "user", "system": "system"}


def results_of(step: Json) -> list[dict[str, Json]]:
    return objects(at(step, "observation.results"))


def hear(steps: list[dict[str, Json]]) -> Conversation:
    talk = Conversation()
    for step in steps:
        results, calls = results_of(step), objects(step.get("tool_calls"))
        if step.get("source") != "system" or not results:
            message = {
                "role": ROLES.get(str(step.get("source")), ""),
                "content": text_of(step.get("message")),
                "reasoning": text_of(step.get("reasoning_content")),
                "tool_calls": [{key: call.get(name) for key, name in OF_CALL.items()} for call in calls],
            }
            hear_message(talk, message)
        for result in results:
            told = text_of(result.get("content"))
            if told is None and result.get("subagent_trajectory_ref"):
                continue
            if calls:
                talk.result(told or "", result.get("source_call_id"))
            else:
                talk.see(told or "")
    return talk


def metrics_of(step: dict[str, Json]) -> dict[str, Json]:
    """The tokens of a turn, if they are recorded, and its other metrics as metadata."""
    metrics = fields(step.get("metrics"))
    found = tokens_of(metrics)
    n_tokens, n_logprobs = (len(found.get(key, ())) for key in ("response_token_ids", "rollout_logprobs"))
    if n_tokens != n_logprobs:
        found.pop("rollout_logprobs", None)
    others = {key: v for key, v in given(metrics).items() if all(v is not array for array in found.values())}
    return found | ({"meta": {"metrics": others}} if others else {})


def add_metrics(rollout: Rollout, told: list[dict[str, Json]]) -> None:
    """Adds metrics to the first step of each turn; to none, unless each turn corresponds to one step of the agent."""
    found = [metrics_of(step) for step in told if step.get("source") == "agent"]
    firsts = firsts_of_turns(rollout["steps"])
    if any(found) and len(firsts) != len(found):
        rollout["repaired"]["metrics that no turn tells apart"] += 1
        return
    for step, more in zip(firsts, found, strict=False):
        meta = (step.get("meta") or {}) | more.pop("meta", {})
        step |= more | {"meta": meta or None}


def read_one(document: Json, where: Where) -> Rollout:
    told = objects(document.get("steps"))
    extra = fields(document.get("extra"))
    asked = next((s.get("message") for s in told if s.get("source") == "user"), None)
    task = first(extra, "task_id task_name instance_id")
    otherwise = digest(asked) if asked is not None else where.rollout or document.get("session_id")
    model = next((s["model_name"] for s in told if s.get("model_name")), None)
    subs = [pick(OF_SUB_AGENT, d) | {"steps": len(listed(d.get("steps")))} for d in sub_agents(document)]
    members = {
        **about(document),
        **about(extra),
        **given({"model": model or at(document, "agent.model_name")}),
        "group_id": otherwise if task is None else task,
        "rollout_id": first(document, "trajectory_id session_id") or where.rollout or digest(told),
    }
    meta = {"sub_agents": subs or None}
    rollout = rollout_of(where, document | {"steps": told}, TABLE, members, hear(told), meta=meta)
    add_metrics(rollout, told)
    return rollout


def sub_agents(document: Json) -> list[Json]:
    return objects(document.get("subagent_trajectories"))


def id_of(document: Json) -> str:
    return words(first(document, "session_id trajectory_id")) or ""


def parent_of(document: Json) -> str | None:
    """The session of which a document is a part, by its members or its id."""
    told = first(document, "parent_session_id extra.parent_session_id")
    found = PART.match(id_of(document))
    return words(told) if told is not None else found[1] if found else None


def file_of(path: Json) -> str:
    return os.path.basename(words(path) or "")


def relations(documents: dict[str, Json]) -> dict[str, tuple[str, bool]]:
    """For the file of each part: that of its parent, and whether it continues the parent or (False) is a sub-agent
    of it."""
    ids = ((words(d.get(key)), name) for key in ("session_id", "trajectory_id") for name, d in documents.items())
    named = {id: name for id, name in ids if id}
    found: dict[str, tuple[str, bool]] = {}
    for name, document in documents.items():
        results = [r for step in objects(document.get("steps")) for r in results_of(step)]
        for ref in (ref for r in results for ref in objects(r.get("subagent_trajectory_ref"))):
            # A session that both share does not identify the child.
            session, path = words(ref.get("session_id")), file_of(ref.get("trajectory_path"))
            of_session = named.get(session or "") if session != words(document.get("session_id")) else None
            child = path if path in documents else named.get(words(ref.get("trajectory_id")) or "") or of_session
            if child is not None and child != name:
                found[child] = (name, False)
        follows = file_of(document.get("continued_trajectory_ref"))
        if follows in documents and follows != name:
            found[follows] = (name, True)
    for name, document in documents.items():
        base, parent = PART.match(name), named.get(parent_of(document) or "")
        if parent is None and base:
            parent = next((n for n in documents if n.startswith(base[1] + ".") and not PART.match(n)), None)
        if name not in found and parent is not None and parent != name:
            found[name] = (parent, any(m and m[2] == "cont" for m in (base, PART.match(id_of(document)))))
    return found


def root_of(name: str, found: dict[str, tuple[str, bool]]) -> str:
    seen = {name}
    while name in found and found[name][0] not in seen:
        name = found[name][0]
        seen.add(name)
    return name


def parents(documents: dict[str, Json]) -> dict[str, str]:
    """For the files of one folder: maps the file of each part to that of its try."""
    found = relations(documents)
    return {name: root for name in found if (root := root_of(name, found)) != name}


def stitch(documents: dict[str, Json], root: str, found: dict[str, tuple[str, bool]]) -> Json:
    """The root with its sub-agents, and with the steps of its continuations except those copied from earlier ones."""
    chain, others = [root], list[str]()
    for name in sorted(documents, key=lambda n: [int(x) if x.isdigit() else x for x in re.split(r"([0-9]+)", n)]):
        if name != root and root_of(name, found) == root:
            (chain if found[name][1] and found[name][0] in chain else others).append(name)
    steps = objects(documents[root].get("steps"))
    for name in chain[1:]:
        steps = steps + [s for s in objects(documents[name].get("steps")) if not s.get("is_copied_context")]
    subs = [*sub_agents(documents[root]), *(documents[name] for name in others)]
    return {**documents[root], "steps": steps, "subagent_trajectories": subs}


def split(document: Json, where: Where) -> Parts:
    name = file_of(where.source) if where.n == 1 or not where.source else f"{file_of(where.source)}:{where.n}"
    yield parent_of(document) or id_of(document) or name, (name, document)


def join(told: list[Json], where: Where) -> Rollouts:
    documents = {}
    for n, (name, document) in enumerate(told):
        documents[name if name not in documents else f"{name}:{n}"] = fields(document)
    found = relations(documents)
    for name, document in documents.items():
        if root_of(name, found) != name:
            continue
        if parent_of(document) is not None and name not in found:
            yield {"dropped": {"parts of tries that are elsewhere": 1}}
        else:
            yield read_one(stitch(documents, name, found), where)


FORMAT = Format("schema_version=ATIF-v & steps[]", split=split, join=join)
