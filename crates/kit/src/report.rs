//! The usual report: the status, and when that is news, the events.

use kube::Resource;
use serde::Serialize;

use crate::{Acted, Context, Error, Event, Outcome};

impl Context {
    /// Writes `status`, and tells `events` if that changed anything: an event is told once, with the status that it is about.
    /// Returns what became of the plan, and whether it was news; or, when there is no more to be said, how the reconcile ends.
    /// What was decided on an old picture, or by a replica that no longer leads, is not reported at all.
    pub async fn report<K>(
        &self,
        main: &K,
        status: &impl Serialize,
        events: impl IntoIterator<Item = Event>,
        acted: Acted,
    ) -> Result<(Acted, bool), Outcome>
    where
        K: Resource<DynamicType = ()> + Serialize,
        K::Scope: 'static,
    {
        if let Acted::Failed(Error::Stale { .. } | Error::NotLeader { .. }) = &acted {
            return Err(acted.outcome());
        }
        let is_news = self.write_status(main, status).await.map_err(Outcome::Retry)?;
        for event in events.into_iter().filter(|_| is_news) {
            self.event(main, event);
        }
        Ok((acted, is_news))
    }
}
