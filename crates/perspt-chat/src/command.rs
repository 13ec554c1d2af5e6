//! What an entry asks for: a message to the model, or a command to the chat.

use std::path::PathBuf;

use crate::compose::Entry;
use crate::save::Existing;

/// A command to the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Ask another model, or say which one is asked.
    Model(Option<String>),
    /// Write the conversation to a file.
    Save {
        /// The file; without one a free name is taken.
        to: Option<PathBuf>,
        /// What becomes of a file that is there.
        existing: Existing,
    },
    /// Forget everything.
    Clear,
    /// Say what was used.
    Cost,
    /// Say what can be typed.
    Help,
    /// Send again what got no answer.
    Retry,
    /// Send what got no answer and all that waits, as one message.
    Send,
    /// Forget what got no answer and what waits.
    Drop,
    /// End the running reply.
    Cancel,
    /// Leave.
    Quit,
}

/// What an entry asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Nothing: it is blank.
    Nothing,
    /// To send this.
    Message(String),
    /// To do this.
    Command(Command),
    /// Something that cannot be done; the line says why and what can be typed instead.
    Wrong(String),
}

/// Reads an entry.
pub fn read(entry: &Entry) -> Request {
    let line = match entry {
        Entry::Text(text) if text.trim().is_empty() => return Request::Nothing,
        Entry::Text(text) => return Request::Message(text.trim_end().to_owned()),
        Entry::Line(line) => line.trim_end(),
    };
    // Spaces in front are part of a message: it may be code.
    let message = |text: &str| Request::Message(text.to_owned());
    let rest = match line.trim_start().strip_prefix('/') {
        None if line.is_empty() => return Request::Nothing,
        None => return message(line),
        Some(rest) if rest.starts_with('/') => return message(line.strip_prefix('/').unwrap_or(line)),
        Some(rest) => rest,
    };
    let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = argument.trim();
    command(word, (!argument.is_empty()).then_some(argument))
}

fn command(word: &str, argument: Option<&str>) -> Request {
    let path = argument.map(PathBuf::from);
    let command = match (word, argument) {
        ("model", name) => Command::Model(name.map(str::to_owned)),
        ("save", _) => Command::Save { to: path, existing: Existing::Keep },
        ("save!", Some(_)) => Command::Save { to: path, existing: Existing::Replace },
        ("save!", None) => return Request::Wrong("`/save!` needs the name of a file".to_owned()),
        ("clear", None) => Command::Clear,
        ("cost", None) => Command::Cost,
        ("help", None) => Command::Help,
        ("retry", None) => Command::Retry,
        ("send", None) => Command::Send,
        ("drop", None) => Command::Drop,
        ("cancel", None) => Command::Cancel,
        ("quit" | "exit", None) => Command::Quit,
        ("clear" | "cost" | "help" | "retry" | "send" | "drop" | "cancel" | "quit" | "exit", Some(_)) => {
            return Request::Wrong(format!("`/{word}` takes no more words; nothing was done"));
        }
        _ => {
            let told =
                format!("`/{word}` is no command: `/help` lists them, `//{word}` sends it as a message");
            return Request::Wrong(told);
        }
    };
    Request::Command(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Request {
        read(&Entry::Line(text.to_owned()))
    }

    #[test]
    fn a_line_is_a_message_and_a_blank_one_is_nothing() {
        assert_eq!(line("  what is a / b? "), Request::Message("  what is a / b?".into()));
        assert_eq!(line(" \t"), Request::Nothing);
        assert_eq!(read(&Entry::Text("\n \n".into())), Request::Nothing);
    }

    #[test]
    fn two_slashes_send_one() {
        assert_eq!(line("//etc/hosts says what?"), Request::Message("/etc/hosts says what?".into()));
        assert_eq!(line("  // a comment"), Request::Message("  // a comment".into()));
        assert_eq!(read(&Entry::Text("/quit\nnow".into())), Request::Message("/quit\nnow".into()));
    }

    #[test]
    fn commands_are_read_with_their_words() {
        let save = |to: Option<&str>, existing| Command::Save { to: to.map(PathBuf::from), existing };
        let cases = [
            ("/model gpt-5", Command::Model(Some("gpt-5".into()))),
            ("/model", Command::Model(None)),
            ("/save", save(None, Existing::Keep)),
            ("/save  my talk.md ", save(Some("my talk.md"), Existing::Keep)),
            ("/save! a.md", save(Some("a.md"), Existing::Replace)),
            ("/clear", Command::Clear),
            (" /cost ", Command::Cost),
            ("/help", Command::Help),
            ("/retry", Command::Retry),
            ("/send", Command::Send),
            ("/drop", Command::Drop),
            ("/cancel", Command::Cancel),
            ("/quit", Command::Quit),
            ("/exit", Command::Quit),
        ];
        for (text, command) in cases {
            assert_eq!(line(text), Request::Command(command), "{text}");
        }
    }

    #[test]
    fn what_is_no_command_is_told_and_neither_sent_nor_done() {
        for text in ["/usr/bin/x fails", "/", "/Quit", "/clear all", "/save!", "/ help"] {
            assert!(matches!(line(text), Request::Wrong(_)), "{text}: {:?}", line(text));
        }
    }

    #[test]
    fn the_help_names_every_command() {
        let help = include_str!("../templates/help.txt");
        for word in ["model", "save", "save!", "clear", "cost", "retry", "send", "drop", "cancel", "quit"] {
            assert!(help.contains(&format!("/{word} ")), "{word}");
        }
    }
}
