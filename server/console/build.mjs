// Builds the console: node build.mjs [OUT]. The same sources give the same bytes in any folder.

import { build } from "esbuild";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";

const HERE = import.meta.dirname;
const OUT = process.argv[2] ?? join(HERE, "built");
const ASSETS = join(OUT, "assets");
// The maximum sizes after gzip, in bytes: of the scripts for the first view and of those that are
// loaded later. Texts are those of one language.
const BUDGETS = { scripts: 70_000, later: 33_000, styles: 10_000, texts: 12_500 };
const LICENSED = ["preact", "@preact/signals", "@preact/signals-core"];

/** Divides files of texts, because all languages have the same keys: `?keys` is part of the scripts. */
const texts = {
  name: "texts",
  setup({ onLoad }) {
    onLoad({ filter: /\.json$/ }, async ({ path, suffix }) => {
      const read = JSON.parse(await readFile(path, "utf8"));
      const items = suffix === "?keys" ? Object.keys(read) : Object.values(read);
      return { contents: JSON.stringify(items), loader: "json" };
    });
  },
};

const { outputFiles, metafile } = await build({
  absWorkingDir: HERE,
  entryPoints: { console: "src/main.tsx", logo: "src/logo.svg" },
  outdir: "built/assets",
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2023",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  minify: true,
  metafile: true,
  write: false,
  loader: { ".svg": "copy" },
  plugins: [texts],
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
});

/** Returns the scripts that a script needs before it runs. */
function needed(path) {
  const imports = metafile.outputs[path].imports.filter(({ kind }) => kind === "import-statement");
  return imports.flatMap((each) => [each.path, ...needed(each.path)]);
}

const [entry] = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === "src/main.tsx");
const first = new Set([entry, ...needed(entry)]);
const sizes = { scripts: 0, later: 0, styles: 0, texts: 0 };
const files = {};
await rm(OUT, { recursive: true, force: true });
await mkdir(ASSETS, { recursive: true });
for (const [path, output] of Object.entries(metafile.outputs).sort()) {
  const name = basename(path);
  const { contents } = outputFiles.find((file) => basename(file.path) === name);
  await writeFile(join(ASSETS, name), contents);
  files[name.replace(/-[A-Z0-9]{8}\./, ".")] = name;
  const size = gzipSync(contents, { level: 9 }).length;
  if (name.endsWith(".css")) sizes.styles += size;
  else if (output.entryPoint?.startsWith("texts/")) sizes.texts = Math.max(sizes.texts, size);
  else if (first.has(path)) sizes.scripts += size;
  else if (name.endsWith(".js")) sizes.later += size;
}

const shell = await readFile(join(HERE, "src/index.html"), "utf8");
const preloads = [...first].slice(1).map((path) => `<link rel="modulepreload" href="{{base}}assets/${basename(path)}">`);
const linked = shell
  .replace("{{preloads}}", preloads.join("\n"))
  .replaceAll(/\{\{(\w+\.\w+)\}\}/g, (_, name) => `{{base}}assets/${files[name]}`);
await writeFile(join(OUT, "index.html"), linked);
await writeFile(join(OUT, "manifest.json"), `${JSON.stringify({ files, sizes }, null, 2)}\n`);
const licenses = [];
for (const name of LICENSED) {
  licenses.push(`${name}\n\n${await readFile(join(HERE, "node_modules", name, "LICENSE"), "utf8")}`);
}
await writeFile(join(OUT, "licenses.txt"), licenses.join("\n"));

for (const [part, size] of Object.entries(sizes)) {
  console.log(`${part}: ${size} of ${BUDGETS[part]} bytes`);
  if (size > BUDGETS[part]) {
    console.error(`The ${part} are larger than their budget.`);
    process.exitCode = 1;
  }
}
