//! Bringing up the loopback of a new network namespace.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::{Failed, NameStep};

const RTM_NEWLINK: u16 = 16;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST_ACK: u16 = 1 | 4;
/// In a new network namespace the loopback is always the first device.
const LOOPBACK: u32 = 1;
const IFF_UP: u32 = 1;

/// Brings the loopback up.
pub(crate) fn up() -> Result<(), Failed> {
    let name = || "bringing up the loopback".to_owned();
    // No protocol is protocol zero, which is the one for links and routes.
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)
            .step(name)?;
    rustix::net::send(&socket, &request(), SendFlags::empty()).step(name)?;
    let mut answer = [0u8; 256];
    let (length, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty()).step(name)?;
    match error_in(answer.get(..length).unwrap_or_default()) {
        Some(0) => Ok(()),
        Some(code) => Err(Failed::new(name(), std::io::Error::from_raw_os_error(-code))),
        None => Err(Failed::new(name(), "the kernel gave no answer that could be read")),
    }
}

/// A message header and an interface header, in the machine's byte order.
fn request() -> Vec<u8> {
    let mut body = Vec::with_capacity(32);
    body.extend(32u32.to_ne_bytes());
    body.extend(RTM_NEWLINK.to_ne_bytes());
    body.extend(NLM_F_REQUEST_ACK.to_ne_bytes());
    body.extend([0; 8]);
    body.extend([0; 4]);
    body.extend(LOOPBACK.to_ne_bytes());
    body.extend(IFF_UP.to_ne_bytes());
    body.extend(IFF_UP.to_ne_bytes());
    body
}

/// The error number in an answer; zero is an acknowledgement.
fn error_in(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let code = i32::from_ne_bytes(answer.get(16..20)?.try_into().ok()?);
    (kind == NLMSG_ERROR).then_some(code)
}
