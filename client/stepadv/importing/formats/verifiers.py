"""verifiers: results.jsonl, a rollout on each line."""

from stepadv.importing.conversation import keep
from stepadv.importing.format import Format, Rollouts, Where, about, rollout_of
from stepadv.importing.formats.trl import hear_completion
from stepadv.importing.values import Json, at, digest, first, path_of, time_of, words

USED = ("prompt", "completion", "reward", "example_id", "is_truncated", "trajectory")


def read(document: Json, where: Where) -> Rollouts:
    talk, messages = hear_completion(document.get("prompt"), document.get("completion"))
    task = document.get("task")
    environment = document.get("env_id") or (task if isinstance(task, str) else None)
    own = words(document.get("trajectory_id") or document.get("rollout_id")) or where.line or digest(document)
    members = {
        **about(document),
        "started_at": time_of(at(document, "timing.start_time")),
        "group_id": path_of(environment, first(document, "example_id id")) or "",
        "rollout_id": own,
    }
    yield keep(rollout_of(where, document, {"truncated": "is_truncated"}, members, talk, used=USED), messages)


FORMAT = Format("example_id | id & reward & prompt & completion & !advantage | example_id", read)
