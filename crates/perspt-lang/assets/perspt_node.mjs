// A reporter for node --test: one JSON document when the run is over, in the form that Jest and Vitest write.

import { resolve } from "node:path";

const isSkipped = (data) => data.todo !== undefined || data.skip !== undefined;

function message(error) {
  const cause = error?.cause ?? error;
  return String(cause?.stack ?? cause?.message ?? cause);
}

export default async function* report(source) {
  const files = new Map();
  const open = [];
  // Newer versions name a file as it was named to them.
  const of = (file) => {
    const name = resolve(file);
    if (!files.has(name)) files.set(name, { name, status: "passed", message: "", assertionResults: [] });
    return files.get(name);
  };
  for await (const { type, data } of source) {
    const isNamed = data.nesting === 0 && data.name !== undefined && data.file !== undefined;
    const isFile = isNamed && resolve(data.name) === resolve(data.file);
    if (type === "test:start") open[data.nesting] = data.name;
    if (type === "test:stderr") of(data.file).message += data.message;
    if (type === "test:complete" && isFile && !data.details.passed) {
      if (data.details.error?.failureType !== "subtestsFailed") of(data.file).status = "failed";
    }
    if (type === "test:enqueue" && isFile) of(data.file);
    if ((type !== "test:pass" && type !== "test:fail") || isFile) continue;
    const { error, type: kind } = data.details;
    const isSuite = kind === "suite";
    const skipped = isSkipped(data);
    // A suite is no test; it has a failure of its own where its hooks or its body fail.
    if (isSuite && (type === "test:pass" || skipped || error?.failureType === "subtestsFailed")) continue;
    const failed = type === "test:fail" && !skipped;
    of(data.file).assertionResults.push({
      ancestorTitles: open.slice(0, data.nesting),
      title: data.name,
      status: failed ? "failed" : skipped ? "skipped" : "passed",
      failureMessages: failed ? [message(error)] : [],
      location: { line: data.line, column: data.column },
    });
  }
  yield JSON.stringify({ testResults: [...files.values()] });
}
