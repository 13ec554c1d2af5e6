//! A package fits its budget, gets shorter in a fixed order, and says every step.

use perspt_agent::context::{ContextBudget, Focus, Package, Request, Shown, TooSmall, assemble};
use perspt_model::estimate_tokens;
use perspt_policy::mask::Masks;

use crate::context_sources::{check_regions, function, name, named, python, rust};
use crate::support::{Memory, path};

fn package(files: &Memory, request: &Request, tokens: u64) -> Result<Package, TooSmall> {
    assemble(request, files, ContextBudget { tokens, files: 20 }, &Masks::default())
}

fn project() -> (Memory, Request) {
    let small = |what: &str| {
        format!("\"\"\"{what}.\"\"\"\n").repeat(120) + &format!("def {what}_only():\n    pass\n")
    };
    let texts = ["own", "first", "second", "third", "help_a", "help_b"].map(small);
    let names = ["own.py", "first.py", "second.py", "third.py", "help_a.py", "help_b.py"];
    let mut files: Vec<(&str, &str)> = names.iter().copied().zip(texts.iter().map(String::as_str)).collect();
    let large: String = python().split_inclusive('\n').skip(3500).take(700).collect();
    files.push(("large.py", &large));
    let request = Request {
        own: vec![path("own.py"), path("large.py")],
        read: vec![path("first.py"), path("second.py"), path("third.py")],
        maybe: vec![path("help_a.py"), path("help_b.py")],
        focus: named(&["apply_member_discount", "own_only"]),
    };
    (Memory::new(&files), request)
}

fn forms(package: &Package) -> Vec<(String, Shown)> {
    package.files.iter().map(|file| (file.path.to_string(), file.shown)).collect()
}

/// How far a package was shortened, by what is left of each group of files. A later step needs the ones before it.
fn step(package: &Package) -> usize {
    let of = |names: &[&str], shown: &[Shown]| {
        let forms = forms(package);
        forms
            .iter()
            .filter(|(path, form)| names.iter().any(|name| path == name) && shown.contains(form))
            .count()
    };
    let (helpers, readers) = (["help_a.py", "help_b.py"], ["first.py", "second.py", "third.py"]);
    let helped = of(&helpers, &[Shown::Whole]);
    let whole = of(&readers, &[Shown::Whole]);
    let outlined = of(&readers, &[Shown::Outline]);
    let listed = of(&readers, &[Shown::Summary]);
    let own_cut = of(&["own.py"], &[Shown::Regions]) > 0;
    let in_focus_alone = package.degraded.iter().any(|line| line.contains("those in focus alone"));
    let steps = [
        helped < 2,
        whole < 3,
        listed > 0 || whole + outlined + listed < 3,
        own_cut,
        in_focus_alone,
        whole + outlined + listed < 3,
    ];
    let gone = [helped == 0, whole == 0, outlined == 0, true, true, listed == 0];
    let reached = steps.iter().rposition(|taken| *taken).map_or(0, |step| step + 1);
    for (before, gone) in gone.iter().enumerate().take(reached.saturating_sub(1)) {
        assert!(
            gone,
            "step {reached} before step {before} was done: {:?} {:?}",
            forms(package),
            package.degraded
        );
    }
    reached
}

#[test]
fn every_budget_is_kept_and_the_focus_is_shown_in_each() {
    for (file, text) in [("desk.py", python()), ("desk.rs", rust())] {
        let files = Memory::new(&[(file, &text), ("other.py", "x = 1\n")]);
        for focus in [
            named(&["apply_member_discount"]),
            Focus::of_texts(["the discount for members is off by one cent"]),
        ] {
            let request =
                Request { own: vec![path(file)], read: vec![path("other.py")], focus, ..Request::default() };
            for tokens in [1_500, 4_000, 20_000] {
                let package = package(&files, &request, tokens).unwrap();
                assert!(package.tokens <= tokens, "{file}: {} of {tokens}", package.tokens);
                assert!(
                    package.files[0].text.contains(function(&text, "apply_member_discount")),
                    "{file} {tokens}"
                );
                check_regions(&package.files[0], &text);
            }
        }
    }
}

#[test]
fn a_package_costs_what_its_parts_cost() {
    let (files, request) = project();
    for tokens in [3_000, 8_000, 40_000] {
        let package = package(&files, &request, tokens).unwrap();
        let texts: u64 = package.files.iter().map(|file| file.tokens).sum();
        let notes: u64 = package.degraded.iter().map(|line| estimate_tokens(line)).sum();
        assert!(package.files.iter().all(|file| file.tokens > estimate_tokens(&file.text)));
        assert!(texts + notes + estimate_tokens(&package.listing) <= package.tokens, "{package:?}");
        assert!(package.tokens <= tokens);
    }
}

#[test]
fn a_smaller_budget_shortens_in_the_fixed_order() {
    let (files, request) = project();
    let mut seen: Vec<usize> = Vec::new();
    let mut tokens = 12_000;
    let smallest = loop {
        match package(&files, &request, tokens) {
            Ok(package) => {
                assert!(package.tokens <= tokens, "{} of {tokens}", package.tokens);
                seen.push(step(&package));
                every_cut_is_said(&package, &request);
            }
            Err(too_small) => break too_small,
        }
        tokens -= if tokens > 4_000 { 400 } else { 30 };
    };
    assert!(smallest.needed > smallest.had && smallest.had == tokens, "{smallest:?}");
    seen.dedup();
    assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
}

/// Every file that is not shown whole is in a note.
fn every_cut_is_said(package: &Package, request: &Request) {
    for path in request.own.iter().chain(&request.read).chain(&request.maybe) {
        let whole = package.files.iter().any(|file| file.path == *path && file.shown == Shown::Whole);
        let said = package.degraded.iter().any(|line| line.contains(path.as_str()));
        assert_ne!(whole, said, "{path}: {:?} {:?}", forms(package), package.degraded);
    }
}

#[test]
fn what_is_in_focus_and_does_not_fit_is_refused_with_what_it_needs() {
    let text = python();
    let files = Memory::new(&[("a.py", &text)]);
    let names: Vec<String> = (0..200).map(name).collect();
    let focus = Focus { names, ..Focus::default() };
    let request = Request { own: vec![path("a.py")], focus, ..Request::default() };
    let refused = package(&files, &request, 1_000).unwrap_err();
    assert!(refused.needed > 1_200 && refused.had == 1_000, "{refused:?}");
    assert!(package(&files, &request, refused.needed).is_ok(), "what it needs is enough");
}

#[test]
fn files_over_the_number_that_may_be_shown_are_a_line_each() {
    let names: Vec<String> = (0..30).map(|at| format!("m{at:02}.py")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "def f():\n    pass\n")).collect();
    let request = Request { read: names.iter().map(|name| path(name)).collect(), ..Request::default() };
    let package = package(&Memory::new(&files), &request, 30_000).unwrap();
    let of = |shown: Shown| package.files.iter().filter(|file| file.shown == shown).count();
    assert_eq!((of(Shown::Whole), of(Shown::Summary)), (20, 10));
    assert_eq!(package.files[25].text, "[2 lines, with f; none of it is shown]\n");
    assert!(
        package.degraded.iter().any(|line| line.starts_with("m20.py, ") && line.contains("and 4 more files"))
    );
}

#[test]
fn files_that_may_help_come_in_the_order_of_what_they_have_to_do_with_the_task() {
    let filler = "value = 1\n".repeat(300);
    let with = |line: &str| format!("{filler}def {line}():\n    pass\n");
    let texts = [with("alpha"), with("beta"), with("member_discount")];
    let files = Memory::new(&[("a.py", &texts[0]), ("b.py", &texts[1]), ("c.py", &texts[2])]);
    let maybe = vec![path("a.py"), path("b.py"), path("c.py")];
    let focus = Focus::of_texts(["the discount of members"]);
    let request = Request { maybe: maybe.clone(), focus, ..Request::default() };
    let found = package(&files, &request, 1_500).unwrap();
    assert_eq!(forms(&found), [("c.py".to_owned(), Shown::Whole)]);
    assert!(
        found.degraded.contains(&"a.py, b.py: they may help, over the budget".to_owned()),
        "{:?}",
        found.degraded
    );
    let request = Request { maybe, focus: named(&["member_discount"]), ..Request::default() };
    let found = package(&files, &request, 30_000).unwrap();
    assert_eq!(forms(&found)[0].0, "c.py");
    assert_eq!(found.files.len(), 2, "the others are background");
}

#[test]
fn the_list_of_a_tree_of_twenty_thousand_paths_is_short_and_has_the_names_that_are_near() {
    let paths: Vec<String> = (0..20_000)
        .map(|at| format!("pkg{:02}/mod{:02}/part{}/file_{at}.py", at % 40, at % 97, at % 3))
        .collect();
    let mut files: Vec<(&str, &str)> = paths.iter().map(|name| (name.as_str(), "x = 1\n")).collect();
    files.extend([("src/near/own.py", "y = 1\n"), ("src/near/beside.py", "z = 1\n"), ("src/setup.py", "")]);
    let files = Memory::new(&files);
    let request = Request { own: vec![path("src/near/own.py")], ..Request::default() };
    for tokens in [400, 1_500, 4_000, 100_000] {
        let package = package(&files, &request, tokens).unwrap();
        assert!(estimate_tokens(&package.listing) <= 1_500.min(tokens / 4), "{tokens}: {}", package.listing);
        assert!(package.listing.contains("src/near/beside.py\n"), "{tokens}: {}", package.listing);
        assert!(
            package.degraded.iter().any(|line| line.contains("in the file list")),
            "{:?}",
            package.degraded
        );
    }
    let package = package(&files, &request, 100_000).unwrap();
    assert!(package.listing.contains("pkg07/ (500 more files)"), "{}", package.listing);
}

#[test]
fn the_list_of_paths_is_cut_before_a_node_is_refused_and_keeps_what_is_nearest() {
    let paths: Vec<String> = (0..60).map(|at| format!("far{at}/away.py")).collect();
    let mut files: Vec<(&str, &str)> = paths.iter().map(|name| (name.as_str(), "")).collect();
    let own = "def own():\n    pass\n".repeat(50);
    files.extend([("src/own.py", own.as_str()), ("src/beside.py", "")]);
    let files = Memory::new(&files);
    let request = Request { own: vec![path("src/own.py")], focus: named(&["pass"]), ..Request::default() };
    let refused = package(&files, &request, 100).unwrap_err();
    let smallest = package(&files, &request, refused.needed).unwrap();
    assert!(estimate_tokens(&smallest.listing) <= 120, "{}", smallest.listing);
    assert!(smallest.listing.starts_with("src/beside.py\nsrc/own.py\n"), "{}", smallest.listing);
    assert!(
        smallest.degraded.iter().any(|line| line.contains("in the file list")),
        "{:?}",
        smallest.degraded
    );
}

#[test]
fn the_same_request_gives_the_same_bytes_at_every_budget() {
    let (files, request) = project();
    for tokens in [2_500, 6_000, 30_000] {
        assert_eq!(package(&files, &request, tokens), package(&files, &request, tokens));
    }
}
