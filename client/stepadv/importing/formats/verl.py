"""verl's rollout dumps; output may contain <tool_call>."""

import re
from collections.abc import Iterator

from stepadv.importing.conversation import Conversation, parse_arguments
from stepadv.importing.format import Format, Rollouts, Where, about, rollout_of, training_group
from stepadv.importing.values import Json, digest, first, is_number, words

USED = "input output score reward step request_id success model".split()
# Tool calls and their results inside an output, as chat templates like Hermes' write them.  A result is between a call
# and the next word "assistant" at the end of a line, with or without the marks of the template.
CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
RESPONSE = re.compile(r"<tool_response>(.*?)</tool_response>", re.DOTALL)
# The end of a call that a result follows.
RETURN = re.compile(r"</tool_call>\s*+(?:<\|im_end\|>)?\s*+(?:<\|im_start\|>)?\s*+(?:user|tool)\n")
SPEAKS = re.compile(r"(?:<\|im_start\|>)?(?<!\w)assistant\n")


def without_end(text: str) -> str:
    return text.rstrip().removesuffix("<|im_end|>").rstrip()


def hear_said(talk: Conversation, said: str, chunk: int) -> None:
    rest = without_end(CALL.sub("", said)).strip(" \n")
    talk.begin()
    if rest or "<tool_call>" not in said:
        talk.say(rest or None)
    for n, content in enumerate(CALL.findall(said), 1):
        whole, _, _ = parse_arguments(content)
        is_call = isinstance(whole, dict) and "arguments" in whole
        name = whole.get("name") if isinstance(whole, dict) else None
        talk.call(name, whole["arguments"] if is_call else content.strip(" \n"), f"c{chunk}.{n}")


def chunks_of(output: str) -> Iterator[str]:
    """Splits an output after every call that a result follows."""
    begin = SPEAKS.match(output)
    at = begin.end() if begin else 0
    while end := RETURN.search(output, at):
        yield output[at : end.start()] + "</tool_call>"
        at = end.end()
    yield output[at:]


def hear(asked: str, output: str) -> Conversation:
    talk = Conversation()
    talk.see(asked)
    for number, chunk in enumerate(chunks_of(output), 1):
        said: str | None = chunk
        if number > 1:
            speaker = SPEAKS.search(chunk)
            told = without_end(chunk[: speaker.start()]) if speaker else chunk
            # One block for each call; without blocks, the whole text is the result.
            blocks = [block.strip(" \n") for block in RESPONSE.findall(told)]
            for n, block in enumerate(blocks or [told], 1):
                talk.result(block, f"c{number - 1}.{n}")
            said = chunk[speaker.end() :] if speaker else None
        if said is not None:
            hear_said(talk, said, number)
    return talk


def read(document: Json, where: Where) -> Rollouts:
    asked, output = document["input"], document["output"]
    score, step, task = first(document, "score reward"), document.get("step"), digest(asked)
    members = {
        **about(document, "score reward outcome"),
        "policy_version": step,
        "policy_step": step if is_number(step) else None,
        "task_id": task,
        "group_id": training_group(step, document.get("uid"), task),
        "rollout_id": words(document.get("request_id")) or where.line or str(where.n),
    }
    if isinstance(document.get("acc"), bool):
        members["success"] = document["acc"]
    talk = hear(asked, output) if "<tool_call>" in output else None
    found = rollout_of(where, document, {}, members, talk, used=USED)
    if talk is None:
        found["steps"] = [{"turn": 0, "observation": asked, "action": output}]
    for last in found["steps"][-1:]:
        last["reward"] = score
    yield found


FORMAT = Format("input= & output= & score | reward & step | request_id | gts & !steps", read)
