// Numbers as people read them.

export const count = (n) => (n ?? 0).toLocaleString("en");
export const percent = (x) => (x == null ? "–" : `${Math.round(100 * x)} %`);
export const number = (x, digits = 2) => (x == null ? "–" : x.toFixed(digits));
export const signed = (x, digits = 2) => (x == null ? "–" : `${x > 0 ? "+" : ""}${x.toFixed(digits)}`);
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export const outcome = (success, truncated) =>
  success == null ? (truncated ? "cut off" : "not judged") : success ? "solved" : "failed";

// A rollout that was cut off before it succeeded says nothing of how its steps end: pictures leave it grey.
export const is_complete = ({ success, truncated }) => success === true || (success === false && !truncated);

// The first words of a text, on one line.
export function brief(text, length = 80) {
  const line = (text ?? "").replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

// Whether a label has room in so many pixels of a picture, in the font of its labels; or in so many characters.
const pen = document.createElement("canvas").getContext("2d");
export const width_of = (label) => ((pen.font = "12px system-ui, sans-serif"), pen.measureText(label).width);
export const in_pixels = (pixels) => (label) => width_of(label) <= pixels;
export const in_characters = (n) => (label) => label.length <= n;

// As much of the beginning of a text as has room.
export function fitting(text, fits, begin = "") {
  const line = begin + brief(text, 4000);
  if (fits(line)) return line;
  let [low, high] = [1, Math.min(line.length, 400)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (fits(`${line.slice(0, middle)}…`)) low = middle;
    else high = middle - 1;
  }
  return `${line.slice(0, low)}…`;
}

function same_beginning(lines) {
  const shortest = Math.min(...lines.map((line) => line.length));
  let n = 0;
  while (n < shortest && lines.every((line) => line[n] === lines[0][n])) n++;
  return n;
}

// Labels of texts.  Those that would be cut before they differ have in the middle what tells them apart.
export function short_labels(texts, fits) {
  const lines = texts.map((text) => brief(text, 4000));
  const label = new Map(lines.map((line) => [line, fitting(line, fits)]));
  for (let round = 0; round < 8; round++) {
    const alike = Map.groupBy(label.keys(), (line) => label.get(line));
    const unclear = [...alike.values()].filter((same) => same.length > 1);
    if (!unclear.length) break;
    for (const same of unclear) {
      const n = same_beginning(same);
      for (const line of same) {
        const word = line.lastIndexOf(" ", n - 1) + 1;
        const from = Math.max(0, Math.min(n - word < 12 ? word : n - 3, line.length - 12));
        label.set(line, fitting(line.slice(from), fits, from > 8 ? `${line.slice(0, 6)}…` : ""));
      }
    }
  }
  return lines.map((line) => label.get(line));
}

// Names without what all of them begin and end with, as long as they still differ.
export function short_names(names) {
  if (names.length < 2) return names;
  const first = names[0].slice(0, same_beginning(names)).replace(/[^\s/_:.-]*$/, "").length;
  const cut = first < 4 ? 0 : first;
  const turned = names.map((name) => [...name.slice(cut)].reverse().join(""));
  const last = turned[0].slice(0, same_beginning(turned)).replace(/[^\s/_:.-]*$/, "").length;
  const short = names.map((name) => name.slice(cut, last < 6 ? undefined : name.length - last));
  return new Set(short).size === new Set(names).size && short.every(Boolean) ? short : names;
}
