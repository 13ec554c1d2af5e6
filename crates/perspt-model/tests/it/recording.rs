//! Calls are written down and played back.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use perspt_model::{Cancel, Mask, Model, ModelError, Prompt, Protocol, Recorded, Recording, Remote, Turn};
use perspt_testkit::server::{Ask, Reply, ScriptedServer};

use crate::support::{ample, endpoint, prompt};

const SECRET: &str = "sk-secret-0123456789";

fn masked() -> Mask {
    Box::new(|text: &str| text.replace("hunter2", "<masked>"))
}

fn files(dir: &Path) -> BTreeSet<String> {
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

async fn ask(model: &dyn Model, prompt: &Prompt) -> Result<String, ModelError> {
    model.ask(prompt, &ample(), &mut |_: &str| {}, &Cancel::new()).await.map(|answer| answer.text)
}

fn chat() -> Prompt {
    let turns = vec![Turn::user("my word is hunter2"), Turn::assistant("noted"), Turn::user("say it")];
    Prompt::chat("Be brief.".to_owned(), turns)
}

#[tokio::test]
async fn what_was_recorded_plays_back_with_and_without_a_tag_and_holds_no_secret() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("new/recording");
    let server = ScriptedServer::start(|ask: &Ask| match ask.tag() {
        Some(_) => Reply::text("tagged: hunter2 and Grüße 🦀"),
        None => Reply::text("spoken"),
    })
    .unwrap();
    for protocol in Protocol::ALL {
        let remote = Arc::new(Remote::new(endpoint(protocol, &server)).unwrap());
        let recording = Recording::wrap(remote, &dir, masked()).unwrap();
        assert_eq!(recording.name(), "some-model");
        assert_eq!(ask(&recording, &prompt()).await.unwrap(), "tagged: hunter2 and Grüße 🦀", "as it came");
        assert_eq!(ask(&recording, &chat()).await.unwrap(), "spoken");
    }
    let hash = chat().file_name();
    let hash_prompt = hash.replace(".txt", ".prompt.txt");
    let expected = ["actuator.generate@n1@1.txt", "actuator.generate@n1@1.prompt.txt", &hash, &hash_prompt];
    assert_eq!(files(&dir), expected.map(str::to_owned).into());
    let spoken = std::fs::read_to_string(dir.join(&hash_prompt)).unwrap();
    assert_eq!(
        spoken,
        "--- system\nBe brief.\n--- user\nmy word is <masked>\n--- assistant\nnoted\n--- user\nsay it\n"
    );
    for name in files(&dir) {
        let path = dir.join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(SECRET) && !text.contains("hunter2"), "{text}");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let played = Recorded::from_dir(&dir).unwrap();
    assert_eq!(ask(&played, &prompt()).await.unwrap(), "tagged: <masked> and Grüße 🦀");
    assert_eq!(ask(&played, &chat()).await.unwrap(), "spoken");
}

#[tokio::test]
async fn a_failed_call_leaves_no_recording() {
    let dir = tempfile::tempdir().unwrap();
    let server = ScriptedServer::start(|_: &Ask| Reply::status(500, SECRET)).unwrap();
    let remote = Arc::new(Remote::new(endpoint(Protocol::Anthropic, &server)).unwrap());
    let recording = Recording::wrap(remote, dir.path(), masked()).unwrap();
    let error = ask(&recording, &prompt()).await.unwrap_err();
    assert!(matches!(error, ModelError::Server { .. }), "{error:?}");
    assert!(files(dir.path()).is_empty());
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let model: Arc<dyn Model> = Arc::new(Recorded::from_pairs([(prompt().tag.unwrap(), "hi")]));
    let refused = Recording::wrap(model.clone(), &file, masked()).err();
    assert!(matches!(refused, Some(ModelError::BadRecording { .. })), "{refused:?}");
    let gone = dir.path().join("gone");
    let recording = Recording::wrap(model, &gone, masked()).unwrap();
    std::fs::remove_dir(&gone).unwrap();
    let error = ask(&recording, &prompt()).await.unwrap_err();
    assert!(matches!(error, ModelError::BadRecording { .. }), "{error:?}");
}
