//! INI files, as far as settings of test runners need them.

use std::collections::BTreeMap;

/// Keys and values by section; lines that continue a value are joined to it.
pub(crate) fn sections(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut sections: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let (mut section, mut key) = (String::new(), None::<String>);
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim().to_owned();
            key = None;
            sections.entry(section.clone()).or_default();
        } else if line.starts_with([' ', '\t']) && key.is_some() {
            let value = key.as_ref().and_then(|key| sections.get_mut(&section)?.get_mut(key));
            if let Some(value) = value {
                value.push('\n');
                value.push_str(trimmed);
            }
        } else {
            let (name, value) = trimmed.split_once(['=', ':']).unwrap_or((trimmed, ""));
            let name = name.trim().to_owned();
            sections.entry(section.clone()).or_default().insert(name.clone(), value.trim().to_owned());
            key = Some(name);
        }
    }
    sections
}
