"""The files of a report: a directory with data files beside the page, or a single file."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from stepadv.text import Failed

STATIC = Path(__file__).with_name("static")
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' file:;"
    " style-src 'self' 'unsafe-inline' file:; img-src data:"
)
# Text of a rollout must not end a script or start a tag.
ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def script(name: str, value: Any) -> str:
    """The text of a data file: a script that passes a value to the viewer."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate cannot be encoded in UTF-8.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return f"stepadv_data({json.dumps(name)},{text.translate(ESCAPES)});"


def _page(title: str, head: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title>{head}</head><body>{body}</body></html>\n"
    )


# Values are kept in a list until the viewer is loaded.
EARLY = "stepadv_early=[];stepadv_data=(name,value)=>stepadv_early.push([name,value]);"


class Pages:
    """Writes the files of a report."""

    def __init__(self, out: Path) -> None:
        """Write to a directory, or to a single file if the name ends in .html."""
        self.one_file = out.suffix == ".html"
        self.out = out
        self._scripts: list[str] = []
        if not (STATIC / "viewer.js").exists():
            raise Failed("the viewer of the report is not built: make viewer, which needs npm")
        if not self.one_file:
            (out / "data").mkdir(parents=True, exist_ok=True)

    def write(self, name: str, value: Any) -> None:
        """Write a data file."""
        if self.one_file:
            self._scripts.append(f"<script>{script(name, value)}</script>")
        else:
            (self.out / "data" / f"{name}.js").write_text(script(name, value), encoding="utf-8")

    def finish(self, title: str) -> Path:
        """Write the page; returns its path."""
        css, js = ((STATIC / f"viewer.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
        if self.one_file:
            js = js.replace("</script", "<\\/script")
            body = f"<script>{EARLY}</script>{''.join(self._scripts)}<script>{js}</script>"
            page, path = _page(title, f"<style>{css}</style>", body), self.out
        else:
            for kind, text in (("css", css), ("js", js)):
                (self.out / f"viewer.{kind}").write_text(text, encoding="utf-8")
            page = _page(title, '<link rel="stylesheet" href="viewer.css">', '<script src="viewer.js"></script>')
            path = self.out / "index.html"
        path.write_text(page, encoding="utf-8")
        return path
