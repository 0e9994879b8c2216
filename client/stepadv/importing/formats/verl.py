"""verl's rollout dumps, with <tool_call> inside output, and with arrays of tokens."""

import re
from collections.abc import Iterator
from itertools import groupby

from stepadv.importing.conversation import Conversation, firsts_of_turns, parse_arguments
from stepadv.importing.format import TOKEN_LISTS, Format, Rollout, Where, about, rollout_of, tokens_of, training_group
from stepadv.importing.values import Json, digest, first, is_number, words

USED = "input output score reward step request_id success model".split()
USED += [name for names in TOKEN_LISTS.values() for name in names]

# Calls of tools and their results inside an output, as chat templates of Hermes' kind write them.  A result stands
# between a call and the next word "assistant" on a line of its own, with the template's marks or without them.
CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
RESPONSE = re.compile(r"<tool_response>(.*?)</tool_response>", re.DOTALL)
# Behind a call behind which something comes back.
RETURN = re.compile(r"</tool_call>\s*+(?:<\|im_end\|>)?\s*+(?:<\|im_start\|>)?\s*+(?:user|tool)\n")
SPEAKS = re.compile(r"(?<!\w)assistant\n")
BEGINS = re.compile(r"(?:<\|im_start\|>)?assistant\n")


def hear_said(talk: Conversation, said: str, chunk: int) -> None:
    rest = CALL.sub("", said)
    if rest.rstrip().endswith("<|im_end|>"):
        rest = rest.rstrip()[: -len("<|im_end|>")].rstrip()
    rest = rest.strip(" \n")
    if rest == "" and "<tool_call>" in said:
        talk.think(None, new=True)
    else:
        talk.say(rest or None, new=True)
    for n, content in enumerate(CALL.findall(said), 1):
        whole, _, _ = parse_arguments(content)
        is_call = isinstance(whole, dict) and "arguments" in whole
        name = whole.get("name") if isinstance(whole, dict) else None
        talk.call(name, whole["arguments"] if is_call else content.strip(" \n"), f"c{chunk}.{n}")


def chunks_of(output: str) -> Iterator[str]:
    """Each up to the end of a call behind which something comes back."""
    begin = BEGINS.match(output)
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
            speaker, told = SPEAKS.search(chunk), chunk
            if speaker:
                told = (
                    chunk[: speaker.start()].removesuffix("<|im_start|>").rstrip().removesuffix("<|im_end|>").rstrip()
                )
            # One block for each call, or all that came back.
            blocks = [block.strip(" \n") for block in RESPONSE.findall(told)]
            for n, block in enumerate(blocks or [told], 1):
                talk.result(block, f"c{number - 1}.{n}")
            said = chunk[speaker.end() :] if speaker else None
        if said is not None:
            hear_said(talk, said, number)
    return talk


def add_tokens(found: Rollout, tokens: dict[str, list[Json]]) -> None:
    """The tokens of turns are the runs of true in the mask, if there are as many: the first step of each has them."""
    runs, end = [], 0
    for value, run in groupby(tokens.get("response_mask", []), lambda m: m is True):
        begin, end = end, end + len(list(run))
        runs += [(begin, end)] if value else []
    firsts = firsts_of_turns(found["steps"])
    if len(runs) != len(firsts):
        found["repaired"].update(["tokens that no turn tells apart"] if "response_token_ids" in tokens else [])
        return
    for step, (begin, end) in zip(firsts, runs, strict=True):
        step |= {column: tokens[column][begin:end] for column in tokens if column != "prompt_token_ids"}
        if "prompt_token_ids" in tokens:
            step["prompt_token_ids"] = tokens["prompt_token_ids"] + tokens.get("response_token_ids", [])[:begin]


def read(document: Json, where: Where) -> Iterator[Rollout]:
    asked, output = document.get("input"), document.get("output")
    if not isinstance(asked, str) or not isinstance(output, str):
        yield {"problem": "input and output must be given"}
        return
    score, step, task = first(document, "score reward"), document.get("step"), digest(asked)
    names = {
        "policy_version": step,
        "policy_step": step if is_number(step) else None,
        "success": document["acc"] if isinstance(document.get("acc"), bool) else None,
        "task_id": task,
        "group_id": training_group(step, document.get("uid"), task),
        "rollout_id": words(document.get("request_id")) or where.line or str(where.n),
    }
    talk = hear(asked, output) if "<tool_call>" in output else None
    own = {k: v for k, v in names.items() if v is not None}
    found = rollout_of(where, document, {}, talk, used=USED, **about(document, "score reward outcome") | own)
    if talk is None:
        found["steps"] = [{"turn": 0, "observation": asked, "action": output, "reward": score, **tokens_of(document)}]
    else:
        for last in found["steps"][-1:]:
            last["reward"] = score
        add_tokens(found, tokens_of(document))
    yield found


def has_texts(document: Json) -> bool:
    return all(isinstance(document.get(key), str) for key in ("input", "output"))


FORMAT = Format(
    ((("input and output, both texts", has_texts), "score | reward", "step | request_id | gts", "!steps"),), read
)
