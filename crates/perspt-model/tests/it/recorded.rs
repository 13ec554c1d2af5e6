//! Playing texts back.

use std::time::Duration;

use perspt_core::ids::NodeId;
use perspt_model::{CallLimits, Cancel, Model, ModelError, Prompt, Recorded, Role, StopReason, Tag, Turn};

use crate::support::{ample, prompt};

async fn play(model: &Recorded, prompt: &Prompt) -> (Result<String, ModelError>, Vec<String>) {
    let mut chunks = Vec::new();
    let mut take = |text: &str| chunks.push(text.to_owned());
    let answer = model.ask(prompt, &ample(), &mut take, &Cancel::new()).await;
    let text = answer.map(|answer| {
        assert_eq!((answer.stop, answer.usage), (StopReason::End, None));
        answer.text
    });
    (text, chunks)
}

#[tokio::test]
async fn recordings_in_a_directory_are_found_by_tag_alone() {
    let dir = tempfile::tempdir().unwrap();
    let text = "Grüße 🦀 ".repeat(20);
    std::fs::write(dir.path().join("actuator.generate@n1@1.txt"), &text).unwrap();
    std::fs::write(dir.path().join("architect.existing@-@1.txt"), "a plan").unwrap();
    std::fs::write(dir.path().join("actuator.generate@a%2Fb%20c@2.txt"), "odd").unwrap();
    std::fs::write(dir.path().join("README.md"), "not an answer").unwrap();
    let model = Recorded::from_dir(dir.path()).unwrap();
    let (played, chunks) = play(&model, &prompt()).await;
    assert_eq!(played.as_ref(), Ok(&text));
    assert!(chunks.len() > 1 && chunks.concat() == text);
    let mut other = prompt();
    other.turns = vec![Turn::user("quite another text")];
    assert_eq!(play(&model, &other).await.0, Ok(text));
    let plan = Prompt::new(Tag::session("architect.existing", 1), String::new(), "");
    assert_eq!(play(&model, &plan).await.0, Ok("a plan".to_owned()));
    let odd = Prompt::new(Tag::node("actuator.generate", &NodeId::from("a/b c"), 2), String::new(), "");
    assert_eq!(play(&model, &odd).await.0, Ok("odd".to_owned()));
}

#[tokio::test]
async fn an_unknown_tag_is_a_lasting_error_that_names_tag_and_file() {
    let model = Recorded::from_pairs([(Tag::session("architect.existing", 1), "a plan")]);
    let error = play(&model, &prompt()).await.0.unwrap_err();
    let tag = "[perspt intent=actuator.generate node=n1 attempt=1]".to_owned();
    let file = "actuator.generate@n1@1.txt".to_owned();
    assert_eq!(error, ModelError::NotRecorded { tag, file });
    assert!(!error.is_transient());
}

#[tokio::test]
async fn a_prompt_without_a_tag_is_found_by_what_it_says_and_cache_marks_play_no_part() {
    let dir = tempfile::tempdir().unwrap();
    let turns = vec![Turn::user("hello"), Turn::assistant("hi"), Turn::user("and now?")];
    let chat = Prompt::chat("Be brief.".to_owned(), turns.clone());
    std::fs::write(dir.path().join(chat.file_name()), "nothing").unwrap();
    std::fs::write(dir.path().join(chat.file_name().replace(".txt", ".prompt.txt")), "no answer").unwrap();
    let model = Recorded::from_dir(dir.path()).unwrap();
    assert_eq!(play(&model, &chat).await.0, Ok("nothing".to_owned()));
    let mut marked = chat.clone();
    marked.turns[0].stable = 3;
    marked.tag = prompt().tag;
    assert_eq!(play(&model, &marked).await.0, Ok("nothing".to_owned()), "a tag that is not recorded");
    let mut swapped = chat.clone();
    swapped.turns[1].role = Role::User;
    for other in [swapped, Prompt::chat("Be brief".to_owned(), turns)] {
        let error = play(&model, &other).await.0.unwrap_err();
        assert!(error.what().contains(&other.file_name()), "{error}");
    }
}

#[test]
fn a_turn_has_two_parts_only_where_some_of_it_and_not_all_is_sent_again() {
    let parts = |stable: usize| {
        Turn::user("aüb").with_stable(stable).parts().map(|(left, right)| (left.len(), right.len()))
    };
    assert_eq!([0, 1, 2, 3, 4, 9].map(parts), [None, Some((1, 3)), None, Some((3, 1)), None, None]);
}

#[test]
fn a_directory_that_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    let error = Recorded::from_dir(&missing).unwrap_err();
    assert!(error.what().contains("missing"), "{error}");
    for name in
        ["wrong.txt", "a@b.txt", "a@b@c.txt", "a@b@01.txt", "a@b@1@2.txt", "a@b c@1.txt", "a@%zz@1.txt"]
    {
        let path = dir.path().join(name);
        std::fs::write(&path, "text").unwrap();
        let error = Recorded::from_dir(dir.path()).unwrap_err();
        assert!(matches!(&error, ModelError::BadRecording { path, .. } if path.ends_with(name)), "{error:?}");
        std::fs::remove_file(path).unwrap();
    }
    std::fs::write(dir.path().join("a@b@1.txt"), b"\xff").unwrap();
    assert!(matches!(Recorded::from_dir(dir.path()), Err(ModelError::BadRecording { .. })));
}

#[tokio::test]
async fn a_paced_recording_is_the_same_text_and_can_be_cancelled() {
    let text = "x".repeat(100);
    let model = Recorded::from_pairs([(prompt().tag.unwrap(), text.clone())]);
    assert_eq!(play(&model.clone().paced(Duration::from_millis(1)), &prompt()).await.0, Ok(text));
    let slow = model.paced(Duration::from_secs(3600));
    let cancel = Cancel::new();
    let (prompt, limits) = (prompt(), ample());
    let mut quiet = |_: &str| {};
    let (result, ()) =
        tokio::join!(slow.ask(&prompt, &limits, &mut quiet, &cancel), async { cancel.cancel() });
    assert_eq!(result.unwrap_err(), ModelError::Cancelled);
}

#[tokio::test]
async fn a_recording_keeps_to_the_size_limit() {
    let model = Recorded::from_pairs([(prompt().tag.unwrap(), "x".repeat(11))]);
    let limits = CallLimits { max_bytes: 10, ..ample() };
    let result = model.ask(&prompt(), &limits, &mut |_: &str| {}, &Cancel::new()).await;
    assert_eq!(result.unwrap_err(), ModelError::TooLarge { limit: 10 });
}
