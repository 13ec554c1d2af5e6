//! cargo-deny: licences, bans and sources. Built once into the cache, at the version whose settings
//! `deny.toml` is written for.

use std::process::Command;

use crate::place;
use crate::process::{Failed, cargo, output, run};

const VERSION: &str = "0.20.2";

/// Checks the dependencies.
pub fn check() -> Result<(), Failed> {
    let folder = place::cache()?.join(format!("cargo-deny-{VERSION}"));
    let program = folder.join("bin").join("cargo-deny");
    let version = |program: &std::path::Path| {
        let mut command = Command::new(program);
        command.arg("--version");
        output(command).is_ok_and(|text| text.trim() == format!("cargo-deny {VERSION}"))
    };
    if !program.exists() || !version(&program) {
        println!("building cargo-deny {VERSION} into {}", folder.display());
        let mut install = cargo();
        // It looks at a few hundred crates: building it unoptimised is quicker than what that costs.
        install.args([
            "install",
            "cargo-deny",
            "--locked",
            "--debug",
            "--force",
            "--version",
            VERSION,
            "--root",
        ]);
        install
            .arg(&folder)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_TARGET_DIR", folder.join("build"));
        run(install)?;
        std::fs::remove_dir_all(folder.join("build"))?;
    }
    let mut check = Command::new(program);
    check.current_dir(place::root()?).args(["--workspace", "--locked", "check", "--hide-inclusion-graph"]);
    run({
        check.args(["bans", "licenses", "sources"]);
        check
    })
}
