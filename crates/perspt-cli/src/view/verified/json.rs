//! The report as one JSON document.

use super::Report;
use crate::out;

pub fn print(report: &Report) {
    if let Ok(text) = serde_json::to_string_pretty(report) {
        text.lines().for_each(out::json_line);
    }
}
