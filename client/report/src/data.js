// Data files are scripts that call stepadv_data(name, value): pages are opened from a disk,
// where a browser fetches no JSON.  Each is loaded once.

const values = new Map();
const waiting = new Map();

globalThis.stepadv_data = (name, value) => {
  values.set(name, value);
  waiting.get(name)?.resolve(value);
};
for (const [name, value] of globalThis.stepadv_early ?? []) globalThis.stepadv_data(name, value);

// The value of a data file, or null where there is no such file.
export function load(name) {
  if (values.has(name)) return Promise.resolve(values.get(name));
  if (!waiting.has(name)) {
    let resolve;
    const promise = new Promise((done) => (resolve = done));
    waiting.set(name, { promise, resolve });
    const script = document.createElement("script");
    script.src = `data/${name}.js`;
    script.onerror = () => globalThis.stepadv_data(name, null);
    document.head.append(script);
  }
  return waiting.get(name).promise;
}

// An array of numbers that was packed as base64: type is one of Int32, Uint8, Float32.
export function unpack(text, type) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new globalThis[`${type}Array`](bytes.buffer);
}
