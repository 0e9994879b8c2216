"""What formats of spans share, OpenTelemetry's and Langfuse's: a trace of spans in our words is a rollout.

A span is a dict of
  trace, span, parent, name   ids as the source has them
  kind        llm, tool, judge (it says something of the others) or other; score: scores of the span called of, or of
              the trace
  at          when it began, in microseconds; started_at, ended_at: in words
  failed, message     whether it ended in an error, and what that says
  heard, said of llm: messages, what was new to the model and what it answered
  system      of llm: what it was told before all
  call        of tool: {"id", "args", "text"}, what it was called with and gave
  model, input_tokens, output_tokens, agent
  task, session, asked        what the trace is about, if this span says so
  scores      [{"name", "value", "label"}]
  about       members of a rollout; more: of its metadata
"""

import re
from collections import defaultdict
from typing import Any

from stepadv.importing.conversation import CALL, RESULT, SAY, SEE, Conversation, Item, hear_messages, is_of_model, join, text_of
from stepadv.importing.format import Rollout, Where
from stepadv.importing.formats.inspect import score_of
from stepadv.importing.values import Json, at, digest, fields, first, given, objects, time_of, unquoted, words

Span = dict[str, Any]
KINDS = {"LLM": "llm", "GENERATION": "llm", "TOOL": "tool", "RETRIEVER": "tool", "EVALUATOR": "judge", "GUARDRAIL": "judge"}


def begin_of(span: Span) -> tuple[bool, int]:
    """In the order of time; what says no time comes last."""
    return (span.get("at") is None, span.get("at") or 0)


# ----------
# What a model was told, or answered, in whatever shape somebody has noted it
# ----------


def is_block(item: dict[str, Json]) -> bool:
    return "type" in item and any(key in item for key in ("text", "input", "content", "thinking"))


def noted(value: Json, role: str) -> list[Json]:
    """A list of messages, an object with messages, choices or message, one message, a list of blocks, or a text, which
    is of the role given."""
    v = unquoted(value)
    if v is None:
        return []
    if isinstance(v, dict):
        inside = next((v[key] for key in ("messages", "contents") if isinstance(v.get(key), list)), None)
        inner = (at(v, "choices.0.message"), v.get("message"), v.get("content"))
        v = next((m for m in inner if isinstance(m, dict)), v) if inside is None else inside
    if isinstance(v, list):
        v = [unquoted(item) for item in v]
    if isinstance(v, dict) and ("role" in v or calls_something(v)):
        return [plain_message({"role": role, **v})]
    if isinstance(v, list) and any("role" in item for item in objects(v)):
        return [plain_message(m) for m in objects(v)]
    if isinstance(v, list) and any(map(is_block, objects(v))):
        return [{"role": role, "content": v}]
    # What has a text alone is that text.
    text = first(v, "content text output input") if isinstance(v, dict) else None
    return [{"role": role, "content": words(v if text is None else text)}]


def plain_message(message: dict[str, Json]) -> dict[str, Json]:
    """Gemini's parts, and calls that somebody has written as the text of a message, as everybody has them."""
    parts = message.get("parts")
    if isinstance(parts, list) and any(map(plain_part, parts)):
        return {**message, "parts": [plain_part(part) or part for part in parts]}
    content = message.get("content")
    if isinstance(content, str) and content.lstrip().startswith('[{"function"') and not calls_something(message):
        calls = unquoted(content)
        if isinstance(calls, list) and all(at(c, "function.name") for c in calls):
            return {**message, "role": "assistant", "content": None, "tool_calls": calls}
    return message


def plain_part(part: Json) -> Json:
    call, response = first(part, "function_call functionCall"), first(part, "function_response functionResponse")
    found = fields(call) or fields(response)
    kind, key, named = ("tool_call", "args", "arguments") if found is call else ("tool_call_response", "response", "response")
    value = found.get(key)
    return {"type": kind, "id": found.get("id"), "name": found.get("name"), named: {} if value is None else value} if found else None


def calls_something(message: dict[str, Json]) -> bool:
    return "tool_calls" in message or isinstance(at(message, "additional_kwargs.tool_calls"), list)


def news(messages: list[Json]) -> list[Json]:
    """What came after the model's last word."""
    last = max((i for i, m in enumerate(messages) if is_of_model(m)), default=-1)
    return messages[last + 1 :]


def system_of(messages: list[Json]) -> str | None:
    found = [m for m in objects(messages) if m.get("role") in ("system", "developer")]
    return join(text_of(first(m, "content parts")) or "" for m in found)


# ----------
# Scores
# ----------

GOOD = ("correct", "pass", "passed", "success", "true", "yes")
BAD = ("incorrect", "fail", "failed", "failure", "false", "no")
OF_OUTCOME = ("reward", "outcome", "return", "score")
OF_SUCCESS = ("success", "resolved", "solved", "passed", "correct", "correctness")


def value_of(score: Json) -> float | None:
    """Its value, or 1 and 0 of a label or value that says correct, pass, success, or the contrary."""
    number = score_of(at(score, "value"))
    word = (words(first(score, "label value")) or "").lower()
    return number if number is not None else 1 if word in GOOD else 0 if word in BAD else None


def name_of(score: Json) -> str:
    return (words(at(score, "name")) or "").lower()


def verdict_of(scores: list[Json]) -> dict[str, Json]:
    """Which of a trace's scores is its outcome: by its name, or because there is no other.  Of several others somebody
    must say which.  Of two with one name the later counts."""
    found = {name_of(s): value for s in scores if name_of(s) and (value := value_of(s)) is not None}
    outcome = next((found[name] for name in OF_OUTCOME if name in found), None)
    if outcome is None and len({name_of(s) for s in scores} - {""}) == 1:
        outcome = next(iter(found.values()), None)
    success = next((found[name] for name in reversed(found) if name in OF_SUCCESS and found[name] in (0, 1)), None)
    return given({"outcome": outcome, "success": None if success is None else success == 1})


# ----------
# Spans as a conversation
# ----------


class Placed:
    """A span of a trace, the turn of the model it belongs to (0: before any), and why it is no step: of a tool only the
    call counts, not what happens within; a model within a model is one call noted twice; a model that failed has done
    nothing."""

    def __init__(self, span: Span):
        self.span = span
        self.kind: str = span["kind"]
        self.turn = 0
        self.left_out: str | None = None
        self.call: Item | None = None  # of the model's, that this span of a tool is
        self.given = fields(span.get("call"))

    @property
    def text(self) -> str | None:
        return words(self.given.get("text"))


def kinds_above(span: Span, by_id: dict[str, Span]) -> set[str]:
    kinds, seen = set(), {span.get("span")}
    while (parent := by_id.get(span.get("parent"))) is not None and parent.get("span") not in seen:
        kinds.add(parent["kind"])
        seen.add(parent.get("span"))
        span = parent
    return kinds


def why_no_step(span: Span, within: set[str]) -> str | None:
    kind = span["kind"]
    if kind == "judge" or "judge" in within:
        return "spans of judges"
    if "tool" in within:
        return "spans within a call of a tool"
    if kind == "llm" and "llm" in within:
        return "spans within a call of the model"
    if kind == "llm" and span.get("failed") and not span.get("said"):
        return "calls of the model that failed"
    return "spans that are no step" if kind == "other" else None


def place(spans: list[Span]) -> list[Placed]:
    # Of two with one id the later says more.
    unique = {span.get("span") or f"\0{i}": span for i, span in enumerate(spans)}
    by_id = {span["span"]: span for span in unique.values() if span.get("span")}
    placed = [Placed(span) for span in sorted(unique.values(), key=begin_of)]
    last: Span = {}
    turn = 0
    for p in placed:
        span = p.span
        p.left_out = why_no_step(span, kinds_above(span, by_id))
        if p.kind == "llm" and p.left_out is None:
            # Two instruments may note one call of the model side by side: what said the same while the other lasted.
            began, ended = span.get("started_at"), last.get("ended_at")
            if span.get("said") and span["said"] == last.get("said") and began is not None and ended is not None and began < ended:
                p.left_out = "calls of the model noted twice"
            else:
                last, turn = span, turn + 1
        p.turn = turn
    return placed


class Turn:
    """What stands in a turn: heard before, said in it, called, and what came of it."""

    def __init__(self) -> None:
        self.heard: list[Item] = []
        self.said: list[Item] = []
        self.dropped: list[str] = []
        self.tools: list[Placed] = []
        self.is_own = False

    @property
    def calls(self) -> list[Item]:
        return [item for item in self.said if item.kind == CALL]


def turns_of(placed: list[Placed]) -> dict[int, Turn]:
    turns: dict[int, Turn] = defaultdict(Turn)
    for p in placed:
        turn = turns[p.turn]
        if p.kind == "llm" and p.left_out is None:
            heard, said = hear_messages(p.span.get("heard")), hear_messages(p.span.get("said"))
            turn.is_own, turn.heard = True, heard.items
            # Calls without ids get some, by which results find them.
            turn.said = [i._replace(id=i.id or f"{p.turn}.{n}") if i.kind == CALL else i for n, i in enumerate(said.items, 1)]
            turn.dropped += heard.dropped.elements()
    taken: set[int] = set()
    for p in placed:
        is_tool = p.kind == "tool" and p.left_out is None
        # What is called like something that the model calls is that tool, whatever kind it is noted as.
        if is_tool or p.left_out == "spans that are no step":
            found = call_of(p, turns, taken)
            if found is not None:
                p.turn, p.call = found
                taken.add(id(p.call))
        if p.call is not None or is_tool:
            turns[p.turn].tools.append(p)
        elif p.left_out is not None:
            turns[p.turn].dropped.append(p.left_out)
    return turns


# What instruments put before the name of a tool.
OF_INSTRUMENT = re.compile(r"(running tool: |execute_tool |tool[.:] ?)")


def tool_name(name: Json) -> str | None:
    return OF_INSTRUMENT.sub("", name, count=1) if isinstance(name, str) and OF_INSTRUMENT.match(name) else words(name)


def same_args(call: Item, p: Placed) -> bool:
    mine, theirs = unquoted(call.args), unquoted(p.given.get("args"))
    return mine == theirs or isinstance(theirs, dict) and len(theirs) == 1 and mine == next(iter(theirs.values()))


def call_of(p: Placed, turns: dict[int, Turn], taken: set[int]) -> tuple[int, Item] | None:
    """The call with the span's id; else of its name and arguments, or of its name, the one of its turn, or of a turn
    before: a model may go on before a tool has begun."""
    name, id_ = tool_name(p.span.get("name")), words(p.given.get("id"))
    near = [(n, call) for n in range(p.turn, -1, -1) if n in turns for call in turns[n].calls if id(call) not in taken]
    by_id = next((found for found in near if id_ is not None and found[1].id == id_), None)
    if by_id is not None:
        return by_id
    named = [found for found in near if found[1].tool == name]
    of_args = next((found for found in named if same_args(found[1], p)), None)
    return of_args or next((found for found in named if found[0] == p.turn), None)


def match_answers(turn: Turn, before: Turn) -> tuple[dict[str, Item], list[Item]]:
    """Results that the model heard of its calls, by the calls' ids, and those that are of none of them."""
    answers: dict[str, Item] = {}
    others = []
    results = [i for i in turn.heard if i.kind == RESULT]
    known = {p.text for p in before.tools}
    # Without an id their order tells, if there are as many.
    is_ordered = len(results) == len(before.calls)
    for position, result in enumerate(results):
        in_order = before.calls[position] if is_ordered and result.id is None else None
        call = next((c for c in before.calls if c.id == result.id and result.id is not None), in_order)
        if call is not None:
            answers.setdefault(call.id or "", result)
        elif result.text not in known:
            others.append(result)
    return answers, others


def add_results(talk: Conversation, turn: Turn, answers: dict[str, Item]) -> None:
    def tell(id_: str | None, text: str | None, tool: Placed | None, ok: bool | None) -> None:
        # What says nothing and did not fail went well.
        ok = False if tool and tool.span.get("failed") else True if text is None else ok
        talk.result(tool.span.get("message") if text is None and tool else text, id_, ok)

    for p in turn.tools:
        if p.call is None:
            tell(f"span {id(p)}", p.text, p, None)
    done = {p.call.id: p for p in reversed(turn.tools) if p.call is not None}
    for call in turn.calls:
        answer, tool = answers.get(call.id or ""), done.get(call.id)
        if answer is not None or tool is not None:
            # What the model heard of its call says more than what the tool gave.
            text = answer.text if answer is not None else None
            tell(call.id, tool.text if text is None and tool else text, tool, answer.ok if answer else None)


def hear_spans(placed: list[Placed]) -> Conversation:
    talk = Conversation()
    turns = turns_of(placed)
    for number in range(max(turns, default=-1) + 1):
        turn, before, after = turns[number], turns.get(number - 1, Turn()), turns.get(number + 1, Turn())
        _, others = match_answers(turn, before)
        for item in turn.heard:
            if item.kind == SEE or item in others:
                talk.see(item.text)
        if turn.is_own:
            talk.think(None, new=True)
        for item in turn.said:
            talk.items.append(item._replace(turn=talk._turn(item.kind >= SAY, False)))
        # Whoever notes no words notes that there was a turn.
        if turn.is_own and not turn.tools and not any(i.kind in (SAY, CALL) for i in turn.said):
            talk.say(None)
        for p in turn.tools:
            if p.call is None:
                talk.call(tool_name(p.span.get("name")), p.given.get("args"), f"span {id(p)}")
        add_results(talk, turn, match_answers(after, turn)[0])
        for what in turn.dropped:
            talk.drop(what)
    return talk


def notes_of(placed: list[Placed]) -> dict[int, tuple[dict[str, Json], float | None]]:
    """What is told of each turn beside what was done (times, tokens), and its reward: the sum of its spans' scores
    called reward or step_reward (those of a root are the rollout's)."""
    notes: dict[int, tuple[dict[str, Json], float | None]] = {}
    for p in placed:
        if p.left_out is not None:
            continue
        meta, reward = notes.get(p.turn - 1, ({}, None))
        if p.kind == "llm":
            keys = ("started_at", "ended_at", "input_tokens", "output_tokens", "model", "agent")
            meta = given({"span_id": p.span.get("span"), **{k: p.span.get(k) for k in keys}, "scores": p.span.get("scores") or None})
        for score in p.span.get("scores", ()) if p.span.get("parent") is not None else ():
            if name_of(score) in ("reward", "step_reward") and (value := value_of(score)) is not None:
                reward = (reward or 0) + value
        notes[p.turn - 1] = (meta, reward)
    return notes


# ----------
# The rollout of a trace
# ----------


def with_roots_and_scores(spans: list[Span]) -> list[Span]:
    """Whose parent is somewhere else is a root here.  Scores that stand beside their spans go to them, those of the trace
    to its root; nothing: there are only scores."""
    ids = {span.get("span") for span in spans}
    found = []
    for span in spans:
        is_orphan = span.get("parent") is not None and span["parent"] not in ids
        if span["kind"] != "score":
            more = {"parent": None, "orphan": True} if is_orphan else {}
            found.append({**span, **more, "scores": list(span.get("scores") or ())})
    by_id = {s.get("span"): s for s in reversed(found)}
    root: Span = min(found, key=lambda s: (s.get("parent") is not None, begin_of(s)), default={})
    for span in spans if found else ():
        if span["kind"] == "score":
            by_id.get(span.get("of"), root)["scores"] += span["scores"]
    return found


def says(spans: list[Span], key: str) -> Json:
    """What the first that says something says: the root's first, then in the order of time."""
    return next((s[key] for s in spans if s["kind"] != "judge" and s.get(key) not in (None, "", {}, [])), None)


def rollout_of_trace(spans: list[Span], where: Where) -> Rollout:
    found = with_roots_and_scores(spans)
    if not found:
        return {"dropped": {"scores of traces that are elsewhere": len(spans)}}
    ordered = sorted(found, key=lambda s: (s.get("parent") is not None, begin_of(s)))
    roots = [s for s in ordered if s.get("parent") is None]
    scores = [x for s in roots for x in s["scores"]]
    scores += [x for s in found if s["kind"] == "judge" and s.get("parent") is not None for x in s["scores"]]
    placed = place(found)
    notes = notes_of(placed)
    made = hear_spans(placed).about()
    steps = made["steps"]
    for i, step in enumerate(steps):
        meta, reward = notes.get(step["turn"], ({}, None))
        step["meta"] = (step.get("meta") or {}) | meta or None
        # A turn's reward is known when all of it is done.
        if reward is not None and (i + 1 == len(steps) or steps[i + 1]["turn"] != step["turn"]):
            step["reward"] = reward
    about: Rollout = {}
    for span in reversed(ordered):
        about |= span.get("about") or {}
    # A trace may be spread over files of which this is one.
    is_part = all(s.get("orphan") for s in roots)
    if is_part:
        made["repaired"]["traces without their first span"] += 1
    trace = words(ordered[0].get("trace"))
    asked = says(ordered, "asked") or (steps[0].get("observation") if steps else None)
    group = says(ordered, "task") or says(ordered, "session") or (digest(asked) if asked is not None else None)
    hint = ", and its first span is not here: cat FILES | stepadv import - takes files that share traces for one" if is_part else ""
    return {
        **verdict_of(scores),
        **given({
            "model": says(ordered, "model"),
            "started_at": min((s["started_at"] for s in found if s.get("started_at")), default=None),
            "ended_at": max((s["ended_at"] for s in found if s.get("ended_at")), default=None),
        }),
        **about,
        "group_id": group,
        **({} if group is not None else {"problem": f"no span of trace {trace} says its task, its session or what was asked{hint}"}),
        "rollout_id": trace or digest(found),
        "meta": {**(says(roots, "more") or {}), **about_trace(ordered, roots, scores, notes, where)} or None,
        **made,
    }


def about_trace(ordered: list[Span], roots: list[Span], scores: list[Json], notes: Json, where: Where) -> dict[str, Json]:
    tokens = {key: [m[key] for m, _ in notes.values() if key in m] for key in ("input_tokens", "output_tokens")}
    return given({
        "source": where.source,
        "name": says(roots, "name"),
        "session": says(ordered, "session"),
        "system_prompt": says(ordered, "system"),
        "error": next((s["message"] for s in roots if s.get("failed") and s.get("message")), None),
        "scores": {words(s["name"]): first(s, "value label") for s in objects(scores) if s.get("name")} or None,
        **{key: sum(found) if found else None for key, found in tokens.items()},
    })


def times(began: int | None, ended: int | None) -> dict[str, Json]:
    return {"at": began, "started_at": time_of(began), "ended_at": time_of(ended)}


# Names under which people note what a trace is about, the surest first.
NAMES = {
    "task": "task_id task.id task group_id instance_id instance.id problem_id dataset.example.id example.id metadata.task_id"
    " metadata.task metadata.group_id metadata.instance_id metadata.problem_id metadata.example_id"
    " langfuse.dataset.item.id langfuse.trace.metadata.task_id",
    "session": "session.id gen_ai.conversation.id session_id conversation.id langfuse.session.id thread.id",
    "run_id": "run_id run.id metadata.run_id experiment.id langfuse.trace.metadata.run_id",
    "policy_version": "policy_version policy.version metadata.policy_version langfuse.trace.metadata.policy_version",
    "policy_step": "policy_step policy.step metadata.policy_step",
    "model": "gen_ai.response.model llm.response.model_name gen_ai.request.model llm.model_name llm.request.model_name"
    " langfuse.observation.model.name",
    "input_tokens": "gen_ai.usage.input_tokens llm.token_count.prompt gen_ai.usage.prompt_tokens",
    "output_tokens": "gen_ai.usage.output_tokens llm.token_count.completion gen_ai.usage.completion_tokens",
    "agent": "gen_ai.agent.name agent.name",
    "tool": "gen_ai.tool.name tool.name tool_call.function.name",
    "call_id": "gen_ai.tool.call.id tool.id tool_call.id",
}


def named(attributes: dict[str, Json], *what: str) -> dict[str, Json]:
    """What attributes say under these names."""
    found = {}
    for key in what:
        values = (attributes.get(name) for name in NAMES[key].split())
        found[key] = next((v for v in values if isinstance(v, (str, int, float)) and not isinstance(v, bool) and v != ""), None)
    return given(found)
