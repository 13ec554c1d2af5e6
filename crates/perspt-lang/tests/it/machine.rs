//! What plugins make of the machine they are on.

use std::collections::BTreeMap;

use perspt_lang::plugin::{Cache, Host, Machine};
use perspt_lang::plugins;

use crate::support::path;

/// A machine with these variables and paths; what ends with `/` is a folder.
struct Fake {
    variables: BTreeMap<&'static str, &'static str>,
    paths: Vec<&'static str>,
}

impl Host for Fake {
    fn workspace(&self) -> &str {
        "/w"
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|value| (*value).to_owned())
    }

    fn exists(&self, path: &str) -> bool {
        self.paths.iter().any(|known| known.trim_end_matches('/') == path)
    }

    fn is_folder(&self, path: &str) -> bool {
        self.paths.iter().any(|known| known.strip_suffix('/') == Some(path))
    }
}

fn machine(variables: &[(&'static str, &'static str)], paths: &[&'static str]) -> Machine {
    Machine::of(plugins(), &Fake { variables: variables.iter().copied().collect(), paths: paths.to_vec() })
}

fn python(machine: &Machine) -> Option<&str> {
    machine.programs.get("python3").map(String::as_str)
}

#[test]
fn a_projects_own_environment_comes_before_the_active_one_even_where_its_interpreter_is_gone() {
    let active = ("VIRTUAL_ENV", "/active");
    let beside = machine(&[active], &["/w/.venv/", "/w/.venv/pyvenv.cfg", "/active/bin/python"]);
    assert_eq!(python(&beside), Some("/w/.venv/bin/python"));
    assert_eq!(beside.mounted, [path(".venv")].into());
    let other = machine(&[active], &["/active/bin/python"]);
    assert_eq!((python(&other), other.mounted.len()), (Some("/active/bin/python"), 0));
    assert_eq!(python(&machine(&[active], &[])), None, "a folder that is no environment");
}

#[test]
fn tools_are_told_of_folders_in_the_users_home_that_are_there_or_that_a_variable_names() {
    let found =
        machine(&[("HOME", "/h"), ("CARGO_HOME", "/cargo")], &["/h/.rustup/", "/h/.local/", "/h/.cargo/"]);
    let expected = [
        ("CARGO_HOME", "/cargo"),
        ("GOMODCACHE", "/h/go/pkg/mod"),
        ("PYTHONUSERBASE", "/h/.local"),
        ("RUSTUP_HOME", "/h/.rustup"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(found.env, expected.into());
    assert!(found.caches.contains(&Cache::Folder("/cargo/registry".to_owned())), "{:?}", found.caches);
    assert!(!found.caches.contains(&Cache::Folder("/cargo".to_owned())), "programs and keys lie there");
    assert_eq!(machine(&[], &[]), Machine::default());
}

#[test]
fn a_cargo_workspace_claims_folders_below_it_unless_it_or_they_say_otherwise() {
    let rust = perspt_lang::plugin("rust").unwrap();
    let own = "[package]\nname = \"a\"\n";
    let above = "[workspace]\nmembers = []\nexclude = [\"old\"]\n";
    let claims = |own: &str, above: &str, below: &str| rust.claims(own, above, &path(below));
    assert_eq!(claims(own, above, "new/a"), Some("cargo workspace"));
    assert_eq!(claims(own, above, "old/a"), None);
    assert_eq!(claims(own, own, "new/a"), None);
    assert_eq!(claims(&format!("{own}[workspace]\n"), above, "new/a"), None);
    assert_eq!(claims("[", above, "new/a"), None, "a manifest that is broken is told later");
}

#[test]
fn go_is_told_where_modules_are_kept_and_where_they_come_from() {
    let of = |variables: &[(&'static str, &'static str)]| machine(variables, &[]);
    let cache = |machine: &Machine| machine.env.get("GOMODCACHE").cloned().unwrap_or_default();
    assert_eq!(cache(&of(&[("HOME", "/h"), ("GOPATH", "/p:/q")])), "/p/pkg/mod");
    let named = of(&[("HOME", "/h"), ("GOPATH", "/p"), ("GOMODCACHE", "/m"), ("GOPROXY", "file:///x")]);
    assert_eq!(cache(&named), "/m");
    assert_eq!(named.caches, [Cache::Folder("/m".to_owned())].into());
    assert_eq!(named.env["GOPROXY"], "file:///x");
    assert!(!of(&[("GOFLAGS", "-run=Nothing")]).env.contains_key("GOFLAGS"), "flags could leave tests out");
}

#[test]
fn a_go_workspace_claims_the_modules_it_uses() {
    let go = perspt_lang::plugin("go").unwrap();
    assert_eq!(go.workspace_manifest(), "go.work");
    let own = "module example.org/a\n";
    assert_eq!(go.claims(own, "go 1.21\n\nuse ./mods/a\n", &path("mods/a")), Some("Go workspace"));
    assert_eq!(go.claims(own, "go 1.21\n\nuse (\n\t./mods/a/\n)\n", &path("mods/a")), Some("Go workspace"));
    assert_eq!(go.claims(own, "go 1.21\n\nuse ./mods/a\n", &path("mods/b")), None);
}
