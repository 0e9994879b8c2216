// Builds the viewer into one script and one style sheet, beside the Python code that copies them.
import { build } from "esbuild";

await build({
  entryPoints: ["src/viewer.jsx", "src/viewer.css"],
  bundle: true,
  minify: true,
  outdir: process.argv[2],
  format: "iife",
  target: "es2022",
  charset: "ascii",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "eof",
  logLevel: "warning",
});
