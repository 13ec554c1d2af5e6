//! The key is sent, and shown nowhere.

use perspt_model::{Cancel, Endpoint, Key, Model, ModelError, Remote, shown_url};
use perspt_testkit::server::{Ask, Fault, Point, Reply, ScriptedServer};

use crate::support::{ample, config, prompt};

const SECRET: &str = "sk-secret-0123456789";

fn assert_hidden(text: &str) {
    assert!(!text.contains("secret") && !text.contains("Bearer"), "the key shows: {text}");
}

#[test]
fn nothing_that_prints_shows_the_key() {
    let key = Key::new(&format!("  {SECRET}\n")).unwrap();
    assert_hidden(&format!("{key} {key:?}"));
    let config = config("http://user:secret-word@127.0.0.1:9/v1?api-key=secret");
    assert_hidden(&format!("{config:?} {config:#?}"));
    let model = Remote::new(config).unwrap();
    assert_hidden(&format!("{model:?} {model:#?} {}", model.name()));
}

#[test]
fn an_address_is_shown_without_its_credentials() {
    assert_eq!(shown_url("https://me:secret@host:81/v1?k=secret#secret"), "https://host:81/v1");
    assert_hidden(&shown_url("secret stuff"));
    assert_hidden(&shown_url("me:secret@host/v1"));
}

#[test]
fn a_key_of_white_space_is_no_key() {
    assert_eq!(Key::new(" \n"), None);
}

#[test]
fn a_key_that_cannot_be_sent_is_refused_without_showing_it() {
    let key = Key::new("sk-secret\nX: y");
    let error = Remote::new(Endpoint { key, ..config("http://127.0.0.1:9/v1") }).unwrap_err();
    assert_eq!(error, ModelError::BadKey);
    assert_hidden(&format!("{error} {error:?}"));
}

#[test]
fn a_base_url_that_cannot_be_used_is_refused_without_showing_it() {
    for base_url in ["", "secret", "ftp://secret@host/v1", "http://", "mailto:secret@host", "/v1?secret"] {
        let error = Remote::new(config(base_url)).unwrap_err();
        assert!(matches!(error, ModelError::BadBaseUrl { .. }), "{base_url}: {error:?}");
        assert_hidden(&format!("{error} {error:?}"));
    }
}

#[tokio::test]
async fn the_authorization_header_is_sent_only_with_a_key() {
    let server = ScriptedServer::start(|_: &Ask| Reply::text("hi")).unwrap();
    for key in [Key::new(SECRET), None] {
        let model = Remote::new(Endpoint { key, ..config(&server.base_url()) }).unwrap();
        model.ask(&prompt(), &ample(), &mut |_: &str| {}, &Cancel::new()).await.unwrap();
    }
    let requests = server.requests();
    assert_eq!(requests[0].header("authorization"), Some("Bearer sk-secret-0123456789"));
    assert_eq!(requests[1].header("authorization"), None);
}

#[tokio::test]
async fn a_key_wins_over_credentials_in_the_address() {
    let server = ScriptedServer::start(|_: &Ask| Reply::text("hi")).unwrap();
    let base_url = format!("http://me:word@{}/v1", server.address());
    for key in [Key::new(SECRET), None] {
        let model = Remote::new(Endpoint { key, ..config(&base_url) }).unwrap();
        model.ask(&prompt(), &ample(), &mut |_: &str| {}, &Cancel::new()).await.unwrap();
    }
    let requests = server.requests();
    let sent = |at: usize| -> Vec<&str> {
        let headers = requests[at].headers.iter().filter(|(name, _)| name == "authorization");
        headers.map(|(_, value)| value.as_str()).collect()
    };
    assert_eq!(sent(0), ["Bearer sk-secret-0123456789"]);
    assert_eq!(sent(1), ["Basic bWU6d29yZA=="]);
}

/// A server that repeats the request's headers in whatever it says.
#[tokio::test]
async fn a_key_repeated_by_the_server_is_taken_out_of_every_error() {
    let said = format!("{}your header was Authorization: {SECRET} as it is {SECRET}", "word ".repeat(55));
    let event = format!("data: {{\"wrong\": \"{said}\"}}\n\n");
    let replies = [
        Reply::status(400, &said),
        Reply::status(401, &said),
        Reply::status(404, &said),
        Reply::status(429, &said),
        Reply::status(500, &said),
        Reply::status(500, "").body(&said),
        Reply::status(307, "").header("Location", &format!("http://{SECRET}.example/{SECRET}?{SECRET}")),
        Reply::status(307, "").header("Location", &format!("/{SECRET}?{SECRET}")),
        Reply::text("hi").stop_reason(&said),
        Reply::text("hi").fault(Fault::InBand {
            at: Point::AfterChunks(0),
            message: said.clone(),
            code: Some(SECRET.to_owned()),
        }),
        Reply::raw("text/event-stream", [event]),
        Reply::raw("text/event-stream", [format!("data: {{\"model\": \"{said}\"}}\n\n")]),
        Reply::raw(&format!("text/{SECRET}"), [format!("<p>{said}</p>")]),
        Reply::raw("application/json", [format!("{{\"hello\": \"{said}\"}}")]),
    ];
    for (at, reply) in replies.into_iter().enumerate() {
        let error = crate::support::trial(reply).await.error();
        let shown = format!("{error} {error:?} {}", error.what());
        assert!(!shown.contains("sk-") && !shown.contains("0123"), "case {at}: {shown}");
    }
}

#[tokio::test]
async fn no_part_of_a_key_is_left_where_the_text_is_shortened() {
    for pad in (270..310).step_by(3) {
        let said = format!("{}{SECRET} and more words after it", "x".repeat(pad));
        let error = crate::support::trial(Reply::status(400, &said)).await.error();
        assert!(!error.what().contains("sk-"), "{error}");
    }
}

#[tokio::test]
async fn a_password_in_the_address_is_taken_out_of_errors_as_written_and_as_meant() {
    let server =
        ScriptedServer::start(|_: &Ask| Reply::status(401, "you said pass%20word, that is pass word"))
            .unwrap();
    let base_url = format!("http://me:pass%20word@{}/v1", server.address());
    let model = Remote::new(Endpoint { key: None, ..config(&base_url) }).unwrap();
    let error = model.ask(&prompt(), &ample(), &mut |_: &str| {}, &Cancel::new()).await.unwrap_err();
    assert!(error.what().ends_with("you said (hidden), that is (hidden)"), "{error}");
}

#[tokio::test]
async fn credentials_as_they_are_sent_and_values_of_a_query_are_taken_out_of_errors() {
    let said = "Basic bWU6d29yZA== for key a%20key, a key, version 2024-06";
    let server = ScriptedServer::start(move |_: &Ask| Reply::status(401, said)).unwrap();
    let base_url = format!("http://me:word@{}/v1?api-key=a%20key&api-version=2024-06", server.address());
    let model = Remote::new(Endpoint { key: None, ..config(&base_url) }).unwrap();
    let error = model.ask(&prompt(), &ample(), &mut |_: &str| {}, &Cancel::new()).await.unwrap_err();
    let told = "Basic (hidden) for key (hidden), (hidden), version 2024-06";
    assert!(error.what().ends_with(told), "{error}");
}

/// Local endpoints are given keys such as `none` or `local`; these are words, and messages are made of words.
#[tokio::test]
async fn a_key_of_a_few_letters_is_not_taken_out_of_ordinary_words() {
    let said = "no model is loaded on localhost: nonetheless try the local server";
    for key in ["no", "e", "local", "none", "model"] {
        let server = ScriptedServer::start(move |_: &Ask| Reply::status(400, said)).unwrap();
        let key = Key::new(key);
        let model = Remote::new(Endpoint { key, ..config(&server.base_url()) }).unwrap();
        let error = model.ask(&prompt(), &ample(), &mut |_: &str| {}, &Cancel::new()).await.unwrap_err();
        assert!(error.what().ends_with(said), "{error}");
    }
}

/// What is short but no plain word is hidden where it stands alone, and left where it is part of another word.
#[tokio::test]
async fn a_short_key_is_hidden_where_it_stands_alone() {
    let said = "the key `ab12cd` is wrong; request xab12cdx";
    let server = ScriptedServer::start(move |_: &Ask| Reply::status(401, said)).unwrap();
    let key = Key::new("ab12cd");
    let model = Remote::new(Endpoint { key, ..config(&server.base_url()) }).unwrap();
    let error = model.ask(&prompt(), &ample(), &mut |_: &str| {}, &Cancel::new()).await.unwrap_err();
    assert!(error.what().ends_with("the key `(hidden)` is wrong; request xab12cdx"), "{error}");
}
