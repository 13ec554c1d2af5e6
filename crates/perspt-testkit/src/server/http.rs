//! Just enough of HTTP/1.1 to read a request and to begin a response.

use std::io;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::script::{Request, Tag};
use super::speech;

const MAX_HEAD: usize = 64 * 1024;
const MAX_BODY: usize = 64 * 1024 * 1024;

/// Reads the next request of a connection. `None` where the client closed between two requests. `left` holds bytes
/// that were read and belong to what comes next.
pub(super) async fn read(stream: &mut TcpStream, left: &mut Vec<u8>) -> io::Result<Option<Request>> {
    let head_end = loop {
        if let Some(at) = left.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if left.len() > MAX_HEAD {
            return Err(bad("the head is too large"));
        }
        if left.first().is_some_and(|byte| !byte.is_ascii_alphabetic()) {
            return Err(bad("this is not HTTP"));
        }
        if stream.read_buf(left).await? == 0 {
            return if left.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
    };
    let head = String::from_utf8_lossy(&left[..head_end]).into_owned();
    left.drain(..head_end + 4);
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = match length {
        Some((_, value)) => value.parse().map_err(|_| bad("a length that is no number"))?,
        None => 0,
    };
    if length > MAX_BODY {
        return Err(bad("the body is too large"));
    }
    while left.len() < length {
        if stream.read_buf(left).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let body = String::from_utf8_lossy(&left[..length]).into_owned();
    left.drain(..length);
    let json = serde_json::from_str(&body).unwrap_or_default();
    let tag = Tag::find(&speech::texts(&json));
    Ok(Some(Request { method: method.to_owned(), target: target.to_owned(), headers, body, tag }))
}

/// A head followed by a body of known length.
pub(super) fn whole(code: u16, headers: &[(String, String)], content_type: &str, body: &str) -> String {
    let mut head = format!("HTTP/1.1 {code} {}\r\nContent-Type: {content_type}\r\n", reason(code));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// The head of a body that comes in pieces.
pub(super) fn pieced(content_type: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n")
}

fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        404 => "Not Found",
        429 => "Too Many Requests",
        _ => "Scripted",
    }
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
