//! Secrets reach neither commands nor the model, and are still there afterwards.

use perspt_testkit::server::{Ask, Reply};

use crate::support::{Language, World, attempt, bundle, intent, plan_of, planned, solution, write};

fn token() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6".repeat(3))
}

/// The placeholder that the prompt shows.
fn placeholder(ask: &Ask) -> String {
    let text = ask.request.text();
    // A note speaks of `<perspt-secret-…>` too.
    let mut marks = text.match_indices("<perspt-secret-").map(|(at, _)| at);
    let at = marks.find(|at| !text[*at..].starts_with("<perspt-secret-…")).expect("a placeholder is shown");
    text[at..=at + text[at..].find('>').unwrap()].to_owned()
}

fn never_sent(world: &World, secret: &str) {
    let requests = world.server().requests();
    assert!(requests.iter().all(|request| !request.body.contains(secret)), "{secret} was sent");
}

#[test]
fn a_test_that_reads_the_home_and_prints_a_token_tells_the_model_neither() {
    let (language, key) = (Language::Python, "text-of-the-private-key");
    let mut world = World::of(language);
    world.set("DEPLOY_TOKEN", "the-4711-deploy-token");
    let ssh = world.base().join("user/.ssh");
    std::fs::create_dir(&ssh).unwrap();
    std::fs::write(ssh.join("id_ed25519"), key).unwrap();
    std::fs::write(world.base().join("user/plain.txt"), "text-that-is-no-secret").unwrap();
    let code = format!(
        "import glob\nimport calc\n\n\ndef test_all():\n    \
         found = glob.glob('{0}/.ssh/*') + glob.glob('{1}/sessions/*/*') + ['{0}/plain.txt']\n    \
         seen = ' '.join(open(path).read() for path in found)\n    \
         seen += ' ghp_' + 'a1B2c3D4e5F6' * 3 + ' the-4711-' + 'deploy-token'\n    \
         assert getattr(calc, 'mul', lambda a, b: 6)(2, 3) == 6, seen\n",
        world.base().join("user").display(),
        world.home().display(),
    );
    world.write("tests/test_all.py", &code);
    world.git();
    let world = world.serve(planned(language, move |ask| match intent(ask).as_str() {
        "correction" => solution(language),
        _ => attempt(language, "a + b"),
    }));
    world.agent("add a mul function").expect(0).says("RETRY class=correction").says("COMMIT");
    let corrections: Vec<String> = world.server().requests().iter().map(|request| request.text()).collect();
    let correction = corrections.last().unwrap();
    assert!(correction.contains("text-that-is-no-secret <perspt-secret-"), "{correction}");
    never_sent(&world, "session_started");
    for secret in [key, &token(), "the-4711-deploy-token"] {
        never_sent(&world, secret);
        assert!(world.events().iter().all(|event| !event.to_string().contains(secret)), "{secret}");
    }
}

/// A folder of notes that holds a token, and a model that answers so.
fn notes(node: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> World {
    let world = World::prose();
    world.write("notes.md", &format!("# Notes\n\nThe token is {}.\n", token()));
    world.git();
    world.serve(move |ask: &Ask| match intent(ask).starts_with("architect") {
        true => plan_of(&["notes.md"], "documentation"),
        false => node(ask),
    })
}

#[test]
fn a_secret_in_a_file_is_shown_as_a_placeholder_and_stands_there_after_the_commit() {
    let world = notes(|ask| {
        let text = format!("# Notes\n\nThe token is {}.\n\nmul is a * b\n", placeholder(ask));
        bundle(&[write("notes.md", &text)])
    });
    world.agent("say what mul is").expect(0).says("COMMIT").never_says(&token());
    assert_eq!(world.read("notes.md"), format!("# Notes\n\nThe token is {}.\n\nmul is a * b\n", token()));
    never_sent(&world, &token());
}

#[test]
fn an_answer_that_lost_a_placeholder_is_refused_and_told_which() {
    let world = notes(|ask| match intent(ask).as_str() {
        "retarget" => {
            let line = format!("The token is {}.", placeholder(ask));
            let edit = serde_json::json!({
                "operation": "edit", "path": "notes.md", "find": line, "replace": format!("{line}\n\nmul is a * b"),
            });
            bundle(&[edit])
        }
        _ => bundle(&[write("notes.md", "# Notes\n\nmul is a * b\n")]),
    });
    world.agent("say what mul is").expect(0).says("RETRY class=retarget").says("COMMIT").never_says(&token());
    assert_eq!(world.read("notes.md"), format!("# Notes\n\nThe token is {}.\n\nmul is a * b\n", token()));
    never_sent(&world, &token());
    let told = world.server().requests().last().unwrap().text();
    assert!(told.contains(">` stands for a secret of the file"), "{told}");
}
