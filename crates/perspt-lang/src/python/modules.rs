//! Whether a module that cannot be imported is the tree's own, still to be written, or somebody else's and
//! not installed.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use serde_json::Value;

use super::{ini, roots, stages};
use crate::plugin::{Files, ReadContext};
use crate::shared::toml;

/// Modules whose distribution has another name.
const ALIASES: [(&str, &str); 24] = [
    ("yaml", "pyyaml"),
    ("PIL", "pillow"),
    ("cv2", "opencv-python"),
    ("bs4", "beautifulsoup4"),
    ("sklearn", "scikit-learn"),
    ("skimage", "scikit-image"),
    ("dateutil", "python-dateutil"),
    ("dotenv", "python-dotenv"),
    ("jwt", "pyjwt"),
    ("attr", "attrs"),
    ("serial", "pyserial"),
    ("Crypto", "pycryptodome"),
    ("OpenSSL", "pyopenssl"),
    ("MySQLdb", "mysqlclient"),
    ("psycopg2", "psycopg2-binary"),
    ("git", "gitpython"),
    ("docx", "python-docx"),
    ("pkg_resources", "setuptools"),
    ("zmq", "pyzmq"),
    ("magic", "python-magic"),
    ("slugify", "python-slugify"),
    ("multipart", "python-multipart"),
    ("jose", "python-jose"),
    ("google", "protobuf"),
];

/// Distributions so common that a name of theirs is not a module still to be written.
const WELL_KNOWN: [&str; 44] = [
    "numpy",
    "scipy",
    "pandas",
    "matplotlib",
    "seaborn",
    "torch",
    "tensorflow",
    "jax",
    "keras",
    "transformers",
    "requests",
    "httpx",
    "aiohttp",
    "urllib3",
    "flask",
    "django",
    "fastapi",
    "starlette",
    "uvicorn",
    "gunicorn",
    "pydantic",
    "sqlalchemy",
    "alembic",
    "celery",
    "redis",
    "pymongo",
    "boto3",
    "click",
    "typer",
    "rich",
    "tqdm",
    "jinja2",
    "markupsafe",
    "werkzeug",
    "lxml",
    "cryptography",
    "paramiko",
    "docker",
    "kubernetes",
    "hypothesis",
    "pytest",
    "mock",
    "freezegun",
    "networkx",
];

/// Whether a module comes from outside the tree. A name that no manifest mentions and nobody knows is taken
/// for the tree's own: a test may ask for code that is still to be written.
pub(crate) fn is_outside(module: &str, context: &ReadContext<'_>) -> bool {
    let files = context.files;
    let top = module.split('.').next().unwrap_or(module);
    if top.is_empty() || own(files).contains(top) {
        return false;
    }
    let name = normal(top);
    let alias = ALIASES.iter().find(|(module, _)| *module == top).map(|(_, distribution)| *distribution);
    let known = mentioned(files);
    alias.is_some()
        || known.contains(&name)
        || known.contains(&format!("python-{name}"))
        || known.contains(&format!("py{name}"))
        || WELL_KNOWN.contains(&name.as_str())
        || name.starts_with("pytest-")
        || stages::standard_modules(context.tools).contains(top)
}

/// Whether a module is one of the tree's, or would lie in a package of its own.
pub(crate) fn is_own(files: &dyn Files, module: &str) -> bool {
    own(files).contains(module.split('.').next().unwrap_or(module))
}

/// One spelling for all spellings of a distribution's name.
fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

/// Top-level modules of the tree, and the names its projects give themselves.
fn own(files: &dyn Files) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for root in roots::find(files) {
        for folder in roots::import_roots(files, &root) {
            let below = roots::sources(files).filter_map(|path| path.below(&folder));
            let firsts = below.filter_map(|below| below.split('/').next());
            names.extend(firsts.map(|first| first.trim_end_matches(".py").to_owned()));
        }
        let project = manifest(files, &root.dir).unwrap_or_default();
        for keys in [&["project", "name"][..], &["tool", "poetry", "name"]] {
            let name = toml::at(&project, keys).and_then(Value::as_str);
            names.extend(name.map(|name| name.to_lowercase().replace(['-', '.'], "_")));
        }
        let config = root.dir.join("setup.cfg").ok().and_then(|path| files.text(&path)).unwrap_or_default();
        let name = ini::sections(&config).remove("metadata").and_then(|mut keys| keys.remove("name"));
        names.extend(name.map(|name| name.trim().to_lowercase().replace(['-', '.'], "_")));
    }
    // A test imports helpers that lie beside it.
    let beside = roots::sources(files).filter(|path| super::is_test_source(path));
    names.extend(beside.map(|path| path.name().trim_end_matches(".py").to_owned()));
    names
}

fn manifest(files: &dyn Files, dir: &RelPath) -> Option<Value> {
    toml::parse(&files.text(&dir.join("pyproject.toml").ok()?)?)
}

/// Every distribution that a manifest or requirements file of the tree names.
fn mentioned(files: &dyn Files) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in files.tree().entries.keys() {
        let is_requirements = path.name().starts_with("requirements") && path.extension() == Some("txt")
            || path.parent().is_some_and(|folder| folder.name() == "requirements")
                && path.extension() == Some("txt");
        let relevant =
            is_requirements || ["pyproject.toml", "setup.cfg", "setup.py", "Pipfile"].contains(&path.name());
        let Some(text) = relevant.then(|| files.text(path)).flatten() else { continue };
        match path.name() {
            "pyproject.toml" | "Pipfile" => in_toml(&toml::parse(&text).unwrap_or_default(), &mut names),
            "setup.py" => names.extend(text.split(['"', '\'']).skip(1).step_by(2).filter_map(requirement)),
            _ => names.extend(text.lines().filter_map(requirement)),
        }
    }
    names
}

/// Requirements of a TOML manifest: texts of arrays and keys of tables below anything called so.
fn in_toml(document: &Value, names: &mut BTreeSet<String>) {
    let arrays = [&["project", "dependencies"][..], &["build-system", "requires"]];
    for keys in arrays {
        names.extend(toml::texts(document, keys).into_iter().filter_map(requirement));
    }
    for keys in [&["project", "optional-dependencies"][..], &["dependency-groups"]] {
        let groups = toml::at(document, keys)
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|groups| groups.values());
        let texts = groups.filter_map(Value::as_array).flatten().filter_map(Value::as_str);
        names.extend(texts.filter_map(requirement));
    }
    let poetry = toml::at(document, &["tool", "poetry"]);
    let groups =
        poetry.and_then(|poetry| poetry.get("group")?.as_object()).into_iter().flat_map(|map| map.values());
    let owners = poetry.into_iter().chain(groups).chain([document]);
    for table in owners.flat_map(|owner| {
        ["dependencies", "dev-dependencies", "packages", "dev-packages"].map(|key| owner.get(key))
    }) {
        names.extend(
            table.and_then(Value::as_object).into_iter().flat_map(|map| map.keys()).map(|name| normal(name)),
        );
    }
}

/// The distribution a requirement line starts with.
fn requirement(line: &str) -> Option<String> {
    let line = line.trim();
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)).unwrap_or(line.len());
    let name = &line[..end];
    (name.chars().any(char::is_alphabetic) && !line.starts_with('-')).then(|| normal(name))
}

/// Where these modules would lie, below any of the folders that imports start from.
pub(crate) fn files_of(modules: &[&str], import_roots: &[RelPath]) -> Vec<RelPath> {
    let paths = modules.iter().map(|module| module.replace('.', "/"));
    paths
        .flat_map(|path| [format!("{path}.py"), format!("{path}/__init__.py")])
        .flat_map(|file| import_roots.iter().filter_map(move |root| root.join(&file).ok()))
        .collect()
}
