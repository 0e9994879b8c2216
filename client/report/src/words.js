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

// As much of a text as has room in so many pixels of a picture, in the font of its labels.
const pen = document.createElement("canvas").getContext("2d");
export function fitting(text, pixels) {
  pen.font = "12px system-ui, sans-serif";
  const line = brief(text, 60);
  let n = line.length;
  while (n > 1 && pen.measureText(brief(line, n)).width > pixels) n--;
  return brief(line, n);
}

// Names without what all of them begin with, as long as they still differ.
export function short_names(names) {
  if (names.length < 2) return names;
  let n = 0;
  const shortest = Math.min(...names.map((name) => name.length));
  while (n < shortest && names.every((name) => name[n] === names[0][n])) n++;
  const cut = names[0].slice(0, n).replace(/[^\s/_:.-]*$/, "").length;
  return cut < 4 ? names : names.map((name) => name.slice(cut) || name);
}
