// Bundles the charts into ../assets/charts.js: one classic script, to be inlined into a page.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const modules = here("../../../node_modules/");
const read = (path) => readFileSync(modules + path, "utf8").trim();

// The licences ask that their notices travel with the code.
const notices = ["echarts/NOTICE", "zrender/LICENSE", "tslib/CopyrightNotice.txt", "fflate/LICENSE"];
const banner = notices.map(read).join("\n\n").replaceAll("*/", "* /").replaceAll("\r", "");

await build({
  entryPoints: [here("main.js")],
  outfile: here("../assets/charts.js"),
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  banner: { js: `/*!\n${banner}\n*/` },
});
