//! Whatever happens in whatever order: no message is lost or doubled, none overtakes another, and the conversation
//! holds whole answers only.

use perspt_chat::{CallId, Effect, Talk};
use perspt_model::Role;
use proptest::prelude::*;

use crate::support::{answer, chunk, end, pending, sent, stalled, talk};

#[derive(Debug, Clone, Copy)]
enum Step {
    Message,
    Chunk,
    Whole,
    Empty,
    Fault,
    /// An end or a piece of an earlier call.
    Late(u64),
    Cancel,
    Interrupt,
    Retry,
    Send,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Message),
        2 => Just(Step::Chunk),
        3 => Just(Step::Whole),
        1 => Just(Step::Empty),
        2 => Just(Step::Fault),
        2 => (0..20u64).prop_map(Step::Late),
        1 => Just(Step::Cancel),
        1 => Just(Step::Interrupt),
        2 => Just(Step::Retry),
        1 => Just(Step::Send),
    ]
}

/// What is known from outside.
#[derive(Default)]
struct Seen {
    typed: Vec<String>,
    open_call: Option<u64>,
    calls: u64,
    /// Messages that may be sent once more, since their call gave no answer.
    again: Vec<String>,
    sent: Vec<String>,
}

impl Seen {
    fn take(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Cancel(CallId(call)) => {
                    assert_eq!(self.open_call.take(), Some(*call), "only the running call is cancelled");
                }
                Effect::Ask(ask) => {
                    assert_eq!(self.open_call, None, "one call at a time");
                    self.calls += 1;
                    assert_eq!(ask.call, CallId(self.calls));
                    self.open_call = Some(self.calls);
                }
                Effect::Save(_) | Effect::Show(_) | Effect::Quit(_) => {}
            }
        }
        for message in sent(effects).iter().flat_map(|text| text.split("\n\n")) {
            let allowed = self.again.iter().position(|again| again == message);
            match allowed {
                Some(at) => drop(self.again.remove(at)),
                None => assert!(!self.sent.iter().any(|sent| sent == message), "{message} was sent twice"),
            }
            self.sent.push(message.to_owned());
        }
    }

    /// The call ended without an answer.
    fn unanswered(&mut self, talk: &Talk) {
        let asked = pending(talk).into_iter().filter(|message| self.sent.contains(message));
        self.again = asked.collect();
    }

    fn do_step(&mut self, talk: &mut Talk, step: Step) {
        let open = self.open_call;
        let effects = match (step, open) {
            (Step::Message, _) => {
                let message = format!("message {}", self.typed.len());
                self.typed.push(message.clone());
                talk.typed(&message)
            }
            (Step::Chunk, Some(call)) => talk.heard(chunk(call, "whole ")),
            (Step::Whole, Some(call)) => {
                self.open_call = None;
                talk.heard(end(call, answer(&format!("whole {call}"))))
            }
            (Step::Empty, Some(call)) => {
                self.open_call = None;
                talk.heard(end(call, answer("")))
            }
            (Step::Fault, Some(call)) => {
                self.open_call = None;
                talk.heard(end(call, Err(stalled())))
            }
            (Step::Late(back), _) => {
                let call = self.calls.saturating_sub(back);
                if open == Some(call) {
                    return;
                }
                let mut effects = talk.heard(end(call, answer("late")));
                effects.extend(talk.heard(chunk(call, "late")));
                effects.extend(talk.heard(end(call, Err(stalled()))));
                assert!(effects.is_empty(), "a call that is over says nothing: {effects:?}");
                effects
            }
            (Step::Cancel, _) => talk.typed("/cancel"),
            (Step::Interrupt, Some(_)) => talk.interrupted(),
            (Step::Retry, _) => talk.typed("/retry"),
            (Step::Send, _) => talk.typed("/send"),
            (Step::Chunk | Step::Whole | Step::Empty | Step::Fault | Step::Interrupt, None) => return,
        };
        if open.is_some() && matches!(step, Step::Empty | Step::Fault | Step::Cancel | Step::Interrupt) {
            self.unanswered(talk);
        }
        self.take(&effects);
        self.check(talk);
    }

    fn check(&self, talk: &Talk) {
        let history = talk.history();
        let said =
            history.iter().filter(|turn| turn.role == Role::User).flat_map(|turn| turn.text.split("\n\n"));
        let all: Vec<String> = said.map(str::to_owned).chain(pending(talk)).collect();
        assert_eq!(all, self.typed, "every message is somewhere, once and in its place");
        for (at, turn) in history.iter().enumerate() {
            assert_eq!(turn.role, if at % 2 == 0 { Role::User } else { Role::Assistant });
            let number = turn.text.strip_prefix("whole ").map(str::parse::<u64>);
            assert!(turn.role == Role::User || matches!(number, Some(Ok(_))), "{turn:?}");
        }
        assert_eq!(talk.is_busy(), self.open_call.is_some());
        let made: u64 = talk.spending().models().map(|(_, spent)| spent.calls).sum();
        assert_eq!(made + u64::from(talk.is_busy()), self.calls, "every call is counted once");
    }
}

proptest! {
    #[test]
    fn in_every_order_nothing_is_lost_doubled_or_half(steps in proptest::collection::vec(step(), 0..60)) {
        let mut talk = talk();
        let mut seen = Seen::default();
        for step in steps {
            seen.do_step(&mut talk, step);
        }
        // From here on the model answers: everything that was typed gets its answer.
        let rest = pending(&talk).len();
        for _ in 0..=rest {
            seen.do_step(&mut talk, Step::Retry);
            seen.do_step(&mut talk, Step::Whole);
        }
        prop_assert_eq!(pending(&talk), Vec::<String>::new());
    }
}
