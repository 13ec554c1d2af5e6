//! Proxies and certificates come from the environment, which only another process can be given: the test runs itself
//! again.
#![allow(clippy::disallowed_types)]

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use perspt_model::{Cancel, Model, Remote};
use perspt_testkit::server::{Ask, Reply};

use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use crate::support::{ample, config, prompt, serve};

const INNER: &str = "proxies::asks_what_the_environment_says";

/// Does something only when started by the tests below.
#[tokio::test]
async fn asks_what_the_environment_says() {
    let Ok(base_url) = std::env::var("PERSPT_TEST_ASK") else { return };
    let model = Remote::new(config(&base_url)).unwrap();
    let answer = model.ask(&prompt(), &ample(), &mut |_: &str| {}, &Cancel::new()).await.unwrap();
    assert_eq!(answer.text, "hi");
}

/// Runs the test above with nothing in its environment that could matter but these.
fn run_inner(base_url: &str, variables: &[(&str, &str)]) -> bool {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", INNER]).env("PERSPT_TEST_ASK", base_url);
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir"] {
        command.env_remove(name).env_remove(name.to_uppercase());
    }
    command.envs(variables.iter().copied());
    command.output().unwrap().status.success()
}

#[test]
fn a_proxy_from_the_environment_is_used() {
    let proxy = serve(Reply::text("hi"));
    assert!(run_inner("http://model.invalid/v1", &[("HTTP_PROXY", &proxy.root_url())]));
    assert_eq!(proxy.requests()[0].target, "http://model.invalid/v1/chat/completions");
}

#[test]
fn a_model_on_this_machine_is_asked_without_the_proxy() {
    let proxy = serve(Reply::status(500, "not for me"));
    let server = perspt_testkit::server::ScriptedServer::start(|_: &Ask| Reply::text("hi")).unwrap();
    assert!(run_inner(&server.base_url(), &[("HTTP_PROXY", &proxy.root_url())]));
    assert_eq!((proxy.requests().len(), server.requests().len()), (0, 1));
}

#[test]
fn a_host_that_is_excepted_is_asked_without_the_proxy() {
    let proxy = serve(Reply::text("hi"));
    let variables =
        [("HTTP_PROXY", proxy.root_url()), ("NO_PROXY", "other.example,model.invalid".to_owned())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert!(!run_inner("http://model.invalid/v1", &variables), "there is no such host");
    assert!(proxy.requests().is_empty());
}

/// Takes one connection in a secure way, with a certificate of our own authority. Says whether it was agreed on.
fn secure_server() -> (SocketAddr, JoinHandle<bool>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let certificate = CertificateDer::from(include_bytes!("tls/server.der").as_slice());
    let key = PrivatePkcs8KeyDer::from(include_bytes!("tls/server-key.der").as_slice());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let connection = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        let mut secure = rustls::StreamOwned::new(connection, stream);
        // A client that does not trust us goes away here.
        let Ok(read) = secure.read(&mut [0; 16 * 1024]) else { return false };
        let body = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        read > 0 && secure.write_all(format!("{head}{body}").as_bytes()).and_then(|()| secure.flush()).is_ok()
    });
    (address, thread)
}

#[test]
fn an_authority_named_in_the_environment_is_trusted_and_no_other_is() {
    let authority = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tls/authority.pem");
    for (variables, trusted) in [(&[("SSL_CERT_FILE", authority)][..], true), (&[], false)] {
        let (address, server) = secure_server();
        let base_url = format!("https://{address}/v1");
        assert_eq!(run_inner(&base_url, variables), trusted);
        // A machine without any certificates does not even connect; the server must end all the same.
        drop(std::net::TcpStream::connect(address));
        assert_eq!(server.join().unwrap(), trusted);
    }
}
