//! Not too many calls at once.

use std::sync::Arc;

use perspt_model::{Cancel, Limited, Model, ModelError, Protocol, Remote};
use perspt_testkit::server::{Gate, Point, Reply};
use tokio::sync::Semaphore;

use crate::support::{ample, endpoint, prompt, serve};

#[tokio::test]
async fn a_call_waits_for_a_permit_and_gives_it_back() {
    let gate = Gate::new();
    let server = serve(Reply::text("hi").gate(Point::BeforeHead, &gate));
    let remote: Arc<dyn Model> = Arc::new(Remote::new(endpoint(Protocol::Ollama, &server)).unwrap());
    let permits = Arc::new(Semaphore::new(2));
    let models: Vec<Limited> = (0..2).map(|_| Limited::new(remote.clone(), permits.clone())).collect();
    let (prompt, limits, cancel) = (prompt(), ample(), Cancel::new());
    let mut quiet = [|_: &str| {}; 4];
    let [first, second, third, fourth] = &mut quiet;
    let calls = async {
        tokio::join!(
            models[0].ask(&prompt, &limits, first, &cancel),
            models[1].ask(&prompt, &limits, second, &cancel),
            models[0].ask(&prompt, &limits, third, &cancel),
            models[1].ask(&prompt, &limits, fourth, &cancel),
        )
    };
    let watch = async {
        gate.arrivals().reached(2).await;
        assert_eq!(permits.available_permits(), 0);
        assert_eq!(server.requests().len(), 2, "the others wait");
        gate.open();
    };
    let ((a, b, c, d), ()) = tokio::join!(calls, watch);
    assert!([a, b, c, d].into_iter().all(|answer| answer.is_ok_and(|answer| answer.text == "hi")));
    assert_eq!((server.requests().len(), permits.available_permits()), (4, 2));
}

#[tokio::test]
async fn a_call_that_waits_can_be_cancelled_and_sends_nothing() {
    let server = serve(Reply::text("hi"));
    let remote = Arc::new(Remote::new(endpoint(Protocol::OpenAiChat, &server)).unwrap());
    let model = Limited::new(remote, Arc::new(Semaphore::new(0)));
    assert_eq!(model.name(), "some-model");
    let (prompt, limits, cancel, mut quiet) = (prompt(), ample(), Cancel::new(), |_: &str| {});
    let (result, ()) =
        tokio::join!(model.ask(&prompt, &limits, &mut quiet, &cancel), async { cancel.cancel() });
    assert_eq!(result.unwrap_err(), ModelError::Cancelled);
    assert!(server.requests().is_empty());
}
