// SPDX-License-Identifier: MIT
// Bundles front/ into out/: one script, one style sheet, and fonts, which no text waits for.
import { build } from "esbuild";

await build({
  entryPoints: { site: "front/main.js", style: "front/main.css" },
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome123", "firefox120", "safari17.5"],    // the first versions with light-dark()
  loader: { ".woff2": "file" },
  assetNames: "[name]",
  legalComments: "eof",
  outdir: "out",
  logLevel: "error",
});
