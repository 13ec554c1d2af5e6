//! Responses with another status than a success.

use std::time::Duration;

use perspt_model::{CallLimits, ModelError};
use perspt_testkit::server::{Reply, ScriptedServer};

use crate::support::{ample, trial, trial_within};

#[tokio::test]
async fn each_status_has_its_own_error() {
    type Check = fn(&ModelError) -> bool;
    let cases: [(u16, bool, Check); 12] = [
        (400, false, |error| matches!(error, ModelError::BadRequest { status: 400, .. })),
        (401, false, |error| matches!(error, ModelError::Unauthorised { status: 401, .. })),
        (402, false, |error| matches!(error, ModelError::OutOfQuota { status: 402, .. })),
        (403, false, |error| matches!(error, ModelError::Unauthorised { status: 403, .. })),
        (404, false, |error| matches!(error, ModelError::NotFound { .. })),
        (408, true, |error| matches!(error, ModelError::Server { status: 408, .. })),
        (413, false, |error| matches!(error, ModelError::BadRequest { status: 413, .. })),
        (422, false, |error| matches!(error, ModelError::BadRequest { status: 422, .. })),
        (429, true, |error| matches!(error, ModelError::RateLimited { retry_after: None, .. })),
        (500, true, |error| matches!(error, ModelError::Server { status: 500, retry_after: None, .. })),
        (503, true, |error| matches!(error, ModelError::Server { status: 503, .. })),
        (529, true, |error| matches!(error, ModelError::Server { status: 529, .. })),
    ];
    for (status, transient, check) in cases {
        let error = trial(Reply::status(status, "words from the provider")).await.error();
        assert!(check(&error), "{status}: {error:?}");
        assert_eq!(error.is_transient(), transient, "{status}");
        assert!(error.what().contains("words from the provider"), "{}", error.what());
        assert!(!error.what().contains('\n'));
    }
}

#[tokio::test]
async fn retry_after_is_read_as_seconds_milliseconds_and_date() {
    let date = "Wed, 21 Oct 2015 07:28:00 GMT";
    let later = "Wed, 21 Oct 2015 07:29:30 GMT";
    let cases = [
        (Reply::retry_after(429, "7"), Some(Duration::from_secs(7))),
        (Reply::retry_after(503, "0"), Some(Duration::ZERO)),
        (Reply::retry_after(429, "1.5"), Some(Duration::from_millis(1500))),
        (Reply::retry_after(429, "1").header("retry-after-ms", "250"), Some(Duration::from_millis(250))),
        (Reply::retry_after(429, later).header("Date", date), Some(Duration::from_secs(90))),
        (Reply::retry_after(503, date).header("Date", later), Some(Duration::ZERO)),
        (Reply::retry_after(429, date), Some(Duration::ZERO)),
        (Reply::retry_after(429, "soon"), None),
        (Reply::retry_after(429, "-3"), None),
        (Reply::retry_after(429, "1e300"), None),
        (Reply::status(429, "later"), None),
    ];
    for (at, (reply, expected)) in cases.into_iter().enumerate() {
        let error = trial(reply).await.error();
        assert_eq!(error.retry_after(), expected, "case {at}: {error:?}");
        assert!(error.is_transient());
    }
    // Without the server's own clock a date is compared with ours.
    let error = trial(Reply::retry_after(429, "Fri, 01 Jan 2100 00:00:00 GMT")).await.error();
    assert!(error.retry_after().is_some_and(|wait| wait > Duration::from_secs(3600)), "{error:?}");
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_not_a_rate_limit() {
    let body = r#"{"error":{"message":"pay first","type":"insufficient_quota","code":null}}"#;
    let reply = Reply::retry_after(429, "1").body(body);
    let error = trial(reply).await.error();
    assert!(
        matches!(&error, ModelError::OutOfQuota { status: 429, excerpt } if excerpt == "pay first"),
        "{error:?}"
    );
    assert!(!error.is_transient());
}

#[tokio::test]
async fn a_refusal_in_no_known_form_is_shown_as_it_came_but_short_and_on_one_line() {
    let page = format!("<html>\n\u{1b}[31mgone\u{7}{}</html>", "x".repeat(5000));
    let error = trial(Reply::status(502, "").body(&page)).await.error();
    let what = error.what();
    assert!(what.contains("<html>") && what.contains("gone"), "{what}");
    assert!(!what.chars().any(char::is_control) && what.chars().count() < 400, "{what}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_names_its_place_without_secrets() {
    let other = ScriptedServer::start(|_: &perspt_testkit::server::Ask| Reply::text("stolen")).unwrap();
    let place = format!("http://user:pass@{}/v1/chat/completions?token=t", other.address());
    for status in [301, 302, 307, 308] {
        let reply = Reply::status(status, "moved").header("Location", &place);
        let error = trial(reply).await.error();
        let ModelError::Redirected { status: told, location } = &error else { panic!("{error:?}") };
        assert_eq!(*told, status);
        assert_eq!(*location, format!("http://{}/v1/chat/completions", other.address()));
        assert!(!error.is_transient());
    }
    assert!(other.requests().is_empty(), "nothing was sent to the other host");
}

#[tokio::test]
async fn a_refusal_whose_body_is_huge_is_still_told_by_its_status() {
    let limits = CallLimits { max_bytes: 1000, ..ample() };
    let error = trial_within(&limits, Reply::status(500, "").body(&"y".repeat(2_000_000))).await.error();
    assert!(matches!(error, ModelError::Server { status: 500, .. }), "{error:?}");
}
