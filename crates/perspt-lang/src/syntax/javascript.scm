; JavaScript and TypeScript. What each capture means is said in mod.rs.

(program (_) @item)
(class_body (_) @item)
(ERROR (function_declaration) @item)
(ERROR (class_declaration) @item)
((call_expression function: [(identifier) @_f (member_expression object: (identifier) @_f)]
    arguments: (arguments [(arrow_function body: (statement_block (_) @item))
      (function_expression body: (statement_block (_) @item))]))
  (#match? @_f "^[fx]?(describe|suite|context)$"))

((expression_statement (call_expression function: [(identifier) @_f (member_expression object: (identifier) @_f)]
    arguments: (arguments . [(string) (template_string)] @title))) @scope @suite
  (#match? @_f "^[fx]?(describe|suite|context)$"))
(class_declaration) @scope
(export_statement declaration: (class_declaration) @scope)

((expression_statement [
    (call_expression function: [(identifier) @_f (member_expression object: (identifier) @_f)]
      arguments: (arguments . [(string) (template_string)] @title))
    (await_expression (call_expression function: [(identifier) @_f (member_expression object: (identifier) @_f)]
      arguments: (arguments . [(string) (template_string)] @title)))]) @test
  (#match? @_f "^[fx]?(test|it|specify)$"))
((expression_statement (call_expression
    function: (call_expression function: (member_expression object: (identifier) @_f property: (property_identifier) @_p))
    arguments: (arguments . [(string) (template_string)] @title))) @test
  (#match? @_f "^[fx]?(test|it)$") (#any-of? @_p "each" "for"))

(comment) @comment
(hash_bang_line) @comment
; Formatters add and take away what ends a statement.
(expression_statement ";" @comment)
(lexical_declaration ";" @comment)
(variable_declaration ";" @comment)
(return_statement ";" @comment)
(throw_statement ";" @comment)
(import_statement ";" @comment)
(export_statement ";" @comment)

(import_statement) @import
((lexical_declaration (variable_declarator value: (call_expression function: (identifier) @_r))) @import
  (#eq? @_r "require"))
((variable_declaration (variable_declarator value: (call_expression function: (identifier) @_r))) @import
  (#eq? @_r "require"))

((call_expression function: (member_expression object: (identifier) @_f property: (property_identifier) @_p) @mark)
  (#match? @_f "^(describe|suite|context)$") (#any-of? @_p "skip" "todo" "only" "skipIf" "runIf"))
((call_expression function: (identifier) @mark) (#match? @mark "^[fx](describe|suite|context)$"))

((member_expression property: (property_identifier) @skip)
  (#any-of? @skip "skip" "todo" "only" "skipIf" "runIf" "fails" "failing"))
((call_expression function: (identifier) @skip) (#match? @skip "^[fx](describe|suite|context|test|it)$"))
((pair key: (property_identifier) @skip) (#any-of? @skip "skip" "todo" "only"))

((call_expression function: (identifier) @_f) @assert
  (#match? @_f "^(assert\\w*|expect\\w*|ok|equal|notEqual|deepEqual|strictEqual|deepStrictEqual|notStrictEqual|match|throws|doesNotThrow|rejects|doesNotReject|fail)$"))
((call_expression function: (member_expression object: (identifier) @_o)) @assert
  (#any-of? @_o "assert" "expect" "sinon"))
((call_expression function: (member_expression object: (member_expression property: (property_identifier) @_p))) @assert
  (#any-of? @_p "assert" "should"))

((property_identifier) @exact
  (#match? @exact "^(equals?|strictEqual|deepEqual|deepStrictEqual|eql|toBe|toEqual|toStrictEqual|toBeNull|toBeUndefined|toHaveLength)$"))
((call_expression function: (identifier) @exact)
  (#any-of? @exact "equal" "strictEqual" "deepEqual" "deepStrictEqual"))
((call_expression function: [(identifier) @_f (member_expression object: (identifier) @_f property: (property_identifier) @_p)]
    arguments: (arguments . [(true) (number) (string)] @vacuous .))
  (#match? @_f "^(assert|ok|expect)$"))
(binary_expression left: (true) @vacuous operator: "||")
(binary_expression operator: "||" right: (true) @vacuous)

((call_expression function: (member_expression property: (property_identifier) @_p) arguments: (arguments . (array) @table))
  (#any-of? @_p "each" "for"))
(for_in_statement right: (array) @table)
(program (lexical_declaration (variable_declarator value: [(array) (object)] @table)))

(function_declaration name: (_) @define)
(class_declaration name: (_) @define)
(method_definition name: (_) @define)
(variable_declarator name: (identifier) @define)

(function_declaration name: (_) @binds)
(class_declaration name: (_) @binds)
(variable_declarator name: (identifier) @binds)
(expression_statement (assignment_expression left: (identifier) @binds))

((statement_block . (throw_statement (_) @_e) @placeholder .)
  (#match? @_e "([nN]ot ([yY]et )?|[uU]n)[iI]mplemented|TODO"))
((arrow_function body: (statement_block . (comment) . (throw_statement (_) @_e) @placeholder .))
  (#match? @_e "([nN]ot ([yY]et )?|[uU]n)[iI]mplemented|TODO"))

((expression_statement (call_expression function: (_) @_f)) @ambient
  (#match? @_f "^(before|after|setup|teardown|suiteSetup|suiteTeardown|beforeEach|afterEach|beforeAll|afterAll|test\\.(before|after)\\w*|mock\\.\\w+|jest\\.\\w+|vi\\.\\w+)$"))
(program (expression_statement [(assignment_expression left: [(member_expression) (subscript_expression)])
  (augmented_assignment_expression)]) @ambient)
(program [(if_statement) (for_statement) (for_in_statement) (while_statement) (try_statement)] @ambient)
((program (expression_statement (call_expression function: (_) @_f)) @ambient)
  (#not-match? @_f "^[fx]?(describe|suite|context|test|it|specify)\\b"))

((member_expression property: (property_identifier) @asks)
  (#match? @asks "^(VITEST\\w*|JEST_WORKER_ID|NODE_TEST_CONTEXT|NODE_V8_COVERAGE|MOCHA\\w*)$"))
((binary_expression) @asks (#match? @asks "NODE_ENV") (#match? @asks "['\"`]test['\"`]"))

(function_declaration name: (_) @holder.name) @holder
(class_declaration name: (_) @holder.name) @holder
(method_definition name: (_) @holder.name) @holder
(variable_declarator name: (identifier) @holder.name value: [(arrow_function) (function_expression)]) @holder

((import_statement source: (string (string_fragment) @loads)) @_s
  (#not-match? @_s "^import\\s+type\\s*([{*]|[\\w$]+\\s+from)"))
((export_statement source: (string (string_fragment) @loads)) @_s
  (#not-match? @_s "^export\\s+type\\s*[{*]"))
((call_expression function: [(import) (identifier)] @_f arguments: (arguments . (string (string_fragment) @loads)))
  (#match? @_f "^(import|require)$"))
