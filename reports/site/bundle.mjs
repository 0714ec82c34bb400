// SPDX-License-Identifier: MIT
// Bundles front/ into out/: one script and one style sheet, fonts within, nothing fetched at run time.
import { build } from "esbuild";

await build({
  entryPoints: { site: "front/main.js", style: "front/main.css" },
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome100", "firefox100", "safari15"],
  loader: { ".woff2": "dataurl" },
  legalComments: "eof",
  outdir: "out",
  logLevel: "error",
});
