//! What a candidate did to JavaScript tests, by syntax; which folders are projects; what proposed commands are.

use perspt_core::reading::StageKind;
use perspt_core::residual::Class;
use perspt_lang::plugin::{CommandKind, FromCandidate, Host, Machine};

use crate::javascript_read::{javascript, node, read};
use crate::support::{Map, as_it_was, classes, facts, path, stage, structure, working};

const TESTS: &str = "import test, { describe } from 'node:test';\nimport assert from 'node:assert';\n\
                     import { sum } from '../src/sum.js';\n\nconst cases = [\n  [1, 2, 3],\n  [2, 2, 4],\n];\n\n\
                     function check(a, b, c) {\n  assert.equal(sum(a, b), c);\n}\n\n\
                     test('adds', () => {\n  assert.equal(sum(1, 2), 3);\n  assert.ok(sum(0, 0) === 0);\n});\n\n\
                     describe('tables', () => {\n  test('every case', () => {\n    for (const [a, b, c] of cases) check(a, b, c);\n  });\n});\n";

fn base() -> Map {
    Map::of(&[
        (
            "package.json",
            "{\"name\": \"demo\", \"type\": \"module\", \"scripts\": {\"test\": \"node --test\", \"lint\": \"eslint .\"}}",
        ),
        ("src/sum.js", "export function sum(a, b) {\n  return a + b;\n}\n"),
        ("test/sum.test.js", TESTS),
    ])
}

fn with(old: &str, new: &str) -> Vec<String> {
    assert!(TESTS.contains(old), "{old}");
    facts(javascript(), &base(), &base().with("test/sum.test.js", &TESTS.replacen(old, new, 1)))
}

#[test]
fn layout_comments_quotes_and_semicolons_are_no_change_of_a_test() {
    let other = TESTS
        .replace('\'', "\"")
        .replace(";\n", "\n")
        .replace("() => {\n  assert", "() => {\n    // why\n    assert");
    assert_eq!(facts(javascript(), &base(), &base().with("test/sum.test.js", &other)), [""; 0]);
    let moved = base().without("test/sum.test.js").with("test/other.test.js", TESTS);
    assert!(facts(javascript(), &base(), &moved).iter().all(|fact| fact.starts_with("moved")));
}

#[test]
fn what_weakens_a_test_is_said_of_it() {
    let adds = "changed test/sum.test.js::adds weaker";
    assert_eq!(with("  assert.ok(sum(0, 0) === 0);\n", ""), [adds]);
    assert_eq!(with("assert.equal(sum(1, 2), 3)", "assert.ok(sum(1, 2))"), [adds]);
    assert_eq!(with("test('adds'", "test.skip('adds'"), [adds]);
    assert_eq!(with("'adds', ()", "'adds', { skip: true }, ()"), [adds]);
    assert_eq!(with("assert.ok(sum(0, 0) === 0)", "assert.ok(true)"), [adds]);
    assert_eq!(
        with("describe('tables'", "describe.skip('tables'"),
        ["changed test/sum.test.js::tables::every case weaker"]
    );
    assert_eq!(with("sum(1, 2), 3", "sum(1, 2), 4"), ["changed test/sum.test.js::adds"]);
    assert_eq!(with("  [2, 2, 4],\n", ""), ["support test/sum.test.js"]);
    assert_eq!(with("  [2, 2, 4],\n", "  [2, 2, 4],\n  [3, 3, 6],\n"), [""; 0], "a case more is none less");
    assert_eq!(with("  assert.equal(sum(a, b), c);\n", ""), ["support test/sum.test.js"]);
}

#[test]
fn what_reaches_tests_from_outside_is_told_and_what_results_can_settle_is_marked() {
    let new = |name: &str, text: &str| facts(javascript(), &base(), &base().with(name, text));
    assert_eq!(new("vitest.config.ts", "export default {};\n"), ["evidence vitest.config.ts"]);
    assert_eq!(new(".npmrc", "node-options=--import ./x.js\n"), ["evidence .npmrc"]);
    assert_eq!(new("tsconfig.json", "{}"), ["evidence tsconfig.json"]);
    assert_eq!(new("node_modules/vitest/index.js", ""), ["evidence node_modules/vitest/index.js"]);
    assert_eq!(new("eslint.config.js", "export default [];\n"), [""; 0], "nothing was linted before");
    let linted = base().with(".eslintrc.json", "{}");
    for name in [".eslintrc.json", "eslint.config.js"] {
        let other = linted.with(name, "{ \"rules\": {} }");
        assert_eq!(facts(javascript(), &linted, &other), [format!("evidence {name}")]);
    }
    assert_eq!(new("src/mul.js", "export const mul = 1;\n"), [""; 0]);
    let manifest = base().text_of("package.json");
    assert_eq!(
        new("package.json", &manifest.replace("node --test", "node --test || true")),
        ["evidence package.json"]
    );
    assert_eq!(new("package.json", &manifest.replace("eslint .", "eslint src")), [""; 0]);
    assert_eq!(
        new("package.json", &manifest.replace("\"type\"", "\"imports\": {\"#a\": \"./b.js\"}, \"type\"")),
        ["evidence package.json"]
    );
    let hook = "import { beforeEach } from 'node:test';\nbeforeEach(() => {});\n";
    assert_eq!(with("const cases", &format!("{hook}const cases")), ["evidence test/sum.test.js?"]);
    assert_eq!(with("'node:assert'", "'./fake.js'"), ["evidence test/sum.test.js?"]);
    assert_eq!(
        new(
            "src/sum.js",
            "export function sum(a, b) {\n  if (process.env.NODE_TEST_CONTEXT) return 3;\n  return a;\n}\n"
        ),
        ["evidence src/sum.js"]
    );
    let mut setup = base();
    setup.put("vitest.config.js", "export default { test: { setupFiles: ['./support/prepare.js'] } };\n");
    setup.put("support/prepare.js", "");
    let changed = setup.with("support/prepare.js", "globalThis.test = () => {};\n");
    assert_eq!(facts(javascript(), &setup, &changed), ["evidence support/prepare.js?"]);
}

#[test]
fn code_that_is_still_to_be_written_is_charged_but_not_where_others_fill_it_in() {
    let stub = "export function mul() {\n  throw new Error('not implemented');\n}\n";
    assert_eq!(facts(javascript(), &base(), &base().with("src/mul.ts", stub)), ["stub src/mul.ts"]);
    let open = "class Shape {\n  area() {\n    throw new Error('Not implemented');\n  }\n}\nclass Square extends Shape {\n  area() { return 1; }\n}\n";
    assert_eq!(facts(javascript(), &base(), &base().with("src/shape.js", open)), [""; 0]);
    let guard = "export function mul(a) {\n  if (!a) throw new Error('not implemented');\n  return a;\n}\n";
    assert_eq!(facts(javascript(), &base(), &base().with("src/mul.ts", guard)), [""; 0]);
}

#[test]
fn old_tests_run_over_new_code_as_they_were() {
    let weaker = TESTS.replace("sum(1, 2), 3", "sum(1, 2), 4");
    let candidate =
        base().with("test/sum.test.js", &weaker).with("test/new.test.js", "").with("src/sum.js", "");
    let was = |name| as_it_was(javascript(), &base(), &candidate, &FromCandidate::default(), name);
    assert_eq!(was("test/sum.test.js").as_deref(), Some(TESTS));
    assert_eq!((was("test/new.test.js"), was("src/sum.js")), (None, Some(String::new())));
    let mut taken = FromCandidate::default();
    taken.tests.insert((path("test/sum.test.js"), "adds".to_owned()));
    let text = as_it_was(javascript(), &base(), &candidate, &taken, "test/sum.test.js").unwrap();
    assert!(text.contains("sum(1, 2), 4") && text.contains("every case"), "{text}");
}

#[test]
fn names_by_syntax_are_those_that_runners_report() {
    let files = node(
        "describe('a b', () => { it('c \\'d\\'', () => {}); });\nit(`e`, () => {});\nimport { describe, it } from 'node:test';\n",
    );
    let reading = read(&files, StageKind::Test);
    let added = structure(javascript(), &files.without("test/sum.test.js"), &files).inventory.added;
    assert_eq!(added.len(), 2);
    let tests = reading.tests.unwrap().results;
    assert!(
        added.iter().all(|id| tests.iter().any(|(name, result)| id.is(name, result))),
        "{added:?} {tests:?}"
    );
}

#[test]
fn a_fake_runner_or_assertion_does_not_let_the_old_tests_pass() {
    // The module that a test imports takes its place; the tests it had are gone from the run.
    let fake = base().with("test/sum.test.js", &TESTS.replace("'node:test'", "'./fake.js'"));
    let fake = fake.with("test/fake.js", "export default () => {};\nexport const describe = () => {};\n");
    let reading = read(&fake, StageKind::Test);
    assert_eq!(reading.tests.as_ref().unwrap().results.len(), 0, "none of them has a result");
    assert!(facts(javascript(), &base(), &fake).contains(&"evidence test/sum.test.js?".to_owned()));
    // Code that takes the runner's report away from its own process leaves none.
    let silent =
        base().with("src/sum.js", "process.stdout.write = () => true;\nexport const sum = () => 3;\n");
    let quiet = read(&silent, StageKind::Test);
    let passed = quiet.tests.as_ref().unwrap().count(perspt_core::reading::TestEnd::Passed);
    assert!(passed < 2 || !classes(&quiet).is_empty(), "{:?}", quiet.tests);
}

#[test]
fn roots_are_projects_and_no_data_and_a_script_in_another_project_makes_none() {
    let dirs = |files: &[(&str, &str)]| -> Vec<String> {
        javascript().roots(&Map::of(files)).into_iter().map(|root| root.dir.to_string()).collect()
    };
    let named = "{\"name\": \"x\"}";
    assert_eq!(
        dirs(&[
            ("package.json", named),
            ("docs/package.json", named),
            ("src/package.json", "{\"type\": \"module\"}")
        ])
        .len(),
        2
    );
    assert_eq!(
        dirs(&[
            ("package.json", named),
            ("test/fixtures/a/package.json", named),
            ("fixtures/b/package.json", named)
        ])
        .len(),
        1
    );
    let pnpm = [
        ("package.json", named),
        ("pnpm-workspace.yaml", "packages:\n  - 'libs/**'\n  - '!libs/old'\n"),
        ("libs/a/package.json", named),
        ("libs/old/package.json", named),
    ];
    assert_eq!(dirs(&pnpm).len(), 2);
    assert_eq!(dirs(&[("a.js", "")]).len(), 1, "a folder of JavaScript");
    assert_eq!(dirs(&[("pyproject.toml", ""), ("app.py", ""), ("static/app.js", "")]).len(), 0);
    assert_eq!(dirs(&[("app.py", ""), ("web/app.test.js", "")]).len(), 1);
    assert_eq!(dirs(&[("api/pyproject.toml", ""), ("api/a.py", ""), ("web/package.json", named)]), ["web"]);
}

#[test]
fn which_files_node_is_given_is_what_the_script_says_and_else_what_node_would_choose() {
    let given = |script: &str, more: &[&str]| -> Vec<String> {
        let manifest = format!(
            "{{\"name\": \"x\", \"scripts\": {{\"test\": \"{script}\", \"test:unit\": \"node --test lib\"}}}}"
        );
        let mut files = Map::of(&[("package.json", &manifest)]);
        more.iter().for_each(|name| files.put(name, ""));
        let root = javascript().roots(&files).remove(0);
        let stage = stage(javascript(), &root, &files, StageKind::Test, &Machine::default(), &working());
        let argv = &stage.steps[0].argv;
        let at = argv.iter().position(|word| word.starts_with("--test-reporter-destination")).unwrap();
        argv[1..]
            .iter()
            .take(at - 1)
            .filter(|word| word.starts_with("--import="))
            .chain(&argv[at + 1..])
            .cloned()
            .collect()
    };
    let usual = ["a.test.js", "test/b.js", "test/c.ts", "src/d.test.ts", "e.spec.js", "src/f.js"];
    assert_eq!(given("node --test", &usual), ["a.test.js", "test/b.js"]);
    assert_eq!(given("node --test --test-reporter spec 'src/**/*.test.{js,ts}'", &usual), ["src/d.test.ts"]);
    assert_eq!(
        given("npm run lint && c8 node --import=./hook.js --test ./test/", &usual),
        ["--import=./hook.js", "test/b.js", "test/c.ts"]
    );
    assert_eq!(given("npm run test:unit", &["lib/x.js", "a.test.js"]), ["lib/x.js"]);
    assert_eq!(given("echo none && exit 1", &["a.test.js"]), ["a.test.js"]);
    assert_eq!(given("tsx --test", &usual), ["a.test.js", "src/d.test.ts", "test/b.js", "test/c.ts"]);
    assert_eq!(given("node --test", &["src/d.test.ts", "src/d.ts", "src/d.test.d.ts"]), ["src/d.test.ts"]);
}

struct Fake(Vec<&'static str>);

impl Host for Fake {
    fn workspace(&self) -> &str {
        "/w"
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn exists(&self, path: &str) -> bool {
        self.0.contains(&path)
    }

    fn is_folder(&self, _path: &str) -> bool {
        false
    }

    fn folders_named(&self, name: &str) -> Vec<String> {
        assert_eq!(name, "node_modules");
        vec!["node_modules".to_owned(), "packages/a/node_modules".to_owned()]
    }
}

#[test]
fn packages_are_seen_where_they_are_installed_and_the_nearest_tool_is_taken() {
    let host =
        Fake(vec!["/w/node_modules/vitest/vitest.mjs", "/w/packages/a/node_modules/vitest/vitest.mjs"]);
    let machine: Machine = javascript().machine(&host);
    assert_eq!(machine.mounted, [path("node_modules"), path("packages/a/node_modules")].into());
    assert_eq!(machine.programs["vitest packages/a"], "/w/packages/a/node_modules/vitest/vitest.mjs");
    let probed: Vec<String> = javascript().probes(&machine).into_iter().map(|probe| probe.tool).collect();
    assert_eq!(probed, ["node", "vitest"], "each tool once");
}

#[test]
fn commands_that_only_test_repeat_and_packages_come_from_manifests_and_lock_files() {
    let files = base()
        .with("package-lock.json", "{\"packages\": {\"\": {}, \"node_modules/@types/node\": {}, \"node_modules/a/node_modules/b\": {}}}")
        .with("web/package.json", "{\"name\": \"web\", \"dependencies\": {\"react\": \"^19\", \"demo\": \"workspace:*\"}}")
        .with("yarn.lock", "left-pad@^1.3.0:\n  version \"1.3.0\"\n\"@scope/one@^1\":\n");
    let root = javascript().roots(&files).remove(0);
    let kind = |line: &str| {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        javascript().command(&argv, &root, &files)
    };
    for line in [
        "npm test",
        "npm run test:unit",
        "npx vitest run",
        "node --test",
        "pnpm test",
        "yarn lint",
        "npx tsc --noEmit",
    ] {
        assert_eq!(kind(line), CommandKind::Repeats, "{line}");
    }
    for line in ["npx eslint --fix .", "npm publish", "node server.js", "npx jest -u"] {
        assert_eq!(kind(line), CommandKind::Other, "{line}");
    }
    let packages = javascript().packages(&files);
    for name in ["@types/node", "b", "react", "demo", "left-pad", "@scope/one"] {
        assert!(packages.contains(name), "{name} in {packages:?}");
    }
    assert_eq!(javascript().dependencies(&files), ["react".to_owned()].into());
}

#[test]
fn a_manifest_that_cannot_be_read_is_still_a_root_and_its_data_is_checked_elsewhere() {
    let files =
        Map::of(&[("package.json", "{\"name\": "), ("a.test.js", "require('node:test')('a', () => {});\n")]);
    assert_eq!(javascript().roots(&files).len(), 1);
    let reading = read(&files, StageKind::Test);
    assert!(reading.residuals.iter().all(|one| one.class != Class::TestFailed), "{:?}", reading.residuals);
    assert!(!classes(&reading).is_empty() || !reading.tests.unwrap().results.is_empty());
}
