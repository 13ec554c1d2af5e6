//! `perspt simple-chat`, in a pipe and at a terminal.
#![allow(clippy::disallowed_types, reason = "tests start the real binary")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use perspt_testkit::server::{Ask, Fault, Gate, Point, Reply};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Ran, Running, World};

const KEY: &str = "sk-marked-0123456789abcdef0123456789";

/// A model that says the same to everyone.
fn saying(reply: impl Fn() -> Reply + Send + Sync + 'static) -> World {
    let mut world = World::empty().serve(move |_: &Ask| reply());
    world.set("OPENAI_API_KEY", KEY);
    world
}

/// Runs the binary with this standard input.
fn fed(world: &World, words: &[&str], input: &[u8]) -> Ran {
    let mut command = world.command(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    Ran::of(child.wait_with_output().unwrap())
}

/// Roles and texts of the last request, but for the system's.
fn said(world: &World) -> Vec<(String, String)> {
    let body: Value = world.server().requests().last().unwrap().json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let turns = body["messages"].as_array().unwrap().iter();
    let turns = turns.map(|message| (text(&message["role"]), text(&message["content"])));
    turns.filter(|(role, _)| role != "system").collect()
}

fn turns(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn standard_input_is_one_message_and_the_answer_alone_is_printed() {
    let world = saying(|| Reply::text("An answer\nof two lines.").chunk_chars(3));
    for words in [&["simple-chat"][..], &["simple-chat", "-"]] {
        let ran = fed(&world, words, b"/help is a\nmessage too\n").expect(0);
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("An answer\nof two lines.\n", ""));
        assert_eq!(said(&world), turns(&[("user", "/help is a\nmessage too")]));
    }
    let body = world.server().requests()[0].json();
    assert_eq!(body["messages"][0]["role"], "system");
    assert_eq!(body["stream"], true);
    assert_eq!(fs::read_dir(world.ws()).unwrap().count(), 0, "nothing is written");
}

#[test]
fn words_come_before_standard_input_and_flags_name_the_model() {
    let world = saying(|| Reply::text("ok\n"));
    let words = ["simple-chat", "--model", "other-1", "what is this?"];
    assert_eq!(fed(&world, &words, b"a file\n").expect(0).out, "ok\n");
    assert_eq!(said(&world), turns(&[("user", "what is this?\n\na file")]));
    world.perspt(&words).expect(0);
    assert_eq!(said(&world), turns(&[("user", "what is this?")]));
    let requests = world.server().requests();
    let asked = requests.iter().find(|request| request.target.ends_with("/chat/completions"));
    assert_eq!(asked.unwrap().json()["model"], "other-1");
}

#[test]
fn a_message_that_is_missing_or_no_text_is_a_usage_error_and_nothing_is_sent() {
    let world = saying(|| Reply::text("ok"));
    fed(&world, &["simple-chat"], b"").expect(2).warns("there is no message");
    fed(&world, &["simple-chat", "-"], b" \n").expect(2).warns("  do:  ");
    world.perspt(&["simple-chat", ""]).expect(2).warns("there is no message");
    fed(&world, &["simple-chat"], b"\xff\xfe").expect(2).warns("UTF-8");
    assert_eq!(world.server().asks(), 0);
}

#[test]
fn without_a_provider_it_says_what_to_set() {
    World::empty()
        .perspt(&["simple-chat", "hi"])
        .expect(2)
        .warns("no model can be asked")
        .warns("OPENAI_API_KEY");
}

#[test]
fn a_refused_key_ends_with_8_and_is_seen_nowhere() {
    let world = saying(|| Reply::status(401, &format!("Incorrect API key provided: {KEY}.")));
    let ran = fed(&world, &["simple-chat"], b"hi").expect(8).never_says(KEY).never_says(&KEY[10..]);
    let lines: Vec<&str> = ran.err.lines().map(|line| &line[..6]).collect();
    assert_eq!((ran.out.as_str(), lines), ("", vec!["error:", "  why:", "  do: "]), "{}", ran.err);
    let request = &world.server().requests()[0];
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
}

#[test]
fn a_stalled_answer_is_a_told_fault_and_not_a_hang() {
    let reply = || Reply::text("half an answer").chunk_chars(4).fault(Fault::Stall(Point::AfterChunks(1)));
    let mut world = saying(reply);
    world.set("PERSPT_IDLE_MS", "300");
    let ran = fed(&world, &["simple-chat"], b"hi").expect(8).warns("stalled").warns("run the command again");
    assert_eq!(ran.out, "half\n", "what came is there, and its line ends");
}

#[test]
fn an_answer_without_a_word_is_none() {
    let world = saying(|| Reply::text(""));
    fed(&world, &["simple-chat"], b"hi").expect(8).warns("without a word");
}

/// Starts the binary with one message and its stdout in a pipe.
fn piped(world: &World) -> Child {
    let mut command = world.command(&["simple-chat", "hi"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_without_an_error() {
    let gate = Gate::new();
    let held = gate.clone();
    let world = saying(move || {
        Reply::text("first line\n".repeat(1000)).chunk_chars(11).gate(Point::AfterChunks(1), &held)
    });
    let mut child = piped(&world);
    let mut line = [0; 11];
    child.stdout.take().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(&line, b"first line\n", "it comes before the rest is there");
    gate.open();
    let ran = Ran::of(child.wait_with_output().unwrap()).expect(0);
    assert_eq!(ran.err, "");
}

#[test]
fn an_answer_that_cannot_be_written_is_told() {
    let world = saying(|| Reply::text("ok"));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let child = world.command(&["simple-chat", "hi"]).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    Ran::of(child.wait_with_output().unwrap()).expect(1).warns("the answer cannot be written");
}

#[test]
fn an_interrupt_ends_one_message_with_130() {
    let gate = Gate::new();
    let held = gate.clone();
    let world = saying(move || Reply::text("late").gate(Point::BeforeHead, &held));
    let running = Running::start(&mut world.command(&["simple-chat", "hi"]));
    gate.arrivals().wait(1);
    running.signal(Signal::INT);
    running.wait().expect(130);
}

#[test]
fn control_characters_reach_a_pipe_and_no_terminal() {
    let world = saying(|| Reply::text("a\u{1b}[31mb\tc"));
    assert_eq!(fed(&world, &["simple-chat"], b"hi").expect(0).out, "a\u{1b}[31mb\tc\n");
    let mut terminal = Terminal::start(&world, &["simple-chat"]);
    terminal.wait_for("> ");
    terminal.types("hi\n");
    terminal.wait_for("a[31mb\tc");
    terminal.types("\x04");
    terminal.ends().expect(0);
}

/// The binary at a terminal of its own.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: ChildStdout,
    seen: String,
    /// Up to here it was waited for.
    mark: usize,
}

impl Terminal {
    fn start(world: &World, words: &[&str]) -> Terminal {
        let inner = world.command(words);
        let mut python = Command::new("python3");
        python.args(["-c", include_str!("terminal.py")]).arg(inner.get_program()).args(inner.get_args());
        python.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        python.env("TERM", "dumb").current_dir(world.ws()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python.spawn().unwrap();
        let (keys, screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Terminal { child, keys, screen, seen: String::new(), mark: 0 }
    }

    fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until this is shown, after what was waited for before.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        while !self.seen[self.mark..].contains(text) {
            assert!(self.reads() > 0, "it ended without `{text}`; shown:\n{}", self.seen);
        }
        self.mark += self.seen[self.mark..].find(text).unwrap() + text.len();
    }

    fn reads(&mut self) -> usize {
        let mut bytes = [0; 4096];
        let count = self.screen.read(&mut bytes).unwrap();
        self.seen.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
        count
    }

    fn ends(mut self) -> Ran {
        while self.reads() > 0 {}
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        Ran { code, out: self.seen.clone(), err: String::new() }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Closing its terminal ends the program below it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn at_a_terminal_what_is_typed_during_a_reply_is_sent_after_it() {
    let gate = Gate::new();
    let held = gate.clone();
    let world = World::empty().serve(move |ask: &Ask| match ask.ordinal {
        1 => Reply::text("one two").chunk_chars(4).gate(Point::AfterChunks(1), &held),
        number => Reply::text(format!("answer {number}")),
    });
    let mut terminal = Terminal::start(&world, &["simple-chat"]);
    terminal.wait_for("/help");
    terminal.wait_for("> ");
    terminal.types("first\n");
    terminal.wait_for("one ");
    terminal.types("second\n");
    terminal.wait_for("queued");
    assert_eq!(world.server().asks(), 1);
    gate.open();
    terminal.wait_for("two");
    terminal.wait_for("answer 2");
    terminal.wait_for("> ");
    terminal.types("\"\"\"\n/third\n\"\"\"\n");
    terminal.wait_for("answer 3");
    terminal.wait_for("> ");
    assert_eq!(
        said(&world),
        turns(&[
            ("user", "first"),
            ("assistant", "one two"),
            ("user", "second"),
            ("assistant", "answer 2"),
            ("user", "/third"),
        ])
    );
    terminal.types("\x04");
    terminal.ends().expect(0);
}

#[test]
fn at_a_terminal_ctrl_c_cuts_the_reply_and_a_second_one_leaves() {
    let gate = Gate::new();
    let held = gate.clone();
    let world = World::empty().serve(move |ask: &Ask| match ask.ordinal {
        1 => Reply::text("half an answer").chunk_chars(5).gate(Point::AfterChunks(1), &held),
        _ => Reply::text("all of it"),
    });
    let mut terminal = Terminal::start(&world, &["simple-chat"]);
    terminal.wait_for("> ");
    terminal.types("explain\n");
    terminal.wait_for("half ");
    terminal.types("\x03");
    terminal.wait_for("-- cut");
    // The connection is closed, so nobody writes on at the user's cost.
    world.server().hang_ups().wait(1);
    terminal.wait_for("> ");
    terminal.types("shorter\n");
    terminal.wait_for("all of it");
    assert_eq!(said(&world), turns(&[("user", "explain\n\nshorter")]));
    terminal.wait_for("> ");
    terminal.types("\x03");
    terminal.wait_for("again leaves");
    terminal.wait_for("> ");
    terminal.types("\x03");
    terminal.ends().expect(130).never_says("an answer");
}

#[test]
fn at_a_terminal_a_fault_is_told_in_place_and_the_message_is_sent_again() {
    let world = World::empty().serve(|ask: &Ask| match ask.ordinal {
        1 => Reply::status(503, "busy"),
        _ => Reply::text("here"),
    });
    let mut terminal = Terminal::start(&world, &["simple-chat"]);
    terminal.wait_for("> ");
    terminal.types("are you there?\n");
    terminal.wait_for("-- no answer: ");
    terminal.wait_for("`/retry` sends the message again");
    terminal.wait_for("> ");
    terminal.types("/retry\n");
    terminal.wait_for("here");
    assert_eq!(said(&world), turns(&[("user", "are you there?")]));
    terminal.wait_for("> ");
    terminal.types("/quit\n");
    terminal.ends().expect(0);
}

#[test]
fn a_saved_conversation_is_readable_holds_no_key_and_replaces_no_file() {
    let world = saying(|| Reply::text("Keep it secret."));
    world.write("mine.md", "mine\n");
    let mut terminal = Terminal::start(&world, &["simple-chat"]);
    terminal.wait_for("> ");
    terminal.types(&format!("is {KEY} a good key?\n"));
    terminal.wait_for("secret.");
    for (line, told) in [
        ("/save mine.md", "`/save! mine.md` replaces it"),
        ("/save", "saved to chat-1.md"),
        ("/model other-1", "from now on openai::other-1 is asked"),
        ("/cost", "cost "),
        ("/nothing", "is no command"),
    ] {
        terminal.wait_for("> ");
        terminal.types(&format!("{line}\n"));
        terminal.wait_for(told);
    }
    assert_eq!(world.read("mine.md"), "mine\n");
    let saved = world.read("chat-1.md");
    assert!(!saved.contains(KEY) && saved.contains("a good key?"), "{saved}");
    assert!(saved.starts_with("# Chat\n\n## You\n\n") && saved.ends_with("\n\nKeep it secret.\n"), "{saved}");
    assert_eq!(world.server().asks(), 1, "commands are not sent");
    terminal.types("\x04");
    terminal.ends().expect(0);
    for folder in [world.home(), world.base().join("user")] {
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0, "no history is kept");
    }
}
