//! What the tests share.

use serde_json::{Value, json};

/// A plan of these tasks.
pub fn plan(tasks: &[Value]) -> String {
    json!({ "tasks": tasks }).to_string()
}

/// A task that lists its tests with its code.
pub fn task(id: &str, files: &[&str], dependencies: &[&str]) -> Value {
    json!({
        "id": id,
        "goal": format!("the goal of {id}"),
        "output_files": files,
        "dependencies": dependencies,
        "task_type": "unit_test",
    })
}

/// An answer of these operations.
pub fn bundle(artifacts: &[Value]) -> String {
    json!({ "artifacts": artifacts }).to_string()
}

/// The whole file.
pub fn write(path: &str, content: &str) -> Value {
    json!({ "operation": "write", "path": path, "content": content })
}

/// Another name.
pub fn rename(from: &str, to: &str) -> Value {
    json!({ "operation": "move", "from": from, "to": to })
}

/// No file any more.
pub fn delete(path: &str) -> Value {
    json!({ "operation": "delete", "path": path })
}
