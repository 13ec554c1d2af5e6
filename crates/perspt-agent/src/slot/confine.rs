//! What a command may write, reach and see.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use perspt_core::stage::{Profile, Step};
use perspt_sandbox::slot::SlotError;
use perspt_sandbox::{Access, Bind, Bounds, Network};

use super::SlotGuard;
use super::guard::environment_folder;

impl SlotGuard<'_> {
    /// The slot's tree in place of the workspace.
    pub(super) fn binds(&self) -> Vec<Bind> {
        let workspace = self.config.workspace.to_owned();
        let mut binds =
            vec![Bind { from: self.slot.tree(), over: workspace.clone(), access: Access::ReadWrite }];
        if let Some(venv) = environment_folder(&workspace) {
            let place = workspace.join(venv.as_str());
            binds.push(Bind { from: place.clone(), over: place, access: Access::ReadOnly });
        }
        binds
    }

    /// The bounds of a step that works in `tree`.
    pub(super) fn bounds(&self, step: &Step, tree: &Path, binds: Vec<Bind>) -> Result<Bounds, SlotError> {
        let build = self.slot.build();
        let held: OwnedFd = self.slot.lock_fd().try_clone_to_owned().map_err(|source| SlotError::Io {
            what: "share the lock of",
            path: self.slot.dir().to_owned(),
            source,
        })?;
        let mut writable = vec![tree.to_owned(), self.slot.tmp()];
        let network = match step.profile {
            Profile::Build => {
                writable.push(build);
                Network::Off
            }
            Profile::Test => {
                let named = step.build_writes.iter().map(|below| build.join(below));
                writable.extend(named.filter(|path| path.exists()));
                Network::Off
            }
            Profile::Fetch => {
                writable.push(build);
                let home = self.config.env.get("CARGO_HOME").map(PathBuf::from);
                writable.extend(home.into_iter().flat_map(package_cache));
                Network::On
            }
        };
        let hidden = match step.profile {
            Profile::Build | Profile::Test => self.config.secret_places.to_vec(),
            // Private packages are fetched with the user's own credentials.
            Profile::Fetch => Vec::new(),
        };
        Ok(Bounds { writable, network, binds, hidden, held: Some(Arc::new(held)) })
    }
}

/// The parts of cargo's home that hold packages, made where there are none. The user's programs, settings and keys lie
/// in the same folder. Where something cannot be made, cargo reports it.
fn package_cache(home: PathBuf) -> Vec<PathBuf> {
    let folders = ["registry", "git"].map(|name| home.join(name));
    for folder in &folders {
        let _ = std::fs::create_dir_all(folder);
    }
    let locks = [".package-cache", ".package-cache-mutate"].map(|name| home.join(name));
    for lock in &locks {
        let _ = std::fs::File::options().write(true).create_new(true).open(lock);
    }
    folders.into_iter().chain(locks).filter(|path| path.exists()).collect()
}
