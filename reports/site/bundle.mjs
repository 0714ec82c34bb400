// SPDX-License-Identifier: MIT
// Bundles front/ into out/: one script and one style sheet for all pages, those of plots, and fonts, which no text waits for.
import { build } from "esbuild";

await build({
  entryPoints: { site: "front/main.js", style: "front/main.css", plots: "front/plots.js", uplot: "uplot/dist/uPlot.min.css" },
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
