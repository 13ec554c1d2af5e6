//! Known bundles, written in a random manner with random faults on top of each other. Each one is read exactly as it was
//! meant or refused; it is never read as something else.

use perspt_agent::parse::{Payload, Shape, Wanted, read};
use perspt_core::bundle::{Artifact, Bundle};
use perspt_core::consent::{TestChange, TestDeclaration};
use serde_json::{Value, json};

use crate::support::path;

/// A small generator: the same seed gives the same answers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// Lines that look like the frame of an answer.
const LINES: &[&str] = &[
    "def f():",
    "    return 'a\\n'",
    "",
    "x = 1",
    "=======",
    "<<<<<<< SEARCH",
    ">>>>>>> REPLACE",
    "```",
    "```sh",
    "~~~",
    "````",
    "### write other.py",
    "### Usage",
    "## `src/lib.rs`",
    "{\"artifacts\": []}",
    "RUN rm -r x",
    "RED all: yes",
    "ünïcode 漢字 🦀",
    "</file>",
    "<file path=\"z.py\">",
    "*** Begin Patch",
    "*** End Patch",
    "--- a/x.py",
    "+++ b/x.py",
    "@@ -1 +1 @@",
    "-old",
    "+new",
    "src/app.py",
    "**src/app.py**",
    "</think>",
    "<think>",
    "`x.py`:",
    "y = {'a': [1, 2,],}",
    "print(\"quoted\", '\\t')",
    "# src/app.py",
    "\tindented",
    "// x: {\"a\": 1}",
    "<answer>",
    "Title:",
    "```python src/q.py",
    "it's",
    "C:\\dir",
    "  trailing  ",
];

const PATHS: &[&str] =
    &["src/app.py", "README.md", "a/b/c.rs", "x.json", "docs/über.md", ".gitignore", "Makefile"];

fn text(random: &mut Random) -> String {
    let end = if random.one_in(8) { "\r\n" } else { "\n" };
    let lines = random.below(9);
    (0..lines).map(|_| format!("{}{end}", random.pick(LINES))).collect()
}

fn bundle(random: &mut Random) -> Bundle {
    let mut paths = PATHS.to_vec();
    let mut artifacts = Vec::new();
    for _ in 0..1 + random.below(3) {
        let path = paths.remove(random.below(paths.len())).to_owned();
        artifacts.push(match random.below(6) {
            0..=2 => Artifact::Write { path, content: text(random) },
            3 => Artifact::Edit { path, find: text(random) + "found\n", replace: text(random) },
            4 => Artifact::Delete { path },
            _ => Artifact::Move { to: format!("new/{path}"), from: path },
        });
    }
    let mut out = Bundle { artifacts, ..Bundle::default() };
    if random.one_in(4) {
        out.commands.push("cargo add itoa".to_owned());
        out.leaves_red.push("net::retry".to_owned());
        let (test, why) = (Some("test_x".to_owned()), "it: says the old word".to_owned());
        let change = TestChange::Update;
        out.changes_tests.push(TestDeclaration {
            path: path("tests/test_a.py"),
            test,
            change,
            to: None,
            why,
        });
    }
    out
}

/// What is odd about an answer's JSON.
#[derive(Default)]
struct Odd {
    commas: bool,
    comments: bool,
    raw: bool,
    single: bool,
    unquoted: bool,
}

fn string(text: &str, odd: &Odd) -> String {
    let quoted = json!(text).to_string();
    let inner = &quoted[1..quoted.len() - 1];
    let inner =
        if odd.raw && !inner.contains("\\\\") { inner.replace("\\n", "\n") } else { inner.to_owned() };
    if odd.single { format!("'{}'", inner.replace('\'', "\\'")) } else { format!("\"{inner}\"") }
}

fn written(value: &Value, odd: &Odd) -> String {
    let comma = if odd.commas { "," } else { "" };
    let note = if odd.comments { " // here\n" } else { " " };
    match value {
        Value::Array(list) if list.is_empty() => "[]".to_owned(),
        Value::Array(list) => {
            let list: Vec<String> = list.iter().map(|value| written(value, odd)).collect();
            format!("[{note}{}{comma}]", list.join(", "))
        }
        Value::Object(fields) => {
            let key = |key: &String| if odd.unquoted { key.clone() } else { string(key, odd) };
            let list: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}: {}", key(name), written(value, odd)))
                .collect();
            format!("{{{}{comma}{note}}}", list.join(",\n"))
        }
        Value::String(text) => string(text, odd),
        other => other.to_string(),
    }
}

fn as_json(bundle: &Bundle, random: &mut Random) -> String {
    let mut odd = Odd::default();
    for _ in 0..random.below(3) {
        match random.below(5) {
            0 => odd.commas = true,
            1 => odd.comments = true,
            2 => odd.raw = true,
            3 => odd.single = true,
            _ => odd.unquoted = true,
        }
    }
    let mut value = json!(bundle);
    if random.one_in(4) {
        let rename = |artifact: &mut Value| {
            let fields = artifact.as_object_mut().unwrap();
            for (from, to) in [("path", "filename"), ("content", "contents"), ("find", "search")] {
                if let Some(value) = fields.remove(from) {
                    fields.insert(to.to_owned(), value);
                }
            }
        };
        value["artifacts"].as_array_mut().unwrap().iter_mut().for_each(rename);
        let list = value.as_object_mut().unwrap().remove("artifacts").unwrap();
        value["files"] = list;
    }
    let text = written(&value, &odd);
    let text = if random.one_in(6) {
        text.trim_end_matches(['}', ' ', '\n', '/', 'h', 'e', 'r']).to_owned()
    } else {
        text
    };
    match random.below(4) {
        0 => text,
        1 => format!("```json\n{text}\n```\n"),
        2 => format!("~~~\n{text}\n~~~\nThat is all.\n"),
        _ => format!("Here it is: {text}\n\nI hope [it] helps (a {{lot}}).\n"),
    }
}

/// Whether every fence of three marks in a text that opens a block is closed there. Other texts need more marks around them:
/// with just three, they read like two blocks.
fn is_paired(text: &str) -> bool {
    let fences = text.lines().filter(|line| line.starts_with("```") && !line.starts_with("````"));
    let is_open = fences.fold(false, |is_open, line| if is_open { line.trim_end() != "```" } else { true });
    !is_open
}

/// Marks around a text: longer than those in it, or just three.
fn fence(text: &str, random: &mut Random) -> String {
    let longest = text.lines().map(|line| line.len() - line.trim_start_matches('`').len()).max().unwrap_or(0);
    if random.one_in(3) && is_paired(text) { "```".to_owned() } else { "`".repeat(longest.max(2) + 1) }
}

fn label(path: &str, random: &mut Random) -> String {
    match random.below(10) {
        0..=4 => format!("### write {path}"),
        5 => format!("### File: {path}"),
        6 => format!("**{path}**"),
        7 => format!("`{path}`:"),
        8 => format!("Create `./{path}`:\n"),
        _ => path.to_owned(),
    }
}

fn write_block(path: &str, content: &str, random: &mut Random) -> String {
    let plus: String = content.split_inclusive('\n').map(|line| format!("+{line}")).collect();
    let marks = fence(content, random);
    let info = random.pick(&["", "python", "markdown", "text"]);
    // Below a name alone, SEARCH/REPLACE lines are an edit.
    let manner = if content.trim_start().starts_with("<<<<<<<") { 9 } else { random.below(11) };
    // A block below an item of a list, all of its lines indented.
    let inner: String = content
        .split_inclusive('\n')
        .map(|line| if line.trim().is_empty() { line.to_owned() } else { format!("  {line}") })
        .collect();
    let has_fence = content.contains("```") || content.contains("~~~");
    match manner {
        // Tags have no way to hold tags: such a text reads like two files.
        0 if !content.contains("<file ") => format!("<file path=\"{path}\">\n{content}</file>\n"),
        1 => format!("```diff\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,7 @@\n{plus}```\n"),
        2 => format!("*** Begin Patch\n*** Add File: {path}\n{plus}*** End Patch\n"),
        3 => format!("{marks}{info} {path}\n{content}{marks}\n"),
        4 if !has_fence => format!("- Write `{path}`:\n\n  ```{info}\n{inner}  ```\n"),
        5 => format!(
            "<write_to_file>\n<path>{path}</path>\n<content>\n{content}</content>\n</write_to_file>\n"
        ),
        9 => format!("### write {path}\n{marks}{info}\n{content}{marks}\n"),
        _ => format!("{}\n{marks}{info}\n{content}{marks}\n", label(path, random)),
    }
}

fn edit_block(path: &str, find: &str, replace: &str, random: &mut Random) -> String {
    // A text in which one pair ends and another begins needs longer marks: with these it is two pairs.
    let is_two = find.contains(">>>>>>> REPLACE") && find.contains("<<<<<<< SEARCH");
    let is_two = is_two || (replace.contains(">>>>>>> REPLACE") && replace.contains("<<<<<<< SEARCH"));
    let run = if random.one_in(2) && !is_two { 7 } else { 9 };
    let (open, middle, close) = ("<".repeat(run), "=".repeat(run), ">".repeat(run));
    let pair = format!("{open} SEARCH\n{find}{middle}\n{replace}{close} REPLACE\n");
    match random.below(5) {
        0 => format!("{path}\n```python\n{pair}```\n"),
        1 => format!("```\n{path}\n{pair}```\n"),
        2 => format!("### edit `{path}`\n{pair}\n"),
        _ => format!("### edit {path}\n```\n{pair}```\n"),
    }
}

fn as_blocks(bundle: &Bundle, random: &mut Random) -> String {
    let mut out = String::new();
    for artifact in &bundle.artifacts {
        out.push_str(&match artifact {
            Artifact::Write { path, content } => write_block(path, content, random),
            Artifact::Edit { path, find, replace } => edit_block(path, find, replace, random),
            Artifact::Delete { path } => format!("### delete {path}\n"),
            Artifact::Move { from, to } => format!("### move {from} -> {to}\n"),
            Artifact::Diff { path, patch } => format!("### edit {path}\n```diff\n{patch}```\n"),
        });
        if random.one_in(3) {
            out.push_str(random.pick(&["\n", "That was the first part.\n\n", "Now the rest:\n"]));
        }
    }
    for command in &bundle.commands {
        out.push_str(&format!("RUN {command}\n"));
    }
    for red in &bundle.leaves_red {
        out.push_str(&format!("RED {red}: not mine\n"));
    }
    for test in &bundle.changes_tests {
        out.push_str(&format!("TESTS {} update: {}\n", test.subject(), test.why));
    }
    if random.one_in(5) {
        out.push_str("You can try it with:\n```bash\npytest -q\n```\n");
    }
    out
}

/// What stands around an answer.
fn framed(answer: String, random: &mut Random) -> String {
    match random.below(9) {
        0 => format!("<think>\nLet me see. {{\"artifacts\": []}}\n</think>\n\n{answer}"),
        1 => format!("I shall write\n```\nit\n```\n</think>\n{answer}"),
        2 => format!("<answer>\n{answer}</answer>"),
        3 => format!("\u{feff}{answer}"),
        4 => format!(
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{answer}"
        ),
        5 => format!("Certainly! I read the task with care.\n\n{answer}\n"),
        6 if !answer.contains('\r') => answer.replace('\n', "\r\n"),
        _ => answer,
    }
}

/// Plays this many answers and gives how many were read.
fn play(seed: u64, count: usize) -> usize {
    let mut read_well = 0;
    for number in 0..count {
        let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
        let bundle = bundle(&mut random);
        let answer =
            if random.one_in(2) { as_json(&bundle, &mut random) } else { as_blocks(&bundle, &mut random) };
        let answer = framed(answer, &mut random);
        match read(&answer, &Wanted::one_of(&[Shape::Bundle])) {
            Ok(reading) => {
                assert_eq!(
                    reading.payload,
                    Payload::Bundle(bundle),
                    "answer {number} of seed {seed}:\n{answer}"
                );
                read_well += 1;
            }
            Err(rejection) => assert!(!rejection.lines.is_empty(), "{answer}"),
        }
    }
    read_well
}

#[test]
fn an_answer_in_any_manner_is_read_exactly_or_refused() {
    let read_well = play(1, 600);
    // Most are read: the rest hold fences or marks that could mean two things.
    assert!(read_well > 300, "{read_well} of 600");
}

#[test]
#[ignore = "a heavy run"]
fn ten_thousand_answers_in_any_manner_are_read_exactly_or_refused() {
    let read_well = play(7, 10_000);
    println!("{read_well} of 10000 read");
    assert!(read_well > 5_000, "{read_well} of 10000");
}
