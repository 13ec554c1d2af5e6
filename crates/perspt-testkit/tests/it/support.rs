//! What the tests share.

use std::path::Path;

use perspt_core::effect::Effect;
use perspt_core::event::{Certificate, Closed, Ended, Event, SessionResumed};
use perspt_core::ids::NodeId;
use perspt_core::state::SessionState;
use perspt_testkit::home::Place;
use perspt_testkit::server::{Ask, Reply, Script, ScriptedServer, Table};
use perspt_testkit::session::{Answers, Rig};
use perspt_testkit::toy::{Flaw, Toy};
use serde_json::{Value, json};

/// A plan of these tasks.
pub fn plan(tasks: &[Value]) -> String {
    json!({ "tasks": tasks }).to_string()
}

/// A task that lists its tests with its code.
pub fn task(id: &str, files: &[&str], dependencies: &[&str]) -> Value {
    json!({
        "id": id,
        "goal": format!("the goal of {id}"),
        "output_files": files,
        "dependencies": dependencies,
        "task_type": "unit_test",
    })
}

/// A task of another type.
pub fn task_of(kind: &str, id: &str, files: &[&str]) -> Value {
    let mut task = task(id, files, &[]);
    task["task_type"] = json!(kind);
    task
}

/// The same with more words to it.
pub fn with(mut value: Value, words: Value) -> Value {
    if let (Some(value), Value::Object(words)) = (value.as_object_mut(), words) {
        value.extend(words);
    }
    value
}

/// An answer of these operations.
pub fn bundle(artifacts: &[Value]) -> String {
    json!({ "artifacts": artifacts }).to_string()
}

/// The whole file.
pub fn write(path: &str, content: &str) -> Value {
    json!({ "operation": "write", "path": path, "content": content })
}

/// One replacement.
pub fn edit(path: &str, find: &str, replace: &str) -> Value {
    json!({ "operation": "edit", "path": path, "find": find, "replace": replace })
}

/// Another name.
pub fn rename(from: &str, to: &str) -> Value {
    json!({ "operation": "move", "from": from, "to": to })
}

/// No file any more.
pub fn delete(path: &str) -> Value {
    json!({ "operation": "delete", "path": path })
}

/// A small project with one test that passes.
pub const PROJECT: &[(&str, &str)] = &[
    ("toy.mod", ""),
    ("main.toy", "use lib/two\nlet answer = two * 21\n"),
    ("lib/two.toy", "let two = 2\n"),
    ("tests/two.toy", "use lib/two\ntest two_is_two: two == 2\n"),
    ("NOTES.md", "notes\n"),
];

/// The files of the node `one` in [`three`].
pub const THREE: &[&str] = &["lib/three.toy", "tests/three.toy"];

/// An answer that adds three, with its test.
pub fn three(value: &str) -> String {
    bundle(&[
        write("lib/three.toy", &format!("let three = {value}\n")),
        write("tests/three.toy", "use lib/three\ntest three: three == 3\n"),
    ])
}

/// A table that begins with a plan of one node, `one`, with these files.
pub fn one_node(files: &[&str]) -> Table {
    Table::new().on("architect.existing", "-", 1, Reply::text(plan(&[task("one", files, &[])])))
}

/// The same, of a node that brings no tests.
pub fn code_node(files: &[&str]) -> Table {
    let plan = plan(&[task_of("code", "one", files)]);
    Table::new().on("architect.existing", "-", 1, Reply::text(plan))
}

/// A table that answers the node `one`.
pub fn answers(table: Table, replies: &[(&str, u32, String)]) -> Table {
    replies.iter().fold(table, |table, (intent, attempt, text)| {
        table.on(intent, "one", *attempt, Reply::text(text.clone()))
    })
}

/// A script with this plan, and the nth answer to everything that comes after it.
pub fn script(plan: String, answer: impl Fn(usize) -> String + Send + Sync + 'static) -> impl Script {
    move |ask: &Ask| match ask.tag() {
        Some(tag) if tag.intent.starts_with("architect") => Reply::text(plan.clone()),
        Some(_) | None => Reply::text(answer(ask.ordinal - 1)),
    }
}

/// A session with a toy project, a scripted model, and nothing done yet.
pub struct World {
    pub place: Place,
    pub server: ScriptedServer,
    pub rig: Rig,
}

impl World {
    pub fn new(files: &[(&str, &str)], script: impl Script) -> World {
        World::with_flaw(files, script, Flaw::None)
    }

    pub fn with_flaw(files: &[(&str, &str)], script: impl Script, flaw: Flaw) -> World {
        World::with_tool(files, script, Path::new(env!("CARGO_BIN_EXE_toyc")), flaw)
    }

    pub fn with_tool(files: &[(&str, &str)], script: impl Script, toyc: &Path, flaw: Flaw) -> World {
        let place = Place::new().with(files);
        let server = ScriptedServer::start(script).unwrap();
        let helper = Path::new(env!("CARGO_BIN_EXE_box-helper"));
        let mut rig = Rig::new(place.home(), &place.work(), &place.mark(), helper);
        rig.plugins = vec![Toy::plugin(toyc, flaw)];
        rig.answers = Answers::Http(server.base_url());
        rig.started.settings.backoff_ms = 1;
        World { place, server, rig }
    }

    pub fn begin(&self) -> SessionState {
        self.rig.begin().unwrap()
    }

    pub fn resume(&self) -> SessionState {
        self.rig.resume(SessionResumed::default()).unwrap()
    }

    /// Takes the session up again with these words of `--allow`.
    pub fn resume_with(&self, allow: &[&str]) -> SessionState {
        let allow = allow.iter().map(|word| word.parse().unwrap()).collect();
        self.rig.resume(SessionResumed { allow, ..Default::default() }).unwrap()
    }

    /// The tags that were asked for, in order, as `intent node attempt`.
    pub fn tags(&self) -> Vec<String> {
        let tags = self.server.requests().into_iter().map(|request| request.tag.unwrap());
        tags.map(|tag| format!("{} {} {}", tag.intent, tag.node, tag.attempt)).collect()
    }

    /// Every outcome in the log, with the effect it belongs to.
    pub fn outcomes(&self) -> Vec<(Effect, Ended)> {
        let mut open = std::collections::BTreeMap::new();
        let mut outcomes = Vec::new();
        for (_, event) in self.rig.events() {
            match event {
                Event::EffectStarted { id, effect, .. } => drop(open.insert(id, effect)),
                Event::EffectEnded { id, outcome, .. } => outcomes.push((open.remove(&id).unwrap(), outcome)),
                _ => {}
            }
        }
        outcomes
    }

    /// How often the workspace was found to have moved.
    pub fn moves(&self) -> usize {
        self.outcomes().iter().filter(|(_, outcome)| matches!(outcome, Ended::BaseMoved { .. })).count()
    }

    /// The certificate of a node that was given up.
    pub fn certificate(&self, node: &str) -> Certificate {
        let closed = self.rig.events().into_iter().find_map(|(_, event)| match event {
            Event::NodeClosed { node: id, end: Closed::Escalated { certificate } }
                if id == NodeId::from(node) =>
            {
                Some(*certificate)
            }
            _ => None,
        });
        closed.expect("the node was given up")
    }
}
