//! Files that hold secrets never enter a prompt, whatever a plan or an answer names.

use perspt_core::path::RelPath;

const NAMES: &[&str] = &[
    ".env",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "kubeconfig",
];
const PREFIXES: &[&str] = &[".env."];
const EXTENSIONS: &[&str] = &["pem", "key", "p12", "pfx", "jks", "keystore", "kdbx", "asc", "gpg"];
const FOLDERS: &[&str] = &[".ssh", ".aws", ".gnupg", ".kube", ".docker"];
/// Templates of secret files hold placeholders and are meant to be read.
const TEMPLATES: &[&str] = &[".env.example", ".env.sample", ".env.template"];

/// Whether this file is one of the kinds that hold secrets.
pub fn is_secret(path: &RelPath) -> bool {
    let name = path.name().to_lowercase();
    if TEMPLATES.contains(&name.as_str()) {
        return false;
    }
    NAMES.contains(&name.as_str())
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || name.rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.contains(&extension))
        || path.parts().any(|part| FOLDERS.contains(&part))
}
