"""Shared by OpenTelemetry and Langfuse: a trace of spans is a rollout.

A span is a dict of
  trace, span, parent, name   ids and name as in the source
  kind        llm, tool, judge (of other spans) or other
  started_at, ended_at        times in a form that sorts
  failed, message     whether it ended in an error, and the message of that
  heard, said only llm: messages that were new to the model, and its answer
  system      only llm: the system prompt
  call        not llm: {"id", "args", "text"}, its arguments and its result
  model, input_tokens, output_tokens, agent
  task, session, asked        what the trace is about, if this span has it
  scores      [{"name", "value", "label"}]
  about       members of a rollout; more: of its metadata
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from stepadv.importing.conversation import CALL, RESULT, SAY, Conversation, Item, calls_of, hear_messages, result_of
from stepadv.importing.format import Rollout, Where
from stepadv.importing.values import Json, at, digest, first, given, objects, unquoted, words
from stepadv.importing.verdicts import score_of, verdict_of_scores

Span = dict[str, Any]
KINDS = dict.fromkeys(("LLM", "GENERATION"), "llm") | dict.fromkeys(("TOOL", "RETRIEVER"), "tool")
KINDS |= dict.fromkeys(("EVALUATOR", "GUARDRAIL"), "judge")
NO_STEP = "spans that are not steps"


def begin_of(span: Span) -> tuple[bool, str]:
    """A sort key: by the time at which a span begins; spans without a time come last."""
    return (span.get("started_at") is None, span.get("started_at") or "")


def noted(value: Json, role: str) -> list[Json]:
    """The messages in a list of messages, an object with messages, choices or message, one message, a list of blocks
    or a text.  Messages without a role get this role."""
    v = unquoted(value)
    if v is None:
        return []
    if isinstance(v, dict):
        inside = next((v[key] for key in ("messages", "contents") if isinstance(v.get(key), list)), None)
        inner = (at(v, "choices.0.message"), v.get("message"), v.get("content"))
        v = next((m for m in inner if isinstance(m, dict)), v) if inside is None else inside
    if isinstance(v, dict) and ("role" in v or "tool_calls" in v or calls_of(v)):
        return [plain_message({"role": role, **v})]
    if isinstance(v, list):
        v = [unquoted(item) for item in v]
        if any("role" in item for item in objects(v)):
            return [plain_message(m) for m in objects(v)]
        if any("type" in b and b.keys() & {"text", "input", "content", "thinking"} for b in objects(v)):
            return [{"role": role, "content": v}]
    text = first(v, "content text output input") if isinstance(v, dict) else None
    return [{"role": role, "content": words(v if text is None else text)}]


def plain_message(message: dict[str, Json]) -> dict[str, Json]:
    """A message in the usual form, if its text is a list of calls."""
    content = message.get("content")
    if isinstance(content, str) and content.lstrip().startswith('[{"function"') and not calls_of(message):
        calls = unquoted(content)
        if isinstance(calls, list) and all(at(c, "function.name") for c in calls):
            return {**message, "role": "assistant", "content": None, "tool_calls": calls}
    return message


@dataclass
class Turn:
    """A call of the model: what was new to it, its answer, and its tools.  Without a span: what came before any."""

    span: Span = field(default_factory=dict)
    heard: list[Item] = field(default_factory=list)
    said: list[Item] = field(default_factory=list)
    tools: list[tuple[Span, Item | None]] = field(default_factory=list)  # each with the model's call that it executes

    @property
    def calls(self) -> list[Item]:
        return [item for item in self.said if item.kind == CALL]


def kinds_above(span: Span, by_id: dict[str, Span]) -> set[str]:
    kinds, seen = set(), {span.get("span")}
    while (parent := by_id.get(span.get("parent", ""))) is not None and parent.get("span") not in seen:
        kinds.add(parent["kind"])
        seen.add(parent.get("span"))
        span = parent
    return kinds


def why_no_step(span: Span, within: set[str], last: Span) -> str | None:
    """Why a span is not a step.  A tool counts, but not the spans within it; a model's span within a model's span is
    one call that was recorded twice; a call of the model that failed did nothing."""
    kind, said, ended = span["kind"], span.get("said"), last.get("ended_at")
    if kind == "judge" or "judge" in within:
        return "spans of judges"
    if "tool" in within:
        return "spans within a call of a tool"
    if kind != "llm":
        return None if kind == "tool" else NO_STEP
    if "llm" in within:
        return "spans within a call of the model"
    if span.get("failed") and not said:
        return "calls of the model that failed"
    # Two instruments may record one call: the answers are equal, and the second begins before the first ends.
    is_same = said and said == last.get("said") and ended is not None and (span.get("started_at") or ended) < ended
    return "calls of the model noted twice" if is_same else None


def turns_of(spans: list[Span], dropped: Counter[str]) -> list[Turn]:
    # Of two spans with the same id, the later has more.
    unique = {span.get("span") or f"\0{i}": span for i, span in enumerate(spans)}
    by_id = {span["span"]: span for span in unique.values() if span.get("span")}
    turns = [Turn()]
    taken: set[int] = set()
    for span in sorted(unique.values(), key=begin_of):
        why = why_no_step(span, kinds_above(span, by_id), turns[-1].span)
        if span["kind"] == "llm" and why is None:
            # heard has no message of the model, so that all of it is before the first turn.
            heard, said = hear_messages(span.get("heard")), chain.from_iterable(hear_messages(span.get("said")).turns)
            dropped += heard.dropped
            # Calls without an id get one, so that results can refer to them.
            named = (i._replace(id=i.id or f"\0{n}") if i.kind == CALL else i for n, i in enumerate(said))
            turns.append(Turn(span, heard.turns[0], list(named)))
            continue
        # A span with the name of something that the model calls is that tool, regardless of its recorded kind.
        found = call_of(span, turns, taken) if why in (None, NO_STEP) else None
        if found is not None:
            found[0].tools.append((span, found[1]))
            taken.add(id(found[1]))
        elif why is None:
            turns[-1].tools.append((span, None))
        else:
            dropped[why] += 1
    return turns


# Prefixes that instruments add to the name of a tool.
OF_INSTRUMENT = re.compile(r"^(running tool: |execute_tool |tool[.:] ?)")


def tool_name(name: Json) -> str | None:
    return OF_INSTRUMENT.sub("", name) if isinstance(name, str) else words(name)


def same_args(call: Item, span: Span) -> bool:
    mine, theirs = unquoted(call.args), unquoted(at(span, "call.args"))
    return mine == theirs or isinstance(theirs, dict) and len(theirs) == 1 and mine == next(iter(theirs.values()))


def call_of(span: Span, turns: list[Turn], taken: set[int]) -> tuple[Turn, Item] | None:
    """The call with the span's id; else the one with its name and arguments; else the one with its name in the last
    turn.  Earlier turns count, too, as a model may go on before a tool has begun."""
    name, id_ = tool_name(span.get("name")), words(at(span, "call.id"))
    near = [(turn, call) for turn in reversed(turns) for call in turn.calls if id(call) not in taken]
    named = [found for found in near if found[1].tool == name]
    by_id = (found for found in near if id_ is not None and found[1].id == id_)
    of_args = (found for found in named if same_args(found[1], span))
    return next(by_id, None) or next(of_args, None) or next((f for f in named if f[0] is turns[-1]), None)


def match_answers(turn: Turn, before: Turn) -> tuple[dict[str | None, Item], list[Item]]:
    """What a turn heard: the results of the calls before, by id, and those that no call or tool before gave."""
    results = [i for i in turn.heard if i.kind == RESULT]
    found = ((call.id, result_of(results, call, position)) for position, call in enumerate(before.calls))
    answers = {id_: result for id_, result in found if result is not None}
    known = {words(at(span, "call.text")) for span, _ in before.tools}
    return answers, [r for r in results if r not in answers.values() and r.text not in known]


def add_results(talk: Conversation, turn: Turn, answers: dict[str | None, Item]) -> None:
    done = {call.id: span for span, call in reversed(turn.tools) if call is not None}
    own = [(f"span {id(span)}", span, None) for span, call in turn.tools if call is None]
    for id_, tool, answer in own + [(c.id, done.get(c.id), answers.get(c.id)) for c in turn.calls]:
        if answer is None and tool is None:
            continue
        # The result that the model heard overrides that of the tool's span.
        text = answer.text if answer is not None else None
        text = words(at(tool, "call.text")) if text is None and tool else text
        # No result, and no failure, is a success.
        ok = True if text is None else answer.ok if answer else None
        told = tool.get("message") if text is None and tool else text
        talk.result(told, id_, False if tool and tool.get("failed") else ok)


def hear_turns(talk: Conversation, turns: list[Turn]) -> None:
    for turn, before, after in zip(turns, [Turn(), *turns], [*turns[1:], Turn()], strict=False):
        _, others = match_answers(turn, before)
        for item in turn.heard:
            if item.kind != RESULT or item in others:
                talk.see(item.text)
        if turn.span:
            talk.begin()
        for item in turn.said:
            talk.add(item)
        # A call of the model without messages is a turn, too.
        if turn.span and not turn.tools and not any(i.kind in (SAY, CALL) for i in turn.said):
            talk.say(None)
        for span, call in turn.tools:
            if call is None:
                talk.call(tool_name(span.get("name")), at(span, "call.args"), f"span {id(span)}")
        add_results(talk, turn, match_answers(after, turn)[0])


def add_notes(steps: list[dict[str, Json]], turns: list[Turn]) -> dict[str, int]:
    """Adds the times, tokens and reward of each turn to its steps, and returns the sums of tokens.  The reward is the
    sum of the scores named reward or step_reward of its spans; those of a root are the rollout's."""
    sums: Counter[str] = Counter()
    keys = ("started_at", "ended_at", "input_tokens", "output_tokens", "model", "agent")
    for number, turn in enumerate(turns, -1):
        span, own = turn.span, [step for step in steps if step["turn"] == number]
        notes = {"span_id": span.get("span"), **{k: span.get(k) for k in keys}, "scores": span.get("scores") or None}
        for step in own:
            step["meta"] = (step.get("meta") or {}) | given(notes) or None
        sums.update({k: span[k] for k in keys[2:4] if span.get(k) is not None})
        of_turn = [span, *(tool for tool, _ in turn.tools if tool["kind"] == "tool")]
        scores = [s for found in of_turn if found.get("parent") is not None for s in found["scores"]]
        rewards = [score_of(s) for s in scores if (words(s.get("name")) or "").lower() in ("reward", "step_reward")]
        # The reward is known after the turn, so its last step gets it.
        for last in own[-1:] if any(r is not None for r in rewards) else ():
            last["reward"] = sum(r for r in rewards if r is not None)
    return sums


def says(spans: list[Span], key: str) -> Json:
    """The value in the first span that has one and is not a judge; spans are in order, roots first."""
    return next((s[key] for s in spans if s["kind"] != "judge" and s.get(key) not in (None, "", {}, [])), None)


def rollout_of_trace(spans: list[Span], where: Where) -> Rollout:
    ids = {span.get("span") for span in spans}
    # A span whose parent is missing is a root.
    found: list[Span] = [{"scores": [], **s, "parent": p if (p := s.get("parent")) in ids else None} for s in spans]
    n_orphans = sum(s.get("parent") is not None and s["parent"] not in ids for s in spans)
    ordered = sorted(found, key=lambda s: (s.get("parent") is not None, begin_of(s)))
    roots = [s for s in ordered if s.get("parent") is None]
    judges = [s for s in found if s["kind"] == "judge" and s.get("parent") is not None]
    scores = [x for s in roots + judges for x in s["scores"]]
    talk = Conversation()
    turns = turns_of(found, talk.dropped)
    hear_turns(talk, turns)
    made = talk.about()
    steps = made["steps"]
    sums = add_notes(steps, turns)
    trace = words(ordered[0].get("trace"))
    asked = says(ordered, "asked") or (steps[0].get("observation") if steps else None)
    group = says(ordered, "task") or says(ordered, "session") or (digest(asked) if asked is not None else None)
    problem = None if group is not None else f"no span of trace {trace} says its task, its session or what was asked"
    # If all roots have a parent elsewhere, another file has the first span.
    if n_orphans == len(roots):
        made["repaired"]["traces without their first span"] += 1
        hint = "its first span is not here: cat FILES | stepadv import - takes files that share traces for one"
        problem = problem and f"{problem}, and {hint}"
    members: Rollout = {
        "model": says(ordered, "model"),
        "started_at": min((s["started_at"] for s in found if s.get("started_at")), default=None),
        "ended_at": max((s["ended_at"] for s in found if s.get("ended_at")), default=None),
    }
    for span in reversed(ordered):
        members |= span.get("about") or {}
    noted = {
        "source": where.source,
        "name": says(roots, "name"),
        "session": says(ordered, "session"),
        "system_prompt": says(ordered, "system"),
        "error": next((s["message"] for s in roots if s.get("failed") and s.get("message")), None),
        "scores": {words(s["name"]): first(s, "value label") for s in objects(scores) if s.get("name")} or None,
        **sums,
    }
    names = {"group_id": group, "rollout_id": trace or digest(found), "problem": problem}
    meta = {**(says(roots, "more") or {}), **given(noted)}
    return given({**verdict_of_scores(scores), **members, **names, "meta": meta or None}) | made


# Names of attributes, the most reliable first.
NAMES = {
    "task": "task_id task.id task group_id instance_id instance.id problem_id dataset.example.id example.id"
    " metadata.task_id metadata.task metadata.group_id metadata.instance_id metadata.problem_id metadata.example_id",
    "session": "session.id gen_ai.conversation.id session_id conversation.id thread.id",
    "run_id": "run_id run.id metadata.run_id experiment.id",
    "policy_version": "policy_version policy.version metadata.policy_version",
    "policy_step": "policy_step policy.step metadata.policy_step",
    "model": "gen_ai.response.model llm.response.model_name gen_ai.request.model llm.model_name"
    " llm.request.model_name",
    "input_tokens": "gen_ai.usage.input_tokens llm.token_count.prompt gen_ai.usage.prompt_tokens",
    "output_tokens": "gen_ai.usage.output_tokens llm.token_count.completion gen_ai.usage.completion_tokens",
    "agent": "gen_ai.agent.name agent.name",
    "tool": "gen_ai.tool.name tool.name tool_call.function.name",
    "call_id": "gen_ai.tool.call.id tool.id tool_call.id",
}


def named(attributes: dict[str, Json], *what: str) -> dict[str, Json]:
    """The values that attributes have for these keys of NAMES."""
    found = {}
    for key in what:
        values = (attributes.get(name) for name in NAMES[key].split())
        is_said = (v for v in values if isinstance(v, (str, int, float)) and not isinstance(v, bool) and v != "")
        found[key] = next(is_said, None)
    return given(found)
