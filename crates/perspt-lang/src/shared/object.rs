//! What a clause wants of the thing it names: whether that is the object of a verb that changes it, or is said to be
//! wrong. Read by the words around the name; what is not understood asks for nothing.

/// A name at its place in a clause.
pub(crate) struct Place<'a> {
    /// The clause, in small letters.
    pub clause: &'a str,
    /// Where the name starts.
    pub at: usize,
    /// The name.
    pub subject: &'a str,
}

/// What the name is the name of: what may be done to it differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A rule by which evidence is gathered.
    Rule,
    /// One test.
    TestName,
    /// A file of tests.
    TestFile,
    /// Tests as such.
    Tests,
}

/// What is wanted of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Anything that changes them.
    Any,
    /// Another text of what they demand already; not only more of it.
    Rewrite,
}

/// Verbs that ask for another text of what is there.
const CHANGE: &str = "update change adapt adjust rewrite correct edit modify replace extend rename convert migrate port \
    parametrize parameterize revise rework refactor simplify split restructure remove delete drop relax \
    loosen tighten clean tidy align amend improve shorten merge bring redo modernize transform consolidate \
    combine reorganize reorganise deduplicate reformat turn";

/// Verbs that ask for what is broken to be mended.
const MEND: &str = "fix repair mend debug";

/// Verbs that put something into what is there.
const ADD: &str = "add put insert append include write";

/// Verbs that let what is there be and put something beside it.
const GROW: &str = "add put insert append include write extend";

/// Verbs that ask for a rule to be made or set, besides all the others.
const SET: &str = "create set configure pin tune introduce define provide generate move enable disable turn switch \
    raise lower upgrade downgrade bump register document implement need want give revert restore point \
    allow deny pass let exclude install patch reset touch";

/// Verbs that give a value to something: `set lto for the release profile`, not `fix add for conftest.py`.
const VALUES: &str = "set enable disable turn configure raise lower allow deny";

/// Verbs that ask for a thing only where it is new: `make a conftest.py`, not `make conftest.py load`.
const MAKE: &str = "make use build embed";

/// What a verb that asks stands behind, where it does not begin.
const LEADS: &str = ", : and or then please to also just now should must can could you us lets let's first finally next \
    only either by we i instead but";

/// Words that end what a verb reaches: what comes after them is said of something else.
const CUTS: &str = "that which who whose what because since when whenever while until till after before as if unless \
    once so where why how it they we i he is are was were be been has have had does did fails fail \
    failed breaks broke loads load imports uses calls runs says shows expects expect pass passes passing \
    no none not than although though make makes let lets get gets used called loaded imported tested \
    covered shown reported seen described mentioned according due thanks will would";

/// Prepositions behind which a thing is the place of the change.
const PLACES: &str = "in inside within of to";

/// The same, of motion.
const INTO: &str = "into onto from";

/// Prepositions behind which a thing is only a means or a reason.
const OTHERS: &str = "for with by via through on against about like under per using at without";

/// Words for what does not work, whose mending is not a change of what is expected.
const FAILING: &str = "failing failed fail fails broken red erroring crashing";

/// Words for what is not to stay as it is.
const WRONG: &str = "wrong incorrect outdated obsolete mistaken stale out-of-date inverted";

/// Verbs by which a clause says something of tests themselves.
const SAYS: &str = "is are was were seems seem looks look expects expect asserts assert checks";

/// How many words after such a verb are read.
const SAID: usize = 4;

/// Words that a list of names is made of, besides names.
const LISTED: &str = "and or the a an also both all our your";

/// What may follow the last of several things a verb asks for.
const FOLLOWS: &str = "and or in to of for with so from if because accordingly too also instead where when that which \
    without together as , : by file";

impl<'a> Place<'a> {
    /// The words before the name, as far as they are said together with it. Commas and colons are words.
    pub fn before(&self) -> Vec<&'a str> {
        let text = &self.clause[..self.at];
        // What is joined to the name, such as the folders before a file, belongs to it.
        let end = text.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let opens = text[end..].contains('(');
        let mut words = if opens { Vec::new() } else { words(&text[..end]) };
        let from = words.iter().rposition(|word| is_break(word)).map_or(0, |at| at + 1);
        words.drain(..from);
        words
    }

    /// The words after the name, as far as they are said together with it.
    pub fn after(&self) -> Vec<&'a str> {
        let text = &self.clause[self.at + self.subject.len()..];
        let start = text.find(|c: char| c.is_whitespace() || ",:()".contains(c)).unwrap_or(text.len());
        let start = match text[start..].starts_with("::") {
            true => text.find(char::is_whitespace).unwrap_or(text.len()),
            false => start,
        };
        let mut words = words(&text[start..]);
        let end = words.iter().position(|word| is_break(word)).unwrap_or(words.len());
        words.truncate(end);
        words
    }

    /// Whether the name is written as code.
    pub fn is_marked(&self) -> bool {
        let before = self.clause[..self.at].chars().next_back();
        before.is_some_and(|c| "`\"':".contains(c))
    }

    /// Whether the name is a word of its own and no part of a path.
    pub fn is_word(&self) -> bool {
        let joins = |c: Option<char>| c.is_some_and(|c| "/.:-_".contains(c));
        let rest = &self.clause[self.at + self.subject.len()..];
        let mut after = rest.chars();
        let (next, then) = (after.next(), after.next());
        // A full stop, a colon and the slash of a folder may end it.
        let ends = then.is_none_or(|c| !c.is_alphanumeric() && c != ':');
        !joins(self.clause[..self.at].chars().next_back()) && (!joins(next) || ends)
    }
}

/// Words without quotes; commas and colons stand for themselves, and what breaks a clause for a dash.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for raw in text.split_whitespace() {
        if raw.starts_with('(') {
            words.push("—");
        }
        let bare = raw.trim_matches(|c: char| !c.is_alphanumeric());
        if !bare.is_empty() {
            words.push(bare);
        } else if raw.chars().all(|c| "-–—".contains(c)) {
            words.push("—");
        }
        let tail = raw.trim_end_matches(['`', '"', '\'']);
        for (sign, word) in [(')', "—"), (',', ","), (':', ":")] {
            if tail.ends_with(sign) || (sign == ')' && tail.contains(sign)) {
                words.push(word);
            }
        }
    }
    words
}

fn is_break(word: &str) -> bool {
    word == "—"
}

/// Whether a word is one of a list that blanks part.
pub(super) fn among(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// Whether a word is one of these verbs, plain or with `-ing`.
fn is_form(word: &str, verbs: &str) -> bool {
    let stem = word.strip_suffix("ing");
    verbs.split(' ').any(|verb| {
        let doubled = |stem: &str| stem.len() == verb.len() + 1 && stem.starts_with(verb);
        let gerund = |stem: &str| stem == verb || Some(stem) == verb.strip_suffix('e') || doubled(stem);
        word == verb || stem.is_some_and(gerund)
    })
}

/// Whether a word says something of the tests named before it.
pub(crate) fn says_of(word: &str) -> bool {
    among(SAYS, word)
}

/// How a thing hangs on the verb before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hangs<'a> {
    /// It is what is changed.
    Object,
    /// It is where something is changed.
    Behind(&'a str),
}

/// Whether the clause wants the thing worked on.
pub(crate) fn is_worked_on(place: &Place<'_>, kind: Kind, work: Work) -> bool {
    let (before, after) = (place.before(), place.after());
    let itself = place.subject.split(' ').next().is_some_and(|word| is_verb(word, kind));
    let begins = place.subject.contains(' ') && itself && leads(&before, before.len());
    begins || is_object(&before, &after, kind, work) || is_to_be_changed(&before, &after, kind, work)
}

fn is_verb(word: &str, kind: Kind) -> bool {
    let any = [CHANGE, MEND, ADD].iter().any(|verbs| is_form(word, verbs));
    any || (kind == Kind::Rule && (is_form(word, SET) || is_form(word, MAKE)))
}

/// Whether a verb at this place asks: it begins, or stands behind a word that leads to it.
fn leads(before: &[&str], at: usize) -> bool {
    let lead = at.checked_sub(1).and_then(|at| before.get(at));
    lead.is_none_or(|word| {
        among(LEADS, word) || word.ends_with("ly") || word.chars().all(|c| c.is_ascii_digit())
    })
}

/// Walks back from the thing to the verb it hangs on.
fn is_object(before: &[&str], after: &[&str], kind: Kind, work: Work) -> bool {
    let next = after_list(after);
    if among(CUTS, next) && !among(FOLLOWS, next) || says_of(next) || among(FAILING, next) {
        return false;
    }
    let mut hangs = Hangs::Object;
    let mut is_new = false;
    for (at, &word) in before.iter().enumerate().rev() {
        let between = &before[at + 1..];
        // `…, including in the tests` goes on with what was asked for.
        if word == "including" || (word == "," && between.first() == Some(&"including")) {
            continue;
        }
        if is_verb(word, kind) && leads(before, at) {
            let only_grows = work == Work::Rewrite && is_form(word, GROW);
            // `turn the tests green` asks for nothing of them.
            let turns = kind != Kind::Rule && is_form(word, "turn") && !after.contains(&"into");
            return !only_grows
                && !turns
                && allows(word, hangs, between, (kind, is_new))
                && !names_failing(after, word);
        }
        match word {
            "," if between.iter().all(|word| is_listed(word)) && follows(next) => {}
            ":" if opens_list(before, at, kind) => {}
            "and" | "or" if follows(next) => {}
            "," | ":" | "and" | "or" => return false,
            _ if among(CUTS, word) => return false,
            "a" | "an" | "new" | "another" => is_new |= hangs == Hangs::Object,
            _ if hangs != Hangs::Object => {}
            _ if among(PLACES, word) || among(INTO, word) => hangs = Hangs::Behind(word),
            "with" | "by" | "via" | "through" if is_new => hangs = Hangs::Behind(word),
            "for" if kind == Kind::Rule => hangs = Hangs::Behind(word),
            _ if among(OTHERS, word) => return false,
            "existing" | "missing" | "failing" => {}
            _ if word.ends_with("ing") => return false,
            _ => {}
        }
    }
    false
}

/// The word after a thing and after the names listed with it: `test_add and test_neg fail` says it of both.
fn after_list<'a>(after: &[&'a str]) -> &'a str {
    let is_name = |word: &&str| word.contains(['.', '/', '_']);
    let listed = after.iter().take_while(|word| is_listed(word)).count();
    let named = after[..listed].iter().rposition(is_name).map_or(0, |at| at + 1);
    after.get(named).copied().unwrap_or_default()
}

/// What a list of names is made of.
fn is_listed(word: &str) -> bool {
    among(LISTED, word) || word == "," || word.contains(['.', '/', '_'])
}

fn follows(next: &str) -> bool {
    next.is_empty() || among(FOLLOWS, next)
}

/// Whether what stands before a colon asks for what comes after it: `Change:`, `update these files:`.
fn opens_list(before: &[&str], at: usize, kind: Kind) -> bool {
    let Some(last) = at.checked_sub(1) else { return false };
    let word = before[last];
    ["following", "these", "files", "tests"].contains(&word) || (is_verb(word, kind) && leads(before, last))
}

/// Whether this verb asks for a change of what hangs on it so.
fn allows(verb: &str, hangs: Hangs<'_>, between: &[&str], (kind, is_new): (Kind, bool)) -> bool {
    let within = |words: &[&str]| match hangs {
        Hangs::Object => false,
        Hangs::Behind(word) => words.contains(&word),
    };
    let is_object = hangs == Hangs::Object;
    let inside = within(&["in", "inside", "within", "of"]);
    if kind == Kind::Rule {
        return match verb {
            _ if within(&["for"]) => is_form(verb, VALUES),
            _ if is_form(verb, MAKE) => is_new,
            _ if is_form(verb, MEND) => is_object || inside,
            _ => true,
        };
    }
    if is_form(verb, MEND) {
        let plain = |word: &&str| !among(FAILING, word) && *word != ":";
        // `fix test_add` may well mean that it is to pass.
        let called_test = kind == Kind::Tests || between.iter().any(|word| ["test", "tests"].contains(word));
        return is_object && called_test && between.iter().all(plain);
    }
    if is_form(verb, ADD) {
        return kind == Kind::TestName && (inside || within(&["to", "into"]));
    }
    is_object || inside || (within(&["from"]) && is_form(verb, "remove delete drop"))
}

/// Whether what follows says that the thing to be mended is one that fails.
fn names_failing(after: &[&str], verb: &str) -> bool {
    is_form(verb, MEND) && after.iter().take(3).any(|word| among(FAILING, word))
}

/// `… needs to be updated`, `… must be rewritten`.
fn is_to_be_changed(before: &[&str], after: &[&str], kind: Kind, work: Work) -> bool {
    let said = &after[..after.len().min(SAID + 1)];
    let modal = said.first().is_some_and(|word| {
        ["should", "must", "need", "needs", "has", "have", "ought", "is", "are"].contains(word)
    });
    let be = said.iter().position(|word| ["be", "need", "needs"].contains(word));
    let done = be.and_then(|at| said[at + 1..].iter().find(|word| !["to", "be"].contains(*word)));
    let verbs = if kind == Kind::Rule { format!("{CHANGE} {SET}") } else { CHANGE.to_owned() };
    let changed = |word: &str| {
        let irregular = ["rewritten", "redone", "brought"].contains(&word);
        let regular = |verb: &str| {
            let stem = verb.strip_suffix('e').unwrap_or(verb).strip_suffix('y').unwrap_or(verb);
            word.ends_with("ed") && word.starts_with(stem.trim_end_matches('e'))
        };
        irregular || is_form(word, &verbs) || verbs.split(' ').any(regular)
    };
    // `test_add should expect 4`.
    let other = kind != Kind::Rule && said.get(1).is_some_and(|word| among("expect assert check", word));
    let only_grows = |word: &str| work == Work::Rewrite && is_form(word.trim_end_matches("ed"), GROW);
    let done = done.filter(|word| !only_grows(word));
    modal && !is_conditional(before) && (other || done.is_some_and(|word| changed(word)))
}

fn is_conditional(before: &[&str]) -> bool {
    before.iter().any(|word| ["if", "whether", "unless", "until", "once"].contains(word))
}

/// Whether the clause says that the test is wrong, not that it shows something wrong.
pub(crate) fn is_called_wrong(place: &Place<'_>) -> bool {
    let (before, after) = (place.before(), place.after());
    let placed = after.first().is_some_and(|word| ["in", "of", "for", "from", "at"].contains(word));
    let reach = if placed { SAID } else { 0 };
    let Some(verb) = after.iter().take(reach + 1).position(|word| says_of(word)) else { return false };
    let stops = |word: &&&str| {
        ![",", ":", "and", "but", "because", "since", "as", "so", "when", "while"].contains(*word)
    };
    let said: Vec<&str> = after[verb + 1..].iter().take_while(stops).take(SAID).copied().collect();
    let wrong = said.iter().position(|word| among(WRONG, word));
    let denied = ["right", "correct", "fine", "good", "not", "no", "never", "isn't", "aren't"];
    let told = wrong.is_some_and(|at| !said[..at].iter().any(|word| denied.contains(word)));
    told && !is_conditional(&before) && speaks_of_expectation(&before)
}

/// Whether what is said of a thing is said of the thing, or of an expectation in it: `the result in test_add is
/// wrong` speaks of the code.
fn speaks_of_expectation(before: &[&str]) -> bool {
    let from = before.iter().rposition(|word| [",", ":", "and", "but"].contains(word)).map_or(0, |at| at + 1);
    let before = &before[from..];
    let is_preposition =
        |word: &&str| among(PLACES, word) || among(INTO, word) || among(OTHERS, word) || among(CUTS, word);
    let Some(at) = before.iter().rposition(is_preposition) else { return true };
    let speaks = |word: &&str| {
        ["expect", "assert"].iter().any(|stem| word.starts_with(stem)) || ["test", "tests"].contains(word)
    };
    !among(CUTS, before[at]) && before[..at].iter().any(speaks)
}
