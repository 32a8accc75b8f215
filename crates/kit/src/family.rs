//! An owner's family: its objects of every kind, watched together, and seen as one picture.
//!
//! Objects are found by a label that has their owner's name (the Jobs of a CronJob have another owner reference), and by the names
//! that an owner's objects have: one that somebody else made there must be seen before it is touched.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use k8s_openapi::{
    api::{batch::v1::Job, core::v1::Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::ResourceExt;

use crate::{
    Change, Informer, Key, KindId, Manager, Reconciler, Row, Run, Select, Store,
    controller::{Cache, Controller},
    parts,
    queue::{Priority, Queue},
    run,
};

const INDEX: &str = "family";
/// The label that says which part of its owner an object is.
pub const COMPONENT: &str = "app.kubernetes.io/component";

/// By what the objects of an owner are known.
#[derive(Debug, PartialEq, Eq)]
pub struct Kinship {
    /// The label that has the owner's name.
    pub owner: &'static str,
    /// The labels that all objects of this operator carry.
    pub ours: &'static [(&'static str, &'static str)],
    /// What follows the owner's name in the names of its objects: `""` for one that is called as its owner.
    pub suffixes: &'static [&'static str],
}

impl Kinship {
    /// A label selector for what carries the labels of this operator.
    pub fn selector(&self) -> String {
        parts::selector(self.ours.iter().copied())
    }

    /// The labels of an object that is the part `component` of `owner`.
    pub fn labels(&self, owner: &str, component: &str) -> BTreeMap<String, String> {
        let own = [(self.owner, owner), (COMPONENT, component)];
        self.ours
            .iter()
            .copied()
            .chain(own)
            .map(|(label, value)| (label.to_owned(), value.to_owned()))
            .collect()
    }

    /// Metadata of an object called `name`, the part `component` of `owner`.
    pub fn meta(&self, owner: &impl ResourceExt, name: String, component: &str) -> ObjectMeta {
        let labels = Some(self.labels(&owner.name_any(), component));
        ObjectMeta { name: Some(name), namespace: owner.namespace(), labels, ..ObjectMeta::default() }
    }

    /// Whether `object` belongs to `owner`, or would again: one without a controller that carries our labels is what a deleted
    /// owner of the same name left behind.
    fn is_ours<R: Row>(&self, kind: &KindId, owner: &Key, object: &R) -> bool {
        match object.controller() {
            Some(controller) => controller.kind == kind.kind && controller.name == owner.name(),
            None => {
                let mut labels = self.ours.iter().copied().chain([(self.owner, owner.name())]);
                labels.all(|(label, value)| object.label(label) == Some(value))
            }
        }
    }

    fn names<'a>(&'a self, owner: &'a str) -> impl Iterator<Item = String> + 'a {
        self.suffixes.iter().map(move |suffix| format!("{owner}{suffix}"))
    }

    /// The owners that a change may concern: those whose label the object carries or carried, and those whose name it has.
    fn concerned<R: Row>(&self, change: &Change<'_, R>) -> BTreeSet<Key> {
        let rows = [change.old, change.new].into_iter().flatten();
        let labelled = rows.filter_map(|row| row.label(self.owner));
        let named = self.suffixes.iter().filter_map(|suffix| change.key.name().strip_suffix(suffix));
        labelled.chain(named).map(|name| Key::new(change.key.namespace(), name)).collect()
    }
}

impl<R: Row> Informer<R> {
    /// Adds an index by the owner whose name the label `label` has, as `<namespace>/<name>`.
    #[must_use]
    pub fn index_by_label(self, index: &'static str, label: &'static str) -> Self {
        self.index(index, move |row: &R| {
            let key = row.key();
            row.label(label).map(|owner| Key::new(key.namespace(), owner).to_string()).into_iter().collect()
        })
    }
}

/// The caches of an operator's kinds. Give it to the reconciler, to look with, and to its
/// [`Controller`](Controller::family), to be told of changes.
pub struct Family<O> {
    kinship: &'static Kinship,
    members: Vec<Arc<dyn Member<O>>>,
}

impl<O> Clone for Family<O> {
    fn clone(&self) -> Self {
        Self { kinship: self.kinship, members: self.members.clone() }
    }
}

impl<O: Row> Family<O> {
    /// A family of no kinds yet.
    pub fn new(kinship: &'static Kinship) -> Self {
        Self { kinship, members: Vec::new() }
    }

    /// Adds a kind, of which only the objects with our labels are watched.
    #[must_use]
    pub fn watch<R: Row>(self, manager: &mut Manager) -> Self {
        let select = Select::labels(self.kinship.selector());
        self.select::<R>(manager, select)
    }

    /// Adds a kind, of which all objects are watched: one of our names that is not ours is seen, too.
    #[must_use]
    pub fn watch_all<R: Row>(self, manager: &mut Manager) -> Self {
        self.select::<R>(manager, Select::all())
    }

    fn select<R: Row>(mut self, manager: &mut Manager, select: Select) -> Self {
        let label = self.kinship.owner;
        let store: Store<R> = manager.watch_indexed(select, |informer| informer.index_by_label(INDEX, label));
        self.members.push(Arc::new(store));
        self
    }

    /// Any object of a kind of the family, whoever's it is.
    pub fn get<R: Row>(&self, key: &Key) -> Option<Arc<R>> {
        self.members.iter().find_map(|member| (&**member as &dyn Any).downcast_ref::<Store<R>>()?.get(key))
    }

    /// What is there of the objects of `owner`.
    pub fn of(&self, owner: &Key) -> Live {
        let mut live = Live::new::<O>(self.kinship, owner.clone());
        for member in &self.members {
            member.look(owner, &mut live);
        }
        live
    }
}

impl<R: Reconciler> Controller<R> {
    /// Also reconciles an owner when an object of its family changes or goes.
    #[must_use]
    pub fn family(mut self, family: &Family<R::Kind>) -> Self {
        for member in &family.members {
            self.caches.push(member.follow(family.kinship, &self.main, &self.queue));
        }
        self
    }
}

/// The cache of one kind of a family whose owners are `O`.
trait Member<O>: Any + Send + Sync {
    fn look(&self, owner: &Key, live: &mut Live);
    fn follow(&self, kinship: &'static Kinship, owners: &Store<O>, queue: &Arc<Queue<Key>>)
    -> Arc<dyn Cache>;
}

impl<O: Row, R: Row> Member<O> for Store<R> {
    fn look(&self, owner: &Key, live: &mut Live) {
        let named =
            live.kinship.names(owner.name()).filter_map(|name| self.get(&Key::new(owner.namespace(), name)));
        let found: Vec<Arc<R>> = named.chain(self.by(INDEX, &owner.to_string())).collect();
        for row in found {
            live.put_shared(row);
        }
    }

    fn follow(
        &self,
        kinship: &'static Kinship,
        owners: &Store<O>,
        queue: &Arc<Queue<Key>>,
    ) -> Arc<dyn Cache> {
        let (owners, queue) = (owners.clone(), queue.clone());
        self.on_change(move |change| {
            let priority = if change.initial { Priority::LOW } else { Priority::NORMAL };
            for key in kinship.concerned(change).into_iter().filter(|key| owners.get(key).is_some()) {
                queue.add(key, priority);
            }
        });
        Arc::new(self.clone())
    }
}

/// One owner's objects as they were at one moment, by their types and names.
#[derive(Clone)]
pub struct Live {
    kinship: &'static Kinship,
    kind: KindId,
    owner: Key,
    objects: Vec<Object>,
}

#[derive(Clone)]
struct Object {
    kind: KindId,
    name: String,
    ours: bool,
    row: Arc<dyn Any + Send + Sync>,
}

impl Live {
    /// Nothing, of an owner of the kind `O`. For tests of decisions; [`Family::of`] is for reconciles.
    pub fn new<O: Row>(kinship: &'static Kinship, owner: Key) -> Self {
        Self { kinship, kind: O::kind(), owner, objects: Vec::new() }
    }

    /// Whose objects these are.
    pub fn owner(&self) -> &Key {
        &self.owner
    }

    /// A label selector for all that belongs to the owner.
    pub fn selector(&self) -> String {
        parts::selector(self.kinship.ours.iter().copied().chain([(self.kinship.owner, self.owner.name())]))
    }

    /// The object of this type and name.
    pub fn get<R: Row>(&self, name: &str) -> Option<&R> {
        let mut named = self.objects.iter().filter(|object| object.name == name);
        named.find_map(|object| object.row.downcast_ref())
    }

    /// All objects of a type.
    pub fn all<R: Row>(&self) -> impl Iterator<Item = &R> {
        self.objects.iter().filter_map(|object| object.row.downcast_ref())
    }

    /// How the Job of this name stands, if there is one.
    pub fn run(&self, job: &str) -> Option<Run> {
        let pods: Vec<&Pod> = self.all().collect();
        self.get(job).map(|job| run(job, &pods))
    }

    /// The Jobs that are this part of the owner and are over, by [`run::ended`].
    pub fn ended(&self, component: &str) -> Vec<(&Job, Run)> {
        let pods: Vec<&Pod> = self.all().collect();
        run::ended(self.part(component), &pods).collect()
    }

    /// Adds an object, or puts it in place of what has its name.
    pub fn put<R: Row>(&mut self, row: R) {
        self.put_shared(Arc::new(row));
    }

    /// The same, with a row of a cache.
    pub fn put_shared<R: Row>(&mut self, row: Arc<R>) {
        let name = row.key().name().to_owned();
        self.remove::<R>(&name);
        let ours = self.kinship.is_ours(&self.kind, &self.owner, &*row);
        self.objects.push(Object { kind: R::kind(), name, ours, row });
    }

    /// Takes an object out.
    pub fn remove<R: Row>(&mut self, name: &str) {
        self.objects.retain(|object| object.name != name || !object.row.is::<R>());
    }

    /// The object of this type and name, if it belongs to the owner.
    pub fn ours<R: Row>(&self, name: &str) -> Option<&R> {
        let mut named = self.objects.iter().filter(|object| object.ours && object.name == name);
        named.find_map(|object| object.row.downcast_ref())
    }

    /// Whether the object of this type and name is there and belongs to the owner.
    pub fn is_ours<R: Row>(&self, name: &str) -> bool {
        self.ours::<R>(name).is_some()
    }

    /// All objects of a type that are this part of the owner, by the label [`COMPONENT`].
    pub fn part<R: Row>(&self, component: &str) -> impl Iterator<Item = &R> {
        self.all().filter(move |row: &&R| row.label(COMPONENT) == Some(component))
    }

    /// Kind and name of every object that has one of the owner's names, and belongs to somebody else.
    pub fn strangers(&self) -> impl Iterator<Item = (&KindId, &str)> {
        let names: BTreeSet<String> = self.kinship.names(self.owner.name()).collect();
        let strangers =
            self.objects.iter().filter(move |object| !object.ours && names.contains(&object.name));
        strangers.map(|object| (&object.kind, &*object.name))
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.objects.iter().map(|it| format!("{} {}", it.kind, it.name))).finish()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use serde_json::{Value, json};

    use super::*;

    const KINSHIP: Kinship =
        Kinship { owner: "app/instance", ours: &[("app/by", "us")], suffixes: &["", "-data"] };

    fn object<R: Row>(name: &str, labels: Value, controller: Option<&str>) -> R {
        let owners: Vec<Value> = controller
            .iter()
            .map(|name| json!({"apiVersion": "v1", "kind": "Secret", "name": name, "uid": name, "controller": true}))
            .collect();
        let metadata = json!({"name": name, "namespace": "ns", "labels": labels, "ownerReferences": owners});
        R::decode(json!({ "metadata": metadata }).to_string().as_bytes()).unwrap()
    }

    #[test]
    fn what_has_our_names_and_is_not_ours_is_a_stranger() {
        let mut live = Live::new::<Secret>(&KINSHIP, Key::new("ns", "db"));
        live.put::<ConfigMap>(object("db", json!({}), None));
        live.put::<Pod>(object("db-data", json!({"app/by": "us", "app/instance": "other"}), Some("db")));
        live.put::<Secret>(object("db-data", json!({"app/by": "us", "app/instance": "db"}), None));
        live.put::<Secret>(object("db", json!({"app/by": "us", "app/instance": "db"}), Some("other")));
        live.put::<Secret>(object("elsewhere", json!({}), None));
        let strangers: Vec<String> = live.strangers().map(|(kind, name)| format!("{kind} {name}")).collect();
        assert_eq!(strangers, ["ConfigMap db", "Secret db"]);
        assert!(live.is_ours::<Secret>("db-data") && !live.is_ours::<ConfigMap>("db-data"));
        assert!(live.ours::<Secret>("db-data").is_some() && live.ours::<Secret>("db").is_none());
        assert!(live.get::<Pod>("db-data").is_some() && live.get::<Pod>("db").is_none());
        live.put::<ConfigMap>(object("db", json!({"app/by": "us", "app/instance": "db"}), None));
        assert_eq!((live.all::<ConfigMap>().count(), live.strangers().count()), (1, 1));
        live.remove::<Secret>("db");
        assert_eq!(live.strangers().count(), 0);
    }

    #[test]
    fn a_change_concerns_the_owner_by_label_before_and_after_and_by_name() {
        let (a, b) = (json!({"app/instance": "a"}), json!({"app/instance": "b"}));
        let [old, new] = [a, b].map(|labels| Arc::new(object::<ConfigMap>("c-data", labels, None)));
        let key = Key::new("ns", "c-data");
        let change =
            Change { key: &key, old: Some(&old), new: Some(&new), undecodable: None, initial: false };
        let concerned: Vec<String> = KINSHIP.concerned(&change).iter().map(ToString::to_string).collect();
        assert_eq!(concerned, ["ns/a", "ns/b", "ns/c", "ns/c-data"]);
        assert_eq!(KINSHIP.selector(), "app/by=us");
    }

    #[test]
    fn what_is_made_for_an_owner_is_found_as_its_own() {
        let owner: ConfigMap = object("db", json!({}), None);
        let metadata = KINSHIP.meta(&owner, "db-7".to_owned(), "backup");
        assert_eq!(
            json!(metadata),
            json!({"name": "db-7", "namespace": "ns",
                "labels": {"app/by": "us", "app/instance": "db", COMPONENT: "backup"}})
        );
        let mut live = Live::new::<Secret>(&KINSHIP, Key::new("ns", "db"));
        live.put(Pod { metadata, ..Pod::default() });
        live.put::<Pod>(object("db-8", json!({COMPONENT: "app"}), None));
        assert!(live.is_ours::<Pod>("db-7"));
        live.put(Job::default());
        assert!(matches!(live.run(""), Some(Run::Running(_))) && live.run("db").is_none());
        assert_eq!((live.part::<Pod>("backup").count(), live.all::<Pod>().count()), (1, 2));
    }
}
