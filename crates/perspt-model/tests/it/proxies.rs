//! Proxies come from the environment, which only another process can be given: the test runs itself again.
#![allow(clippy::disallowed_types)]

use perspt_model::{Cancel, Model, OpenAi};
use perspt_testkit::server::{Ask, Reply};

use crate::support::{ample, config, prompt, serve};

const INNER: &str = "proxies::asks_what_the_environment_says";

/// Does something only when started by the tests below.
#[tokio::test]
async fn asks_what_the_environment_says() {
    let Ok(base_url) = std::env::var("PERSPT_TEST_ASK") else { return };
    let model = OpenAi::new(config(&base_url)).unwrap();
    let answer = model.ask(&prompt(), &ample(), &mut |_: &str| {}, &Cancel::new()).await.unwrap();
    assert_eq!(answer.text, "hi");
}

fn run_inner(base_url: &str, proxy: &str, no_proxy: &str) -> bool {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", INNER]).env("PERSPT_TEST_ASK", base_url);
    for name in
        ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy"]
    {
        command.env_remove(name);
    }
    command.env("HTTP_PROXY", proxy).env("NO_PROXY", no_proxy);
    command.output().unwrap().status.success()
}

#[test]
fn a_proxy_from_the_environment_is_used() {
    let proxy = serve(Reply::text("hi"));
    assert!(run_inner("http://model.invalid/v1", &format!("http://{}", proxy.address()), ""));
    assert_eq!(proxy.requests()[0].target, "http://model.invalid/v1/chat/completions");
}

#[test]
fn a_model_on_this_machine_is_asked_without_the_proxy() {
    let proxy = serve(Reply::status(500, "not for me"));
    let server = perspt_testkit::server::ScriptedServer::start(|_: &Ask| Reply::text("hi")).unwrap();
    assert!(run_inner(&server.base_url(), &format!("http://{}", proxy.address()), ""));
    assert_eq!((proxy.requests().len(), server.requests().len()), (0, 1));
}
