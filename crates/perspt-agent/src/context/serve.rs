//! Serving what a model asks to see: a file, lines of it, where a text stands, where a name is defined. It reads the tree
//! and nothing else, keeps to a budget, and gives the same answers for the same tree.

use perspt_core::context::ContextRequest;
use perspt_core::path::RelPath;
use perspt_lang::plugin::Files;
use perspt_model::estimate_tokens;
use perspt_policy::mask::Masks;
use perspt_policy::secrets::is_secret;

use super::digest;
use super::package::ContextBudget;
use super::regions;
use super::source::{Lines, Source};

/// A search names at most this many places.
const PLACES: usize = 40;
/// A line that is found is shown up to this many characters.
const LONGEST_LINE: usize = 200;
/// A search looks into at most this many bytes of files.
const LOOKED_INTO: u64 = 64 << 20;
/// A shorter text is found everywhere.
const SHORTEST_QUERY: usize = 2;

/// A request and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// What was asked for.
    pub request: ContextRequest,
    /// What the model gets.
    pub reply: Reply,
}

/// What a model gets for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A text.
    Shown {
        /// The text. Between marks in square brackets stand exact lines of files.
        text: String,
        /// The files that it is from.
        files: Vec<RelPath>,
        /// What it costs.
        tokens: u64,
    },
    /// Nothing.
    Refused {
        /// Why, in one sentence.
        why: String,
    },
}

/// Serves requests in their order. Each gets an equal share of what the ones before it left of the budget; as many are
/// served as the budget has files. Secrets in texts are shown as placeholders, and a search does not find them.
pub fn serve(
    requests: &[ContextRequest],
    files: &dyn Files,
    budget: ContextBudget,
    masks: &Masks,
) -> Vec<Served> {
    let desk = Desk { files, masks };
    let mut left = budget.tokens;
    let mut served = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        let waiting = requests.len().min(budget.files).saturating_sub(at) as u64;
        let reply = match (left / waiting.max(1), waiting) {
            (_, 0) => refused(format!("at most {} requests are served at a time", budget.files)),
            (share, _) => desk.reply(request, share),
        };
        if let Reply::Shown { tokens, .. } = &reply {
            left = left.saturating_sub(*tokens);
        }
        served.push(Served { request: request.clone(), reply });
    }
    served
}

fn refused(why: impl Into<String>) -> Reply {
    Reply::Refused { why: why.into() }
}

/// A text within a budget; one that is over it is refused, as a part of it could be taken for the whole.
fn shown(text: String, files: Vec<RelPath>, most: u64) -> Reply {
    let tokens = estimate_tokens(&text);
    if tokens > most {
        return refused(format!("it needs {tokens} tokens, and {most} are left for it"));
    }
    Reply::Shown { text, files, tokens }
}

struct Desk<'a> {
    files: &'a dyn Files,
    masks: &'a Masks,
}

/// A line of a file.
struct Place {
    path: RelPath,
    line: u32,
    text: String,
}

impl Desk<'_> {
    fn reply(&self, request: &ContextRequest, most: u64) -> Reply {
        match request {
            ContextRequest::Read { path, lines } => match self.readable(path) {
                Ok(source) => read(&source, *lines, most),
                Err(why) => refused(why),
            },
            ContextRequest::Search { query } => self.search(query, most),
            ContextRequest::Symbol { symbol } => self.symbol(symbol, most),
        }
    }

    fn readable(&self, path: &str) -> Result<Source, String> {
        let path = RelPath::parse(path).map_err(|error| error.to_string())?;
        if is_secret(&path) {
            return Err(format!("{path} may hold secrets"));
        }
        if !self.files.tree().entries.contains_key(&path) {
            return Err(format!("there is no file {path}"));
        }
        let source = Source::read(&path, self.files, self.masks);
        source.ok_or_else(|| format!("{path} is not a text file of a size that can be shown"))
    }

    /// The files that are looked into, and how many others there are.
    fn searched(&self) -> (Vec<&RelPath>, usize) {
        let mut left = LOOKED_INTO;
        let entries = self.files.tree().entries.iter().filter(|(path, _)| !is_secret(path));
        let (near, far): (Vec<_>, Vec<_>) = entries.partition(|(_, entry)| {
            let is_within = entry.size <= left;
            left = left.saturating_sub(entry.size);
            is_within
        });
        (near.into_iter().map(|(path, _)| path).collect(), far.len())
    }

    /// Files that hold a text, in whatever case. What is behind a placeholder does not count.
    fn holding(&self, text: &str) -> impl Iterator<Item = Source> {
        let text = text.to_lowercase();
        self.searched().0.into_iter().filter_map(move |path| {
            let holds = self.files.text(path)?.to_lowercase().contains(&text);
            holds.then(|| Source::read(path, self.files, self.masks)).flatten()
        })
    }

    /// What is said of files that were not looked into.
    fn limit(&self) -> String {
        match self.searched().1 {
            0 => String::new(),
            far => format!("[{far} files were not looked into: the tree is too large]\n"),
        }
    }

    fn places(&self, query: &str) -> Vec<Place> {
        let sought = query.to_lowercase();
        let mut places = Vec::new();
        for source in self.holding(query) {
            for line in 1..=source.line_count() {
                let text = source.line(line).trim_end();
                if text.to_lowercase().contains(&sought) {
                    let text = text.trim_start().chars().take(LONGEST_LINE).collect();
                    places.push(Place { path: source.path.clone(), line: source.number(line), text });
                }
            }
        }
        places
    }

    fn search(&self, query: &str, most: u64) -> Reply {
        let query = query.trim();
        if query.chars().count() < SHORTEST_QUERY || query.contains('\n') {
            return refused(format!(
                "a search is for a part of one line, of at least {SHORTEST_QUERY} characters"
            ));
        }
        let places = self.places(query);
        if places.is_empty() {
            return shown(format!("[`{query}` stands in no file]\n{}", self.limit()), Vec::new(), most);
        }
        listed(&format!("{}[`{query}`", self.limit()), &places, most)
    }

    fn symbol(&self, symbol: &str, most: u64) -> Reply {
        let sought = symbol.trim().replace('.', "::");
        let Some(name) = sought.rsplit("::").next().filter(|name| !name.is_empty()) else {
            return refused("a symbol has a name");
        };
        let (mut text, mut files, mut others) = (String::new(), Vec::new(), Vec::new());
        for source in self.holding(name) {
            let defined = source.items.iter().filter(|item| is_named(&item.path(), &sought));
            let regions: Vec<Lines> = defined.map(|item| item.lines).collect();
            for lines in regions {
                let whole =
                    format!("[{} {}]\n{}", source.path, span(&source, lines), closed(source.slice(lines)));
                if estimate_tokens(&text) + estimate_tokens(&whole) + NOTE <= most {
                    text += &whole;
                    files.push(source.path.clone());
                } else {
                    others.push(format!("{} {}", source.path, span(&source, lines)));
                }
            }
        }
        files.dedup();
        if text.is_empty() && others.is_empty() {
            let places = self.places(name);
            if places.is_empty() {
                let text = format!("[nothing defines `{symbol}`, and it stands nowhere]\n{}", self.limit());
                return shown(text, files, most);
            }
            return listed(
                &format!("{}[no definition of `{symbol}` is known; it", self.limit()),
                &places,
                most,
            );
        }
        if !others.is_empty() {
            let more = others.len().saturating_sub(NAMED);
            others.truncate(NAMED);
            let rest = if more > 0 { format!(" and {more} more places") } else { String::new() };
            text += &format!("[not shown for want of room: {}{rest}]\n", others.join(", "));
        }
        shown(text, files, most)
    }
}

/// What a last line about the rest may cost, and how many places it names.
const NOTE: u64 = 80;
const NAMED: usize = 5;

/// Whether a full name ends in the one that is sought, at a border of names.
fn is_named(path: &str, sought: &str) -> bool {
    path.strip_suffix(sought).is_some_and(|before| before.is_empty() || before.ends_with("::"))
}

fn span(source: &Source, lines: Lines) -> String {
    format!("lines {}-{}", source.number(lines.0), source.number(lines.1))
}

/// The text with an end to its last line.
fn closed(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

/// Places, as many as fit.
fn listed(what: &str, places: &[Place], most: u64) -> Reply {
    let mut lines = Vec::new();
    let mut files: Vec<RelPath> = Vec::new();
    let mut cost = estimate_tokens(what) + NOTE;
    for place in places.iter().take(PLACES) {
        let line = format!("{}:{}: {}\n", place.path, place.line, place.text);
        cost += estimate_tokens(&line);
        if cost > most {
            break;
        }
        lines.push(line);
        if files.last() != Some(&place.path) {
            files.push(place.path.clone());
        }
    }
    let more = places.len() - lines.len();
    let rest = if more > 0 { format!("; {more} of them are not shown") } else { String::new() };
    shown(format!("{what} stands in {} lines{rest}]\n{}", places.len(), lines.concat()), files, most)
}

/// Lines of a file; where no lines are asked for, the whole file or, if that is too much, its outline.
fn read(source: &Source, lines: Option<Lines>, most: u64) -> Reply {
    let (path, all) = (&source.path, source.number(source.line_count()));
    let files = vec![path.clone()];
    let Some((first, last)) = lines else {
        let whole = format!("[{path}, all of its {all} lines]\n{}", closed(&source.text));
        if estimate_tokens(&whole) <= most {
            return shown(whole, files, most);
        }
        let title = format!(
            "[{path} has {} tokens, and {most} are left for it: ask for lines of it]\n",
            source.tokens()
        );
        let outline = digest::outline(source, &[], most.saturating_sub(estimate_tokens(&title)));
        return shown(title + &outline, files, most);
    };
    if first == 0 || last < first || first > all {
        return refused(format!("{path} has the lines 1 to {all}"));
    }
    let (first, wanted) = (source.line_of(first), source.line_of(last));
    let title = format!("[{path}]\n");
    let left = most.saturating_sub(estimate_tokens(&title) + regions::MARK);
    // As many lines as fit; the marks say which.
    let fitting = (first..=wanted).take_while(|end| regions::cost(source, &[(first, *end)]) <= left).last();
    match fitting {
        Some(end) => shown(title + &regions::text(source, &[(first, end)]), files, most),
        None => refused(format!(
            "line {first} of {path} alone is more than the {most} tokens that are left for it"
        )),
    }
}
