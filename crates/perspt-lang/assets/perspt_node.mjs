// A reporter for node --test: one JSON document when the run is over, in the form that Jest and Vitest write.

const passed = (data) => (data.todo !== undefined || data.skip !== undefined ? "skipped" : "passed");

function message(error) {
  const cause = error?.cause ?? error;
  return String(cause?.stack ?? cause?.message ?? cause);
}

export default async function* report(source) {
  const files = new Map();
  const open = [];
  const of = (name) => {
    if (!files.has(name)) files.set(name, { name, status: "passed", message: "", assertionResults: [] });
    return files.get(name);
  };
  for await (const { type, data } of source) {
    const isFile = data.nesting === 0 && data.name === data.file;
    if (type === "test:start") open[data.nesting] = data.name;
    if (type === "test:stderr") of(data.file).message += data.message;
    if (type === "test:complete" && isFile && !data.details.passed) {
      const { failureType, exitCode, signal } = data.details.error ?? {};
      if (failureType !== "subtestsFailed") of(data.file).status = "failed";
      Object.assign(of(data.file), exitCode === undefined ? {} : { exitCode }, signal ? { signal } : {});
    }
    if (type === "test:enqueue" && isFile) of(data.file);
    if ((type !== "test:pass" && type !== "test:fail") || isFile) continue;
    const { error, type: kind } = data.details;
    const isSuite = kind === "suite";
    const skipped = data.todo !== undefined || data.skip !== undefined;
    // A suite is no test; it has a failure of its own where its hooks or its body fail.
    if (isSuite && (type === "test:pass" || skipped || error?.failureType === "subtestsFailed")) continue;
    const failed = type === "test:fail" && !skipped;
    of(data.file).assertionResults.push({
      ancestorTitles: open.slice(0, data.nesting),
      title: data.name,
      status: failed ? "failed" : passed(data),
      failureMessages: failed ? [message(error)] : [],
      location: { line: data.line, column: data.column },
    });
  }
  yield JSON.stringify({ testResults: [...files.values()] });
}
