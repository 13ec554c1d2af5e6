//! A user who edits while perspt publishes, at every single call, keeps their bytes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use perspt_core::event::KeptPlace;
use perspt_core::tree::Change;
use perspt_store::disk::{Disk, File, Open};
use perspt_store::publish::{finish, pending, publish, settle};
use perspt_store::{Home, KeptBytes, LogWriter, Published, RealDisk, WorkspaceLease};
use perspt_testkit::disk::{Image, SimDisk, Watched};

use crate::support::{
    Images, Real, WORKSPACE, change, file, home_on, id, image, publication, real_tree, session_of, sim,
};

const MINE: &[u8] = b"what the user wrote";
const ALSO_MINE: &[u8] = b"what the user wrote elsewhere";

fn before() -> Images {
    [("d/gone", "g"), ("a", "1"), ("m", "2"), ("z", "3")]
        .map(|(name, bytes)| (name.to_owned(), image(bytes)))
        .into()
}

fn after() -> Images {
    [("a", "new a"), ("m", "new m"), ("n/made", "made"), ("z", "new z")]
        .map(|(name, bytes)| (name.to_owned(), image(bytes)))
        .into()
}

fn changes() -> Vec<Change> {
    vec![
        change("a", file("1"), file("new a")),
        change("d/gone", file("g"), None),
        change("m", file("2"), file("new m")),
        change("n/made", None, file("made")),
        change("z", file("3"), file("new z")),
    ]
}

fn start() -> SimDisk {
    let sim = sim();
    for (name, image) in before() {
        let Image::File(mode, bytes) = image else { unreachable!() };
        sim.put(&format!("{WORKSPACE}/{name}"), mode, &bytes);
    }
    sim.flush();
    sim
}

fn prepared(home: &Home) -> (LogWriter, WorkspaceLease) {
    let writer = session_of(home, 1);
    for bytes in ["new a", "new m", "made", "new z"] {
        home.blobs(&id()).unwrap().put(bytes.as_bytes()).unwrap();
    }
    (writer, WorkspaceLease::try_acquire(home, WORKSPACE.as_ref(), &id()).unwrap())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    /// Writes a new file and renames it over the path.
    Replace,
    /// Writes into the file that is at the path.
    Overwrite,
    Remove,
}

fn do_edit(sim: &SimDisk, name: &str, edit: Edit) {
    let path = format!("{WORKSPACE}/{name}");
    match edit {
        Edit::Replace => sim.put(&path, 0o644, MINE),
        Edit::Overwrite => sim.overwrite(&path, MINE),
        Edit::Remove if sim.stat(&path).is_some() => sim.remove(&path),
        Edit::Remove => {}
    }
}

/// Publishes and settles with one edit before the nth call. Says whether the edit came in time, and what was
/// kept.
fn publish_with(
    sim: &SimDisk,
    nth: u64,
    edit: impl Fn() + Send + 'static,
) -> (bool, Published, Vec<KeptBytes>) {
    let watched = Watched::new(Arc::new(sim.clone()), &[]);
    let home = home_on(watched.clone());
    let (_writer, lease) = prepared(&home);
    watched.reset(&[]);
    let came = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&came);
    watched.before_each(move |call| {
        if call.number == nth {
            edit();
            seen.fetch_add(1, Ordering::Relaxed);
        }
    });
    let published = publish(&home, &lease, &publication(lease.workspace(), changes())).unwrap();
    let mut kept = Vec::new();
    if let Published::BaseMoved { kept: found, .. } = &published {
        kept.clone_from(found);
    }
    let came = came.load(Ordering::Relaxed) == 1;
    kept.extend(settle(&home, &lease).unwrap());
    assert!(pending(&home, lease.workspace()).unwrap().is_none());
    (came, published, kept)
}

/// The tree must be one or the other in every path but the edited one.
fn assert_whole(sim: &SimDisk, published: &Published, edited: &str, context: &str) {
    let mut wanted = match published {
        Published::Done => after(),
        Published::BaseMoved { paths, .. } => {
            assert_eq!(paths.iter().map(|path| path.as_str()).collect::<Vec<_>>(), [edited], "{context}");
            before()
        }
    };
    let mut found = sim.images(WORKSPACE);
    wanted.remove(edited);
    found.remove(edited);
    // A folder that only the edited file is or was in.
    found.retain(|_, image| *image != Image::EmptyFolder);
    assert_eq!(found, wanted, "{context}");
}

#[test]
fn whatever_a_user_does_to_a_path_at_any_moment_stands_in_the_end() {
    for name in ["a", "d/gone", "m", "n/made", "z"] {
        for edit in [Edit::Replace, Edit::Overwrite, Edit::Remove] {
            let (mut done, mut moved) = (0, 0);
            for nth in 1.. {
                let sim = start();
                let there = Arc::new(Mutex::new(None));
                let (user, seen) = (sim.clone(), Arc::clone(&there));
                let act = move || {
                    *seen.lock().unwrap() = Some(user.stat(&format!("{WORKSPACE}/{name}")).is_some());
                    do_edit(&user, name, edit);
                };
                let (came, published, kept) = publish_with(&sim, nth, act);
                let context = format!("{edit:?} of {name} before call {nth}: {published:?}");
                if !came {
                    assert!(nth > 100, "{context}");
                    break;
                }
                *if published == Published::Done { &mut done } else { &mut moved } += 1;
                assert_whole(&sim, &published, name, &context);
                assert_eq!(kept, Vec::new(), "{context}");
                let found = sim.images(WORKSPACE).remove(name);
                let there = there.lock().unwrap().unwrap();
                match edit {
                    Edit::Replace => assert_eq!(found, Some(Image::File(0o644, MINE.to_vec())), "{context}"),
                    Edit::Overwrite if there => {
                        assert!(matches!(found, Some(Image::File(_, bytes)) if bytes == MINE), "{context}");
                    }
                    Edit::Remove if there => assert_eq!(found, None, "{context}"),
                    // Nothing was there to overwrite or remove, so nothing happened.
                    Edit::Overwrite | Edit::Remove => {}
                }
            }
            assert!(done > 0, "{edit:?} of {name}: done {done}, moved {moved}");
            assert_eq!(moved > 0, !(name == "n/made" && edit != Edit::Replace), "{edit:?} of {name}");
        }
    }
}

#[test]
fn a_program_that_holds_a_file_open_and_writes_to_it_at_any_moment_keeps_its_bytes() {
    for name in ["a", "d/gone", "m", "z"] {
        for nth in 1.. {
            let sim = start();
            let (folder, last) = name.rsplit_once('/').unwrap_or(("", name));
            let folder = sim.root(format!("{WORKSPACE}/{folder}").as_ref()).unwrap();
            let held: Box<dyn File> = folder.open(last, Open::Append).unwrap();
            let (came, published, kept) = publish_with(&sim, nth, move || {
                held.append(MINE).unwrap();
            });
            if !came {
                break;
            }
            let context = format!("{name} before call {nth}: {published:?} {kept:?}");
            assert_whole(&sim, &published, name, &context);
            let in_tree = match sim.images(WORKSPACE).get(name) {
                Some(Image::File(_, bytes)) => bytes.ends_with(MINE),
                Some(Image::Link(_) | Image::EmptyFolder) | None => false,
            };
            let in_blob = kept.iter().any(|kept| {
                let KeptPlace::Blob(blob) = &kept.place else { return false };
                let bytes = home_on(sim.clone()).blobs(&id()).unwrap().get(*blob).unwrap();
                kept.path.as_str() == name && bytes.ends_with(MINE)
            });
            assert!(in_tree || in_blob, "{context}");
        }
    }
}

#[test]
fn a_user_who_edits_twice_while_perspt_takes_back_keeps_the_newer_and_a_copy_of_the_older() {
    let mut kept_some = 0;
    for second in 1.. {
        let sim = start();
        let watched = Watched::new(Arc::new(sim.clone()), &[]);
        let home = home_on(watched.clone());
        let (_writer, lease) = prepared(&home);
        watched.reset(&[]);
        let (user, mut since, mut came) = (sim.clone(), None, false);
        let done = Arc::new(AtomicU64::new(0));
        let flag = Arc::clone(&done);
        watched.before_each(move |call| {
            if call.op == perspt_testkit::disk::Op::Exchange && call.path.ends_with("/m") && since.is_none() {
                do_edit(&user, "m", Edit::Replace);
                since = Some(call.number);
            }
            if since.is_some_and(|first| call.number == first + second) && !came {
                user.put(&format!("{WORKSPACE}/m"), 0o644, b"newer");
                came = true;
                flag.store(1, Ordering::Relaxed);
            }
        });
        let published = publish(&home, &lease, &publication(lease.workspace(), changes())).unwrap();
        if done.load(Ordering::Relaxed) == 0 {
            break;
        }
        let Published::BaseMoved { kept, .. } = &published else { panic!("{second}: {published:?}") };
        assert_whole(&sim, &published, "m", &format!("{second}"));
        assert_eq!(sim.read(&format!("{WORKSPACE}/m")).as_deref(), Some(&b"newer"[..]), "{second}");
        for kept in kept {
            let KeptPlace::Blob(blob) = &kept.place else { panic!("{kept:?}") };
            assert_eq!(home.blobs(&id()).unwrap().get(*blob).unwrap(), MINE);
            kept_some += 1;
        }
    }
    assert!(kept_some > 0, "no edit came between an exchange and its undoing");
}

#[test]
fn an_edit_between_a_kill_at_any_moment_and_the_finish_stands_and_the_rest_is_whole() {
    let sim = start();
    let watched = Watched::new(Arc::new(sim.clone()), &[]);
    let home = home_on(watched.clone());
    let (_writer, lease) = prepared(&home);
    let pictures = Arc::new(Mutex::new(Vec::new()));
    let (camera, shots) = (sim.clone(), Arc::clone(&pictures));
    watched.before_each(move |call| {
        if !call.op.reads() {
            shots.lock().unwrap().push(camera.kill());
        }
    });
    assert_eq!(publish(&home, &lease, &publication(lease.workspace(), changes())).unwrap(), Published::Done);
    pictures.lock().unwrap().push(sim.kill());
    let pictures = std::mem::take(&mut *pictures.lock().unwrap());
    let mut finished = 0;
    for (n, picture) in pictures.iter().enumerate() {
        for name in ["a", "d/gone", "n/made", "z"] {
            for edit in [Edit::Replace, Edit::Remove] {
                let sim = picture.kill();
                let home = home_on(sim.clone());
                if pending(&home, WORKSPACE.as_ref()).unwrap().is_none() {
                    continue;
                }
                let there = sim.stat(&format!("{WORKSPACE}/{name}")).is_some();
                do_edit(&sim, name, edit);
                let lease = WorkspaceLease::try_acquire(&home, WORKSPACE.as_ref(), &id()).unwrap();
                let published = finish(&home, &lease).unwrap();
                assert_eq!(settle(&home, &lease).unwrap(), Vec::new());
                let context = format!("killed before step {n}, {edit:?} of {name}: {published:?}");
                assert_whole(&sim, &published, name, &context);
                let found = sim.images(WORKSPACE).remove(name);
                match edit {
                    Edit::Replace => assert_eq!(found, Some(Image::File(0o644, MINE.to_vec())), "{context}"),
                    Edit::Remove | Edit::Overwrite if there && found.is_some() => {
                        // A file of ours that the user took away again while nothing was finished: as if it
                        // had never been made, so it is made.
                        assert_eq!((name, &published), ("n/made", &Published::Done), "{context}");
                    }
                    Edit::Remove | Edit::Overwrite => {}
                }
                finished += 1;
            }
        }
    }
    assert!(finished > 100, "{finished}");
}

/// A user edits two files while perspt publishes, perspt is killed at any call after the first edit, and taken up
/// again. Each file has its new bytes in the end; only where the kill fell between an exchange and the look at
/// what came out, a copy says where they are.
#[test]
fn two_edits_at_two_paths_are_in_the_tree_or_in_a_copy_even_if_perspt_is_killed_while_taking_back() {
    let (mut in_tree, mut in_copy) = (0, 0);
    for second in 1.. {
        let mut pictures = take_back_with_two_edits(second);
        if pictures.is_empty() {
            break;
        }
        for (n, picture) in pictures.drain(..).enumerate() {
            let context = format!("second edit {second} calls after the first, killed at picture {n}");
            let sim = picture;
            let home = home_on(sim.clone());
            let lease = WorkspaceLease::try_acquire(&home, WORKSPACE.as_ref(), &id()).unwrap();
            let mut kept = Vec::new();
            if pending(&home, WORKSPACE.as_ref()).unwrap().is_some() {
                if let Published::BaseMoved { kept: found, .. } = finish(&home, &lease).unwrap() {
                    kept = found;
                }
                kept.extend(settle(&home, &lease).unwrap());
            }
            for (name, bytes) in [("m", MINE), ("a", ALSO_MINE)] {
                let there = sim.read(&format!("{WORKSPACE}/{name}")).is_some_and(|found| found == bytes);
                let copied = kept.iter().any(|kept| {
                    let KeptPlace::Blob(blob) = &kept.place else { return false };
                    kept.path.as_str() == name && home.blobs(&id()).unwrap().get(*blob).unwrap() == bytes
                });
                assert!(there || copied, "{name}, {context}: {:?}, {kept:?}", sim.images(WORKSPACE));
                in_tree += u32::from(there);
                in_copy += u32::from(copied);
            }
        }
    }
    assert!(in_tree > 20 * in_copy, "in the tree {in_tree} times, in a copy {in_copy} times");
    assert!(in_copy > 0, "no kill fell between an exchange and the look at what came out");
}

/// The disk as it was before each call that follows the second edit; none where that edit came too late.
fn take_back_with_two_edits(second: u64) -> Vec<SimDisk> {
    let sim = start();
    let watched = Watched::new(Arc::new(sim.clone()), &[]);
    let home = home_on(watched.clone());
    let (_writer, lease) = prepared(&home);
    watched.reset(&[]);
    let pictures = Arc::new(Mutex::new(Vec::new()));
    let (user, shots, mut since) = (sim.clone(), Arc::clone(&pictures), None);
    watched.before_each(move |call| {
        if call.op == perspt_testkit::disk::Op::Exchange && call.path.ends_with("/m") && since.is_none() {
            do_edit(&user, "m", Edit::Replace);
            since = Some(call.number);
        }
        match since {
            Some(first) if call.number == first + second => {
                user.put(&format!("{WORKSPACE}/a"), 0o644, ALSO_MINE);
            }
            Some(first) if call.number > first + second => shots.lock().unwrap().push(user.kill()),
            Some(_) | None => {}
        }
    });
    let published = publish(&home, &lease, &publication(lease.workspace(), changes())).unwrap();
    assert!(matches!(published, Published::BaseMoved { .. }), "{published:?}");
    let mut pictures = std::mem::take(&mut *pictures.lock().unwrap());
    if !pictures.is_empty() {
        pictures.push(sim.kill());
    }
    pictures
}

#[test]
fn on_a_real_disk_an_edit_just_before_an_exchange_is_put_back_in_one_piece() {
    for (n, name) in ["a", "m", "z"].into_iter().enumerate() {
        let real = Real::new();
        for (path, image) in before() {
            let Image::File(_, bytes) = image else { unreachable!() };
            let file = real.workspace().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, bytes).unwrap();
        }
        let watched = Watched::new(Arc::new(RealDisk), &[]);
        let home = Home::open(real.home.root().to_owned(), Arc::new(watched.clone())).unwrap();
        let _writer = session_of(&home, 1);
        for bytes in ["new a", "new m", "made", "new z"] {
            home.blobs(&id()).unwrap().put(bytes.as_bytes()).unwrap();
        }
        let lease = WorkspaceLease::try_acquire(&home, &real.workspace(), &id()).unwrap();
        let file = real.workspace().join(name);
        let mut edited = false;
        watched.before_each(move |call| {
            if call.op == perspt_testkit::disk::Op::Exchange
                && call.path.ends_with(&format!("/{name}"))
                && !edited
            {
                // One user writes in place, the other through a new file.
                if n == 0 {
                    std::fs::write(&file, MINE).unwrap();
                } else {
                    std::fs::write(file.with_extension("tmp"), MINE).unwrap();
                    std::fs::rename(file.with_extension("tmp"), &file).unwrap();
                }
                edited = true;
            }
        });
        let published = publish(&home, &lease, &publication(lease.workspace(), changes())).unwrap();
        let Published::BaseMoved { paths, kept } = published else { panic!("{published:?}") };
        assert_eq!((paths.len(), paths[0].as_str(), kept.len()), (1, name, 0));
        let tree = real_tree(&real.workspace());
        let wanted = before().into_iter().map(|(path, image)| match image {
            Image::File(..) if path == name => (path, MINE.to_vec()),
            Image::File(_, bytes) => (path, bytes),
            Image::Link(_) | Image::EmptyFolder => unreachable!(),
        });
        assert_eq!(tree, wanted.collect());
        assert!(!real.workspace().join("n").exists());
    }
}
