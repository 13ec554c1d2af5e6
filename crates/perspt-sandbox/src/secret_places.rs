//! The one table of places in a home where secrets lie. A command that builds or tests needs none of them.
//!
//! Homes of tools (cargo, rustup, pip, docker) are not named here, only the files in them that hold credentials.

use std::path::{Path, PathBuf};

/// Places below one folder.
struct Below {
    /// The variable that names the folder, where there is one.
    variable: Option<&'static str>,
    /// The folder below the home, where no variable names it.
    folder: &'static str,
    /// The places in it.
    places: &'static [&'static str],
}

const TABLE: &[Below] = &[
    Below {
        variable: None,
        folder: "",
        places: &[
            // Keys and credentials
            ".ssh",
            ".aws",
            ".azure",
            ".kube",
            ".netrc",
            "_netrc",
            ".authinfo",
            ".authinfo.gpg",
            ".git-credentials",
            ".npmrc",
            ".yarnrc.yml",
            ".pypirc",
            ".pgpass",
            ".my.cnf",
            ".mylogin.cnf",
            ".vault-token",
            ".password-store",
            ".gem/credentials",
            ".m2/settings.xml",
            ".m2/settings-security.xml",
            ".gradle/gradle.properties",
            ".terraform.d/credentials.tfrc.json",
            ".claude",
            ".claude.json",
            ".codex",
            ".gemini",
            // What was typed
            ".bash_history",
            ".zsh_history",
            ".zhistory",
            ".sh_history",
            ".history",
            ".python_history",
            ".ipython",
            ".node_repl_history",
            ".irb_history",
            ".psql_history",
            ".mysql_history",
            ".sqlite_history",
            ".rediscli_history",
            ".lesshst",
            ".viminfo",
            // Browsers and mail
            ".mozilla",
            ".thunderbird",
        ],
    },
    Below {
        variable: Some("XDG_CONFIG_HOME"),
        folder: ".config",
        places: &[
            "gcloud",
            "gh",
            "glab-cli",
            "hub",
            "git/credentials",
            "containers/auth.json",
            "pypoetry/auth.toml",
            "rclone",
            "op",
            "google-chrome",
            "chromium",
            "BraveSoftware",
            "microsoft-edge",
        ],
    },
    Below {
        variable: Some("XDG_DATA_HOME"),
        folder: ".local/share",
        places: &["keyrings", "fish/fish_history"],
    },
    Below {
        variable: Some("XDG_STATE_HOME"),
        folder: ".local/state",
        places: &["bash/history", "zsh/history", "python_history"],
    },
    Below { variable: Some("CARGO_HOME"), folder: ".cargo", places: &["credentials", "credentials.toml"] },
    Below { variable: Some("DOCKER_CONFIG"), folder: ".docker", places: &["config.json", "contexts"] },
    Below { variable: Some("GNUPGHOME"), folder: ".gnupg", places: &[""] },
];

/// Variables that name a secret place themselves.
const VARIABLES: &[&str] = &[
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "AZURE_CONFIG_DIR",
    "CLOUDSDK_CONFIG",
    "GH_CONFIG_DIR",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HISTFILE",
    "KUBECONFIG",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
    "PASSWORD_STORE_DIR",
    "PGPASSFILE",
];

/// Every place where secrets may lie, whether it is there or not: those of the home, and those that variables name.
/// A variable names absolute paths only.
pub fn secret_places(home: Option<&Path>, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let named = |name: &str| variable(name).filter(|path| path.is_absolute());
    let mut places: Vec<PathBuf> = VARIABLES.iter().filter_map(|name| named(name)).collect();
    for below in TABLE {
        let usual = home.filter(|home| home.is_absolute()).map(|home| home.join(below.folder));
        // Where a variable names another folder, the usual one may still hold what it held before.
        let folders = usual.into_iter().chain(below.variable.and_then(named));
        places.extend(folders.flat_map(|folder| below.places.iter().map(move |place| folder.join(place))));
    }
    places.sort();
    places.dedup();
    places
}
