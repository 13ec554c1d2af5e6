//! Promised signatures, in the ways that architects write them, against what sources declare.

use perspt_core::path::RelPath;
use perspt_lang::signature::{Fulfilled, promised};

/// What becomes of each promise of a text: `yes`, `missing`, how it differs, or `?` and why it is unclear.
fn said(promise: &str, file: &str, source: &str) -> Vec<String> {
    let path = RelPath::parse(file).unwrap();
    let word = |found: Fulfilled| match found {
        Fulfilled::Yes => "yes".to_owned(),
        Fulfilled::Missing => "missing".to_owned(),
        Fulfilled::Otherwise { line, how, .. } => format!("{line}: {how}"),
        Fulfilled::Unclear(why) => format!("? {why}"),
    };
    promised(promise).iter().map(|one| word(one.is_in(&[(&path, source)]))).collect()
}

const RUST: &str = "\
//! Sums.
use std::fmt;

/// A cart.
#[derive(Debug)]
pub struct Cart<T> {
    /// What is in it.
    pub items: Vec<T>, // all
    owner: String,
}

pub struct Meters(pub f64);

#[derive(Clone)]
pub enum Shape { Circle(f64), Square { side: f64 } }

pub const RATE: u32 = 5;

pub fn mul(a: i32, b: i32) -> i32 { a * b }
pub fn parse(
    text: &str, // what is read
    _strict: bool,
) -> Result<u32, crate::ParseError> { todo!() }
pub fn largest<'a, T: Ord>(all: &'a [T]) -> Option<&'a T> where T: Clone { all.iter().max() }
pub(crate) async fn load(mut path: std::path::PathBuf) -> std::io::Result<Vec<u8>> { todo!() }
pub const unsafe fn raw(at: *const u8) {}
pub fn show(out: &mut dyn fmt::Write, what: impl Fn(i32) -> i32) {}
pub fn read_all<R: std::io::Read>(from: R) -> String { String::new() }

impl<T> Cart<T> {
    pub fn new(owner: String) -> Self { todo!() }
    pub fn total(&self, rate: u32) -> u32 { 1 }
}

impl<T> fmt::Display for Cart<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { Ok(()) }
}

pub trait Priced { fn price(&self) -> u32; }
pub mod tax {}
";

#[test]
fn a_rust_promise_is_kept_however_a_decent_architect_writes_it() {
    for promise in [
        "fn mul(a: i32, b: i32) -> i32",
        "pub fn mul(a: i32, b: i32) -> i32;",
        "pub fn mul(a: i32, b: i32) -> i32 { a * b }",
        "fn mul( a:i32,b : i32, )->i32",
        "`fn mul(a: i32, b: i32) -> i32`",
        "```rust\npub fn mul(a: i32, b: i32) -> i32\n```",
        "- fn mul(a: i32, b: i32) -> i32",
        "1. fn mul(a: i32, b: i32) -> i32",
        "src/lib.rs: pub fn mul(a: i32, b: i32) -> i32",
        "src/lib.rs::mul",
        "crate::sums::mul(a: i32, b: i32) -> i32",
        "mul(a: i32, b: i32) -> i32",
        "mul(a: i32, b: i32) → i32",
        "mul(a, b)",
        "mul(x, y) -> i32",
        "mul",
        "mul(...)",
        "fn mul(i32, i32) -> i32",
        "fn mul(x: i32, y: i32) -> i32",
        "fn mul(a: i32, b: i32)",
        "fn mul(a: i32, b: i32) -> i32 - the product",
        "fn mul(a: i32, b: i32) -> i32 — the product",
        "fn mul(a: i32, b: i32) -> i32 // the product",
        "Signature: fn mul(a: i32, b: i32) -> i32",
        "fn parse(text: &str, strict: bool) -> Result<u32, ParseError>",
        "fn parse(text: &'static str, strict: bool) -> Result<u32>",
        "pub fn largest<T: Ord + Clone>(all: &[T]) -> Option<&T>",
        "fn largest<T>(all: &[T]) -> Option<&T>\nwhere\n    T: Ord,",
        "async fn load(path: PathBuf) -> io::Result<Vec<u8>>",
        "fn load(path: std::path::PathBuf) -> Result<Vec<u8>>",
        "unsafe fn raw(at: *const u8)",
        "fn raw(at: *const u8) -> ()",
        "fn show(out: &mut dyn std::fmt::Write, what: impl Fn(i32) -> i32)",
        "fn read_all(from: impl Read) -> String",
        "Cart::new(owner: String) -> Cart",
        "Cart::new(owner: String) -> Self",
        "Cart::total(rate: u32) -> u32",
        "Cart::total(&self, rate: u32) -> u32",
        "Cart.total(self, rate: u32) -> u32",
        "fn total(&self, rate: u32) -> u32",
        "struct Cart",
        "pub struct Cart<T> { pub items: Vec<T> }",
        "struct Cart<T> { items: Vec<T>, owner: String }",
        "struct Meters(f64);",
        "enum Shape { Circle(f64), Square { side: f64 } }",
        "enum Shape { Circle, Square }",
        "impl Cart { fn total(&self) -> u32 }",
        "const RATE: u32 = 7",
        "RATE: u32",
        "trait Priced { fn price(&self) -> u32; }",
        "fn price(&self) -> u32",
        "mod tax",
    ] {
        assert_eq!(said(promise, "src/lib.rs", RUST), ["yes"], "{promise}");
    }
}

#[test]
fn a_rust_promise_that_is_not_kept_says_what_differs() {
    for (promise, how) in [
        ("fn mul(a: i64, b: i32) -> i32", "19: parameter 1 is `a: i32`, and `a: i64` is promised"),
        ("fn mul(b: i32, a: i32) -> i32", "19: its parameters stand in another order"),
        ("fn mul(a: i32) -> i32", "19: it takes 2 parameters, and 1 is promised"),
        ("fn mul(a: i32, b: i32, c: i32) -> i32", "19: it takes 2 parameters, and 3 are promised"),
        ("fn mul(a: i32, b: i32) -> i64", "19: it gives `i32`, and `i64` is promised"),
        ("fn raw(at: *const u8) -> u8", "26: it gives nothing, and `u8` is promised"),
        ("fn mul(i64, i64) -> i32", "19: parameter 1 is `a: i32`, and `i64` is promised"),
        (
            "fn parse(text: String, strict: bool)",
            "20: parameter 1 is `text: &str`, and `text: String` is promised",
        ),
        ("struct Cart { items: Vec<T>, count: usize }", "6: it has no `count: usize`"),
        ("struct Meters(f32)", "12: it has `pub f64`, and `f32` is promised"),
        ("Cart::total(rate: u64) -> u32", "32: parameter 1 is `rate: u32`, and `rate: u64` is promised"),
        ("const RATE: u64", "17: it gives `u32`, and `u64` is promised"),
        ("fn div(a: i32, b: i32) -> i32", "missing"),
        ("pub struct Basket", "missing"),
        ("tax_of", "missing"),
    ] {
        assert_eq!(said(promise, "src/lib.rs", RUST), [how], "{promise}");
    }
}

const PYTHON: &str = "\
import os
from typing import Optional

RATE: int = 5

def plain(x):
    return x

def typed(x: int) -> int:
    return x

@cached
def to_celsius(value: float, mode: str = \"half_up\", *, strict=False) -> int:
    return 1

def find(names: list[str], default: str | None = None) -> \"Cart | None\": ...

async def fetch(url: str, **options) -> bytes: ...

class Cart(Base):
    def __init__(self, owner):
        self.owner = owner

    def total(self, rate: float = 1.0) -> int:
        return 1

double = make(2)
";

#[test]
fn a_python_promise_is_kept_however_a_decent_architect_writes_it() {
    for promise in [
        "def plain(x)",
        "def plain(x: int) -> int",
        "def typed(x)",
        "def typed(x: int) -> int:",
        "def typed(x: int) -> int: ...",
        "typed(x) -> int",
        "to_celsius(value: float) -> int",
        "def to_celsius(value, mode=\"half_up\")",
        "thermo.convert.to_celsius(value: float, mode: str) -> int",
        "thermo/convert.py: to_celsius(value: float) -> int",
        "def find(names: List[str], default: Optional[str] = None) -> Optional[Cart]",
        "def find(names: typing.List[str]) -> Union[Cart, None]",
        "def find(names: list[str]) -> Any",
        "async def fetch(url: str) -> bytes",
        "def fetch(url: str, **options) -> bytes",
        "class Cart",
        "class Cart(Base):",
        "Cart.total() -> int",
        "Cart.total(self, rate: float = 2.0) -> int",
        "def total(self) -> int",
        "RATE: int",
        "RATE = 5",
        "double",
    ] {
        assert_eq!(said(promise, "thermo/convert.py", PYTHON), ["yes"], "{promise}");
    }
}

#[test]
fn a_python_promise_that_is_not_kept_says_what_differs() {
    for (promise, how) in [
        ("def typed(y: int) -> int", "9: parameter 1 is `x: int`, and `y: int` is promised"),
        ("def typed(x: str) -> int", "9: parameter 1 is `x: int`, and `x: str` is promised"),
        ("def typed(x: int) -> float", "9: it gives `int`, and `float` is promised"),
        ("def typed(x, y)", "9: it takes 1 parameter, and 2 are promised"),
        ("def typed(x: int = 3)", "9: parameter 1 is `x: int`, and `x: int = 3` is promised"),
        ("def typed()", "9: it takes 1 parameter, and 0 are promised"),
        ("def to_kelvin(value: float) -> int", "missing"),
        ("class Basket", "missing"),
    ] {
        assert_eq!(said(promise, "thermo/convert.py", PYTHON), [how], "{promise}");
    }
}

#[test]
fn what_is_no_signature_or_cannot_be_compared_is_unclear_and_never_missing() {
    for promise in [
        "A function that multiplies two numbers",
        "to_celsius takes a float and gives an int",
        "None",
        "N/A",
        "n/a",
        "the same as before",
        "unchanged",
        "CLI",
        "cli",
        "Returns: int",
        "thermo [--unit C|F] VALUE",
        "POST /users -> 201",
        "to_celsius(20.5) == 20",
        "print(\"hi\")",
        "--unit {c,f}",
        "https://example.com/api",
        "{\"name\": \"add\"}",
        "add <title>",
        "sum (as int)",
        "Cart(owner)",
        "def double(x)",
        "def Base(x)",
    ] {
        for found in said(promise, "thermo/convert.py", PYTHON) {
            assert!(found.starts_with('?'), "{promise}: {found}");
        }
    }
}

#[test]
fn what_a_promise_leaves_out_of_a_type_is_free() {
    let python = "class Stack:\n    def drain(self) -> list[int]: ...\n    def at(self, n: dict[str, int]) -> int: ...\n";
    assert_eq!(said("Stack.drain() -> list\nat(n: dict) -> int", "a.py", python), ["yes", "yes"]);
    assert_eq!(
        said("Stack.drain() -> set", "a.py", python),
        ["2: it gives `list[int]`, and `set` is promised"]
    );
    assert_eq!(
        said("drain() -> number", "a.ts", "export function drain(): number[] { return [1]; }\n"),
        ["1: it gives `number[]`, and `number` is promised"]
    );
}

#[test]
fn methods_in_the_braces_of_a_struct_are_no_fields() {
    let rust =
        "pub struct Counter {\n    n: u32,\n}\nimpl Counter { pub fn new() -> Self { Counter { n: 0 } } }\n";
    for promise in [
        "struct Counter { new() -> Counter; bump() -> u32 }",
        "pub struct Counter { pub fn new() -> Counter }",
    ] {
        assert_eq!(said(promise, "a.rs", rust), ["yes"], "{promise}");
    }
    assert_eq!(said("struct Counter { total: u32 }", "a.rs", rust), ["1: it has no `total: u32`"]);
}

#[test]
fn a_promise_in_the_words_of_another_language_is_unclear_and_no_fault() {
    let rust = "pub fn bump(by: u32) -> u32 { by }\n";
    for promise in ["def bump(by: int) -> int:", "bump(by: number) -> number", "bump(by: u32) -> integer"] {
        let said = said(promise, "a.rs", rust);
        assert!(said.iter().all(|one| one.starts_with('?')), "{promise} {said:?}");
    }
    let missing = "fn div(a: i32, b: i32) -> Result<i32, Error>";
    let go = said(missing, "a.go", "package a\n\nfunc Div(a, b int) (int, error) { return a / b, nil }\n");
    assert_eq!(go, ["? `div` is promised as another language writes it"]);
    // In the file's own words it is compared.
    assert_eq!(said(missing, "a.rs", rust), ["missing"]);
    assert_eq!(said("bump(by: u32) -> u64", "a.rs", rust), ["1: it gives `u32`, and `u64` is promised"]);
    assert_eq!(said("bump(by: u32) -> Total", "a.rs", rust), ["1: it gives `u32`, and `Total` is promised"]);
}

#[test]
fn a_text_may_promise_several() {
    assert_eq!(
        said("fn mul(a: i32, b: i32) -> i32; fn div(a: i32, b: i32) -> i32", "a.rs", RUST),
        ["yes", "missing"]
    );
    assert_eq!(
        said("mul(a, b), parse(text, strict) and gone_now(x)", "a.rs", RUST),
        ["yes", "yes", "missing"]
    );
    assert_eq!(said("class Cart:\n    def total(self) -> int\n", "a.py", PYTHON), ["yes", "yes"]);
    assert_eq!(said("def plain(x)\ndef typed(\n    x: int,\n) -> int\n", "a.py", PYTHON), ["yes", "yes"]);
    assert_eq!(said("", "a.py", PYTHON), [""; 0]);
}

#[test]
fn other_languages_are_compared_by_the_same_tokens() {
    let script = "export function add(a, b) {\n  return a + b\n}\nexport class Cart {\n}\n";
    for promise in [
        "add(a, b)",
        "function add(x, y)",
        "export default function add(a, b)",
        "class Cart",
        "add(a: number, b: number): number",
    ] {
        assert_eq!(said(promise, "a.js", script), ["yes"], "{promise}");
    }
    assert_eq!(said("add(a, b, c)", "a.js", script), ["1: it takes 2 parameters, and 3 are promised"]);
    let typed = "export async function load(id: number, deep?: boolean): Promise<Array<string>> {\n}\n";
    for promise in
        ["load(id: number): Promise<string[]>", "async load(id: number, deep?: boolean): Promise<string[]>"]
    {
        assert_eq!(said(promise, "a.ts", typed), ["yes"], "{promise}");
    }
    let cut = "export function wide(\n  a,\n) {\n}\nclass Pair {\n  a: u8,\n}\n";
    assert!(said("wide(a)", "a.xyz", cut)[0].starts_with('?'), "only its first line is known");
    assert_eq!(said("struct Pair { a: u8 }", "a.xyz", cut.replace("class", "struct").as_str()), ["yes"]);
    let go = "func Run(ctx context.Context, names []string) error {\n}\n";
    for promise in ["func Run(ctx context.Context, names []string) error", "Run(ctx, names)"] {
        assert_eq!(said(promise, "a.go", go), ["yes"], "{promise}");
    }
    assert_eq!(
        said("func Run(ctx context.Context, names []string) (int, error)", "a.go", go),
        ["1: it gives `error`, and `(int, error)` is promised"]
    );
}

#[test]
fn what_is_imported_is_known_by_the_parts_of_its_name() {
    let found = |file: &str, source: &str, module: &str| {
        let all = perspt_lang::imports(&RelPath::parse(file).unwrap(), source)?;
        Some(all.into_iter().filter(|one| one.is_of(module)).map(|one| one.line).collect::<Vec<_>>())
    };
    let rust = "use std::{fmt, io::Read};\nuse crate::db::pool as other;\nfn f() { use net::*; }\n";
    for (module, lines) in [
        ("db", vec![2]),
        ("crate::db", vec![2]),
        ("std::io", vec![1]),
        ("net", vec![3]),
        ("other", vec![]),
        ("pool::x", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(found("a.rs", rust, module), Some(lines), "{module}");
    }
    let python =
        "import os.path as p\nfrom app.db import (\n    load,\n)\ndef f():\n    from http import *\n";
    for (module, lines) in [
        ("app.db", vec![2]),
        ("db", vec![2]),
        ("os", vec![1]),
        ("http", vec![6]),
        ("p", vec![]),
        ("ht", vec![]),
    ] {
        assert_eq!(found("a.py", python, module), Some(lines), "{module}");
    }
    assert_eq!(found("a.xyz", "import a", "a"), None);
}
