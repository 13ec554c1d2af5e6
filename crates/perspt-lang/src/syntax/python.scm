; Python. What each capture means is said in mod.rs.

(module (_) @item)
(ERROR (function_definition) @item)
(ERROR (class_definition) @item)
(class_definition body: (block (_) @item))
(class_definition) @scope
((class_definition name: (identifier) @_c) @suite (#match? @_c "^Test"))
((class_definition superclasses: (argument_list (_) @_b)) @suite (#match? @_b "TestCase$|Tests?$"))
((class_definition name: (identifier) @_c superclasses: (argument_list (_))) @suite
  (#match? @_c "(Tests?|TestCase)$"))

(comment) @comment
(function_definition body: (block . (expression_statement . (string) @doc .) @comment))
(class_definition body: (block . (expression_statement . (string) @doc .) @comment))
(module . (expression_statement . (string) @doc .) @comment)
((if_statement condition: (comparison_operator) @_c) @comment (#match? @_c "^__name__"))

(import_statement) @import
(import_from_statement) @import
(future_import_statement) @import

((function_definition name: (identifier) @_n) @test (#match? @_n "^test"))
((decorated_definition definition: (function_definition name: (identifier) @_n)) @test (#match? @_n "^test"))

(decorated_definition (decorator) @mark definition: (class_definition))
(class_definition superclasses: (argument_list) @mark)
((expression_statement (assignment left: (identifier) @_n)) @mark (#eq? @_n "pytestmark"))

((identifier) @skip (#match? @skip "^(skip|skipif|skipIf|skipUnless|xfail|importorskip|expectedFailure|skipTest|SkipTest)$"))

(assert_statement) @assert
((call function: (attribute attribute: (identifier) @_f)) @assert
  (#match? @_f "^(assert|fail$|failUnless|raises$|warns$|deprecated_call$)"))

((call function: (identifier) @_f) @assert (#match? @_f "^assert"))

(comparison_operator ["==" "is"] @exact)
((call function: (attribute attribute: (identifier) @exact))
  (#match? @exact "^assert\\w*(Equals?|Is|IsNone)$") (#not-match? @exact "^assertNot"))
(assert_statement . [(true) (integer) (string) (tuple)] @vacuous)
(boolean_operator left: (true) @vacuous operator: "or")
(boolean_operator operator: "or" right: (true) @vacuous)
((call function: (attribute attribute: (identifier) @_f) arguments: (argument_list . (true) @vacuous))
  (#eq? @_f "assertTrue"))

((decorator (call function: (_) @_f arguments: (argument_list . (_) . [(list) (tuple)] @table)))
  (#match? @_f "parametrize$"))
((decorator (call function: (_) @_f
    arguments: (argument_list (keyword_argument name: (identifier) @_k value: [(list) (tuple)] @table))))
  (#match? @_f "parametrize$") (#any-of? @_k "argvalues" "ids"))
(module (expression_statement (assignment right: [(list) (tuple) (set) (dictionary)] @table)))
(for_statement right: [(list) (tuple)] @table)

(function_definition name: (_) @define)
(class_definition name: (_) @define)
(assignment left: (identifier) @define)
(assignment left: (attribute attribute: (identifier) @define))
(parameters (identifier) @define)
(default_parameter name: (identifier) @define)
(typed_default_parameter name: (identifier) @define)
(typed_parameter . (identifier) @define)

(function_definition name: (_) @binds)
(class_definition name: (_) @binds)
(assignment left: [(identifier) @binds (pattern_list (identifier) @binds) (tuple_pattern (identifier) @binds)])
(augmented_assignment left: (identifier) @binds)
(named_expression name: (identifier) @binds)
(for_statement left: [(identifier) @binds (pattern_list (identifier) @binds)])
(as_pattern_target (identifier) @binds)
(delete_statement (identifier) @binds)
((decorated_definition (decorator (attribute attribute: (identifier) @_a))
    definition: (function_definition name: (_) @extends))
  (#any-of? @_a "getter" "setter" "deleter"))

((function_definition body: (block . (raise_statement . (_) @_e) @placeholder .))
  (#match? @_e "^NotImplementedError"))
((function_definition body: (block . (expression_statement (string)) . (raise_statement . (_) @_e) @placeholder .))
  (#match? @_e "^NotImplementedError"))

((decorated_definition (decorator) @_d) @ambient (#match? @_d "autouse"))
((function_definition name: (identifier) @_n) @ambient (#match? @_n "^(set[uU]p|tear[dD]own)"))
((decorated_definition definition: (function_definition name: (identifier) @_n)) @ambient
  (#match? @_n "^(set[uU]p|tear[dD]own)"))
(module [(expression_statement (call)) (for_statement) (with_statement) (try_statement) (if_statement)
  (while_statement) (delete_statement)] @ambient)
(module (expression_statement (assignment left: [(attribute) (subscript)])) @ambient)

((string_content) @asks (#match? @asks "^_?PYTEST_[A-Z_]+$"))
((comparison_operator) @asks
  (#match? @asks "\\b(modules|argv)\\b") (#match? @asks "[\"'](_?pytest|unittest)[\"']"))
((call function: (_) @_f arguments: (argument_list) @_a) @asks
  (#match? @_f "(find_spec|modules\\.get)$") (#match? @_a "[\"'](_?pytest|unittest)[\"']"))

(class_definition name: (_) @holder.name) @holder
(function_definition name: (_) @holder.name) @holder
