; Rust. What each capture means is said in mod.rs.

(source_file (_) @item)
(ERROR (function_item) @item)
(ERROR (mod_item) @item)
(ERROR (attribute_item) @item)
(mod_item body: (declaration_list (_) @item))
(mod_item body: (declaration_list)) @scope @suite
(mod_item !body) @declares

(line_comment) @comment
(block_comment) @comment
; What linters and formatters are told.
((attribute_item (attribute [(identifier) @_a (scoped_identifier path: (identifier) @_a)])) @comment
  (#any-of? @_a "allow" "expect" "warn" "deny" "rustfmt" "clippy"))
; The length of a table follows its cases.
(const_item type: (array_type length: (_) @comment))
(static_item type: (array_type length: (_) @comment))

(use_declaration) @import
(extern_crate_declaration) @import

(attribute_item) @attribute
((attribute_item (attribute [(identifier) @_a (scoped_identifier name: (identifier) @_a)])) @test.attribute
  (#match? @_a "^(test|rstest|test_case|quickcheck|proptest|bench)$|_test$"))
((attribute_item (attribute (identifier) @_a arguments: (token_tree) @_t)) @guard
  (#eq? @_a "cfg") (#match? @_t "\\btest\\b") (#not-match? @_t "\\bnot\\b"))
((inner_attribute_item (attribute (identifier) @_a arguments: (token_tree) @_t)) @guard
  (#eq? @_a "cfg") (#match? @_t "^\\(\\s*test\\s*\\)$"))
((attribute_item (attribute (identifier) @_a) @_whole) @mark @skip
  (#any-of? @_a "ignore" "should_panic" "cfg" "cfg_attr") (#not-match? @_whole "^cfg\\(\\s*test\\s*\\)$"))
((inner_attribute_item (attribute (identifier) @_a) @_whole) @mark @skip
  (#any-of? @_a "cfg" "cfg_attr") (#not-match? @_whole "^cfg\\(\\s*test\\s*\\)$"))
((attribute_item (attribute [(identifier) @_a (scoped_identifier name: (identifier) @_a)])) @case
  (#any-of? @_a "case" "test_case"))

((macro_invocation macro: (identifier) @_m) @test.macro (#any-of? @_m "proptest" "quickcheck"))

((macro_invocation macro: [(identifier) @_m (scoped_identifier name: (identifier) @_m)]) @assert
  (#match? @_m "^(debug_|prop_)?assert|^(panic|unreachable)$"))
((token_tree (identifier) @assert) (#match? @assert "^(debug_|prop_)?assert"))

((macro_invocation macro: [(identifier) @exact (scoped_identifier name: (identifier) @exact)])
  (#match? @exact "assert_(eq|matches)$|^matches$"))
((token_tree (identifier) @exact) (#match? @exact "assert_(eq|matches)$|^matches$"))
(token_tree "==" @exact)
((macro_invocation macro: (identifier) @_m (token_tree . (boolean_literal) @vacuous))
  (#match? @_m "assert$") (#eq? @vacuous "true"))
(token_tree "||" . ((boolean_literal) @vacuous (#eq? @vacuous "true")))
(token_tree ((boolean_literal) @vacuous (#eq? @vacuous "true")) . "||")

(const_item value: (array_expression) @table)
(const_item value: (reference_expression value: (array_expression) @table))
(static_item value: (array_expression) @table)
(static_item value: (reference_expression value: (array_expression) @table))
(for_expression value: (array_expression) @table)
(for_expression value: (reference_expression value: (array_expression) @table))

(function_item name: (_) @define)
(function_signature_item name: (_) @define)
(struct_item name: (_) @define)
(enum_item name: (_) @define)
(union_item name: (_) @define)
(enum_variant name: (_) @define)
(field_declaration name: (_) @define)
(const_item name: (_) @define)
(static_item name: (_) @define)
(trait_item name: (_) @define)
(type_item name: (_) @define)
(mod_item name: (_) @define)
(macro_definition name: (_) @define)

; The compiler refuses any other item that is defined twice.
(macro_definition name: (_) @binds)

((macro_definition name: (identifier) @_m) @judge
  (#match? @_m "^(debug_)?assert(_eq|_ne|_matches)?$|^(panic|unreachable|unimplemented|todo|matches)$"))

((macro_invocation macro: (identifier) @_m) @placeholder (#any-of? @_m "todo" "unimplemented"))

((macro_invocation macro: (identifier) @_m (token_tree) @_t) @asks
  (#eq? @_m "cfg") (#match? @_t "\\btest\\b"))
((attribute_item (attribute (identifier) @_a arguments: (token_tree) @_t)) @asks
  (#any-of? @_a "cfg" "cfg_attr") (#match? @_t "\\bnot\\s*\\([^)]*\\btest\\b"))
((attribute_item (attribute (identifier) @_a arguments: (token_tree) @_t)) @asks
  (#eq? @_a "cfg_attr") (#match? @_t "^\\(\\s*test\\b.*\\bpath\\b"))
((block (attribute_item (attribute (identifier) @_a arguments: (token_tree) @_t)) @asks)
  (#eq? @_a "cfg") (#match? @_t "\\btest\\b"))

; A macro that makes tests is as good as a test.
((macro_definition) @guard (#match? @guard "#\\s*\\[\\s*([a-z_]+::)*test\\b"))

(mod_item name: (_) @holder.name body: (_)) @holder
(impl_item type: (_) @holder.name) @holder
(trait_item name: (_) @holder.name) @holder
(enum_item name: (_) @holder.name) @holder
(struct_item name: (_) @holder.name) @holder
(function_item name: (_) @holder.name) @holder
