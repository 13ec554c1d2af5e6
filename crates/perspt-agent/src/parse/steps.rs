//! How much work reading an answer is: bytes and lines that were looked at. Counted in tests alone.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts work that was done.
#[cfg(test)]
pub(super) fn count(steps: usize) {
    STEPS.with(|all| all.set(all.get() + steps));
}

/// Counts nothing.
#[cfg(not(test))]
pub(super) fn count(_steps: usize) {}

#[cfg(test)]
mod tests {
    use super::STEPS;
    use crate::parse::{Shape, Wanted, read};

    fn steps(answer: &str) -> usize {
        STEPS.with(|all| all.set(0));
        let _ = read(answer, &Wanted::one_of(&[Shape::Bundle]));
        STEPS.with(std::cell::Cell::get)
    }

    /// Answers that a reader which goes back would read again and again.
    const HOSTILE: &[&str] = &[
        "{",
        "[",
        "[{",
        "{\"",
        "{'",
        "{#",
        "{//",
        "{/*",
        "{\"a\":",
        "{a:[",
        "```\n",
        "```x\n",
        "### write a.py\n```\n",
        "### write a.py\n```\nx\n```\n",
        "a.py\n```\n",
        "<file path=\"a\">\n",
        "</file>\n",
        "*** Begin Patch\n",
        "### edit a\n```\n<<<<<<< SEARCH\n",
        "<<<<<<< SEARCH\n=======\n",
        "```diff\n",
        "--- a\n+++ b\n",
        "</think>\n",
        "<think>",
        "\n",
        "    ",
        "`",
        "#",
        "### write ",
        "RUN x\n",
        "{\"a\": 1}\n",
        "[{\"a\": 1}] ",
        "# a.py\n",
    ];

    #[test]
    fn twice_the_answer_is_twice_the_work() {
        for part in HOSTILE {
            for head in ["", "### write q.py\n```\ny\n```\n"] {
                let of = |count: usize| steps(&format!("{head}{}", part.repeat(count)));
                let (once, twice) = (of(2_000), of(4_000));
                assert!(
                    twice <= once * 2 + once / 5 + 2_000,
                    "{part:?} after {head:?}: {once}, then {twice}"
                );
            }
        }
    }

    #[test]
    fn the_work_for_an_ordinary_answer_is_a_few_looks_at_each_byte() {
        let block = format!("### write a.py\n```python\n{}```\n", "x = {'a': [1, 2]}\n".repeat(5_000));
        assert!(steps(&block) < 8 * block.len(), "{} for {}", steps(&block), block.len());
        let json = serde_json::json!({"artifacts": [{"operation": "write", "path": "a", "content": block}]})
            .to_string();
        assert!(steps(&json) < 8 * json.len(), "{} for {}", steps(&json), json.len());
    }
}
