//! `perspt config`: every value and where it comes from.

use crate::args::ConfigArgs;
use crate::config::Config;
use crate::fail::Failure;
use crate::out;

pub fn run(_: &ConfigArgs) -> Result<u8, Failure> {
    let config = Config::load()?;
    out::line(&format!(
        "{:<20} {:<40} {}",
        "data_dir",
        config.home.display().to_string(),
        config.home_source
    ));
    for (key, value) in config.values() {
        let text = if key == "base_url" { perspt_model::shown_url(&value.text) } else { value.text.clone() };
        out::line(&format!("{key:<20} {:<40} {}", out::plain(&text), value.source));
    }
    let key = if config.has_key { "set (not shown)" } else { "not set" };
    out::line(&format!("{:<20} {key:<40} $OPENAI_API_KEY", "api_key"));
    config.settings()?;
    Ok(0)
}
