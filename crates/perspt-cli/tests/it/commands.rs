//! The commands around a session.
#![allow(clippy::disallowed_types, reason = "tests start the real binary")]

use std::io::{Read, Seek, SeekFrom, Write};

use crate::support::{Language, World, planned, solution};

const L: Language = Language::Prose;

fn done() -> World {
    let world = World::of(L).serve(planned(L, |_| solution(L)));
    world.agent("add a mul function").expect(0);
    world
}

/// The other session; two of one second are named in any order.
fn other(world: &World, first: &str) -> String {
    world.sessions().into_iter().find(|id| id != first).unwrap()
}

fn log(world: &World) -> std::path::PathBuf {
    world.home().join("sessions").join(&world.sessions()[0]).join("log.jsonl")
}

#[test]
fn the_version_opens_no_file_of_ours() {
    let mut world = World::empty();
    world.set("PERSPT_HOME", "/nonexistent/perspt");
    world.perspt(&["--version"]).expect(0).says("perspt 0.");
    let Ok(traced) = std::process::Command::new("strace")
        .args(["-f", "-e", "trace=open,openat,creat", env!("CARGO_BIN_EXE_perspt"), "--version"])
        .env("PERSPT_HOME", "/nonexistent/perspt")
        .output()
    else {
        return;
    };
    assert!(!String::from_utf8_lossy(&traced.stderr).contains("perspt/"));
}

#[test]
fn bad_words_on_the_command_line_end_with_2() {
    let world = World::of(L);
    world.perspt(&["agent"]).expect(2);
    world.perspt(&["frobnicate"]).expect(2);
    world.perspt(&["agent", "-y", "  "]).expect(2).warns("no task");
    world.perspt(&["agent", "-y", "-w", "/nonexistent", "x"]).expect(2).warns("/nonexistent");
    world
        .perspt(&["agent", "-y", "--stability-threshold", "NaN", "x"])
        .expect(2)
        .warns("stability_threshold");
    world.perspt(&["agent", "-y", "--energy-weights", "1,2", "x"]).expect(2).warns("energy_weights");
    world.perspt(&["resume", "nope"]).expect(2).warns("nope");
    world.perspt(&["status"]).expect(2).warns("no session");
    world.perspt(&["ledger"]).expect(2);
    assert!(world.sessions().is_empty());
}

#[test]
fn status_shows_nodes_energy_and_budget() {
    let world = done();
    world
        .perspt(&["status"])
        .expect(0)
        .says("success")
        .says("mul")
        .says("committed")
        .says("V=0.00")
        .says("calls 2/60");
    let ran = world.perspt(&["status", "--json"]).expect(0);
    let value: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(value["nodes"][0]["state"], "committed");
    assert_eq!(value["exit_code"], 0);
    let folder = world.ws().to_string_lossy().into_owned();
    world.perspt(&["status", "--all"]).expect(0).says("add a mul function").says(&folder);
}

#[test]
fn the_ledger_lists_counts_shows_and_verifies() {
    let world = done();
    world.perspt(&["ledger", "--recent"]).expect(0).says("mul").says("merkle=");
    world.perspt(&["ledger", "--stats"]).expect(0).says("commits=1");
    world.perspt(&["ledger", "--node", "mul"]).expect(0).says("attempt 1  stable");
    world.perspt(&["ledger", "--node", "nope"]).expect(2);
    world.perspt(&["ledger", "--verify"]).expect(0).says("1 commits");
}

#[test]
fn resuming_what_has_ended_prints_its_last_record_as_json() {
    let world = done();
    world.perspt(&["resume"]).expect(0).says("SUMMARY session=").says("already_ended=true");
    let ran = world.perspt(&["resume", "--json"]).expect(0);
    let text = std::fs::read_to_string(log(&world)).unwrap();
    let last = text.lines().last().unwrap();
    assert!(last.contains("session_ended"), "{last}");
    assert_eq!(ran.out, format!("{last}\n"));
}

#[test]
fn that_stdout_cannot_be_written_is_said_once() {
    let world = done();
    let to = |stdout: std::fs::File, words: &[&str]| {
        crate::support::Ran::of(world.command(words).stdout(stdout).output().unwrap())
    };
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let closed = || std::fs::File::open("/dev/null").unwrap();
    for (stdout, why) in [(full(), "No space left"), (closed(), "Bad file descriptor")] {
        let ran = to(stdout, &["status"]).expect(0).warns("stdout cannot be written").warns(why);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
    to(full(), &["--version"]).expect(0).warns("stdout cannot be written");
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    drop(reader);
    let ran = to(writer.into(), &["status"]).expect(0);
    assert_eq!(ran.err, "", "a reader that went away knows it");
}

#[test]
fn a_node_is_shown_as_the_newest_session_left_it() {
    let world = done();
    let first = world.sessions()[0].clone();
    let shown = world
        .perspt(&["ledger", "--node", "mul"])
        .expect(0)
        .says(&format!("session    {first}  success"))
        .says("node       mul  committed")
        .says("goal       add mul")
        .says("attempt 1  stable     V=0.00")
        .says("retries=0 evidence=prose model=openai::")
        .says("  file     more.md none -> ")
        .never_says("{\"");
    // The same answer changes nothing now.
    world.agent("add a mul function").expect(4);
    let second = other(&world, &first);
    world
        .perspt(&["ledger", "--node", "mul"])
        .expect(0)
        .says(&format!("session    {second}  failed"))
        .says("node       mul  given up")
        .says("attempt 3  ")
        .says("given up   repeated (implementation-error) answers=3")
        .says("  found    ")
        .says("next       ")
        .never_says(&first);
    let again = world.perspt(&["ledger", "--node", "mul", "--session", &first]).expect(0);
    assert_eq!(again.out, shown.out);
}

#[test]
fn a_damaged_log_is_called_so_and_not_a_full_disk() {
    let world = World::of(L).serve(planned(L, |_| perspt_testkit::server::Reply::status(401, "no")));
    world.agent("add a mul function").expect(8);
    let path = log(&world);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("\"kind\":\"effect_started\"", "\"kind\":\"effect_startet\"", 1))
        .unwrap();
    for word in ["status", "resume"] {
        world
            .perspt(&[word, &world.sessions()[0]])
            .expect(1)
            .warns("log is damaged")
            .warns("do:  run `perspt ledger --verify`")
            .never_says("space and permissions");
    }
}

#[test]
fn a_changed_byte_anywhere_in_the_log_is_found_with_its_place() {
    let world = done();
    let path = log(&world);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().count();
    for line in [1, lines / 2, lines - 1] {
        let start: usize = text.lines().take(line - 1).map(|line| line.len() + 1).sum();
        let mut file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let at = (start + 30) as u64;
        let mut byte = [0u8];
        file.seek(SeekFrom::Start(at)).unwrap();
        file.read_exact(&mut byte).unwrap();
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(&[byte[0] ^ 1]).unwrap();
        world.perspt(&["ledger", "--verify"]).expect(1).says("DAMAGED").says(&line.to_string());
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(&byte).unwrap();
    }
    world.perspt(&["ledger", "--verify"]).expect(0);
}

#[test]
fn a_truncated_blob_is_found() {
    let world = done();
    let blobs = world.home().join("sessions").join(&world.sessions()[0]).join("blobs");
    let mut cut = 0;
    for entry in walk(&blobs) {
        let bytes = std::fs::read(&entry).unwrap();
        if bytes.len() > 50 && cut == 0 {
            std::fs::write(&entry, &bytes[..20]).unwrap();
            cut += 1;
        }
    }
    assert_eq!(cut, 1);
    world.perspt(&["ledger", "--verify"]).expect(1).says("DAMAGED").says("blob");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_torn_last_record_is_cut_kept_and_reported_by_resume() {
    let world = World::of(L).serve(planned(L, |_| perspt_testkit::server::Reply::status(500, "down")));
    world.agent("add a mul function").expect(8);
    let path = log(&world);
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"seq\":999,\"at\":1,\"v\":1,\"ev").unwrap();
    world.perspt(&["ledger", "--verify"]).expect(0).says("torn");
    world.perspt(&["resume"]).expect(8).warns("the last record was incomplete");
    assert!(
        std::fs::read_dir(path.parent().unwrap()).unwrap().any(|entry| entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with("log.cut-"))
    );
    assert!(world.events().iter().any(|event| event["kind"] == "tail_cut"));
    world.perspt(&["ledger", "--verify"]).expect(0);
}

#[test]
fn a_last_record_that_was_changed_is_damage_and_one_that_was_torn_is_not() {
    let world = done();
    let path = log(&world);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().count();
    std::fs::write(&path, text.replace("\"kind\":\"session_ended\"", "\"kind\":\"session_enden\"")).unwrap();
    world
        .perspt(&["ledger", "--verify"])
        .expect(1)
        .says("DAMAGED")
        .says(&format!("record {lines}: the last record was changed or torn"));
    std::fs::write(&path, &text[..text.len() - 1]).unwrap();
    world.perspt(&["ledger", "--verify"]).expect(0).says("torn last record");
}

#[test]
fn a_log_that_is_gone_or_empty_is_damage_where_blobs_are_left_of_it() {
    let world = done();
    let path = log(&world);
    std::fs::write(&path, "").unwrap();
    world.perspt(&["ledger", "--verify"]).expect(1).says("DAMAGED").says("log is missing or empty");
    std::fs::remove_file(&path).unwrap();
    world.perspt(&["ledger", "--verify"]).expect(1).says("DAMAGED").says("log is missing or empty");
}

/// What may become of a log, and what is said of it then.
type Damage = (fn(&std::path::Path), &'static str);

#[test]
fn a_session_whose_beginning_cannot_be_read_is_named_and_not_passed_over() {
    let damages: [Damage; 5] = [
        (|log| std::fs::write(log, "").unwrap(), "log is missing or empty"),
        (|log| std::fs::remove_file(log).unwrap(), "log is missing or empty"),
        (|log| flip(log, 60), "damaged at line 1"),
        (|log| std::fs::remove_file(log).and_then(|()| std::fs::create_dir(log)).unwrap(), "log.jsonl"),
        (|log| pipe(log), "log.jsonl"),
    ];
    let world = World::of(L).serve(planned(L, |_| perspt_testkit::server::Reply::status(401, "no")));
    world.agent("add a mul function").expect(8);
    let (path, id) = (log(&world), world.sessions()[0].clone());
    let whole = std::fs::read(&path).unwrap();
    for (damage, why) in damages {
        damage(&path);
        world.perspt(&["ledger", "--verify"]).expect(1).says("DAMAGED").says(&id);
        let named: [&[&str]; 7] = [
            &["status"],
            &["status", &id],
            &["resume", "-y"],
            &["resume", "-y", "--last"],
            &["abort"],
            &["ledger", "--recent"],
            &["ledger", "--stats"],
        ];
        for words in named {
            let ran = world.perspt(words).expect(1).warns("error: the session's log is damaged");
            ran.warns(&id).warns(why).warns("run `perspt ledger --verify`");
        }
        world.perspt(&["status", "--all"]).expect(0).says(&id).says("unreadable").says(why);
        let listed = world.perspt(&["status", "--all", "--json"]).expect(0).out;
        let lines: Vec<serde_json::Value> =
            listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.iter().any(|line| line["status"] == "unreadable" && line["session"] == id), "{listed}");
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path));
        std::fs::write(&path, &whole).unwrap();
    }
    world.perspt(&["status"]).expect(0);
}

fn flip(path: &std::path::Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

fn pipe(path: &std::path::Path) {
    std::fs::remove_file(path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn one_damaged_session_does_not_hide_the_others() {
    let world = done();
    let (first, path) = (world.sessions()[0].clone(), log(&world));
    let base = world.base().join("other");
    std::fs::create_dir(&base).unwrap();
    let elsewhere =
        |words: &[&str]| crate::support::Ran::of(world.command(words).current_dir(&base).output().unwrap());
    flip(&path, 60);
    // In a folder of which nobody knows, it may be the one that is looked for.
    elsewhere(&["status"]).expect(1).warns(&first);
    world.agent("add a mul function again");
    let second = other(&world, &first);
    world.perspt(&["status"]).expect(0).says(&second);
    elsewhere(&["resume", "-y"]).expect(1).warns(&first);
    let left_out = format!("session {first} is left out");
    world.perspt(&["ledger", "--stats"]).expect(0).says("sessions=1 ").warns(&left_out).warns("--verify");
    world.perspt(&["ledger", "--recent"]).expect(0).warns(&left_out).never_says("error:");
    // The last of a folder is not silently another one.
    flip(&path, 60);
    flip(&world.home().join("sessions").join(&second).join("log.jsonl"), 60);
    world.perspt(&["status"]).expect(1).warns(&second);
    world.perspt(&["status", &first]).expect(0).says("success");
    world.perspt(&["ledger", "--recent"]).expect(0).says(&first).warns(&second);
    world.perspt(&["ledger", "--node", "mul"]).expect(0).says(&first).warns(&second);
}

#[test]
fn a_stray_folder_among_the_sessions_is_not_verified_and_listed_as_never_begun() {
    let world = done();
    let stray = world.home().join("sessions/20990101-000000-00000");
    std::fs::create_dir_all(&stray).unwrap();
    let ran = world.perspt(&["ledger", "--verify"]).expect(0).says("ok").never_says("2099");
    assert_eq!(ran.out.lines().count(), 1);
    world.perspt(&["ledger", "--verify", "--session", "2099"]).expect(0).says("no session to verify");
    world.perspt(&["status", "--all"]).expect(0).says("never begun");
    // With a lock it is a session that was killed before its first record.
    std::fs::write(stray.join("lock"), "").unwrap();
    world.perspt(&["ledger", "--verify"]).expect(0).says("ok       20990101-000000-00000  0 records");
}

#[test]
fn an_event_of_a_newer_schema_or_with_a_new_word_is_shown_as_unknown_and_resume_refuses() {
    for (schema, event, told) in [
        (99, "{\"kind\":\"time_travelled\"}", "99"),
        (2, "{\"kind\":\"abort_asked\",\"by\":{\"machine\":7}}", "does not know"),
        (2, "{\"kind\":\"time_travelled\"}", "time_travelled"),
    ] {
        unknown_event(schema, event, told);
    }
}

fn unknown_event(schema: u32, event: &str, told: &str) {
    use sha_of_line as seal;
    let world = World::of(L).serve(planned(L, |_| perspt_testkit::server::Reply::status(500, "down")));
    world.agent("add a mul function").expect(8);
    let path = log(&world);
    let text = std::fs::read_to_string(&path).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let body = format!(
        "{{\"seq\":{},\"at\":{},\"v\":{schema},\"event\":{event}",
        last["seq"].as_u64().unwrap() + 1,
        last["at"]
    );
    let line = seal(last["hash"].as_str().unwrap(), &body);
    std::fs::write(&path, format!("{text}{line}\n")).unwrap();
    world.perspt(&["ledger", "--verify"]).expect(0).says("1 of a newer perspt");
    world.perspt(&["status"]).expect(0).says("1 of the records, written by a newer perspt");
    world.perspt(&["resume"]).expect(2).warns(told).warns("newer");
}

fn sha_of_line(previous: &str, body: &str) -> String {
    let hash = perspt_core::hash::Sha::of(format!("{previous}{body}").as_bytes());
    format!("{body},\"hash\":\"{hash}\"}}")
}

#[test]
fn a_half_created_session_is_listed_and_does_not_stand_in_the_way() {
    let world = done();
    std::fs::create_dir_all(world.home().join("sessions/20990101-000000-00000")).unwrap();
    world.perspt(&["status"]).expect(0).says("success");
    world.perspt(&["status", "--all"]).expect(0);
    world.perspt(&["resume", "20990101"]).expect(2);
    world.perspt(&["ledger", "--recent"]).expect(0).says("mul");
}

#[test]
fn the_configuration_names_each_values_source() {
    let mut world = World::of(L);
    std::fs::write(world.home().join("config.toml"), "model = \"from-file\"\nidle_ms = 5000\n").unwrap();
    world.set("PERSPT_TOTAL_MS", "7000");
    world.set("OPENAI_BASE_URL", "http://user:hidden@127.0.0.1:1/v1");
    let ran = world
        .perspt(&["config", "--show"])
        .expect(0)
        .says("from-file")
        .says("config.toml")
        .says("$PERSPT_TOTAL_MS")
        .says("$OPENAI_BASE_URL")
        .says("built-in")
        .never_says("hidden");
    assert!(ran.out.contains("5000"));
    std::fs::write(world.home().join("config.toml"), "colour = 1\n").unwrap();
    world.perspt(&["config", "--show"]).expect(2).warns("colour");
}

#[test]
fn the_doctor_tries_the_tools_and_the_sandbox() {
    let world = World::of(L);
    world
        .perspt(&["doctor"])
        .expect(0)
        .says("sandbox")
        .says("cargo: works")
        .says("python3: works")
        .says("model");
}

#[test]
fn the_doctor_works_in_a_folder_that_cannot_be_a_workspace() {
    let mut world = World::of(L);
    world.unset("PERSPT_HOME");
    let home = world.get("HOME");
    for (folder, why) in [(home.as_str(), "lies inside the workspace"), ("/", "root of the file system")] {
        world
            .perspt(&["doctor", "-w", folder])
            .expect(0)
            .says(&format!("folder     {folder} cannot be a workspace: "))
            .says(why)
            .says("sandbox")
            .says("python3: works");
    }
    world.perspt(&["doctor"]).expect(0).never_says("cannot be a workspace");
    world.perspt(&["doctor", "-w", "/nonexistent"]).expect(2).warns("/nonexistent");
}

#[test]
fn a_data_directory_that_depends_on_where_one_stands_is_refused() {
    let mut world = World::of(L);
    let before = world.files();
    world.set("PERSPT_HOME", "data");
    world.perspt(&["status", "--all"]).expect(2).warns("PERSPT_HOME is `data`").warns("full path");
    world.unset("PERSPT_HOME");
    world.set("HOME", "user");
    world.perspt(&["config", "--show"]).expect(2).warns("HOME").warns("do:");
    world.unset("HOME");
    world.agent("add a mul function").expect(2).warns("neither PERSPT_HOME nor HOME").warns("do:");
    assert_eq!(world.files(), before);
}

#[test]
fn a_data_directory_that_is_a_file_is_called_so() {
    let mut world = World::of(L);
    let file = world.base().join("notes");
    std::fs::write(&file, "mine").unwrap();
    for (home, what) in [(file.clone(), "is a file"), (file.join("data"), "lies below a file")] {
        world.set("PERSPT_HOME", &home.to_string_lossy());
        for words in [&["status"][..], &["config", "--show"], &["agent", "-y", "add a mul function"]] {
            world
                .perspt(words)
                .expect(2)
                .warns(&format!("error: perspt's data directory {what}"))
                .warns(&format!("{} (from $PERSPT_HOME)", home.display()))
                .warns("set PERSPT_HOME to a folder")
                .never_says("configuration file");
        }
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_beginning_that_fits_more_than_one_session_is_answered_with_their_names() {
    let world = World::of(L);
    for n in 0..7 {
        std::fs::create_dir_all(world.home().join(format!("sessions/20990101-00000{n}-00000"))).unwrap();
    }
    world
        .perspt(&["status", "2099"])
        .expect(2)
        .warns("error: more than one session begins with `2099`")
        .warns("20990101-000006-00000, 20990101-000005-00000")
        .warns("and 2 more");
}

#[test]
fn where_no_session_worked_in_this_folder_the_last_ones_folders_are_named() {
    let world = World::of(L).serve(planned(L, |_| perspt_testkit::server::Reply::status(401, "no")));
    world.agent("add a mul function").expect(8);
    let ws = world.ws().canonicalize().unwrap();
    for word in ["status", "resume", "abort"] {
        let mut command = world.command(&[word]);
        let ran = crate::support::Ran::of(command.current_dir(world.base()).output().unwrap());
        ran.expect(2).warns("no session has worked in").warns(&ws.to_string_lossy());
    }
}

#[test]
fn a_session_whose_workspace_is_gone_is_not_resumed_and_can_be_looked_at() {
    let world = World::of(L).serve(planned(L, |_| perspt_testkit::server::Reply::status(500, "down")));
    world.agent("add a mul function").expect(8);
    let (id, ws, moved) = (world.sessions()[0].clone(), world.ws(), world.base().join("moved"));
    let events = world.events().len();
    std::fs::rename(&ws, &moved).unwrap();
    let there =
        |words: &[&str]| crate::support::Ran::of(world.command(words).current_dir(&moved).output().unwrap());
    let gone = ws.to_string_lossy().into_owned();
    there(&["resume", &id]).expect(2).warns("the session's workspace is gone").warns(&gone).warns("do:");
    there(&["resume", "--last"]).expect(2).warns("the session's workspace is gone");
    there(&["status", &id]).expect(0).says("provider-unusable").says(&gone);
    assert_eq!(world.events().len(), events, "nothing is recorded of it");
    std::fs::rename(&moved, &ws).unwrap();
    world.perspt(&["resume"]).expect(8);
}
