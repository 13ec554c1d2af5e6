//! What a command may write, reach and see.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use perspt_core::stage::{Profile, Step};
use perspt_lang::plugin::{Cache, Machine};
use perspt_sandbox::slot::SlotError;
use perspt_sandbox::{Access, Bind, Network, SandboxSpec};

use super::SlotGuard;

impl SlotGuard<'_> {
    /// The slot's tree in place of the workspace.
    pub(super) fn binds(&self) -> Vec<Bind> {
        let workspace = self.config.workspace.to_owned();
        let mut binds =
            vec![Bind { from: self.slot.tree(), over: workspace.clone(), access: Access::ReadWrite }];
        let mounted = self.config.machine.mounted.iter().map(|folder| workspace.join(folder.as_str()));
        let bind = |place: PathBuf| Bind { from: place.clone(), over: place, access: Access::ReadOnly };
        binds.extend(mounted.filter(|place| place.is_dir()).map(bind));
        binds
    }

    /// The sandbox of a step that works in `tree`.
    pub(super) fn sandbox(
        &self,
        step: &Step,
        tree: &Path,
        binds: Vec<Bind>,
    ) -> Result<SandboxSpec, SlotError> {
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
                writable.extend(package_caches(self.config.machine));
                Network::On
            }
        };
        let hidden = match step.profile {
            Profile::Build | Profile::Test => self.config.secret_places.to_vec(),
            // Private packages are fetched with the user's own credentials.
            Profile::Fetch => Vec::new(),
        };
        Ok(SandboxSpec { writable, network, binds, hidden, held: Some(Arc::new(held)) })
    }
}

/// The places where tools keep packages, made where there are none. Where one cannot be made, the tool says so itself.
fn package_caches(machine: &Machine) -> Vec<PathBuf> {
    let made = machine.caches.iter().map(|cache| match cache {
        Cache::Folder(path) => {
            let _ = std::fs::create_dir_all(path);
            PathBuf::from(path)
        }
        Cache::File(path) => {
            let _ = std::fs::File::options().write(true).create_new(true).open(path);
            PathBuf::from(path)
        }
    });
    made.filter(|path| path.exists()).collect()
}
