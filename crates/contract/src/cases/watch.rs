//! Watches: what is seen, from where on, and how they end.

use serde_json::json;

use crate::{
    Failure, Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, check, equal},
    resource::Resource,
    samples::{config_map, labelled, with_finalizers},
    watch::{Event, Watch},
};

const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// A watch of the resource from now on.
async fn from_now(resource: &Resource) -> Result<Watch, Failure> {
    let list = resource.list().await?.ok()?;
    resource.with("resourceVersion", list.version()).watch().await
}

async fn a_watch_sees_what_comes_after_its_revision(w: World) -> Outcome {
    w.config_maps().create(&config_map("before", json!({}))).await?.ok()?;
    let mut watch = from_now(&w.config_maps().with("labelSelector", "x")).await?;
    w.config_maps().create(&labelled("a", json!({"x": "1"}))).await?.ok()?;
    w.config_maps().merge("a", &json!({"data": {"k": "v"}})).await?.ok()?;
    w.config_maps().delete("a").await?.ok()?;
    equal!(watch.told(3).await?, ["ADDED a", "MODIFIED a", "DELETED a"]);
    Ok(())
}

async fn a_watch_from_an_old_revision_replays(w: World) -> Outcome {
    let then = w.secrets().list().await?.ok()?;
    w.secrets().create(&json!({"metadata": {"name": "a"}})).await?.ok()?;
    w.secrets().create(&json!({"metadata": {"name": "b"}})).await?.ok()?;
    w.secrets().delete("a").await?.ok()?;
    let mut watch = w.secrets().with("resourceVersion", then.version()).watch().await?;
    equal!(watch.told(3).await?, ["ADDED a", "ADDED b", "DELETED a"]);
    Ok(())
}

async fn an_event_carries_the_object_as_it_was(w: World) -> Outcome {
    let then = w.config_maps().list().await?.ok()?;
    let one = w.config_maps().create(&config_map("a", json!({"k": "1"}))).await?.ok()?;
    let two = w.config_maps().merge("a", &json!({"data": {"k": "2"}})).await?.ok()?;
    let here = w.config_maps().with("fieldSelector", "metadata.name=a");
    let mut watch = here.with("resourceVersion", then.version()).watch().await?;
    equal!(watch.next().await?.object, one);
    equal!(watch.next().await?.object, two);
    Ok(())
}

async fn resource_versions_of_events_grow(w: World) -> Outcome {
    let mut watch = from_now(&w.secrets()).await?;
    for name in ["a", "b"] {
        w.secrets().create(&json!({"metadata": {"name": name}})).await?.ok()?;
    }
    w.secrets().delete("a").await?.ok()?;
    let mut last = 0;
    for _ in 0..3 {
        let version: u64 = watch.next().await?.object.version().parse().unwrap_or_default();
        check!(version > last, "{version} after {last}");
        last = version;
    }
    Ok(())
}

async fn a_deleted_event_has_the_last_state_and_a_new_revision(w: World) -> Outcome {
    let made = w.secrets().create(&json!({"metadata": {"name": "a", "labels": {"x": "1"}}})).await?.ok()?;
    let mut watch = from_now(&w.secrets()).await?;
    w.secrets().delete("a").await?.ok()?;
    let event = watch.next().await?;
    equal!(event.kind, "DELETED");
    equal!(event.object.at("metadata/labels"), {"x": "1"});
    equal!(event.object.uid(), made.uid());
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    check!(number(event.object.version()) > number(made.version()), "{}", event.object.version());
    Ok(())
}

async fn a_watch_without_a_revision_starts_with_what_is_there(w: World) -> Outcome {
    for name in ["a", "b"] {
        w.secrets().create(&json!({"metadata": {"name": name}})).await?.ok()?;
    }
    for start in [w.secrets(), w.secrets().with("resourceVersion", "0")] {
        let mut watch = start.watch().await?;
        let mut told = watch.told(2).await?;
        told.sort_unstable();
        equal!(told, ["ADDED a", "ADDED b"]);
    }
    Ok(())
}

async fn a_write_that_changes_nothing_is_not_seen(w: World) -> Outcome {
    let made = w.config_maps().create(&labelled("a", json!({"x": "1"}))).await?.ok()?;
    let mut watch = from_now(&w.config_maps().with("labelSelector", "x")).await?;
    w.config_maps().replace(&made).await?.ok()?;
    w.config_maps().merge("a", &json!({"metadata": {"labels": {"x": "1"}}})).await?.ok()?;
    w.config_maps().create(&labelled("b", json!({"x": "1"}))).await?.ok()?;
    equal!(watch.told(1).await?, ["ADDED b"]);
    Ok(())
}

async fn a_dry_run_is_not_seen(w: World) -> Outcome {
    let mut watch = from_now(&w.secrets()).await?;
    w.secrets().with("dryRun", "All").create(&json!({"metadata": {"name": "a"}})).await?.ok()?;
    w.secrets().create(&json!({"metadata": {"name": "b"}})).await?.ok()?;
    equal!(watch.told(1).await?, ["ADDED b"]);
    Ok(())
}

async fn an_object_that_leaves_the_selection_is_deleted_for_the_watch(w: World) -> Outcome {
    w.config_maps().create(&labelled("a", json!({"x": "1"}))).await?.ok()?;
    let mut watch = from_now(&w.config_maps().with("labelSelector", "x=1")).await?;
    w.config_maps().merge("a", &json!({"metadata": {"labels": {"x": "2"}}})).await?.ok()?;
    let gone = watch.next().await?;
    equal!(gone.told(), "DELETED a");
    w.config_maps().merge("a", &json!({"data": {"k": "unseen"}})).await?.ok()?;
    w.config_maps().merge("a", &json!({"metadata": {"labels": {"x": "1"}}})).await?.ok()?;
    equal!(watch.told(1).await?, ["ADDED a"]);
    Ok(())
}

async fn a_watch_of_one_name_sees_only_it(w: World) -> Outcome {
    let mut watch = from_now(&w.secrets().with("fieldSelector", "metadata.name=b")).await?;
    for name in ["a", "b", "c"] {
        w.secrets().create(&json!({"metadata": {"name": name}})).await?.ok()?;
    }
    w.secrets().delete("b").await?.ok()?;
    equal!(watch.told(2).await?, ["ADDED b", "DELETED b"]);
    Ok(())
}

async fn a_watch_of_a_namespace_sees_only_it(w: World) -> Outcome {
    let other = w.secrets().in_namespace(&w.another_namespace().await?);
    let mut watch = from_now(&w.secrets()).await?;
    other.create(&json!({"metadata": {"name": "elsewhere"}})).await?.ok()?;
    w.secrets().create(&json!({"metadata": {"name": "here"}})).await?.ok()?;
    equal!(watch.told(1).await?, ["ADDED here"]);
    Ok(())
}

async fn a_watch_of_all_namespaces_sees_each(w: World) -> Outcome {
    let other = w.another_namespace().await?;
    let label = w.unique("case");
    let all = w.config_maps().in_all_namespaces().with("labelSelector", format!("case={label}"));
    let mut watch = from_now(&all).await?;
    for namespace in [w.namespace(), &other] {
        w.config_maps().in_namespace(namespace).create(&labelled("a", json!({"case": label}))).await?.ok()?;
    }
    equal!(watch.next().await?.object.text("metadata/namespace"), w.namespace());
    equal!(watch.next().await?.object.text("metadata/namespace"), other);
    Ok(())
}

async fn two_watches_see_the_same(w: World) -> Outcome {
    let list = w.secrets().list().await?.ok()?;
    let from = w.secrets().with("resourceVersion", list.version());
    let (mut one, mut two) = (from.watch().await?, from.watch().await?);
    for name in ["a", "b", "c"] {
        w.secrets().create(&json!({"metadata": {"name": name}})).await?.ok()?;
    }
    for _ in 0..3 {
        equal!(one.next().await?.object, two.next().await?.object);
    }
    Ok(())
}

async fn a_held_deletion_is_seen_as_a_change_first(w: World) -> Outcome {
    let mut watch = from_now(&w.config_maps().with("fieldSelector", "metadata.name=a")).await?;
    w.config_maps().create(&with_finalizers("a", &["capstan.dev/hold"])).await?.ok()?;
    w.config_maps().delete("a").await?.ok()?;
    w.config_maps().merge("a", &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    equal!(watch.told(3).await?, ["ADDED a", "MODIFIED a", "DELETED a"]);
    Ok(())
}

async fn status_is_seen_as_a_change(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    widgets.create(&widget(&w, "a", json!({}))).await?.ok()?;
    let mut watch = from_now(&widgets).await?;
    widgets.status().merge("a", &json!({"status": {"n": 1}})).await?.ok()?;
    let event = watch.next().await?;
    equal!(event.told(), "MODIFIED a");
    equal!(event.object.at("status/n"), 1);
    Ok(())
}

async fn events_of_custom_objects_are_in_the_watched_version(w: World) -> Outcome {
    let widgets = Crd::open(&w).version("v2", true).install(&w).await?;
    let second = w.resource(&format!("{}/v2", w.group()), "widgets");
    let served = async || Ok((second.list().await?.code == 200).then_some(()));
    w.eventually("v2 is served", served).await?;
    let mut watch = from_now(&second).await?;
    widgets.create(&widget(&w, "a", json!({}))).await?.ok()?;
    equal!(watch.next().await?.object.text("apiVersion"), format!("{}/v2", w.group()));
    Ok(())
}

async fn a_watch_ends_after_its_time(w: World) -> Outcome {
    w.secrets().create(&json!({"metadata": {"name": "a"}})).await?.ok()?;
    let list = w.secrets().list().await?.ok()?;
    let mut watch =
        w.secrets().with("resourceVersion", list.version()).with("timeoutSeconds", 1).watch().await?;
    equal!(watch.rest().await?.len(), 0);
    Ok(())
}

async fn a_watch_that_asks_for_bookmarks_gets_one_before_it_ends(w: World) -> Outcome {
    let list = w.secrets().list().await?.ok()?;
    let from = w.secrets().with("resourceVersion", list.version());
    let mut watch = from.with("allowWatchBookmarks", "true").with("timeoutSeconds", 5).watch().await?;
    let made = w.secrets().create(&json!({"metadata": {"name": "a"}})).await?.ok()?;
    let events = watch.rest().await?;
    let bookmark = events.iter().find(|e| e.kind == "BOOKMARK").ok_or_else(|| Failure::new("no bookmark"))?;
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    check!(number(bookmark.object.version()) >= number(made.version()), "{}", bookmark.object);
    equal!(bookmark.object.text("kind"), "Secret");
    check!(bookmark.object.name().is_empty() && bookmark.object.uid().is_empty(), "{}", bookmark.object);
    Ok(())
}

async fn a_watch_can_go_on_from_a_bookmark(w: World) -> Outcome {
    let list = w.secrets().list().await?.ok()?;
    let from = w.secrets().with("resourceVersion", list.version());
    let mut watch = from.with("allowWatchBookmarks", "true").with("timeoutSeconds", 4).watch().await?;
    w.secrets().create(&json!({"metadata": {"name": "a"}})).await?.ok()?;
    let events = watch.rest().await?;
    let last = events.iter().rfind(|e| e.kind == "BOOKMARK").ok_or_else(|| Failure::new("no bookmark"))?;
    w.secrets().create(&json!({"metadata": {"name": "b"}})).await?.ok()?;
    let mut watch = w.secrets().with("resourceVersion", last.object.version()).watch().await?;
    equal!(watch.told(1).await?, ["ADDED b"]);
    Ok(())
}

async fn a_watch_that_does_not_ask_gets_no_bookmarks(w: World) -> Outcome {
    let list = w.secrets().list().await?.ok()?;
    let mut watch =
        w.secrets().with("resourceVersion", list.version()).with("timeoutSeconds", 4).watch().await?;
    w.secrets().create(&json!({"metadata": {"name": "a"}})).await?.ok()?;
    let events = watch.rest().await?;
    equal!(events.iter().map(Event::told).collect::<Vec<_>>(), ["ADDED a"]);
    Ok(())
}

async fn initial_events_end_with_a_marked_bookmark(w: World) -> Outcome {
    for name in ["a", "b"] {
        w.secrets().create(&json!({"metadata": {"name": name}})).await?.ok()?;
    }
    let mut watch = streaming(&w.secrets()).watch().await?;
    let mut told = watch.told(2).await?;
    told.sort_unstable();
    equal!(told, ["ADDED a", "ADDED b"]);
    let end = watch.next().await?;
    equal!(end.kind, "BOOKMARK");
    equal!(end.object.text("metadata/annotations/k8s.io~1initial-events-end"), "true");
    w.secrets().create(&json!({"metadata": {"name": "c"}})).await?.ok()?;
    let event = watch.next().await?;
    equal!(event.told(), "ADDED c");
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    check!(number(event.object.version()) > number(end.object.version()), "{}", end.object);
    Ok(())
}

fn streaming(resource: &Resource) -> Resource {
    let match_ = resource.with("sendInitialEvents", "true").with("resourceVersionMatch", "NotOlderThan");
    match_.with("allowWatchBookmarks", "true")
}

async fn initial_events_of_nothing_are_a_bookmark(w: World) -> Outcome {
    let mut watch = streaming(&w.secrets()).watch().await?;
    equal!(watch.next().await?.kind, "BOOKMARK");
    Ok(())
}

async fn initial_events_obey_the_selector(w: World) -> Outcome {
    w.config_maps().create(&labelled("a", json!({"x": "1"}))).await?.ok()?;
    w.config_maps().create(&labelled("b", json!({"x": "2"}))).await?.ok()?;
    let mut watch = streaming(&w.config_maps().with("labelSelector", "x=2")).watch().await?;
    equal!(watch.told(1).await?, ["ADDED b"]);
    equal!(watch.next().await?.kind, "BOOKMARK");
    Ok(())
}

async fn initial_events_need_the_match(w: World) -> Outcome {
    let refused = w.secrets().with("sendInitialEvents", "true").with("allowWatchBookmarks", "true");
    let Err(reply) = refused.try_watch().await? else { return Err(Failure::new("the watch was accepted")) };
    reply.refused(422, "Invalid")?;
    Ok(())
}

async fn initial_events_are_for_watches_only(w: World) -> Outcome {
    streaming(&w.secrets()).list().await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_watch_from_a_forgotten_revision_is_410(w: World) -> Outcome {
    let old = w.secrets().create(&json!({"metadata": {"name": "a"}})).await?.ok()?;
    for name in ["b", "c"] {
        w.secrets().create(&json!({"metadata": {"name": name}})).await?.ok()?;
    }
    w.compact().await?;
    let status = match w.secrets().with("resourceVersion", old.version()).try_watch().await? {
        Err(reply) => reply.body,
        Ok(mut watch) => {
            let event = watch.next().await?;
            equal!(event.kind, "ERROR");
            event.object
        }
    };
    equal!(status.at("code"), 410);
    equal!(status.text("reason"), "Expired");
    Ok(())
}

async fn a_watch_from_a_list_after_compaction_goes_on(w: World) -> Outcome {
    w.secrets().create(&json!({"metadata": {"name": "a"}})).await?.ok()?;
    w.compact().await?;
    let list = w.secrets().list().await?.ok()?;
    let mut watch = w.secrets().with("resourceVersion", list.version()).watch().await?;
    w.secrets().create(&json!({"metadata": {"name": "b"}})).await?.ok()?;
    equal!(watch.told(1).await?, ["ADDED b"]);
    Ok(())
}

async fn a_watch_can_ask_for_metadata_only(w: World) -> Outcome {
    let list = w.config_maps().list().await?.ok()?;
    let labelled_only = w.config_maps().with("labelSelector", "x").with("resourceVersion", list.version());
    let mut watch = labelled_only.accepting(PARTIAL).watch().await?;
    let mut body = labelled("a", json!({"x": "1"}));
    body.set("data/k", "v");
    w.config_maps().create(&body).await?.ok()?;
    let event = watch.next().await?;
    equal!(event.told(), "ADDED a");
    equal!(event.object.text("kind"), "PartialObjectMetadata");
    equal!(event.object.text("apiVersion"), "meta.k8s.io/v1");
    check!(!event.object.has("data"), "{}", event.object);
    Ok(())
}

async fn a_watch_of_an_unknown_kind_is_404(w: World) -> Outcome {
    let Err(reply) = w.resource("v1", "gadgets").try_watch().await? else {
        return Err(Failure::new("the watch was accepted"));
    };
    equal!(reply.code, 404);
    Ok(())
}

async fn an_object_made_by_apply_is_added(w: World) -> Outcome {
    let mut watch = from_now(&w.config_maps().with("labelSelector", "x")).await?;
    w.config_maps().apply("m", &labelled("a", json!({"x": "1"}))).await?.ok()?;
    w.config_maps().apply("m", &labelled("a", json!({"x": "1"}))).await?.ok()?;
    w.config_maps().apply("m", &labelled("a", json!({"x": "2"}))).await?.ok()?;
    equal!(watch.told(2).await?, ["ADDED a", "MODIFIED a"]);
    Ok(())
}

cases! { "watch":
    a_watch_sees_what_comes_after_its_revision,
    a_watch_from_an_old_revision_replays,
    an_event_carries_the_object_as_it_was,
    resource_versions_of_events_grow,
    a_deleted_event_has_the_last_state_and_a_new_revision,
    a_watch_without_a_revision_starts_with_what_is_there,
    a_write_that_changes_nothing_is_not_seen,
    a_dry_run_is_not_seen,
    an_object_that_leaves_the_selection_is_deleted_for_the_watch,
    a_watch_of_one_name_sees_only_it,
    a_watch_of_a_namespace_sees_only_it,
    a_watch_of_all_namespaces_sees_each,
    two_watches_see_the_same,
    a_held_deletion_is_seen_as_a_change_first,
    status_is_seen_as_a_change,
    events_of_custom_objects_are_in_the_watched_version,
    a_watch_ends_after_its_time,
    a_watch_that_asks_for_bookmarks_gets_one_before_it_ends,
    a_watch_can_go_on_from_a_bookmark,
    a_watch_that_does_not_ask_gets_no_bookmarks,
    initial_events_end_with_a_marked_bookmark,
    initial_events_of_nothing_are_a_bookmark,
    initial_events_obey_the_selector,
    initial_events_need_the_match,
    initial_events_are_for_watches_only,
    a_watch_from_a_forgotten_revision_is_410 [Compaction],
    a_watch_from_a_list_after_compaction_goes_on [Compaction],
    a_watch_can_ask_for_metadata_only,
    a_watch_of_an_unknown_kind_is_404,
    an_object_made_by_apply_is_added,
}
