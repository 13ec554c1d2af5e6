//! The tag line and the name of a recording.

use perspt_core::ids::NodeId;
use perspt_model::{Prompt, Tag};
use perspt_testkit::server;
use proptest::prelude::*;

#[test]
fn a_tag_line_reads_as_the_prompts_promise_it() {
    let tag = Tag::node("actuator.generate", &NodeId::from("parser-core_2.a"), 3);
    assert_eq!(tag.to_string(), "[perspt intent=actuator.generate node=parser-core_2.a attempt=3]");
    let tag = Tag::session("architect.existing", 1);
    assert_eq!(tag.to_string(), "[perspt intent=architect.existing node=- attempt=1]");
    let prompt = Prompt::new(tag, "head".to_owned(), "evidence");
    assert_eq!(prompt.turns[0].text, "[perspt intent=architect.existing node=- attempt=1]\nevidence");
}

#[test]
fn a_node_called_dash_is_not_no_node() {
    let tag = Tag::node("correction", &NodeId::from("-"), 1);
    assert_ne!(tag.to_string(), Tag::session("correction", 1).to_string());
    assert_eq!(Tag::from_file_name(&tag.file_name()), Some(tag));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_node_survives_the_file_name_and_the_tag_line(node in ".{1,20}", attempt: u32) {
        let tag = Tag::node("correction", &NodeId::from(node.as_str()), attempt);
        let name = tag.file_name();
        prop_assert!(name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/'));
        prop_assert_eq!(Tag::from_file_name(&name), Some(tag.clone()));
        let line = tag.to_string();
        prop_assert_eq!(line.lines().count(), 1);
        let found = server::Tag::find(&format!("head\n{line}\nbody"));
        prop_assert_eq!(found.map(|found| (found.intent, found.attempt)), Some(("correction".to_owned(), attempt)));
    }
}
