"""One module for each format: what a document of it has (its marks), a table of what stands where, and how it is read.

Adding one: a module with FORMAT here, its name below, an example in test/data/import/<format>/, a line in
docs/import.md."""

from importlib import import_module

from stepadv.importing.format import Format

NAMES = (
    "openai_chat swe_agent mini_swe_agent responses verl intercode inspect openhands atif tau2 verifiers trl agent_r1"
    " claw_r1 otel langfuse claude_code codex harbor steps react"
).split()
FORMATS: dict[str, Format] = {name: import_module(f"{__name__}.{name}").FORMAT for name in NAMES}
