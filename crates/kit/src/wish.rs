//! Wishes: objects as they should be, of any kinds in one list. So a plan can be a list, and carrying it out one loop.

use std::{any::Any, fmt::Debug};

use futures::future::BoxFuture;
use kube::{Resource, ResourceExt as _};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Context, KindId, Live, Result};

/// An object as it should be. Every kube type is one.
pub trait Wish: Any + Debug + Send + Sync {
    /// Its kind.
    fn kind(&self) -> KindId;

    /// Its name.
    fn name(&self) -> String;

    /// Whether [`Context::apply`] would send anything.
    fn is_news(&self, cx: &Context, live: &Live) -> Result<bool>;

    /// Makes it so, by [`Context::apply`].
    fn apply<'a>(&'a self, cx: &'a Context, live: &'a Live) -> BoxFuture<'a, Result<()>>;

    /// Removes the object that this was seen as, by [`Context::delete`].
    fn delete<'a>(&'a self, cx: &'a Context) -> BoxFuture<'a, Result<()>>;

    /// Pretends that it is so: for tests of decisions.
    fn put_into(&self, live: &mut Live);
}

impl dyn Wish {
    /// The object itself, if it is a `K`.
    pub fn of<K: 'static>(&self) -> Option<&K> {
        (self as &dyn Any).downcast_ref()
    }
}

impl<K> Wish for K
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static,
    K::Scope: 'static,
{
    fn kind(&self) -> KindId {
        KindId::of::<K>()
    }

    fn name(&self) -> String {
        self.name_any()
    }

    fn is_news(&self, cx: &Context, live: &Live) -> Result<bool> {
        live.get(&self.name_any()).map_or(Ok(true), |live| cx.would_change(self, live))
    }

    fn apply<'a>(&'a self, cx: &'a Context, live: &'a Live) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { cx.apply(self, live.get(&self.name_any())).await.map(drop) })
    }

    fn delete<'a>(&'a self, cx: &'a Context) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { cx.delete(self).await.map(drop) })
    }

    fn put_into(&self, live: &mut Live) {
        live.put(self.clone());
    }
}
