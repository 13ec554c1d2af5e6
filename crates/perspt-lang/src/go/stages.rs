//! What go is asked to do. Nothing but the fetch has a network, and no toolchain is ever downloaded.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::reading::StageKind;
use perspt_core::stage::{Preset, Profile, Root, Stage, StageRole, Step};

use super::manifest::Manifest;
use super::roots;
use crate::plugin::{Cache, Fetch, Files, Host, Machine, NoTool, Selection, Terms};
use crate::shared::step::{in_tree, step, with_env};
use crate::shared::works::works;

/// The tools, as their probes call them.
pub(crate) const GO: &str = "go";
pub(crate) const GOFMT: &str = "gofmt";

/// Variables of the user that say where modules come from.
const NETWORK: [&str; 7] =
    ["GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOINSECURE", "GOVCS"];

/// The fields of `go list` that are read.
const FIELDS: &str = "-json=ImportPath,Dir,ForTest,Standard,DepOnly,Export,GoFiles,CgoFiles,CFiles,HFiles,SFiles,\
                      EmbedFiles,TestEmbedFiles,XTestEmbedFiles,TestGoFiles,XTestGoFiles,IgnoredGoFiles,Deps,Error";

/// The user's module cache and what says where modules come from. Commands have a home of their own, so they must be told.
pub(crate) fn machine(host: &dyn Host) -> Machine {
    let of_path = |path: String| path.split(':').next().map(|first| format!("{first}/pkg/mod"));
    let cache = host
        .variable("GOMODCACHE")
        .or_else(|| host.variable("GOPATH").and_then(of_path))
        .or_else(|| Some(format!("{}/go/pkg/mod", host.variable("HOME")?)));
    let network = NETWORK.iter().filter_map(|name| Some(((*name).to_owned(), host.variable(name)?)));
    let env = network.chain(cache.clone().map(|cache| ("GOMODCACHE".to_owned(), cache))).collect();
    Machine { env, caches: cache.into_iter().map(Cache::Folder).collect(), ..Machine::default() }
}

/// The stages of a root.
pub(crate) fn stages(root: &Root, files: &dyn Files, terms: &Terms<'_>) -> Vec<Result<Stage, NoTool>> {
    let build = works(StageKind::Build, GO, terms.tools)
        .map(|()| Stage::required(StageKind::Build, "go build", build_steps(root, files)));
    let test = works(StageKind::Test, GO, terms.tools)
        .map(|()| Stage::required(StageKind::Test, "go test", test_steps(root, files, terms.selection)));
    let lint =
        works(StageKind::Lint, GO, terms.tools).and_then(|()| works(StageKind::Lint, GOFMT, terms.tools));
    let lint = lint.map(|()| {
        let role = if terms.preset == Preset::Strict { StageRole::Required } else { StageRole::Shown };
        Stage { role, ..Stage::shown(StageKind::Lint, "go vet", lint_steps(root, files)) }
    });
    let is_wanted = |lint: &Result<Stage, NoTool>| lint.is_ok() || terms.preset == Preset::Strict;
    [build, test].into_iter().chain(Some(lint).filter(is_wanted)).collect()
}

/// A step of go with the environment that the project cannot choose: flags, an environment file and a toolchain of its
/// own would decide what is run.
pub(crate) fn go(name: &str, arguments: &[&str], cwd: &RelPath) -> Step {
    let argv: Vec<&str> = std::iter::once("go").chain(arguments.iter().copied()).collect();
    let env = [
        ("GOCACHE", "{build}/perspt-go"),
        ("GOENV", "off"),
        ("GOFLAGS", "-buildvcs=false"),
        ("GOTOOLCHAIN", "local"),
        ("GOPROXY", "off"),
        ("GO111MODULE", "on"),
        ("GOWORK", "off"),
    ];
    with_env(step(name, &argv, cwd), &env)
}

/// A step in a root, with its workspace where it is one.
fn in_root(name: &str, arguments: &[&str], root: &Root, files: &dyn Files) -> Step {
    let step = go(name, arguments, &root.dir);
    if !roots::is_workspace(files, root) {
        return step;
    }
    with_env(step, &[("GOWORK", &format!("{}/go.work", in_tree(&root.dir)))])
}

/// A step over all packages of a root: go's own pattern ends at the borders of a module.
fn over_all(name: &str, arguments: &[&str], root: &Root, files: &dyn Files) -> Step {
    let modules = roots::modules(files, root);
    let below = |module: &RelPath| match module.below(&root.dir) {
        None | Some("") => "./...".to_owned(),
        Some(below) => format!("./{below}/..."),
    };
    let patterns: Vec<String> = modules.iter().map(below).collect();
    let arguments: Vec<&str> = arguments.iter().copied().chain(patterns.iter().map(String::as_str)).collect();
    in_root(name, &arguments, root, files)
}

/// `list` compiles every package, its tests included, and says what is wrong in each; `link` is for the programs; `vet`
/// for those of its findings with which `go test` refuses a package.
fn build_steps(root: &Root, files: &dyn Files) -> Vec<Step> {
    vec![
        over_all("list", &["list", "-e", "-deps", "-test", "-export", FIELDS], root, files),
        over_all("link", &["build", "-o", "/dev/null"], root, files),
        over_all("vet", &["vet", "-json"], root, files),
    ]
}

/// Tests are compiled first: where they run, the cache of compiled packages cannot be written.
fn test_steps(root: &Root, files: &dyn Files, selection: &Selection) -> Vec<Step> {
    let list = over_all("list", &["list", "-e", "-deps", "-test", FIELDS], root, files);
    let compile = ["test", "-vet=off", "-count=1", "-run=^$", "-exec=true"];
    let run = ["test", "-json", "-vet=off", "-count=1"];
    let (compile, run) = if selection.only.is_empty() {
        (over_all("compile", &compile, root, files), over_all("run", &run, root, files))
    } else {
        let names: BTreeSet<&str> = selection.only.iter().map(|(_, name)| name.as_str()).collect();
        let names = format!("-run=^({})$", names.into_iter().collect::<Vec<_>>().join("|"));
        let folders: BTreeSet<String> =
            selection.only.iter().map(|(path, _)| folder_of(path, root)).collect();
        let of_these = |name: &str, arguments: &[&str], more: Option<&str>| {
            let folders = folders.iter().map(String::as_str);
            let arguments: Vec<&str> = arguments.iter().copied().chain(more).chain(folders).collect();
            in_root(name, &arguments, root, files)
        };
        (of_these("compile", &compile, None), of_these("run", &run, Some(&names)))
    };
    // An index of older folders would be written to the cache, which cannot be written here.
    let run = with_env(Step { profile: Profile::Test, ..run }, &[("GODEBUG", "goindex=0")]);
    vec![list, compile, run]
}

fn folder_of(path: &RelPath, root: &Root) -> String {
    let folder = path.parent().unwrap_or_else(RelPath::root);
    format!("./{}", folder.below(&root.dir).unwrap_or_default())
}

/// gofmt is given the files: by itself it would look into folders that go passes over, too.
fn lint_steps(root: &Root, files: &dyn Files) -> Vec<Step> {
    let own = roots::own_sources(files, root).into_iter();
    let paths: Vec<&str> = own.filter_map(|path| path.below(&root.dir)).collect();
    let argv: Vec<&str> = ["gofmt", "-l"].into_iter().chain(paths).collect();
    vec![step("format", &argv, &root.dir), over_all("vet", &["vet", "-json"], root, files)]
}

/// Downloads what the manifests name. Nothing of it is run.
pub(crate) fn fetch(root: &Root, files: &dyn Files) -> Option<Fetch> {
    let is_vendored =
        root.dir.join("vendor/modules.txt").is_ok_and(|path| files.tree().entries.contains_key(&path));
    let asks = requires(root, files) && !is_vendored;
    asks.then(|| Fetch {
        step: with_network(in_root("fetch", &["mod", "download"], root, files)),
        instead: Default::default(),
    })
}

/// The same step where it may download.
pub(crate) fn with_network(mut step: Step) -> Step {
    step.env.remove("GOPROXY");
    step.env.insert("GOFLAGS".to_owned(), "-buildvcs=false -mod=mod".to_owned());
    Step { profile: Profile::Fetch, ..step }
}

/// Writes what is missing in `go.sum` of modules that are on the machine. They were checked when they were fetched.
pub(crate) fn prepare(root: &Root, files: &dyn Files) -> Option<Step> {
    let is_vendored =
        root.dir.join("vendor/modules.txt").is_ok_and(|path| files.tree().entries.contains_key(&path));
    let can = requires(root, files) && !is_vendored && !roots::is_workspace(files, root);
    let arguments = ["list", "-e", "-mod=mod", "-deps", "-test", "-json=ImportPath"];
    can.then(|| with_env(over_all("prepare", &arguments, root, files), &[("GOSUMDB", "off")]))
}

fn requires(root: &Root, files: &dyn Files) -> bool {
    let manifests =
        roots::modules(files, root).into_iter().filter_map(|dir| Manifest::of(files, &dir, "go.mod"));
    manifests.into_iter().any(|manifest| manifest.requires().next().is_some())
}
