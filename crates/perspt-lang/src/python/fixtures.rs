//! Fixtures of a `conftest.py`: the one part of it that belongs to tests and not to how they are gathered.

use std::collections::BTreeSet;

/// Whether two texts of a `conftest.py` differ only in imports and in fixtures that tests ask for by name.
pub(crate) fn only_differ(before: &str, after: &str) -> bool {
    let (before, after) = (blocks(before), blocks(after));
    before.symmetric_difference(&after).all(|block| is_import(block) || is_fixture(block))
}

fn is_import(block: &str) -> bool {
    block.starts_with("import ") || block.starts_with("from ")
}

fn is_fixture(block: &str) -> bool {
    let mut lines = block.lines();
    let decorated =
        lines.by_ref().take_while(|line| line.starts_with('@')).any(|line| line.contains("fixture"));
    decorated && !block.contains("autouse") && !block.contains("def pytest_")
}

/// The parts of a module that begin at its margin, decorators with what they decorate.
fn blocks(text: &str) -> BTreeSet<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut decorated = false;
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let at_margin = !line.starts_with(char::is_whitespace);
        match blocks.last_mut().filter(|_| !at_margin || decorated) {
            Some(block) => {
                block.push('\n');
                block.push_str(line);
            }
            None => blocks.push(line.to_owned()),
        }
        decorated = at_margin && line.starts_with('@');
    }
    blocks.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::only_differ;

    const BEFORE: &str = "import pytest\nfrom store import Store\n\n\n@pytest.fixture\ndef store():\n    return Store()\n\n\ndef pytest_configure(config):\n    pass\n";

    #[test]
    fn fixtures_and_imports_may_differ() {
        for after in [
            BEFORE.replace("Store()", "Store('main')"),
            BEFORE.replace("import pytest\n", "import pytest\n\nimport os\n"),
            format!("{BEFORE}\n\n@pytest.fixture(scope='session')\ndef other():\n    return 1\n"),
        ] {
            assert!(only_differ(BEFORE, &after), "{after}");
        }
    }

    #[test]
    fn nothing_else_may() {
        for after in [
            BEFORE.replace("    pass", "    config.x = 1"),
            format!("{BEFORE}\nimport store\nstore.Store = int\n"),
            format!("{BEFORE}\n\n@pytest.fixture(autouse=True)\ndef other():\n    return 1\n"),
            format!("{BEFORE}\n\ndef pytest_collection_modifyitems(items):\n    items.clear()\n"),
            format!(
                "{BEFORE}\n\n@pytest.fixture\n@pytest.hookimpl\ndef pytest_runtest_call(item):\n    pass\n"
            ),
        ] {
            assert!(!only_differ(BEFORE, &after), "{after}");
        }
    }
}
