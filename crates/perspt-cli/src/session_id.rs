//! Names for new sessions: the time they begin at, and some random digits.

use std::hash::{BuildHasher, Hasher};

use perspt_agent::ports::{Clock, SystemClock};
use perspt_core::ids::SessionId;

/// A new session's id. The random digits keep apart two sessions of the same second.
pub fn new() -> SessionId {
    let seconds = SystemClock.now().0 / 1000;
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    let (date, time) = civil(seconds);
    SessionId(format!("{date}-{time}-{:05x}", random & 0xf_ffff))
}

/// Date and time of day in UTC, as `20261115` and `231203` (days to civil date after Howard Hinnant's
/// published algorithm).
fn civil(seconds: u64) -> (String, String) {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (
        format!("{year:04}{month:02}{day:02}"),
        format!("{:02}{:02}{:02}", rest / 3600, rest / 60 % 60, rest % 60),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leap_day_and_the_days_around_it_have_their_dates() {
        assert_eq!(civil(0), ("19700101".to_owned(), "000000".to_owned()));
        assert_eq!(civil(951_782_400), ("20000229".to_owned(), "000000".to_owned()));
        assert_eq!(civil(951_868_799), ("20000229".to_owned(), "235959".to_owned()));
        assert_eq!(civil(951_868_800), ("20000301".to_owned(), "000000".to_owned()));
    }
}
