//! Which entries a model's name fits.

/// How much an entry's name covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Breadth {
    /// One model and its forms.
    One,
    /// Every name that begins so.
    Family,
}

impl Breadth {
    pub(super) fn of(entry: &str) -> Breadth {
        if entry.ends_with('*') { Breadth::Family } else { Breadth::One }
    }
}

/// How many characters of a model's name an entry's name covers; `None` where it does not fit.
///
/// An entry without a provider also fits the part after the maker, as routers write it: `openai/o3`.
pub(super) fn fits(entry: &str, model: &str, provider: Option<&str>) -> Option<usize> {
    let model = model.to_lowercase();
    let name = match provider {
        Some(_) => model.as_str(),
        None => model.rsplit('/').next().unwrap_or(&model),
    };
    let entry = entry.to_lowercase();
    match entry.strip_suffix('*') {
        Some(start) => name.starts_with(start).then_some(start.len()),
        None => name.strip_prefix(entry.as_str()).filter(|tail| is_form(tail)).map(|_| entry.len()),
    }
}

/// Whether a tail makes a dated or tagged form of the same model, and not another version.
fn is_form(tail: &str) -> bool {
    if tail.is_empty() || tail == "-latest" || tail.starts_with([':', '@']) {
        return true;
    }
    let Some(date) = tail.strip_prefix('-') else { return false };
    let digits = date.bytes().take_while(u8::is_ascii_digit).count();
    digits >= 4 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// The size that a name tells, in thousand million parameters: `qwen2.5-coder:1.5b`, `Llama-3.2-3B-Instruct`.
pub(super) fn billions(model: &str) -> Option<f64> {
    let words = model.split(|character: char| !character.is_ascii_alphanumeric() && character != '.');
    let sizes = words.filter_map(|word| {
        let number = word.strip_suffix(['b', 'B'])?;
        number.starts_with(|digit: char| digit.is_ascii_digit()).then(|| number.parse::<f64>().ok()).flatten()
    });
    // A mixture names its experts too; the larger number is nearer to the truth.
    sizes.reduce(f64::max)
}
