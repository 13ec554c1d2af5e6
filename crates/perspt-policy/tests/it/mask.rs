//! Secrets are taken out of texts, and nothing else is.

use perspt_policy::mask::{Masks, placeholders, put_back};
use proptest::prelude::*;

/// A made-up key; written in parts, so that no scanner takes this file for a leak.
fn key_text() -> String {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    format!("-----BEGIN {0}-----\n{line}\n{line}\nQ29v==\n-----END {0}-----\n", "RSA PRIVATE KEY")
}

/// The text with one word for every placeholder.
fn hidden(text: &str) -> String {
    placeholders(text).into_iter().fold(text.to_owned(), |text, name| text.replace(name, "(hidden)"))
}

/// Texts with one secret each, and the secret.
fn samples() -> Vec<(String, String)> {
    let body = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0";
    let tokens = [
        format!("AKIA{}", "Z2Y3X4W5V6U7T2S3"),
        format!("ghp_{}", &body[..36]),
        format!("gho_{}", &body[..36]),
        format!("github_pat_{body}"),
        format!("glpat-{}", &body[..20]),
        format!("xoxb-{}-{}", "123456789012", &body[..24]),
        format!("sk-{body}"),
        format!("sk-proj-{body}"),
        format!("sk-ant-api03-{body}"),
        format!("sk_live_{}", &body[..24]),
        format!("AIza{}", &body[..35]),
        format!("ya29.{body}"),
        format!("npm_{}", &body[..36]),
        format!("pypi-AgEIcHlwaS5vcmc{body}"),
        format!("cio{}", &body[..32]),
        format!("hf_{}", &body[..34]),
        format!("GOCSPX-{}", &body[..28]),
        format!("dop_v1_{}", "0123456789abcdef".repeat(4)),
        format!("SG.{}.{}abc", &body[..22], body),
    ];
    let mut samples: Vec<(String, String)> =
        tokens.iter().map(|token| (format!("left: \"{token}\"\nright: 1"), token.clone())).collect();
    for (text, secret) in [
        ("https://hooks.slack.com/services/T012345/B0123456/{}", &body[..24]),
        ("AWS_SECRET_ACCESS_KEY={}\n", body),
        ("aws_secret_access_key = \"{}\"\n", body),
        ("> Authorization: Bearer {}\n", "abcdef0123456789"),
        ("{'authorization': 'token {}'}", "abcdef0123456789"),
        ("Authorization: Basic {}", "bWU6d29yZDEyMw=="),
        ("cannot reach postgres://app:{}@db.host:5432/app", "s3cr3t-w0rd"),
        ("DATABASE_PASSWORD={}\n", "a1b2c3d4e5f6g7h8"),
        ("SECRET_KEY = '{}'", "x9#k2$pq!81zw@m4-7"),
        ("const API_KEY: &'static str = \"{}\";", "a1b2c3d4e5f6g7h8"),
        ("API_TOKEN: str = '{}'", "a1b2c3d4e5f6g7h8"),
    ] {
        samples.push((text.replace("{}", secret), secret.to_owned()));
    }
    samples
}

#[test]
fn every_form_of_a_secret_is_taken_out_of_tool_output() {
    for (text, secret) in samples() {
        let masked = Masks::default().masked(&text);
        assert_eq!(hidden(&masked), text.replace(&secret, "(hidden)"));
        assert_eq!(Masks::default().masked(&masked), masked, "masked twice");
    }
}

#[test]
fn the_body_of_a_private_key_is_taken_out_whole_or_cut_or_quoted() {
    let key = key_text();
    let masked = hidden(&Masks::default().masked(&key));
    assert_eq!(masked, "-----BEGIN RSA PRIVATE KEY-----\n(hidden)\n-----END RSA PRIVATE KEY-----\n");
    let cut = &key[..key.len() - 60];
    assert_eq!(hidden(&Masks::default().masked(cut)), "-----BEGIN RSA PRIVATE KEY-----\n(hidden)");
    let quoted = format!("key = \"{}\"", key.trim().replace('\n', "\\n"));
    let masked = Masks::default().masked(&quoted);
    assert!(!masked.contains("MIIE") && !masked.contains("Q29v"), "{masked}");
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    for text in [
        "-----BEGIN PRIVATE KEY-----\" { read(); } else if line == \"-----END PRIVATE KEY-----\"",
        "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n",
        "class=\"sk-fading-circle sk-three-bounce-animation-delay\"",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "AKIAIOSFODNN7EXAMPLE",
        "https://user:pass@example.com http://user:password@localhost postgres://me:secret@db/x",
        "Authorization: Bearer <token>",
        "Authorization: Bearer your-access-token-goes-here",
        "format!(\"Authorization: Bearer {token}\")",
        "API_KEY = os.environ[\"API_KEY\"]",
        "TOKEN = \"token\"\nMAX_TOKENS = 1000000000000000000\nPASSWORD_MIN_LENGTH = 12",
        "SECRET_KEY=${SECRET_KEY_FROM_ELSEWHERE_12}",
        "TOKEN_URL = \"https://host/oauth2/v2.0/token\"\nPRIVATE_KEY = \"/etc/keys/id_2024_01.pem\"",
        "CACHE_KEY = \"user-profile-2024-v12\"\nSECRET_NAME = \"prod/db/2024/main-12\"",
        "TOKEN_TYPE = TokenTypeWithALongNameOfLetters",
        "assertion failed: left == right",
        "commit 4f5f399ab12cd34ef56ab78cd90ef12ab34cd56e",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "src/lib.rs:12:34 http://localhost:8080/a@b ssh://git@github.com:22/x",
    ] {
        assert_eq!(Masks::default().masked(text), text);
        assert_eq!(Masks::default().mask(text).text, text);
    }
}

fn knowing(variables: &[(&str, &str)]) -> Masks {
    Masks::knowing(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

#[test]
fn values_of_secret_variables_are_masked_when_they_are_long_enough() {
    let masks = knowing(&[
        ("OPENAI_API_KEY", "my-own-key-4711"),
        ("DB_PASSWORD", "Tr0ub4dor&3xy"),
        ("LOCAL_KEY", "none"),
        ("TEST_TOKEN", "test"),
        ("AUTH_KEY", "authorization"),
        ("SSH_KEY_FILE", "/home/me/.ssh/id_ed25519"),
        ("KEYBOARD", "a-keyboard-of-104-keys"),
        ("MONKEY", "a-monkey-with-2-bananas"),
    ]);
    let text = "my-own-key-4711 xmy-own-key-4711x Tr0ub4dor&3xy none nonetheless test authorization \
                /home/me/.ssh/id_ed25519 a-keyboard-of-104-keys a-monkey-with-2-bananas";
    let left = "(hidden) x(hidden)x (hidden) none nonetheless test authorization \
                /home/me/.ssh/id_ed25519 a-keyboard-of-104-keys a-monkey-with-2-bananas";
    assert_eq!(hidden(&masks.masked(text)), left);
    assert!(!format!("{masks:?}").contains("4711"));
}

#[test]
fn a_file_is_shown_with_placeholders_that_are_put_back() {
    let text: String = samples().into_iter().map(|(text, _)| text + "\n").chain([key_text()]).collect();
    let masked = Masks::default().mask(&text);
    assert_eq!(masked, Masks::default().mask(&text));
    for (_, secret) in samples() {
        assert!(!masked.text.contains(&secret), "{secret}");
    }
    assert!(!masked.text.contains("MIIE"));
    let shown = placeholders(&masked.text);
    assert!(shown.iter().copied().eq(masked.secrets.keys().map(String::as_str)));
    assert_eq!(put_back(&masked.text, &masked.secrets), text);
}

#[test]
fn a_placeholder_stands_for_the_same_secret_after_an_edit_of_the_file() {
    let [first, second] = [&samples()[1], &samples()[3]].map(|(text, secret)| (text.clone(), secret.clone()));
    let alone = Masks::default().mask(&second.0);
    let both = Masks::default().mask(&format!("{}\n{}", first.0, second.0));
    let (name, secret) = alone.secrets.first_key_value().unwrap();
    assert_eq!((both.secrets.get(name), secret), (Some(&second.1), &second.1));
}

#[test]
fn many_secrets_of_one_file_are_told_apart() {
    let text: String = (0..400).map(|n| format!("ghp_{n:036}\n")).collect();
    let masked = Masks::default().mask(&text);
    assert_eq!(masked.secrets.len(), 400);
    assert_eq!(put_back(&masked.text, &masked.secrets), text);
}

#[test]
fn the_lines_of_a_secret_end_as_the_lines_around_it() {
    let key = key_text().replace('\n', "\r\n");
    let masked = Masks::default().mask(&key);
    assert_eq!(put_back(&masked.text, &masked.secrets), key);
    let plain = masked.text.replace('\r', "");
    assert_eq!(put_back(&plain, &masked.secrets), key_text());
}

proptest! {
    #[test]
    fn whatever_a_text_holds_it_comes_back_as_it_was(
        parts in prop::collection::vec((any::<String>(), 0..30usize), 0..6),
    ) {
        let samples = samples();
        let text: String = parts.iter().map(|(part, at)| format!("{part}\n{}\n", samples[*at].0)).collect();
        let masked = Masks::default().mask(&text);
        prop_assert_eq!(put_back(&masked.text, &masked.secrets), text);
    }
}
