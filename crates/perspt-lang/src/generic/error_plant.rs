//! An error that no language accepts.

use perspt_core::path::RelPath;

/// What stands in place of a file, so that whoever reads it as code notices: brackets that close what nobody opened.
pub fn error_in(path: &RelPath) -> String {
    // What stands outside of these marks is text to be printed, and no error.
    let (before, after) = match path.extension() {
        Some("php" | "phtml") => ("<?php\n", ""),
        Some("erb" | "jsp" | "ejs" | "asp" | "aspx") => ("<% ", " %>"),
        Some(_) | None => ("", ""),
    };
    format!("{before})]}}> perspt planted this <{{[( \"{after}\n")
}
