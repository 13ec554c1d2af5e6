//! Places that a command is not to read: an empty read-only folder, or an empty file, is mounted over each.
//!
//! Limit: what can also be reached by another path, such as a hard link or a copy, is not hidden there.

use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::MountFlags;

use super::{Failed, mounts};

/// What a command works with, by which it is decided what must stay visible. All paths are free of links.
pub(crate) struct Needed {
    /// The command's own folders. Nothing in them is hidden.
    pub own: Vec<PathBuf>,
    /// Where its programs and their data lie. What holds one of them is not hidden.
    pub used: Vec<PathBuf>,
}

/// Those of the places that can be hidden from a command that needs this.
pub(crate) fn can_be_hidden(places: &[PathBuf], needed: &Needed) -> Vec<PathBuf> {
    let is_own = |place: &Path| needed.own.iter().any(|own| place.starts_with(own));
    let is_used = |place: &Path| needed.own.iter().chain(&needed.used).any(|used| used.starts_with(place));
    let mut hidden: Vec<PathBuf> =
        places.iter().filter(|place| !is_own(place) && !is_used(place)).cloned().collect();
    hidden.sort();
    hidden.dedup();
    // What lies in a hidden folder is gone with it.
    let all = hidden.clone();
    hidden.retain(|place| !all.iter().any(|other| other != place && place.starts_with(other)));
    hidden
}

/// Covers these places. Needs the new `/dev`, whose `null` covers files.
pub(super) fn cover(places: &[PathBuf]) -> Result<(), Failed> {
    for place in places {
        let failed = |error: Errno| Failed::new(format!("hiding {}", place.display()), error);
        let covered = match place.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {
                let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
                rustix::mount::mount("tmpfs", place, "tmpfs", flags, Some(c"mode=0555,size=4k"))
            }
            Ok(meta) if meta.is_file() => {
                let empty = mounts::detached(Path::new("/dev/null"))?;
                mounts::resolve(place).map_or(Ok(()), |point| mounts::attach(empty, point))
            }
            // A link was put there meanwhile, or it is gone.
            Ok(_) | Err(_) => Ok(()),
        };
        match covered {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(all: &[&str]) -> Vec<PathBuf> {
        all.iter().map(PathBuf::from).collect()
    }

    fn hidden(places: &[&str], own: &[&str], used: &[&str]) -> Vec<PathBuf> {
        can_be_hidden(&paths(places), &Needed { own: paths(own), used: paths(used) })
    }

    #[test]
    fn what_a_command_works_in_or_with_stays_visible() {
        let places = ["/h/.ssh", "/h/.aws", "/h/.cargo/credentials.toml", "/h/.data/sessions"];
        let own = ["/h/.data/slots/1/tree", "/h/work"];
        let used = ["/h/.cargo", "/usr/bin"];
        assert_eq!(hidden(&places, &own, &used), {
            let mut all = paths(&places);
            all.sort();
            all
        });
        assert_eq!(hidden(&["/h/.ssh", "/h/.aws"], &["/h/.ssh/project"], &[]), paths(&["/h/.aws"]));
        assert_eq!(hidden(&["/h/.ssh", "/h/.aws"], &["/h/.ssh"], &[]), paths(&["/h/.aws"]));
        assert_eq!(hidden(&["/h/.kube", "/h/.aws"], &[], &["/h/.kube/tools/bin"]), paths(&["/h/.aws"]));
        // The home itself is the project: what is in it is the branch's own.
        assert_eq!(hidden(&["/h/.ssh", "/x/.ssh"], &["/h"], &[]), paths(&["/x/.ssh"]));
    }

    #[test]
    fn a_place_in_a_hidden_folder_is_not_hidden_twice() {
        assert_eq!(hidden(&["/h/.aws/config", "/h/.aws", "/h/.aws"], &[], &[]), paths(&["/h/.aws"]));
        assert_eq!(hidden(&["/h/.aws", "/h/.aws2"], &[], &[]), paths(&["/h/.aws", "/h/.aws2"]));
    }
}
