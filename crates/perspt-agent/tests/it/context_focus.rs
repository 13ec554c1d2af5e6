//! Of a large file a model is shown what the task is about, by name, by words, by the places of findings.

use perspt_agent::context::{ContextBudget, Focus, Package, Request, Shown, assemble};
use perspt_policy::mask::Masks;

use crate::context_sources::{check_regions, function, line_of, name, named, python, rust};
use crate::support::{Memory, path};

/// What a two-line fix may cost beside the prompt's own words.
const FIX: u64 = 7_000;

fn shown(file: &str, text: &str, focus: Focus) -> Package {
    let request = Request { own: vec![path(file)], focus, ..Request::default() };
    let budget = ContextBudget { tokens: 100_000, files: 20 };
    assemble(&request, &Memory::new(&[(file, text)]), budget, &Masks::default()).unwrap()
}

fn sources() -> [(&'static str, String); 2] {
    [("desk.py", python()), ("desk.rs", rust())]
}

#[test]
fn the_sources_are_as_large_as_the_tests_say() {
    for (file, text) in sources() {
        assert!(
            text.lines().count() >= 4_500 && text.len() > 150_000,
            "{file}: {} {}",
            text.lines().count(),
            text.len()
        );
    }
}

#[test]
fn whatever_name_a_task_has_its_definition_is_shown_whole_for_few_tokens() {
    for (file, text) in sources() {
        for name in (0..400).step_by(37).map(name).chain(["apply_member_discount".to_owned()]) {
            let package =
                shown(file, &text, Focus::of_texts([format!("Fix `{name}`, it is wrong").as_str()]));
            let shown = &package.files[0];
            assert!(shown.text.contains(function(&text, &name)), "{file} {name}\n{}", shown.text);
            assert_eq!(shown.shown, Shown::Regions);
            assert!(package.tokens < FIX, "{file} {name}: {}", package.tokens);
            check_regions(shown, &text);
        }
    }
}

#[test]
fn a_name_that_nothing_defines_is_shown_where_it_stands() {
    for (file, text) in sources() {
        let package = shown(file, &text, named(&["cents"]));
        assert!(
            package.files[0].text.contains(function(&text, "apply_member_discount")),
            "{}",
            package.files[0].text
        );
        let package = shown(file, &text, named(&["value_7", "value_6"]));
        assert!(package.tokens < FIX && package.files[0].text.contains("value_6"), "{}", package.tokens);
        check_regions(&package.files[0], &text);
    }
}

#[test]
fn words_lead_to_the_item_where_no_identifier_is_named() {
    for (file, text) in sources() {
        for task in ["the discount for members is off by one cent", "Discounting a member's price is wrong"] {
            let package = shown(file, &text, Focus::of_texts([task]));
            assert!(
                package.files[0].text.contains(function(&text, "apply_member_discount")),
                "{file}: {task}"
            );
            assert!(package.tokens < FIX, "{file}: {}", package.tokens);
        }
        let package = shown(file, &text, Focus::of_texts(["closing a ledger takes the wrong order"]));
        let wanted = (0..400).map(name).find(|name| name.starts_with("close_ledger")).unwrap();
        assert!(package.files[0].text.contains(function(&text, &wanted)), "{}", package.files[0].text);
    }
}

#[test]
fn the_places_of_findings_are_shown() {
    for (file, text) in sources() {
        let lines = [name(7), name(390)].map(|name| line_of(&text, function(&text, &name)) + 4);
        let focus = Focus { lines: lines.map(|line| (path(file), line)).to_vec(), ..Focus::default() };
        let package = shown(file, &text, focus);
        for name in [name(7), name(390)] {
            assert!(package.files[0].text.contains(function(&text, &name)), "{file} {name}");
        }
        assert!(check_regions(&package.files[0], &text) < 200);
    }
}

#[test]
fn a_method_is_meant_more_where_its_class_is_named_too() {
    let mut text = python();
    for at in (0..400).step_by(20) {
        let head = format!("class Desk{at}:\n");
        text = text.replace(&head, &format!("{head}    def total(self):\n        return \"of {at}.\"\n\n"));
    }
    let of = |focus: Focus| {
        let request = Request { own: vec![path("a.py")], focus, ..Request::default() };
        let budget = ContextBudget { tokens: 400, files: 20 };
        let package =
            assemble(&request, &Memory::new(&[("a.py", &text)]), budget, &Masks::default()).unwrap();
        package.files[0].text.clone()
    };
    let many = of(named(&["total"]));
    assert!(many.contains("\"of 20.\"") && !many.contains("\"of 200.\""), "not all of them fit: {many}");
    let one = of(named(&["Desk200", "total"]));
    assert!(one.contains("\"of 200.\"") && !one.contains("\"of 20.\""), "{one}");
}

#[test]
fn a_long_function_is_shown_around_the_lines_that_are_meant() {
    let mut text = String::from("def long(a):\n");
    (0..3000).for_each(|at| text.push_str(&format!("    step_{at} = a + {at}\n")));
    let package = shown("a.py", &text, named(&["step_1500"]));
    let file = &package.files[0];
    assert!(
        file.text.contains("    step_1490 = a + 1490\n") && file.text.contains("def long(a):\n"),
        "{}",
        file.text
    );
    assert!(check_regions(file, &text) < 100);
}

#[test]
fn the_outline_names_what_is_not_shown_with_its_lines() {
    for (file, text) in sources() {
        let package = shown(file, &text, named(&["apply_member_discount"]));
        let outline = package.files[0].text.split("\n[line").next().unwrap();
        let class = if file == "desk.py" { "class Desk40" } else { "impl Desk40" };
        let line = line_of(&text, &format!("{class}{}", if file == "desk.py" { ":" } else { " " }));
        assert!(outline.contains(&format!("\n{line}-")) && outline.contains(class), "{outline}");
        assert!(outline.contains("apply_member_discount("), "{outline}");
        assert!(package.degraded[0].contains("all but its outline and"), "{:?}", package.degraded);
    }
}

#[test]
fn a_small_file_is_shown_whole_and_so_is_an_own_file_that_a_task_says_nothing_of() {
    let small = "def f():\n    return 1\n".repeat(100);
    let package = shown("a.py", &small, named(&["f"]));
    assert_eq!((package.files[0].shown, package.files[0].text.as_str()), (Shown::Whole, small.as_str()));
    let middle: String = python().split_inclusive('\n').take(1000).collect();
    let package = shown("a.py", &middle, named(&["nowhere"]));
    assert_eq!((package.files[0].shown, package.degraded), (Shown::Whole, vec![]));
    let package = shown("a.py", &python(), named(&["nowhere"]));
    assert_eq!(package.files[0].shown, Shown::Regions);
    assert!(package.files[0].text.contains("import os\n"));
}

#[test]
fn a_file_of_another_language_is_shown_by_its_lines() {
    let text: String = (0..4000).map(|at| format!("key_{at}: value {at}\n")).collect();
    let package = shown("a.yaml", &text, named(&["key_2500"]));
    assert!(package.files[0].text.contains("\nkey_2500: value 2500\n"));
    assert!(check_regions(&package.files[0], &text) < 100);
}

#[test]
fn lines_after_a_secret_of_many_lines_have_the_numbers_of_the_file() {
    let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(3);
    let text =
        format!("KEY = '''-----BEGIN PRIVATE KEY-----\n{key}-----END PRIVATE KEY-----'''\n{}", python());
    let line = line_of(&text, function(&text, "apply_member_discount"));
    let focus = Focus { lines: vec![(path("a.py"), line)], ..Focus::default() };
    let package = shown("a.py", &text, focus);
    let file = &package.files[0];
    assert!(!file.text.contains(key.lines().next().unwrap()));
    let at = file.text.find("\n    def apply_member_discount").unwrap();
    let mark = file.text[..at].rfind("\n[lines ").unwrap();
    let first: u32 = file.text[mark + 8..].split('-').next().unwrap().parse().unwrap();
    let between = file.text[mark + 1..=at].matches('\n').count() as u32;
    assert_eq!(first + between - 1, line, "{}", &file.text[mark..at + 40]);
}

#[test]
fn what_looks_like_code_is_a_name_and_the_rest_are_words() {
    let focus = Focus::of_texts([
        "Fix `parse` so that memberRate and Cart::total(x) handle empty orders; see a_b().",
    ]);
    assert_eq!(focus.names, ["Cart", "a_b", "memberRate", "parse", "total"]);
    assert!(
        focus.words.contains(&"empt".to_owned()) && !focus.words.contains(&"fix".to_owned()),
        "{:?}",
        focus.words
    );
}
