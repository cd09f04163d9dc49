//! What can be reached.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;

use harness_sandbox::Profile;

use crate::cage::{Cage, has};

/// A line of Python.
fn python(code: &str) -> String {
    format!("python3 -c 'import socket as s; {code}'")
}

#[test]
fn without_the_network_nothing_is_reached() {
    let Some(cage) = Cage::new() else { return };
    if !has("python3") {
        return;
    }
    let tcp = TcpListener::bind("127.0.0.1:0").expect("bound");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("bound");
    let local = UnixListener::bind(cage.path("home/ws/socket")).expect("bound");
    let (tcp_port, udp_port) = (
        tcp.local_addr().expect("bound").port(),
        udp.local_addr().expect("bound").port(),
    );
    for code in [
        format!("s.create_connection((\"127.0.0.1\", {tcp_port}))"),
        "s.create_server((\"127.0.0.1\", 0))".to_owned(),
        format!("s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b\"x\", (\"127.0.0.1\", {udp_port}))"),
        "s.socket(s.AF_INET6)".to_owned(),
        "s.socket(s.AF_NETLINK, s.SOCK_RAW, 0)".to_owned(),
        "s.socket(s.AF_PACKET, s.SOCK_RAW)".to_owned(),
        "s.socket(s.AF_VSOCK)".to_owned(),
        "s.socket(s.AF_ALG, s.SOCK_SEQPACKET)".to_owned(),
        "s.socket(s.AF_UNIX).connect(\"socket\")".to_owned(),
        // Such a pair could be connected to somewhere else.
        "s.socketpair(s.AF_UNIX, s.SOCK_DGRAM)".to_owned(),
        "s.socketpair(s.AF_UNIX, s.SOCK_RAW)".to_owned(),
        "s.socketpair(s.AF_UNIX, s.SOCK_DGRAM | s.SOCK_CLOEXEC)".to_owned(),
    ] {
        cage.says(&python(&code)).was_refused();
    }
    for (what, listener) in [
        (
            "TCP",
            tcp.set_nonblocking(true)
                .and_then(|()| tcp.accept().map(drop)),
        ),
        (
            "UDP",
            udp.set_nonblocking(true)
                .and_then(|()| udp.recv(&mut [0]).map(drop)),
        ),
        (
            "local",
            local
                .set_nonblocking(true)
                .and_then(|()| local.accept().map(drop)),
        ),
    ] {
        let nothing = listener.expect_err(what);
        assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock, "{what}");
    }
    cage.says(&python(
        "a, b = s.socketpair(); a.send(b\"x\"); assert b.recv(1) == b\"x\"; s.socketpair(type=s.SOCK_SEQPACKET)",
    ))
    .worked();
    // A connected one stays with its peer.
    let said = cage.says(&python("s.socketpair()[0].connect(\"socket\")"));
    assert!(said.text().contains("already connected"), "{said:?}");
}

#[test]
fn with_the_network_it_is_reached_and_local_sockets_are_not() {
    let Some(cage) = Cage::new() else { return };
    if !has("python3") {
        return;
    }
    let tcp = TcpListener::bind("127.0.0.1:0").expect("bound");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("bound");
    let _local = UnixListener::bind(cage.path("home/ws/socket")).expect("bound");
    let (tcp_port, udp_port) = (
        tcp.local_addr().expect("bound").port(),
        udp.local_addr().expect("bound").port(),
    );
    let policy = cage.policy(Profile::WorkspaceWrite).with_network(true);
    for code in [
        format!("s.create_connection((\"127.0.0.1\", {tcp_port}))"),
        "s.create_server((\"127.0.0.1\", 0))".to_owned(),
        format!("s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b\"x\", (\"127.0.0.1\", {udp_port}))"),
        "s.socket(s.AF_NETLINK, s.SOCK_RAW, 0)".to_owned(),
    ] {
        cage.run(&policy, &python(&code)).worked();
    }
    assert_eq!(udp.recv(&mut [0; 2]).expect("received"), 1);
    for code in [
        "s.socket(s.AF_UNIX).connect(\"socket\")",
        "s.socket(s.AF_PACKET, s.SOCK_RAW)",
        "s.socket(s.AF_ALG, s.SOCK_SEQPACKET)",
        // The kernel's messages about devices.
        "s.socket(s.AF_NETLINK, s.SOCK_RAW, 15)",
    ] {
        cage.run(&policy, &python(code)).was_refused();
    }
}

#[test]
fn local_sockets_alone_can_be_opened() {
    let Some(cage) = Cage::new() else { return };
    if !has("python3") {
        return;
    }
    let _local = UnixListener::bind(cage.path("home/ws/socket")).expect("bound");
    let policy = cage.policy(Profile::WorkspaceWrite).with_unix_sockets(true);
    let connect = python("s.socket(s.AF_UNIX).connect(\"socket\")");
    cage.run(&policy, &connect).worked();
    cage.run(&policy, &python("s.socketpair(s.AF_UNIX, s.SOCK_DGRAM)"))
        .worked();
    cage.run(&policy, &python("s.socket(s.AF_INET)"))
        .was_refused();
}
