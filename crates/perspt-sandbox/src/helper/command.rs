//! The last steps before the command: the walls go up, then the process becomes it.
// The command itself is what this file starts; std's form of exec is the safe one.
#![allow(clippy::disallowed_types)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, AtFlags, CWD};
use rustix::process::{Resource, Rlimit};

use super::Streams;
use super::wire::{Control, Program, Report, Request};
use crate::confine::landlock::OwnNetwork;
use crate::confine::seccomp::{Others, Sockets};
use crate::confine::{
    Confinement, Failed, NameStep, Namespace, Network, Seccomp, caps, landlock, mounts, seccomp, sys,
};

/// Becomes the command. Returns, with an exit code, only where that failed or nothing was to be run.
pub(super) fn become_command(request: &Request, control: &Control, streams: Streams) -> i32 {
    let sent = match confine(request) {
        Err(failed) => control.send(&Report::SetUpFailed(failed)),
        Ok(confinement) => {
            control.send(&Report::Confined(confinement)).and_then(|()| match &request.program {
                None => Ok(()),
                Some(program) => control.send(&Report::NotStarted(run(program, streams))),
            })
        }
    };
    i32::from(sent.is_err())
}

/// Puts up the walls, the ones that need most rights first.
fn confine(request: &Request) -> Result<Confinement, Failed> {
    rustix::process::setsid().step(|| "starting the command's session".to_owned())?;
    sys::keep_only_standard_streams().step(|| "closing descriptors".to_owned())?;
    rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })
        .step(|| "forbidding core files".to_owned())?;
    caps::give_up()?;
    rustix::thread::set_no_new_privs(true).step(|| "forbidding new privileges".to_owned())?;

    let has = |namespace| request.namespaces.contains(&namespace);
    let own = if has(Namespace::Net) { OwnNetwork::Yes } else { OwnNetwork::No };
    let abi = match request.landlock {
        true => landlock::restrict(
            &mounts::all_writable(&request.binds, &request.writable),
            request.network,
            own,
        )?,
        false => None,
    };
    let sockets = match (request.network, own) {
        (Network::Off, OwnNetwork::No) => Sockets::Unix,
        (Network::Off, OwnNetwork::Yes) | (Network::On, _) => Sockets::Internet,
    };
    let others = if has(Namespace::Pid) || abi.is_some() { Others::OutOfReach } else { Others::InReach };
    let filter = if request.seccomp { seccomp::restrict(sockets, others) } else { Seccomp::Off };
    Ok(Confinement::of(request.namespaces.clone(), abi, filter, request.network))
}

/// Becomes the program; returns why that could not be.
fn run(program: &Program, streams: Streams) -> String {
    if let Err(error) = std::env::set_current_dir(&program.cwd) {
        return format!("cannot enter the folder `{}`: {}", program.cwd.display(), plain(&error));
    }
    let Some((name, args)) = program.argv.split_first() else {
        return "no program was named".to_owned();
    };
    let Some(path) = look_up(name, &program.env) else {
        return format!("no such program `{name}`");
    };
    let error = Command::new(&path)
        .arg0(name)
        .args(args)
        .env_clear()
        .envs(program.env.iter().map(|(key, value)| (OsString::from(key), OsString::from(value))))
        .stdin(Stdio::null())
        .stdout(Stdio::from(streams.out))
        .stderr(Stdio::from(streams.err))
        .exec();
    match error.kind() {
        io::ErrorKind::NotFound if path.exists() => {
            format!("the interpreter that `{name}` names is not there")
        }
        io::ErrorKind::NotFound => format!("no such program `{name}`"),
        _ => format!("cannot start `{name}`: {}", plain(&error)),
    }
}

/// A name without a slash is searched in the PATH that the command is given, not in perspt's.
fn look_up(name: &str, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    let folders = env.get("PATH")?;
    folders.split(':').filter(|folder| !folder.is_empty()).map(|folder| Path::new(folder).join(name)).find(
        |path| path.is_file() && rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok(),
    )
}

/// The kernel's words without the number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
