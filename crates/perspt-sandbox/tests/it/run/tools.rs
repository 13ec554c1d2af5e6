//! Real tools under all walls.

use std::collections::BTreeMap;

use super::support::*;

/// What cargo needs besides the PATH: where its toolchains lie.
fn cargo_env(room: &Room) -> BTreeMap<String, String> {
    let mut env = room.sh("true").env;
    let home = std::env::var("HOME").unwrap_or_default();
    for (name, default) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let value = std::env::var(name).unwrap_or_else(|_| format!("{home}/{default}"));
        env.insert(name.to_owned(), value);
    }
    env
}

#[test]
fn cargo_builds_and_tests_a_project_with_threads_and_a_server() {
    let library = r#"
        pub fn two() -> i32 { 2 }
        #[test] fn counts() { assert_eq!(std::thread::spawn(two).join().unwrap(), 2) }
        #[test] fn serves() {
            let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap();
        }
        #[test] fn starts_a_process() {
            assert!(std::process::Command::new("true").status().unwrap().success());
        }"#;
    let room = Room::new();
    std::fs::create_dir(room.inside.join("src")).unwrap();
    let manifest = "[package]\nname = \"tiny\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n";
    std::fs::write(room.inside.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(room.inside.join("src/lib.rs"), library).unwrap();
    std::fs::write(room.inside.join("build.rs"), "fn main() {}").unwrap();
    let mut spec = room.spec(&["cargo", "test", "--offline", "--lib"]);
    spec.env = cargo_env(&room);
    let printed = succeed("cargo", &runner(), &spec, &room.sandbox());
    assert!(printed.contains("3 passed"), "{printed}");
    assert_eq!(room.processes(), 0);
}

#[test]
fn python_pools_managers_subprocesses_and_temp_files_work() {
    let script = r#"
import asyncio, concurrent.futures, multiprocessing, os, subprocess, sys, tempfile
def square(n): return n * n
async def shell():
    process = await asyncio.create_subprocess_exec('echo', 'x', stdout=subprocess.PIPE)
    return (await process.communicate())[0]
if __name__ == '__main__':
    with multiprocessing.Pool(2) as pool: assert pool.map(square, [1, 2, 3]) == [1, 4, 9]
    with concurrent.futures.ProcessPoolExecutor(2) as pool: assert list(pool.map(square, [2])) == [4]
    with multiprocessing.Manager() as manager: assert manager.list([1])[0] == 1
    with tempfile.TemporaryDirectory() as folder: open(folder + '/x', 'w').write('x')
    assert subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout == b'1\n'
    assert asyncio.run(shell()) == b'x\n'
    print('fine')
"#;
    for (name, runner) in all_runners() {
        let room = Room::new();
        std::fs::write(room.inside.join("script.py"), script).unwrap();
        let spec = room.spec(&[python(), "script.py"]);
        assert_eq!(succeed(name, &runner, &spec, &room.sandbox()), "fine\n", "{name}");
    }
}

#[test]
fn python_s_own_test_runner_works() {
    let room = Room::new();
    let test =
        "import unittest\nclass T(unittest.TestCase):\n    def test_one(self): self.assertEqual(1, 1)\n";
    std::fs::write(room.inside.join("test_one.py"), test).unwrap();
    let ran = run(&runner(), &room.spec(&[python(), "-m", "unittest"]), &room.sandbox());
    assert_eq!(ran.end, exited(0), "{}", err(&ran));
    assert!(err(&ran).contains("Ran 1 test"));
}

#[test]
fn pytest_works_where_it_is_installed() {
    let room = Room::new();
    if run(&runner(), &room.python("import pytest"), &room.sandbox()).end != exited(0) {
        return;
    }
    let test = "import socket\ndef test_one(tmp_path):\n    (tmp_path / 'x').write_text('x')\n    socket.create_server(('127.0.0.1', 0))\n";
    std::fs::write(room.inside.join("test_one.py"), test).unwrap();
    let report = room.inside.join("report.xml");
    let mut spec =
        room.spec(&[python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml"]);
    spec.reports = vec![report.clone()];
    let ran = run(&runner(), &spec, &room.sandbox());
    assert_eq!(ran.end, exited(0), "{}", out(&ran));
    assert!(String::from_utf8_lossy(&ran.reports[&report]).contains("tests=\"1\""));
}

#[test]
fn node_runs_workers_and_a_server_where_it_is_installed() {
    let script = r#"
        const { Worker } = require('worker_threads'), http = require('http'), fs = require('fs');
        fs.promises.writeFile('made', 'x').then(() => new Worker('1', { eval: true }).on('exit', () => {
            const server = http.createServer((_, answer) => answer.end('fine')).listen(0, '127.0.0.1', () =>
                http.get({ port: server.address().port, host: '127.0.0.1' }, (answer) => {
                    answer.on('data', (data) => console.log(String(data)));
                    server.close();
                }));
        }));"#;
    let room = Room::new();
    let ran = run(&runner(), &room.spec(&["node", "-e", script]), &room.sandbox());
    let not_there =
        matches!(&ran.end, perspt_sandbox::RunEnd::Step(perspt_core::stage::StepEnd::NotStarted(_)));
    assert!(not_there || out(&ran) == "fine\n", "{:?} {}", ran.end, err(&ran));
}
