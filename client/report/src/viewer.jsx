// The pages of a report and the way between them.
import { render } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { load } from "./data.js";
import { Failures } from "./failures.jsx";
import { Glossary, Tip, explain } from "./glossary.jsx";
import { Group } from "./group.jsx";
import { Index } from "./index.jsx";
import { Search } from "./search.jsx";

const pages = { "": Index, search: Search, group: Group, failures: Failures, glossary: Glossary };

// #page/argument?name=value
function place() {
  const [path, query] = location.hash.slice(1).split("?");
  const [page, ...argument] = path.split("/").map(decodeURIComponent);
  return { hash: location.hash, page, argument, query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

const key_help = [
  ["/", "search"],
  ["j, k", "next, previous step or row"],
  ["[, ]", "previous, next rollout"],
  ["Enter", "open"],
  ["Esc", "close"],
  ["i", "index"],
  ["?", "this list"],
];

function Help({ close }) {
  return (
    <div class="overlay" onClick={close}>
      <div class="panel help" role="dialog" aria-label="Keys" aria-modal="true">
        <h2>Keys</h2>
        <dl>
          {key_help.map(([key, what]) => (
            <div>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <button onClick={close} autofocus>
          Close
        </button>
      </div>
    </div>
  );
}

function App({ index }) {
  const [at, go] = useState(place());
  const [help, show_help] = useState(false);
  // Before the page is painted: whoever sees it may press a key.
  useLayoutEffect(() => {
    const moved = () => {
      go(place());
      scrollTo(0, 0);
    };
    const pressed = (event) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key === "Escape") show_help(false);
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "?") show_help((shown) => !shown);
      else if (event.key === "i") location.hash = "";
      else if (event.key === "/") {
        event.preventDefault();
        const box = document.querySelector("input[type=search]");
        if (box) box.focus();
        else location.hash = "search";
      } else return;
    };
    addEventListener("hashchange", moved);
    addEventListener("keydown", pressed);
    return () => {
      removeEventListener("hashchange", moved);
      removeEventListener("keydown", pressed);
    };
  }, []);
  const Page = pages[at.page] ?? Index;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.querySelector("main").focus())}>
        Skip to the page
      </a>
      <header>
        <nav aria-label="Pages">
          <a href="#" class="name">
            {index.title}
          </a>
          <a href="#search">Search</a>
          <a href="#failures">Failures</a>
          <a href="#glossary">Glossary</a>
          <button class="plain" onClick={() => show_help(true)} aria-label="Keys">
            ?
          </button>
        </nav>
      </header>
      <main tabindex="-1">
        <Page key={at.hash} index={index} argument={at.argument} query={at.query} />
      </main>
      <footer>
        Made by stepadv {index.version} on {index.made}. Numbers are those of the views at that time.
      </footer>
      <Tip />
      {help && <Help close={() => show_help(false)} />}
    </>
  );
}

load("index").then((index) => {
  document.title = index ? `${index.title}: what each step was worth` : "No data";
  if (index) explain(index.methods);
  render(index ? <App index={index} /> : <p>The data of this report are missing.</p>, document.body);
});
