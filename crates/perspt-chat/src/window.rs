//! What of a conversation fits into the model's window.

use perspt_model::{Turn, estimate_tokens};

use crate::exchange::Exchange;

/// How much a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Tokens of prompt and answer together, where known.
    pub window: Option<u32>,
    /// Tokens the answer may have.
    pub output: u32,
}

/// A conversation as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// The turns, the new message last.
    pub turns: Vec<Turn>,
    /// How many of the oldest exchanges are not sent.
    pub left_out: usize,
    /// How many tokens the answer may have. Never more than half of the window, or a small one had no place for the
    /// question.
    pub output: u32,
    /// The message's estimated tokens, where even alone it may not fit. It is sent whole all the same: an estimate
    /// is no reason to refuse it.
    pub oversize: Option<u64>,
}

/// Leaves out the oldest exchanges until the rest is estimated to fit. Where the window is unknown everything is sent.
pub fn fit(head: &str, exchanges: &[Exchange], message: &str, room: Room) -> Fitted {
    let output = room.window.map_or(room.output, |window| room.output.min(window / 2));
    let mut oversize = None;
    let mut left_out = 0;
    if let Some(window) = room.window {
        let place = u64::from(window.saturating_sub(output));
        let needed = estimate_tokens(head) + estimate_tokens(message);
        oversize = (needed > place).then_some(needed);
        let mut free = place.saturating_sub(needed);
        let kept = exchanges.iter().rev().take_while(|exchange| {
            let tokens = exchange.estimated_tokens();
            let fits = tokens <= free;
            free = free.saturating_sub(tokens);
            fits
        });
        left_out = exchanges.len() - kept.count();
    }
    let mut turns: Vec<Turn> = exchanges.iter().skip(left_out).flat_map(Exchange::turns).collect();
    // The next call sends all of this again, so what may be cached ends with this message.
    turns.push(Turn::user(message).with_stable(message.len()));
    Fitted { turns, left_out, output, oversize }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An exchange of 20 estimated tokens.
    fn exchange(number: usize) -> Exchange {
        Exchange {
            messages: vec![format!("{number:030}")],
            answer: format!("{number:030}"),
            model: "m".to_owned(),
        }
    }

    fn room(window: u32) -> Room {
        Room { window: Some(window), output: 50 }
    }

    #[test]
    fn the_oldest_go_first_and_the_new_message_always_stays() {
        let exchanges: Vec<Exchange> = (0..3).map(exchange).collect();
        // 100 of 150 are left for the prompt: head 10, message 10, and 80 for exchanges of 20.
        let (head, message) = ("h".repeat(30), "m".repeat(30));
        assert_eq!(fit(&head, &exchanges, &message, room(150)).left_out, 0);
        // 59 are left for exchanges.
        let fitted = fit(&head, &exchanges, &message, room(129));
        assert_eq!((fitted.left_out, fitted.turns.len(), fitted.oversize), (1, 5, None));
        assert_eq!(fitted.turns[0], Turn::user(exchanges[1].messages[0].clone()));
        assert_eq!(fitted.turns[4].text, message);
    }

    #[test]
    fn nothing_is_left_out_where_the_window_is_unknown() {
        let exchanges: Vec<Exchange> = (0..50).map(exchange).collect();
        let fitted = fit("", &exchanges, "x", Room { window: None, output: 50 });
        assert_eq!((fitted.left_out, fitted.turns.len(), fitted.output), (0, 101, 50));
    }

    #[test]
    fn a_message_that_does_not_fit_alone_is_sent_whole_and_told() {
        let message = "m".repeat(600);
        let fitted = fit("", &[exchange(0)], &message, room(150));
        assert_eq!((fitted.left_out, fitted.oversize), (1, Some(200)));
        assert_eq!(fitted.turns.last().map(|turn| turn.text.len()), Some(600));
    }

    #[test]
    fn an_answer_takes_at_most_half_of_a_small_window() {
        assert_eq!(fit("", &[], "x", Room { window: Some(100), output: 16_384 }).output, 50);
    }

    #[test]
    fn an_old_exchange_is_not_sent_without_the_one_after_it() {
        let long = Exchange { answer: "x".repeat(300), ..exchange(1) };
        let fitted = fit("", &[exchange(0), long, exchange(2)], "x", room(110));
        assert_eq!(fitted.left_out, 2, "the first would fit, but not beside the second");
    }
}
