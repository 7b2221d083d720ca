;; An environment in which there is nothing: no variables, no arguments, no directory. Made into empty-environment.wasm by
;; `wasm-tools parse empty-environment.wat -o empty-environment.wasm`.
(component
  (core module $zeros
    (memory (export "memory") 1)
    ;; Eight zeros: of a list its place and length, of an option that there is none.
    (func (export "nothing") (result i32) i32.const 16))
  (core instance $zeros (instantiate $zeros))
  (func $get-environment (result (list (tuple string string)))
    (canon lift (core func $zeros "nothing") (memory (core memory $zeros "memory"))))
  (func $get-arguments (result (list string))
    (canon lift (core func $zeros "nothing") (memory (core memory $zeros "memory"))))
  (func $initial-cwd (result (option string))
    (canon lift (core func $zeros "nothing") (memory (core memory $zeros "memory"))))
  (instance $environment
    (export "get-environment" (func $get-environment))
    (export "get-arguments" (func $get-arguments))
    (export "initial-cwd" (func $initial-cwd)))
  (export "wasi:cli/environment@0.2.0" (instance $environment)))
