//! Promises that are written as another language writes them: pseudo code, or a plan that took one language for another.

use perspt_core::path::RelPath;

use super::declaration::Declaration;

/// A language, as far as its promises can be told from others.
struct Tongue {
    extensions: &'static [&'static str],
    /// The words that declare a function in it.
    functions: &'static [&'static str],
    /// What of the plain types below it knows.
    types: &'static [&'static str],
}

const TONGUES: [Tongue; 4] = [
    Tongue {
        extensions: &["rs"],
        functions: &["fn"],
        types: &[
            "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "usize", "str", "bool",
            "char",
        ],
    },
    Tongue {
        extensions: &["py", "pyi"],
        functions: &["def"],
        types: &["int", "float", "str", "bool", "list", "dict"],
    },
    Tongue {
        extensions: &["go"],
        functions: &["func"],
        types: &["int", "string", "bool", "error", "float32", "float64", "int64", "rune", "byte"],
    },
    Tongue {
        extensions: &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"],
        functions: &["function"],
        types: &["number", "string", "boolean"],
    },
];
/// Plain types that pseudo code has and no language here.
const NOBODYS: [&str; 4] = ["integer", "double", "array", "optional"];

/// Whether a promise uses words that the language of a file does not have, and others do.
pub(super) fn is_foreign(promise: &Declaration, path: &RelPath) -> bool {
    let extension = path.extension().unwrap_or_default();
    let Some(own) = TONGUES.iter().find(|tongue| tongue.extensions.contains(&extension)) else {
        return false;
    };
    let strange = |word: &str, of: fn(&Tongue) -> &'static [&'static str]| {
        !of(own).contains(&word) && TONGUES.iter().any(|tongue| of(tongue).contains(&word))
    };
    let is_type = |word: &str| NOBODYS.contains(&word) || strange(word, |tongue| tongue.types);
    strange(&promise.word, |tongue| tongue.functions) || promise.types().any(is_type)
}
