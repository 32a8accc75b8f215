//! Compares what the status claims with what clients experience: a status that says `Available` for more than [`TOLERATED`] while no
//! request is answered is wrong.
//!
//! The load sends requests all the time, each with a retry at another endpoint. So a time without an answer is one in which every
//! request failed or was still waiting.

use std::{fmt::Write as _, time::Duration};

/// The status may be behind by so much.
pub const TOLERATED: Duration = Duration::from_secs(5);

/// One request, with its retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub sent: Duration,
    pub ended: Duration,
    pub answered: bool,
}

/// What the status said from a time on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub at: Duration,
    /// Whether the condition `Available` is True. `None` while nothing is known: the object is gone, or the API server is away.
    pub available: Option<bool>,
    /// The phase and the condition's reason, for people.
    pub words: String,
}

/// Both timelines, since the load began.
#[derive(Debug, Default)]
pub struct Availability {
    requests: Vec<Request>,
    claims: Vec<Claim>,
}

/// From, until.
type Window = (Duration, Duration);

impl Availability {
    pub fn request(&mut self, request: Request) {
        self.requests.push(request);
    }

    /// How many there were.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Records what the status says, if that is news.
    pub fn claim(&mut self, claim: Claim) {
        let news = |last: &Claim| (last.available, &last.words) != (claim.available, &claim.words);
        if self.claims.last().is_none_or(news) {
            self.claims.push(claim);
        }
    }

    /// The times without an answer: from one answer to the next, if a request was sent meanwhile and waited or failed.
    fn unanswered(&self) -> Vec<Window> {
        let mut answers: Vec<Duration> =
            self.requests.iter().filter(|it| it.answered).map(|it| it.ended).collect();
        answers.sort();
        let end = self.requests.iter().map(|it| it.ended).max().unwrap_or_default();
        let from = std::iter::once(Duration::ZERO).chain(answers.iter().copied());
        let until = answers.iter().copied().chain([end]);
        let mut sent: Vec<Duration> = self.requests.iter().map(|it| it.sent).collect();
        sent.sort();
        let first_sent = |(from, until): Window| {
            // The client itself may have been held up: what counts begins with a request.
            let first = sent.get(sent.partition_point(|sent| *sent < from)).copied()?;
            Some((first, until)).filter(|(first, until)| first < until)
        };
        from.zip(until).filter_map(first_sent).collect()
    }

    /// The times in which the status said that the cluster is available.
    fn claimed(&self) -> Vec<Window> {
        let ends = self.claims.iter().skip(1).map(|it| it.at).chain([Duration::MAX]);
        let all = self.claims.iter().zip(ends);
        all.filter(|(claim, _)| claim.available == Some(true)).fold(
            Vec::new(),
            |mut windows, (claim, end)| {
                match windows.last_mut() {
                    // Still available, with other words.
                    Some((_, until)) if *until == claim.at => *until = end,
                    _ => windows.push((claim.at, end)),
                }
                windows
            },
        )
    }

    /// What is wrong: a message with both timelines for every time in which the status claimed health and no request was answered.
    pub fn judge(&self) -> Vec<String> {
        let (unanswered, claimed) = (self.unanswered(), self.claimed());
        let both = unanswered.iter().flat_map(|clients| {
            claimed.iter().map(|status| (clients.0.max(status.0), clients.1.min(status.1)))
        });
        let too_long = both.filter(|(from, until)| until.saturating_sub(*from) > TOLERATED);
        too_long.map(|window| self.explain(window)).collect()
    }

    fn explain(&self, (from, until): Window) -> String {
        let seconds = |at: Duration| format!("{:.1} s", at.as_secs_f32());
        let mut text = format!(
            "from {} to {} the status said Available, but no request was answered\n  status:",
            seconds(from),
            seconds(until)
        );
        for claim in self.claims.iter().filter(|it| it.at <= until) {
            let _ = write!(text, " {} {};", seconds(claim.at), claim.words);
        }
        let within = |it: &&Request| it.ended >= from && it.sent <= until;
        let failed = self.requests.iter().filter(within).filter(|it| !it.answered).count();
        let answers = |it: &&Request| it.answered;
        let before = self.requests.iter().filter(answers).map(|it| it.ended).filter(|at| *at <= from).max();
        let after = self.requests.iter().filter(answers).map(|it| it.ended).filter(|at| *at >= until).min();
        let or_none = |at: Option<Duration>| at.map_or("none".to_owned(), seconds);
        let _ = write!(
            text,
            "\n  clients: last answer before: {}; {failed} requests failed; next answer: {}",
            or_none(before),
            or_none(after)
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f32) -> Duration {
        Duration::from_secs_f32(seconds)
    }

    /// A request every half second for 20 s; those that end within `outage` fail.
    fn requests(outage: (f32, f32)) -> Availability {
        let mut seen = Availability::default();
        for tick in 0..40_u16 {
            let sent = f32::from(tick) * 0.5;
            let ended = sent + 0.25;
            let answered = ended <= outage.0 || ended > outage.1;
            seen.request(Request { sent: at(sent), ended: at(ended), answered });
        }
        seen
    }

    fn claims(seen: &mut Availability, claims: &[(f32, Option<bool>)]) {
        for (since, available) in claims {
            let words = match available {
                Some(true) => "Healthy",
                Some(false) => "Unavailable",
                None => "not known",
            };
            seen.claim(Claim { at: at(*since), available: *available, words: words.to_owned() });
        }
    }

    #[test]
    fn health_claimed_while_no_request_is_answered_is_found() {
        let mut seen = requests((4.0, 10.0));
        claims(&mut seen, &[(0.0, Some(true))]);
        assert_eq!(
            seen.judge(),
            [
                "from 4.0 s to 10.2 s the status said Available, but no request was answered\n  status: 0.0 s Healthy;\n  \
              clients: last answer before: 3.8 s; 12 requests failed; next answer: 10.2 s"
            ]
        );
    }

    #[test]
    fn a_status_that_follows_within_five_seconds_is_right() {
        let mut seen = requests((4.0, 15.0));
        claims(&mut seen, &[(0.0, Some(true)), (8.0, Some(false)), (16.0, Some(true))]);
        assert_eq!(seen.judge(), Vec::<String>::new());
        let mut late = requests((4.0, 15.0));
        claims(&mut late, &[(0.0, Some(true)), (10.0, Some(false)), (16.0, Some(true))]);
        assert_eq!(late.judge().len(), 1, "six seconds late");
    }

    #[test]
    fn health_claimed_too_early_is_found() {
        let mut seen = requests((4.0, 15.0));
        claims(&mut seen, &[(0.0, Some(true)), (5.0, Some(false)), (9.0, Some(true))]);
        assert_eq!(seen.judge().len(), 1);
    }

    #[test]
    fn other_words_for_the_same_claim_do_not_start_it_anew() {
        let mut seen = requests((4.0, 10.0));
        let claim =
            |since: f32, words: &str| Claim { at: at(since), available: Some(true), words: words.to_owned() };
        seen.claim(claim(0.0, "Healthy"));
        seen.claim(claim(7.0, "Degraded"));
        assert_eq!(seen.judge().len(), 1);
    }

    #[test]
    fn a_short_outage_an_unknown_status_and_a_client_that_sends_nothing_are_no_fault() {
        let mut short = requests((4.0, 8.0));
        claims(&mut short, &[(0.0, Some(true))]);
        assert_eq!(short.judge(), Vec::<String>::new());
        let mut unknown = requests((4.0, 15.0));
        claims(&mut unknown, &[(0.0, Some(true)), (6.0, None)]);
        assert_eq!(unknown.judge(), Vec::<String>::new());
        let mut idle = Availability::default();
        claims(&mut idle, &[(0.0, Some(true))]);
        for sent in [0.0, 12.0] {
            idle.request(Request { sent: at(sent), ended: at(sent + 0.2), answered: true });
        }
        assert_eq!(idle.judge(), Vec::<String>::new());
    }

    #[test]
    fn requests_that_wait_for_an_answer_count_as_unanswered() {
        let mut seen = Availability::default();
        claims(&mut seen, &[(0.0, Some(true))]);
        seen.request(Request { sent: at(0.0), ended: at(0.2), answered: true });
        seen.request(Request { sent: at(0.5), ended: at(7.0), answered: true });
        assert_eq!(seen.judge().len(), 1);
    }
}
