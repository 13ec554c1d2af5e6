//! Outlines: the items of a source with their signatures and lines.

use perspt_core::path::RelPath;
use perspt_lang::outline;
use proptest::prelude::*;

/// Each item as `first-last path | signature`.
fn lines(name: &str, text: &str) -> Vec<String> {
    let items = outline(&RelPath::parse(name).unwrap(), text);
    let line = |item: &perspt_lang::OutlineItem| {
        format!("{}-{} {} | {}", item.lines.0, item.lines.1, item.path(), item.signature)
    };
    items.iter().map(line).collect()
}

const RUST: &str = "\
//! A module.

use std::fmt;

/// A cart.
#[derive(Debug)]
pub struct Cart {
    /// What is in it.
    items: Vec<u32>,
}

const RATE: u32 = 5; // percent

impl<T: Ord> Cart<T> {
    /// The sum.
    pub fn total(
        &self,
        rate: u32,
    ) -> u32 {
        self.items.iter().sum()
    }
}

mod tests {
    fn helper() {}
}

macro_rules! sum { () => {}; }
";

#[test]
fn rust_items_come_with_their_attributes_and_comments_and_one_line_each() {
    assert_eq!(
        lines("a.rs", RUST),
        [
            "5-10 Cart | pub struct Cart { items: Vec<u32>, }",
            "12-12 RATE | const RATE: u32",
            "14-22 Cart | impl<T: Ord> Cart<T>",
            "15-21 Cart::total | pub fn total( &self, rate: u32, ) -> u32",
            "24-26 tests | mod tests",
            "25-25 tests::helper | fn helper()",
            "28-28 sum | macro_rules! sum",
        ]
    );
}

const GO: &str = "\
package cart

import \"fmt\"

// Rate is a percentage.
const Rate = 5

var (
	// ErrEmpty says so.
	ErrEmpty = fmt.Errorf(\"empty\")
	size     int
)

// Cart holds things.
type Cart struct {
	Items []int
}

// Total sums.
func (c *Cart) Total(rate int) (int, error) {
	var local = 1
	return local, nil
}

func New[T any](items ...T) *Cart { return nil }
";

#[test]
fn go_items_come_with_their_comments_and_receivers_and_what_is_local_is_left_out() {
    assert_eq!(
        lines("a.go", GO),
        [
            "5-6 Rate | const Rate",
            "9-10 ErrEmpty | ErrEmpty",
            "11-11 size | size int",
            "14-17 Cart | type Cart struct { Items []int }",
            "19-23 Total | func (c *Cart) Total(rate int) (int, error)",
            "25-25 New | func New[T any](items ...T) *Cart",
        ]
    );
}

const PYTHON: &str = "\
import os

RATE: int = 5  # percent
# Members pay less.
@cached
@traced(\"x\")
def discount(price: int,
             rate=RATE) -> int:
    def inner(x):
        return x
    return inner(price)


class Cart(Base):
    size = 3

    def total(self):
        return 1

if os.name == 'nt':
    async def late(): ...
";

#[test]
fn python_items_come_with_their_decorators_and_those_inside_them() {
    assert_eq!(
        lines("a.py", PYTHON),
        [
            "3-3 RATE | RATE: int",
            "4-11 discount | def discount(price: int, rate=RATE) -> int",
            "9-10 discount::inner | def inner(x)",
            "14-18 Cart | class Cart(Base)",
            "17-18 Cart::total | def total(self)",
            "21-21 late | async def late()",
        ]
    );
}

#[test]
fn items_of_javascript_and_typescript_have_their_signatures() {
    let script = "export class Cart extends Base {\n  total() { return 1; }\n}\n\n// Loads it.\nexport default async function load(a) {}\n\
                  const RATE = 3;\nexport const twice = (a) => {\n  const inner = 1;\n  return a * 2;\n};\n";
    let expected = [
        "1-3 Cart | export class Cart extends Base",
        "2-2 Cart::total | total()",
        "5-6 load | export default async function load(a)",
        "7-7 RATE | const RATE",
        "8-11 twice | export const twice = (a) =>",
    ];
    assert_eq!(lines("a.js", script), expected);
    assert_eq!(lines("a.jsx", script), expected);
    let typed = "export interface Item {\n  price: number;\n}\nexport type Id = string;\nexport function add<T>(a: T): T {\n  return a;\n}\n\
                 const cast = <number>value;\n";
    let expected = [
        "1-3 Item | export interface Item { price: number; }",
        "4-4 Id | export type Id = string",
        "5-7 add | export function add<T>(a: T): T",
        "8-8 cast | const cast",
    ];
    assert_eq!(lines("a.ts", typed), expected);
}

#[test]
fn a_file_of_another_language_is_outlined_by_its_lines() {
    let script =
        "import x\n\nexport class Cart {\n  total() {}\n}\n\nasync function load(a) {\n  return a\n}\n";
    assert_eq!(
        lines("a.es", script),
        ["3-6 Cart | export class Cart {", "7-9 load | async function load(a) {"]
    );
    let prose = "# One\ntext\n## Two\ntext\n# Three\n";
    assert_eq!(lines("a.md", prose), ["1-4 One | One", "3-4 One::Two | Two", "5-5 Three | Three"]);
    assert_eq!(lines("a.toml", "[a]\nx = 1\n[[b]]\n"), ["1-2 a | [a]", "3-3 b | [[b]]"]);
    assert_eq!(lines("a.txt", "only words\n"), [""; 0]);
}

#[test]
fn a_broken_file_gives_what_can_be_read() {
    let broken = RUST.replace("-> u32 {", "-> u32 {{{ (");
    assert!(lines("a.rs", &broken).iter().any(|line| line.contains(" Cart | pub struct Cart")));
}

#[test]
fn a_long_signature_is_cut() {
    let long = format!("def f({}):\n    pass\n", "argument, ".repeat(100));
    let line = &lines("a.py", &long)[0];
    assert!(line.ends_with('…') && line.len() < 200, "{line}");
}

proptest! {
    #[test]
    fn any_text_gives_items_within_its_lines(text in "([a-z(){}:#=\\[\\] ]{0,12}|def f\\(\\):|fn x\\(\\) \\{|class A:|/// d\n|\n){0,40}") {
        for name in ["a.rs", "a.py", "a.md", "a.js", "a.ts", "a.tsx"] {
            let last = text.lines().count() as u32;
            for item in outline(&RelPath::parse(name).unwrap(), &text) {
                prop_assert!(1 <= item.lines.0 && item.lines.0 <= item.lines.1 && item.lines.1 <= last.max(1), "{item:?}");
            }
        }
    }
}
