//! One connection: requests in, scripted replies out.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::reply::{Ending, Fault, Point, Raw, Reply, StatusBody};
use super::script::Request;
use super::speech::{self, Speech, Telling};
use super::{Shared, http};

const JSON: &str = "application/json";

/// What becomes of the connection after a reply.
enum After {
    Keep,
    Close,
}

/// Serves a connection until it ends.
pub(super) async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    // Small pieces must not wait for each other.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut left = Vec::new();
    loop {
        let request = match http::read(&mut stream, &mut left).await {
            Ok(Some(request)) => request,
            Ok(None) => return,
            Err(error) => {
                if error.kind() == io::ErrorKind::InvalidData {
                    // As servers do with what they cannot read, a secure greeting for one. Who is gone misses it.
                    let _ = stream.write_all(http::whole(400, &[], JSON, "{}").as_bytes()).await;
                }
                return;
            }
        };
        let speech = speech::of_path(request.path());
        let done = match (shared.log.add(request.clone()), speech) {
            (Some(ask), Some(speech)) => {
                let reply = shared.script.reply(&ask);
                Sending::new(&mut stream, &shared, &request, &reply, speech).run().await
            }
            (None, _) | (_, None) => other(&mut stream, &shared, &request).await,
        };
        match done {
            Ok(After::Keep) => {}
            Ok(After::Close) | Err(_) => return,
        }
    }
}

async fn other(stream: &mut TcpStream, shared: &Shared, request: &Request) -> io::Result<After> {
    let models = request.method == "GET" && request.path() == "/v1/models";
    let response = match shared.script.page(request) {
        Some(page) => http::whole(200, &[], JSON, &page),
        None if models => {
            let model = json!({"id": "scripted", "object": "model", "owned_by": "perspt"});
            http::whole(200, &[], JSON, &json!({"object": "list", "data": [model]}).to_string())
        }
        None => {
            let message = format!("no such address: {}", request.path());
            http::whole(404, &[], JSON, &json!({"error": {"message": message, "code": null}}).to_string())
        }
    };
    stream.write_all(response.as_bytes()).await?;
    Ok(After::Keep)
}

/// One reply on its way.
struct Sending<'a> {
    stream: &'a mut TcpStream,
    shared: &'a Shared,
    reply: &'a Reply,
    speech: &'static dyn Speech,
    model: String,
    stream_asked: bool,
    counts: bool,
    chunks: usize,
}

impl<'a> Sending<'a> {
    fn new(
        stream: &'a mut TcpStream,
        shared: &'a Shared,
        request: &Request,
        reply: &'a Reply,
        speech: &'static dyn Speech,
    ) -> Sending<'a> {
        let body = request.json();
        let chunks = reply.raw.as_ref().map_or_else(|| reply.pieces().len(), |raw| raw.pieces.len());
        Sending {
            stream,
            shared,
            reply,
            speech,
            model: body["model"].as_str().unwrap_or("scripted").to_owned(),
            // Gemini says it in the path.
            stream_asked: body["stream"] == true || request.path().contains(":stream"),
            counts: body["stream_options"]["include_usage"] == true,
            chunks,
        }
    }

    async fn run(mut self) -> io::Result<After> {
        if let Some(end) = self.point(Point::BeforeHead).await? {
            return Ok(end);
        }
        if let Some(raw) = &self.reply.raw {
            return self.raw(raw).await;
        }
        match &self.reply.fault {
            Some(Fault::Status { code, headers, body }) => {
                let body = match body {
                    StatusBody::Message(message) => self.speech.refusal(*code, message).to_string(),
                    StatusBody::Exact(text) => text.clone(),
                };
                self.write(http::whole(*code, headers, JSON, &body).as_bytes()).await
            }
            Some(Fault::NotStreamed) => self.document().await,
            _ if !self.stream_asked => self.document().await,
            _ => self.events().await,
        }
    }

    async fn raw(&mut self, raw: &Raw) -> io::Result<After> {
        self.write(http::pieced(&raw.content_type).as_bytes()).await?;
        for (at, piece) in raw.pieces.iter().enumerate() {
            if let Some(end) = self.point(Point::AfterChunks(at)).await? {
                return Ok(end);
            }
            self.frame(piece).await?;
        }
        if let Some(end) = self.point(Point::AfterChunks(raw.pieces.len())).await? {
            return Ok(end);
        }
        self.write(b"0\r\n\r\n").await
    }

    async fn document(&mut self) -> io::Result<After> {
        let document = self.tell(|speech, telling| speech.document(telling).to_string());
        self.write(http::whole(200, &[], JSON, &document).as_bytes()).await
    }

    async fn events(mut self) -> io::Result<After> {
        let reply = self.reply;
        self.write(http::pieced(self.speech.content_type()).as_bytes()).await?;
        self.event(&self.tell(|speech, telling| speech.opening(telling))).await?;
        if let Some(reasoning) = &reply.reasoning {
            self.event(&self.tell(|speech, telling| speech.reasoning(telling, reasoning))).await?;
        }
        let pieces = reply.pieces();
        for (at, piece) in pieces.iter().enumerate() {
            if let Some(end) = self.point(Point::AfterChunks(at)).await? {
                return Ok(end);
            }
            self.event(&self.tell(|speech, telling| speech.text(telling, piece))).await?;
        }
        if let Some(end) = self.point(Point::AfterChunks(pieces.len())).await? {
            return Ok(end);
        }
        if let Some(name) = &reply.tool_call {
            self.event(&self.tell(|speech, telling| speech.tool(telling, name))).await?;
        }
        self.ends().await
    }

    async fn ends(&mut self) -> io::Result<After> {
        let fault = &self.reply.fault;
        let times = if *fault == Some(Fault::EndTwice) { 2 } else { 1 };
        for _ in 0..times {
            if *fault != Some(Fault::DoneWithoutStop) {
                self.event(&self.tell(|speech, telling| speech.stop(telling))).await?;
            }
        }
        if let Some(end) = self.point(Point::AfterStop).await? {
            return Ok(end);
        }
        self.event(&self.tell(|speech, telling| speech.count(telling))).await?;
        for _ in 0..times {
            if *fault != Some(Fault::NoDone) {
                self.event(&self.speech.end()).await?;
            }
        }
        self.write(b"0\r\n\r\n").await
    }

    fn tell(&self, what: impl Fn(&dyn Speech, &Telling<'_>) -> String) -> String {
        let telling = Telling { reply: self.reply, model: &self.model, counts: self.counts };
        what(self.speech, &telling)
    }

    /// Comes to a point: waits at its gates, then lets the fault that lies there happen. `Some` where nothing may
    /// follow.
    async fn point(&mut self, here: Point) -> io::Result<Option<After>> {
        for (at, gate) in &self.reply.gates {
            if self.is_at(*at, here) {
                tokio::select! {
                    () = gate.pass() => {}
                    gone = gone(self.stream) => return self.hung_up(gone),
                }
            }
        }
        let Some(fault) = &self.reply.fault else { return Ok(None) };
        match fault {
            Fault::Reset(at) if self.is_at(*at, here) => {
                self.stream.set_zero_linger()?;
                Ok(Some(After::Close))
            }
            Fault::Cut(at, ending) if self.is_at(*at, here) => {
                if *ending == Ending::Terminated && here != Point::BeforeHead {
                    self.write(b"0\r\n\r\n").await?;
                }
                self.stream.shutdown().await?;
                Ok(Some(After::Close))
            }
            Fault::Stall(at) if self.is_at(*at, here) => {
                let gone = gone(self.stream).await;
                self.hung_up(gone)
            }
            Fault::Pings(at) if self.is_at(*at, here) => self.ping().await,
            Fault::Garbage(at) if self.is_at(*at, here) => {
                self.event(&self.speech.garbage()).await?;
                Ok(None)
            }
            Fault::InBand { at, message, code } if self.is_at(*at, here) => {
                self.event(&self.speech.error(message, code.as_deref())).await?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn is_at(&self, wanted: Point, here: Point) -> bool {
        match (wanted, here) {
            (Point::AfterChunks(wanted), Point::AfterChunks(here)) => wanted.min(self.chunks) == here,
            (Point::BeforeHead, Point::BeforeHead) | (Point::AfterStop, Point::AfterStop) => true,
            (Point::BeforeHead | Point::AfterChunks(_) | Point::AfterStop, _) => false,
        }
    }

    /// Pings until the client is gone. The pause only keeps the row from filling the network; no test rests on it.
    async fn ping(&mut self) -> io::Result<Option<After>> {
        loop {
            let ping = self.tell(|speech, telling| speech.ping(telling));
            if self.event(&ping).await.is_err() {
                return self.hung_up(Ok(()));
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(2)) => {}
                gone = gone(self.stream) => return self.hung_up(gone),
            }
        }
    }

    fn hung_up(&self, gone: io::Result<()>) -> io::Result<Option<After>> {
        self.shared.hang_ups.add();
        gone.map(|()| Some(After::Close))
    }

    async fn event(&mut self, event: &str) -> io::Result<()> {
        match self.reply.frame_bytes {
            None => self.frame(event.as_bytes()).await,
            Some(bytes) => {
                for piece in event.as_bytes().chunks(bytes) {
                    self.frame(piece).await?;
                }
                Ok(())
            }
        }
    }

    /// One piece of a body whose length is not known beforehand. An empty one would end the body.
    async fn frame(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut frame = format!("{:x}\r\n", bytes.len()).into_bytes();
        frame.extend_from_slice(bytes);
        frame.extend_from_slice(b"\r\n");
        self.stream.write_all(&frame).await?;
        self.stream.flush().await
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<After> {
        self.stream.write_all(bytes).await?;
        Ok(After::Keep)
    }
}

/// Waits until the client closes its side.
async fn gone(stream: &mut TcpStream) -> io::Result<()> {
    let mut bytes = [0; 64];
    while stream.read(&mut bytes).await? > 0 {}
    Ok(())
}
