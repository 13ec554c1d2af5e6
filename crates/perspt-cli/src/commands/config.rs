//! `perspt config`: every value and where it comes from.

use crate::args::ConfigArgs;
use crate::config::{self, Config};
use crate::fail::Failure;
use crate::models::Models;
use crate::out;

pub fn run(_: &ConfigArgs) -> Result<u8, Failure> {
    let config = Config::load()?;
    out::line(&format!(
        "{:<26} {:<40} {}",
        "data_dir",
        config.home.display().to_string(),
        config.home_source
    ));
    for (key, value) in config.values() {
        let is_address = key == "base_url" && !value.text.is_empty();
        let text = if is_address { perspt_model::shown_url(&value.text) } else { value.text.clone() };
        out::line(&format!("{key:<26} {:<40} {}", out::plain(&text), value.source));
    }
    let catalog = Models::load(&config)?;
    for provider in catalog.catalog().providers() {
        for name in provider.url_variables.iter().filter(|name| config::env_text(name).is_some()) {
            let url = perspt_model::shown_url(&provider.base_url_in(config::env_text));
            out::line(&format!(
                "{:<26} {:<40} ${name}",
                format!("url of {}", provider.name),
                out::plain(&url)
            ));
        }
        if provider.key_variables.is_empty() {
            continue;
        }
        let names = provider.key_variables.join(" or $");
        let set = if provider.key(config::env_text).is_some() { "set (not shown)" } else { "not set" };
        out::line(&format!("{:<26} {set:<40} ${names}", format!("key of {}", provider.name)));
    }
    config.settings()?;
    Ok(0)
}
