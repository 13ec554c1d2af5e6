//! The same walls for a user who is not root. The test binary starts itself a second time as nobody.
// Changing the user takes a process of its own.
#![allow(clippy::disallowed_types)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Those that use nothing but what every user can reach.
const TESTS: [&str; 13] = [
    "run::walls::a_write_outside_is_denied_in_every_confined_mode",
    "run::walls::a_write_inside_works_in_every_mode",
    "run::walls::chmod_and_utime_outside_are_denied_in_full_mode_and_named_as_missing_in_the_other",
    "run::walls::this_machine_gives_everything_and_the_report_has_no_hole",
    "run::walls::other_processes_are_not_visible_in_full_mode",
    "run::walls::processes_outside_cannot_be_signalled",
    "run::walls::the_environment_is_exactly_the_given_one_and_no_descriptor_is_inherited",
    "run::view::the_tree_is_seen_at_the_workspace_s_path_and_writes_land_in_the_slot",
    "run::view::the_environment_covered_by_the_tree_is_shown_at_its_own_place_read_only",
    "run::ends::exit_codes_and_signals_come_back_as_they_were",
    "run::ends::many_runs_at_once_do_not_disturb_each_other",
    "run::output::a_background_process_that_keeps_the_output_open_does_not_hold_up_the_run",
    "run::output::merged_streams_keep_the_order_of_writing",
];

#[test]
fn a_user_who_is_not_root_gets_the_same_walls() {
    if !rustix::process::geteuid().is_root() {
        // Then every other test of this folder has shown it already.
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    open_to_all(dir.path());
    let (tests, helper) = (dir.path().join("tests"), dir.path().join("helper"));
    std::fs::copy(std::env::current_exe().unwrap(), &tests).unwrap();
    std::fs::copy(super::support::helper(), &helper).unwrap();
    open_to_all(&tests);
    open_to_all(&helper);
    let temp = dir.path().join("temp");
    std::fs::create_dir(&temp).unwrap();
    std::fs::set_permissions(&temp, PermissionsExt::from_mode(0o777)).unwrap();
    let done = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"])
        .arg(&tests)
        .arg("--exact")
        .args(TESTS)
        .env("PERSPT_TEST_HELPER", &helper)
        .env("TMPDIR", &temp)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir("/")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{printed}{}", String::from_utf8_lossy(&done.stderr));
    assert!(printed.contains(&format!("{} passed; 0 failed", TESTS.len())), "{printed}");
}

fn open_to_all(path: &Path) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}
