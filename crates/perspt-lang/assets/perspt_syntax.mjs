// Parses JavaScript files, one JSON line each, and runs nothing of them.
//
// Usage: node --experimental-vm-modules perspt_syntax.mjs ROOT [--typescript LIBRARY] [--skip FOLDER ...]
// A file is a module or a script as Node would take it: by its name, else by the nearest package.json; where that says
// nothing, it may be either. TypeScript and JSX are parsed by the project's own compiler, or left to who reads this.
// The last line is {"done": count}.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import vm from "node:vm";

const [root, ...flags] = process.argv.slice(2);
const skipped = new Set();
let library = null;
for (let at = 0; at + 1 < flags.length; at += 2) {
  if (flags[at] === "--skip") skipped.add(flags[at + 1]);
  else library = flags[at + 1];
}

const NEVER = new Set(["node_modules", ".git"]);
const types = new Map();

function typeOf(folder) {
  if (!types.has(folder)) {
    let said;
    try {
      said = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")).type ?? "";
    } catch (error) {
      const above = path.dirname(folder);
      const ends = error.code !== "ENOENT" || folder === root || above === folder;
      said = ends ? "" : typeOf(above);
    }
    types.set(folder, said);
  }
  return types.get(folder);
}

function* sources(folder) {
  const entries = fs.readdirSync(folder, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const found = path.join(folder, entry.name);
    if (entry.isDirectory()) {
      if (!NEVER.has(entry.name) && !skipped.has(found)) yield* sources(found);
    } else if (entry.isFile() && /\.([mc]?[jt]s|[jt]sx)$/.test(entry.name)) {
      yield found;
    }
  }
}

function problem(error, printed) {
  const lines = printed.split("\n");
  const place = lines[0].match(/:(\d+)$/);
  const caret = lines.findIndex((line) => /^\s*\^+\s*$/.test(line));
  const column = caret > 0 ? lines[caret].indexOf("^") + 1 : null;
  return { kind: error.name, message: error.message, line: place ? Number(place[1]) : null, column,
           text: caret > 0 ? lines[caret - 1] : null };
}

function asModule(text, file) {
  try {
    new vm.SourceTextModule(text, { identifier: file });
  } catch (error) {
    // Only the command says where.
    const check = ["--input-type=module", "--check"];
    const { stderr } = spawnSync(process.execPath, check, { input: text, encoding: "utf8" });
    return problem(error, stderr ?? "");
  }
}

function asScript(text, file) {
  const names = ["exports", "require", "module", "__filename", "__dirname"];
  try {
    vm.compileFunction(text, names, { filename: file });
  } catch (error) {
    return problem(error, String(error.stack));
  }
}

function byNode(text, file) {
  const source = text.startsWith("#!") ? "//" + text : text;
  const extension = path.extname(file);
  const type = extension === ".js" ? typeOf(path.dirname(file)) : "";
  if (extension === ".mjs" || type === "module") return asModule(source, file);
  const wrong = asScript(source, file);
  if (!wrong || extension === ".cjs" || type === "commonjs") return wrong;
  const asked = asModule(source, file);
  return asked && (/^\s*(import|export)\b/m.test(source) ? asked : wrong);
}

function byCompiler(compiler, text, file) {
  const parsed = compiler.createSourceFile(file, text, compiler.ScriptTarget.Latest, false);
  const [first] = parsed.parseDiagnostics;
  if (!first) return undefined;
  const { line, character } = parsed.getLineAndCharacterOfPosition(first.start);
  return { kind: "SyntaxError", message: compiler.flattenDiagnosticMessageText(first.messageText, " "),
           line: line + 1, column: character + 1, text: text.split("\n")[line] };
}

let compiler = null;
try {
  compiler = library && createRequire(import.meta.url)(library);
} catch {
  // A compiler that does not load is none.
}
let done = 0;
for (const file of sources(root)) {
  const relative = path.relative(root, file);
  const text = fs.readFileSync(file, "utf8");
  const isPlain = /\.[mc]?js$/.test(file);
  let found = isPlain ? byNode(text, file) : undefined;
  const parses = typeof compiler?.createSourceFile === "function";
  if (parses && (found || !isPlain)) {
    // JSX may stand in a file that is called .js.
    const wrong = byCompiler(compiler, text, isPlain ? file.replace(/\.[mc]?js$/, ".jsx") : file);
    const isJsx = isPlain && !wrong && /<[A-Za-z>]/.test(text);
    found = isPlain && !isJsx ? found : wrong;
  }
  const by = isPlain ? "node" : parses ? "typescript" : "none";
  process.stdout.write(JSON.stringify({ file: relative, by, ...(found && { problem: found }) }) + "\n");
  done += 1;
}
process.stdout.write(JSON.stringify({ done }) + "\n");
