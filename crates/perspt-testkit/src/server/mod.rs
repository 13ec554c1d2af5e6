//! A scripted model server: every protocol on a loopback port, with answers, pace and faults told by the test. A
//! reply is told in the protocol of the path that was asked (`speech`).
//!
//! It stands for the world, so it shares no code with the client it is asked by. A [`Script`] (a [`Table`], or a
//! closure) sees each [`Ask`] and returns a [`Reply`]; every request is kept for assertions. Nothing here waits for
//! a time to pass except the row of pings: a test holds a reply with a [`Gate`] and lets it go on when it is ready.
//!
//! ```
//! use perspt_testkit::server::{Reply, ScriptedServer, Table};
//!
//! let table = Table::new().on("actuator.generate", "n1", 1, Reply::text("hello"));
//! let server = ScriptedServer::start(table).unwrap();
//! assert!(server.base_url().ends_with("/v1"));
//! assert_eq!(server.asks(), 0);
//! ```

mod connection;
mod gate;
mod http;
mod reply;
mod script;
mod speech;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub use gate::{Gate, Tally};
pub use reply::{Ending, Fault, Point, Reply, StatusBody, Usage};
pub use script::{Ask, Request, Script, Table, Tag};

/// What all connections share.
pub(crate) struct Shared {
    script: Box<dyn Script>,
    log: script::Log,
    hang_ups: Tally,
}

/// The server. It ends, with all its connections, when it is dropped.
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    /// Starts a server on a free loopback port; it takes connections when this returns.
    pub fn start(script: impl Script) -> io::Result<ScriptedServer> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let shared = Arc::new(Shared {
            script: Box::new(script),
            log: script::Log::default(),
            hang_ups: Tally::new(),
        });
        let (stop, stopped) = oneshot::channel();
        let served = shared.clone();
        let thread = std::thread::Builder::new().name("scripted-server".to_owned()).spawn(move || {
            runtime.block_on(async move {
                tokio::select! {
                    _ = stopped => {}
                    () = accept(listener, served) => {}
                }
            });
        })?;
        Ok(ScriptedServer { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// The address to configure a client with, `/v1` included.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.root_url())
    }

    /// The address without a path, for protocols that bring their own version.
    pub fn root_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The socket it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every request so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.log.requests()
    }

    /// How many completions were asked for so far.
    pub fn asks(&self) -> usize {
        self.requests().iter().filter(|request| request.is_ask()).count()
    }

    /// Counts requests of any kind as they arrive; a test can wait on it.
    pub fn arrivals(&self) -> Tally {
        self.shared.log.arrivals()
    }

    /// Counts clients that went away while a reply was held, stalled or pinging; a test can wait on it.
    pub fn hang_ups(&self) -> Tally {
        self.shared.hang_ups.clone()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // An error says that the thread has ended already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(connection::serve(stream, shared.clone()));
            }
            // A client that was gone before it was taken, or no file handles for a moment.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}
