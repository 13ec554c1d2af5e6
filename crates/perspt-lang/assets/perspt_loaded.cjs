// Loaded into every Node process of a test run: says at its end which scripts it has loaded, and whether it ended
// because nothing was left to do or because something called for it. All that is needed is taken before other code runs.
"use strict";
const { appendFileSync } = require("node:fs");
const { Session } = require("node:inspector");
const { fileURLToPath } = require("node:url");
const { isMainThread } = require("node:worker_threads");

const report = process.env.PERSPT_LOADED;
const tree = process.env.PERSPT_TREE + "/";
// The process that starts the others is no test, though it is given their names.
const main = isMainThread && process.env.NODE_TEST_CONTEXT ? process.argv[1] : null;
const { stringify } = JSON;

if (report) {
  let whole = false;
  let session = null;
  try {
    session = new Session();
    session.connect();
    session.post("Profiler.enable");
    session.post("Profiler.startPreciseCoverage", { callCount: false, detailed: false });
  } catch {
    session = null;
  }
  const loaded = () => {
    let scripts = [];
    session?.post("Profiler.takePreciseCoverage", (error, taken) => {
      scripts = error ? [] : taken.result.map((script) => script.url);
    });
    const files = scripts.map((url) => (url.startsWith("file:") ? fileURLToPath(url) : url));
    return [...new Set(files)].filter((file) => file.startsWith(tree) && !file.includes("/node_modules/"));
  };
  process.on("beforeExit", () => {
    whole = true;
  });
  process.on("exit", () => {
    try {
      appendFileSync(report, stringify({ main, whole, loaded: loaded() }) + "\n");
    } catch {
      // A process without its line counts as one that was ended.
    }
  });
}
