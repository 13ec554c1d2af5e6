; Go. What each capture means is said in mod.rs.

(source_file (_) @item)
(ERROR (function_declaration) @item)
(ERROR (method_declaration) @item)

(package_clause) @comment
; What an example must print stands in a comment of its body.
((_ (comment) @comment) @_p (#not-match? @_p "^\\{[^\\x00]*//\\s*([Uu]nordered )?[Oo]utput:"))
; A test file behind a condition may be left out of every build.
((comment) @mark @skip (#match? @mark "^//(go:build| ?\\+build) "))

(import_declaration) @import

((function_declaration name: (identifier) @_n
    parameters: (parameter_list . (parameter_declaration type: (pointer_type) @_t) .)) @test
  (#match? @_n "^Test([^a-z]|$)") (#match? @_t "\\bT$"))
((function_declaration name: (identifier) @_n
    parameters: (parameter_list . (parameter_declaration type: (pointer_type) @_t) .)) @test
  (#match? @_n "^Fuzz([^a-z]|$)") (#match? @_t "\\bF$"))
((function_declaration name: (identifier) @_n body: (block (comment) @_c)) @test
  (#match? @_n "^Example([^a-z]|$)") (#match? @_c "^//\\s*([Uu]nordered )?[Oo]utput:"))

((call_expression function: (selector_expression field: (field_identifier) @_f)) @skip
  (#match? @_f "^Skip(f|Now)?$"))

((call_expression function: (selector_expression field: (field_identifier) @_f)) @assert
  (#match? @_f "^(Error|Errorf|Fatal|Fatalf|Fail|FailNow)$"))
((call_expression function: (selector_expression operand: (identifier) @_o)) @assert
  (#any-of? @_o "assert" "require"))
((call_expression function: (selector_expression field: (field_identifier) @_f)) @assert
  (#match? @_f "^(Require|Assert|Equal|NoError)$"))
((call_expression function: (identifier) @_f) @assert
  (#match? @_f "^([aA]ssert|[rR]equire|[cC]heck|[mM]ust|[eE]xpect)"))

(binary_expression operator: ["==" "!="] @exact)
((call_expression function: (selector_expression field: (field_identifier) @exact))
  (#match? @exact "^(Equal|EqualValues|Exactly|JSONEq|DeepEqual|Is|As)$"))
(if_statement condition: (false) @vacuous)
(binary_expression left: (false) @vacuous operator: "&&")
(binary_expression operator: "&&" right: (false) @vacuous)
((call_expression function: (selector_expression field: (field_identifier) @_f)
    arguments: (argument_list (_) . (true) @vacuous)) (#match? @_f "^Truef?$"))

(range_clause right: (composite_literal
  type: (slice_type element: [(struct_type) (type_identifier) (pointer_type)]) body: (literal_value) @table))
(expression_list (composite_literal
  type: (slice_type element: (struct_type)) body: (literal_value) @table))
(expression_list (composite_literal
  type: (map_type value: (struct_type)) body: (literal_value) @table))

(function_declaration name: (_) @define)
(method_declaration name: (_) @define)
(type_spec name: (_) @define)
(const_spec name: (_) @define)
(var_spec name: (_) @define)
(field_declaration name: (_) @define)
(method_elem name: (_) @define)

((function_declaration name: (identifier) @_n) @ambient (#any-of? @_n "init" "TestMain"))
(source_file (var_declaration (var_spec name: (identifier) @_n)) @ambient (#eq? @_n "_"))

((call_expression function: (identifier) @_f arguments: (argument_list . (_) @_a)) @placeholder
  (#eq? @_f "panic") (#match? @_a "(?i)\\b(not (yet )?implemented|unimplemented|todo|implement me)\\b"))

((interpreted_string_literal_content) @asks (#match? @asks "^(-?test\\.[a-z]+|\\.test)$"))
((call_expression function: (selector_expression operand: (identifier) @_o field: (field_identifier) @_f)) @asks
  (#eq? @_o "testing") (#any-of? @_f "Testing" "Init"))

(function_declaration name: (_) @holder.name) @holder
(method_declaration name: (_) @holder.name) @holder
(type_spec name: (_) @holder.name) @holder
