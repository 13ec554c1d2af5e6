//! The network: none, the command's own loopback, or the machine's.

use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use perspt_sandbox::{Allowed, Namespace};

use super::support::*;

#[test]
fn the_machine_cannot_be_reached_over_tcp_or_udp_in_any_mode() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let script = format!(
        r#"
import socket
def attempt(name, what):
    try:
        what(); print(name)
    except OSError:
        pass
attempt('tcp', lambda: socket.create_connection(('127.0.0.1', {})))
attempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {})))
attempt('far', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9)))
attempt('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt('vsock', lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
"#,
        tcp.local_addr().unwrap().port(),
        udp.local_addr().unwrap().port()
    );
    for (name, runner) in confined_runners().into_iter().filter(|(name, _)| *name != "namespaces only") {
        let room = Room::new();
        let ran = run(&runner, &room.python(&script), &room.sandbox());
        // To a loopback of its own it may send, to nobody.
        let own = ran.confinement.namespaces.contains(&Namespace::Net);
        assert_eq!(out(&ran), if own { "udp\n" } else { "" }, "{name}: {}", err(&ran));
    }
    assert!(tcp.accept().is_err());
    assert!(udp.recv(&mut [0; 8]).is_err());
}

const SERVER: &str = r#"
import socket, threading
server = socket.create_server(('127.0.0.1', 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b'hello')).start()
print(socket.create_connection(server.getsockname()).recv(5).decode())
six = socket.create_server(('::1', 0), family=socket.AF_INET6)
"#;

#[test]
fn a_server_on_the_loopback_works_where_there_is_a_network_namespace() {
    for (name, runner) in confined_runners() {
        let room = Room::new();
        let ran = run(&runner, &room.python(SERVER), &room.sandbox());
        if ran.confinement.namespaces.contains(&Namespace::Net) {
            assert_eq!((out(&ran).as_str(), ran.end), ("hello\n", exited(0)), "{name}");
        } else {
            assert_ne!(ran.end, exited(0), "{name}");
        }
    }
}

#[test]
fn with_the_network_on_the_machine_is_reached_in_every_mode() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        for _ in all_runners() {
            tcp.accept().unwrap().0.write_all(b"hello").unwrap();
        }
    });
    let script =
        format!("import socket; print(socket.create_connection(('127.0.0.1', {port})).recv(5).decode())");
    for (name, runner) in all_runners() {
        let room = Room::new();
        let sandbox = network_on(room.sandbox());
        assert_eq!(succeed(name, &runner, &room.python(&script), &sandbox), "hello\n", "{name}");
        let ran = run(&runner, &room.sh("true"), &sandbox);
        assert!(!ran.confinement.namespaces.contains(&Namespace::Net), "{name}");
        assert_eq!(is_full(&ran), name == "everything", "{name}");
    }
    serving.join().unwrap();
}

#[test]
fn unix_sockets_of_other_programs_are_out_of_reach_and_its_own_work() {
    let abstract_name = format!("perspt-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    let script = format!(
        r#"
import os, socket
def reach(address):
    one = socket.socket(socket.AF_UNIX)
    try:
        one.connect(address); return 'reached'
    except OSError:
        return 'denied'
server = socket.socket(socket.AF_UNIX); server.bind('mine'); server.listen()
pair = socket.socketpair()
print(reach('mine'), reach(os.environ['OUT'] + '/agent'), reach('\0{abstract_name}'))
"#
    );
    for (name, runner) in confined_runners() {
        let room = Room::new();
        let _agent = UnixListener::bind(room.outside.join("agent")).unwrap();
        let ran = run(&runner, &room.python(&script), &room.sandbox());
        assert_eq!(ran.end, exited(0), "{name}: {}", err(&ran));
        let open = ran.confinement.missing.iter().any(|hole| hole == "unix sockets reached by path");
        assert_eq!(open, name == "no namespaces", "{name}");
        assert_eq!(
            out(&ran),
            if open { "reached reached denied\n" } else { "reached denied denied\n" },
            "{name}"
        );
    }
}

#[test]
fn without_namespaces_and_filter_landlock_alone_still_denies_tcp() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    let room = Room::new();
    let runner = runner().with(Allowed { seccomp: false, ..Allowed::without_namespaces() });
    let script = format!(
        "import socket; socket.create_connection(('127.0.0.1', {}))",
        tcp.local_addr().unwrap().port()
    );
    assert_ne!(run(&runner, &room.python(&script), &room.sandbox()).end, exited(0));
    assert!(tcp.accept().is_err());
}
