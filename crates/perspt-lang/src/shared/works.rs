//! Whether a stage has its tool.

use perspt_core::reading::StageKind;

use crate::plugin::{NoTool, ToolState, Tools};

/// Whether a tool can be used for a stage, by what its probe saw.
pub(crate) fn works(stage: StageKind, tool: &str, tools: &Tools) -> Result<(), NoTool> {
    let lack = |why: &str, install: &str| NoTool {
        stage,
        tool: tool.to_owned(),
        why: why.to_owned(),
        install: install.to_owned(),
    };
    match tools.get(tool) {
        Some(ToolState::Works { .. }) => Ok(()),
        Some(ToolState::Missing { why, install } | ToolState::Broken { why, install }) => {
            Err(lack(why, install))
        }
        None => Err(lack("it was not probed", &format!("install {tool}"))),
    }
}
