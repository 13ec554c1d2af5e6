//! Code that is no test and asks whether a test runner runs it: what tests measure is then not what is used.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::residual::Residual;

use super::lexer::{Line, lines};
use crate::plugin::{Files, Touch};
use crate::shared::touch::{more_than_before, test_only};

/// Words by which a task asks for it.
const ASKED: [&str; 4] = ["pytest_current_test", "sys.modules", "under pytest", "under test"];

/// Functions that tell who calls, and the words by which a task asks for them.
const CALLERS: [&str; 4] = ["_getframe", "currentframe", "extract_stack", "format_stack"];
const ASKED_CALLERS: [&str; 7] = ["stack", "frame", "frames", "caller", "callers", "traceback", "inspect"];

/// Modules whose presence tells that tests run.
const RUNNERS: [&str; 3] = ["pytest", "_pytest", "unittest"];

/// The charges for sources with more of it than before.
pub(crate) fn new_conditions(touch: &Touch<'_>, sources: &[&RelPath]) -> Vec<Residual> {
    let runner = "code that is no test asks whether a test runner runs it";
    let caller = "code that is no test asks who calls it, which may be a test";
    let ways: [(Asks, &[&str], &str); 2] =
        [(asks, &ASKED, runner), (asks_for_caller, &ASKED_CALLERS, caller)];
    let mut residuals = Vec::new();
    for (asks, asked, what) in ways {
        let count = |text: &str| lines(text).iter().filter(|line| asks(line)).count();
        let of = |files: &dyn Files| -> BTreeMap<RelPath, usize> {
            let found = sources.iter().filter_map(|path| Some(((*path).clone(), count(&files.text(path)?))));
            found.collect()
        };
        let grown = more_than_before(&of(touch.base), &of(touch.candidate));
        residuals.extend(grown.iter().filter_map(|path| test_only(touch, path, asked, what)));
    }
    residuals
}

/// Whether a line asks in one way.
type Asks = fn(&Line<'_>) -> bool;

fn asks_for_caller(line: &Line<'_>) -> bool {
    let by_inspect = line.tokens.windows(3).any(|three| three == ["inspect", ".", "stack"]);
    by_inspect || line.tokens.iter().any(|token| CALLERS.contains(token))
}

fn asks(line: &Line<'_>) -> bool {
    let is_text = |token: &str| token.ends_with(['"', '\'']);
    let is_comment = line.tokens.len() == 1 && is_text(line.token(0));
    // A letter before the quotes says how the text is read.
    let inner =
        |token: &str| token.find(['"', '\'']).map(|at| token[at..].trim_matches(['"', '\'']).to_owned());
    let named =
        |token: &&str| is_text(token) && inner(token).is_some_and(|name| RUNNERS.contains(&name.as_str()));
    let probes = line.tokens.iter().any(|token| ["modules", "argv", "find_spec"].contains(token));
    let by_variable = line.tokens.iter().any(|token| is_text(token) && token.contains("PYTEST"));
    !is_comment && (by_variable || (probes && line.tokens.iter().any(named)))
}
