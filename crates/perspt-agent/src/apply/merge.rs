//! Merging two changes of one text.

/// `before` with both changes; `None` where the changed regions touch or overlap. At least one unchanged line must lie
/// between them.
pub fn merge(before: &str, ours: &str, theirs: &str) -> Option<String> {
    let split = |text: &str| -> Vec<String> { text.split_inclusive('\n').map(str::to_owned).collect() };
    let (before, ours, theirs) = (split(before), split(ours), split(theirs));
    let (first, second) = (Region::of(&before, &ours), Region::of(&before, &theirs));
    let ((above, upper), (below, lower)) = if first.start <= second.start {
        ((first, &ours), (second, &theirs))
    } else {
        ((second, &theirs), (first, &ours))
    };
    if above.end >= below.start {
        return None;
    }
    let mut merged: Vec<&str> = Vec::new();
    merged.extend(upper[..above.start + above.new].iter().map(String::as_str));
    merged.extend(before[above.end..below.start].iter().map(String::as_str));
    merged.extend(lower[below.start..].iter().map(String::as_str));
    Some(merged.concat())
}

/// The lines of the old text that are replaced, and by how many.
struct Region {
    start: usize,
    end: usize,
    new: usize,
}

impl Region {
    fn of(before: &[String], after: &[String]) -> Region {
        let start = before.iter().zip(after).take_while(|(one, other)| one == other).count();
        let most = before.len().min(after.len()) - start;
        let tail = before.iter().rev().zip(after.iter().rev()).take(most);
        let same = tail.take_while(|(one, other)| one == other).count();
        Region { start, end: before.len() - same, new: after.len() - same - start }
    }
}
