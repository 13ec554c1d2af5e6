//! A conversation as a file that people can read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::exchange::Exchange;

/// What becomes of a file that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is written.
    Keep,
    /// It is replaced.
    Replace,
}

/// A conversation that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
    /// Where to; without a name the first free one of `chat-1.md`, `chat-2.md` and so on.
    pub to: Option<PathBuf>,
    /// The conversation as Markdown.
    pub text: String,
    /// What becomes of a file that is there.
    pub existing: Existing,
}

/// Why nothing was written.
#[derive(Debug, Error)]
pub enum SaveError {
    /// A file is in the way.
    #[error("{path} is there already and was left as it is; `/save! {path}` replaces it")]
    Exists {
        /// The file.
        path: String,
    },
    /// The file cannot be written.
    #[error("{path} cannot be written ({source}); name another file with `/save FILE`")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

/// So many names are tried where none is given.
const NAMES: u32 = 10_000;

impl Save {
    /// Writes the file; relative names are below `folder`. Gives the name as the user would write it.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, SaveError> {
        match (&self.to, self.existing) {
            (Some(name), Existing::Keep) => self.create(folder, name),
            (Some(name), Existing::Replace) => self.replace(folder, name),
            (None, _) => {
                let mut tried = (1..=NAMES).map(|n| self.create(folder, Path::new(&format!("chat-{n}.md"))));
                let taken =
                    |result: &Result<PathBuf, SaveError>| matches!(result, Err(SaveError::Exists { .. }));
                tried
                    .find(|result| !taken(result))
                    .unwrap_or_else(|| Err(SaveError::Exists { path: format!("chat-{NAMES}.md") }))
            }
        }
    }

    fn create(&self, folder: &Path, name: &Path) -> Result<PathBuf, SaveError> {
        let path = folder.join(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => SaveError::Exists { path: name.display().to_string() },
            _ => failed(name, source),
        })?;
        self.fill(file, &path).map_err(|source| failed(name, source))?;
        Ok(name.to_owned())
    }

    /// The old file is given up only when the new one is whole.
    fn replace(&self, folder: &Path, name: &Path) -> Result<PathBuf, SaveError> {
        let path = folder.join(name);
        let whole = || -> io::Result<()> {
            let last = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let beside = format!(".{}.{}.new", last.to_string_lossy(), std::process::id());
            let beside = path.with_file_name(beside);
            let file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
            self.fill(file, &beside)?;
            fs::rename(&beside, &path).inspect_err(|_| drop(fs::remove_file(&beside)))
        };
        whole().map_err(|source| failed(name, source))?;
        Ok(name.to_owned())
    }

    /// Half a file is taken away again.
    fn fill(&self, mut file: File, path: &Path) -> io::Result<()> {
        file.write_all(self.text.as_bytes()).inspect_err(|_| drop(fs::remove_file(path)))
    }
}

fn failed(name: &Path, source: io::Error) -> SaveError {
    SaveError::Io { path: name.display().to_string(), source }
}

/// The conversation as Markdown; messages without an answer stand at the end and say so.
pub(crate) fn markdown<'a>(exchanges: &[Exchange], open: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::from("# Chat\n");
    let mut part = |title: &str, body: &str| text.push_str(&format!("\n## {title}\n\n{}\n", body.trim_end()));
    for exchange in exchanges {
        part("You", &exchange.message());
        part(&exchange.model, &exchange.answer);
    }
    open.for_each(|message| part("You (no answer)", message));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn save(to: Option<&str>, text: &str, existing: Existing) -> Save {
        Save { to: to.map(PathBuf::from), text: text.to_owned(), existing }
    }

    fn files(folder: &Path) -> Vec<(String, String)> {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let mut files: Vec<(String, String)> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (name(&path).unwrap(), fs::read_to_string(&path).unwrap()))
            .collect();
        files.sort();
        files
    }

    #[test]
    fn a_file_that_is_there_stays_unless_its_replacement_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        save(Some("a.md"), "one", Existing::Keep).write(folder.path()).unwrap();
        let refused = save(Some("a.md"), "two", Existing::Keep).write(folder.path()).unwrap_err();
        assert!(refused.to_string().contains("`/save! a.md` replaces it"), "{refused}");
        assert_eq!(files(folder.path()), [("a.md".to_owned(), "one".to_owned())]);
        save(Some("a.md"), "two", Existing::Replace).write(folder.path()).unwrap();
        assert_eq!(files(folder.path()), [("a.md".to_owned(), "two".to_owned())]);
    }

    #[test]
    fn without_a_name_a_free_one_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["chat-1.md", "chat-2.md"] {
            let path = save(None, name, Existing::Keep).write(folder.path()).unwrap();
            assert_eq!(path, Path::new(name));
        }
        assert_eq!(files(folder.path()).len(), 2);
    }

    #[test]
    fn what_cannot_be_written_is_told_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("dir")).unwrap();
        for name in ["none/a.md", "dir", "dir/..", "/"] {
            let refused = save(Some(name), "x", Existing::Replace).write(folder.path()).unwrap_err();
            assert!(matches!(refused, SaveError::Io { .. }), "{name}: {refused}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read_dir(folder.path().join("dir")).unwrap().count(), 0);
    }

    #[test]
    fn the_file_says_who_said_what_and_what_has_no_answer() {
        let exchange = Exchange {
            messages: vec!["hi".to_owned(), "are you there?".to_owned()],
            answer: "Yes.\n\n".to_owned(),
            model: "m-1".to_owned(),
        };
        let text = markdown(&[exchange], ["still there?"].into_iter());
        assert_eq!(
            text,
            "# Chat\n\n## You\n\nhi\n\nare you there?\n\n## m-1\n\nYes.\n\n## You (no answer)\n\nstill there?\n"
        );
    }
}
