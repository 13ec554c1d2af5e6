// A reporter for Mocha: one JSON document when the run is over, in the form that Jest and Vitest write.
"use strict";
const { writeFileSync } = require("node:fs");

const place = process.env.PERSPT_RESULTS;
const { stringify } = JSON;

function titles(test) {
  const above = [];
  for (let suite = test.parent; suite; suite = suite.parent) above.unshift(suite.title);
  return above;
}

module.exports = function report(runner) {
  const files = new Map();
  const of = (test) => {
    let holder = test;
    while (holder && !holder.file) holder = holder.parent;
    const name = holder?.file ?? "";
    if (!files.has(name)) files.set(name, { name, status: "passed", message: "", assertionResults: [] });
    return files.get(name);
  };
  const say = (test, status, error) => {
    of(test).assertionResults.push({
      ancestorTitles: titles(test),
      title: test.title,
      status,
      failureMessages: error ? [String(error.stack ?? error)] : [],
    });
  };
  runner.on("pass", (test) => say(test, "passed"));
  runner.on("pending", (test) => say(test, "skipped"));
  runner.on("fail", (test, error) => say(test, "failed", error));
  runner.once("end", () => writeFileSync(place, stringify({ testResults: [...files.values()] })));
};
