//! The demo, as a newcomer sees it.

use crate::support::World;

fn runs(language: &str) {
    let mut world = World::empty();
    let tmp = world.base().join("tmp");
    std::fs::create_dir(&tmp).unwrap();
    world.set("TMPDIR", &tmp.to_string_lossy());
    let ran = world
        .perspt(&["demo", "--lang", language])
        .expect(0)
        .says("PLAN")
        .says("RETRY class=correction")
        .says("status=success")
        .says("What to try next");
    let energies: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("ENERGY")).collect();
    assert!(
        energies.iter().any(|line| !line.contains("total=0.00"))
            && energies.last().unwrap().contains("total=0.00")
    );
    assert!(ran.out.matches("COMMIT node=").count() >= 3);
    world.perspt(&["ledger", "--verify"]).expect(0).says("ok");
    let folder = std::fs::read_dir(&tmp)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("perspt-demo"))
        .unwrap();
    assert!(ran.out.contains(&*folder.to_string_lossy()), "the closing lines name the folder, which is kept");
}

#[test]
fn the_rust_demo_builds_a_todo_program_with_real_cargo() {
    runs("rust");
}

#[test]
fn the_python_demo_builds_a_todo_program_with_real_python() {
    runs("python");
}

#[test]
fn the_javascript_demo_builds_a_todo_program_with_real_node() {
    runs("javascript");
}

#[test]
fn the_go_demo_builds_a_todo_program_with_real_go() {
    runs("go");
}

#[test]
fn without_usable_cargo_the_demo_says_what_to_install() {
    let mut world = World::empty();
    world.set("PATH", "/usr/bin:/bin");
    world.perspt(&["demo"]).expect(6).warns("cargo").warns("do:");
}
