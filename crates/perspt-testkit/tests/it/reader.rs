//! A reader of sessions knows core and store alone. This module is such a reader: it may use nothing else of perspt.

mod tiny {
    use perspt_core::event::{Ended, Event};
    use perspt_core::ids::{BlobId, SessionId};
    use perspt_core::view::{Owner, SessionView};
    use perspt_store::{Followed, Follower, Home};

    /// Prints a session while it runs.
    pub struct Reader {
        follower: Follower,
        /// What every command printed, by the command.
        pub outputs: Vec<(String, Option<BlobId>)>,
        pub lines: Vec<String>,
    }

    impl Reader {
        pub fn new(home: &Home, session: &SessionId) -> Reader {
            Reader {
                follower: Follower::open(home, session).unwrap(),
                outputs: Vec::new(),
                lines: Vec::new(),
            }
        }

        /// Takes in what is new, and says whether the session is over.
        pub fn look(&mut self) -> bool {
            while let Some(Followed { event, .. }) = self.follower.poll().unwrap() {
                let Ok(event) = event else { continue };
                self.lines.extend(line(&event));
                if let Event::EffectEnded { outcome, .. } = &event {
                    self.outputs.extend(outcome.runs().iter().map(|run| (run.step.clone(), run.output)));
                }
            }
            self.follower.state().end.is_some()
        }

        pub fn view(&self) -> SessionView {
            self.follower.view(Owner::Alive)
        }
    }

    /// The end of an effect says by itself what it was the end of.
    fn line(event: &Event) -> Option<String> {
        match event {
            Event::EffectEnded { of: Some(of), outcome, .. } => {
                let node = of.node.as_ref().map_or("-", |node| node.as_str());
                let what = match outcome {
                    Ended::Measured { reading, .. } => format!("{} errors={}", reading.tool, reading.errors),
                    Ended::Published { commit, .. } => format!("published {}", commit.merkle.short()),
                    _ => format!("{:?}", of.kind),
                };
                Some(format!("{node} {what}"))
            }
            Event::SessionEnded { outcome, .. } => Some(format!("over {}", outcome.as_str())),
            _ => None,
        }
    }
}

use std::sync::{Arc, Mutex};

use perspt_core::effect::Intent;
use perspt_testkit::session::Point;

use crate::support::{PROJECT, THREE, World, answers, bundle, one_node, three, write};

#[test]
fn a_reader_that_knows_core_and_store_alone_follows_a_running_session() {
    let right = bundle(&[write("lib/three.toy", "let three = 3\n")]);
    let table = answers(one_node(THREE), &[("actuator.generate", 1, three("4")), ("correction", 1, right)]);
    let mut world = World::new(PROJECT, table);
    let reader: Arc<Mutex<Option<tiny::Reader>>> = Arc::default();
    let (inner, home, id) = (reader.clone(), world.rig.home.clone(), world.rig.id().clone());
    let seen_running = Arc::new(Mutex::new(0));
    let running = seen_running.clone();
    // It looks while effects run, as another process would.
    world.rig.watch = Arc::new(move |point: &Point<'_>| {
        if let Point::BeforeAct(_) = point {
            let mut reader = inner.lock().unwrap();
            let reader = reader.get_or_insert_with(|| tiny::Reader::new(&home, &id));
            assert!(!reader.look(), "it is not over");
            let view = reader.view();
            assert_eq!((view.status, view.doing.is_empty()), ("running", false));
            *running.lock().unwrap() += 1;
        }
    });
    let state = world.begin();
    let mut reader = reader.lock().unwrap().take().unwrap();
    assert!(reader.look());
    assert!(*seen_running.lock().unwrap() > 10);
    assert!(reader.lines.iter().any(|line| line.starts_with("one published ")), "{:?}", reader.lines);
    assert_eq!(reader.lines.last().unwrap(), "over success");

    let view = reader.view();
    assert_eq!(view.status, state.end.unwrap().outcome.as_str());
    let [node] = &view.nodes[..] else { panic!("{:?}", view.nodes) };
    assert_eq!((node.state, node.judged, node.corrections), ("committed", 2, 1));
    let [first, second] = &node.attempts[..] else { panic!("{:?}", node.attempts) };
    assert_eq!((first.intent, second.intent), (Some(Intent::Generate), Some(Intent::Correction)));
    assert!(first.energy.as_ref().unwrap().errors > 0 && !first.findings.is_empty());
    assert!(second.energy.as_ref().unwrap().errors == 0 && second.grade == node.grade);
    assert_eq!((view.commits.len(), view.summary.completed, view.summary.nodes), (1, 1, 1));
    assert_eq!(view.budget.used.steps, 3);

    let red = reader.outputs.iter().filter(|(step, _)| step == "test/run").filter_map(|(_, output)| *output);
    let blobs = world.rig.home.blobs(world.rig.id()).unwrap();
    let texts: Vec<String> = red.map(|blob| String::from_utf8(blobs.get(blob).unwrap()).unwrap()).collect();
    assert!(texts.iter().any(|text| text.contains("4 is not 3")), "{texts:?}");
}
