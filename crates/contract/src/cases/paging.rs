//! Lists: pages, continue tokens, and lists at a revision.

use serde_json::{Value, json};

use crate::{
    Failure, Outcome, World,
    json::{Json, cases, check, equal, names},
    resource::Resource,
};

/// Secrets `s0` … in the case's namespace, where nothing else makes secrets.
async fn secrets(w: &World, count: usize) -> Result<Resource, Failure> {
    for n in 0..count {
        w.secrets().create(&named(&format!("s{n}"))).await?.ok()?;
    }
    Ok(w.secrets())
}

fn named(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}})
}

fn next(page: &Value) -> &str {
    page.text("metadata/continue")
}

async fn a_page_has_at_most_limit_items(w: World) -> Outcome {
    let secrets = secrets(&w, 5).await?;
    let page = secrets.with("limit", 2).list().await?.is(200)?;
    equal!(names(&page), ["s0", "s1"]);
    check!(!next(&page).is_empty(), "{page}");
    equal!(page.at("metadata/remainingItemCount"), 3);
    Ok(())
}

async fn pages_together_are_the_list(w: World) -> Outcome {
    let secrets = secrets(&w, 5).await?.with("limit", 2);
    let one = secrets.list().await?.ok()?;
    let two = secrets.with("continue", next(&one)).list().await?.ok()?;
    equal!(names(&two), ["s2", "s3"]);
    equal!(two.at("metadata/remainingItemCount"), 1);
    let three = secrets.with("continue", next(&two)).list().await?.ok()?;
    equal!(names(&three), ["s4"]);
    check!(!three.has("metadata/continue") && !three.has("metadata/remainingItemCount"), "{three}");
    Ok(())
}

async fn a_list_that_fits_has_no_more_pages(w: World) -> Outcome {
    let secrets = secrets(&w, 2).await?;
    let page = secrets.with("limit", 2).list().await?.ok()?;
    equal!(names(&page), ["s0", "s1"]);
    check!(next(&page).is_empty() && !page.has("metadata/remainingItemCount"), "{page}");
    Ok(())
}

async fn all_pages_are_of_one_revision(w: World) -> Outcome {
    let secrets = secrets(&w, 4).await?;
    let one = secrets.with("limit", 2).list().await?.ok()?;
    secrets.create(&named("s2a")).await?.ok()?;
    secrets.delete("s3").await?.ok()?;
    secrets.merge("s2", &json!({"metadata": {"labels": {"new": "1"}}})).await?.ok()?;
    let two = secrets.with("limit", 2).with("continue", next(&one)).list().await?.is(200)?;
    equal!(names(&two), ["s2", "s3"]);
    check!(!two.has("items/0/metadata/labels"), "{two}");
    equal!(two.version(), one.version());
    Ok(())
}

async fn the_next_page_may_have_another_size(w: World) -> Outcome {
    let secrets = secrets(&w, 5).await?;
    let one = secrets.with("limit", 1).list().await?.ok()?;
    let rest = secrets.with("continue", next(&one)).list().await?.ok()?;
    equal!(names(&rest), ["s1", "s2", "s3", "s4"]);
    Ok(())
}

async fn a_page_with_a_selector_does_not_count_the_rest(w: World) -> Outcome {
    for n in 0..4 {
        let mut body = named(&format!("s{n}"));
        body.set("metadata/labels/even", (n % 2 == 0).to_string());
        w.secrets().create(&body).await?.ok()?;
    }
    let selected = w.secrets().with("labelSelector", "even=true").with("limit", 1);
    let one = selected.list().await?.ok()?;
    equal!(names(&one), ["s0"]);
    check!(!one.has("metadata/remainingItemCount"), "{one}");
    let two = selected.with("continue", next(&one)).list().await?.ok()?;
    equal!(names(&two), ["s2"]);
    Ok(())
}

async fn a_made_up_continue_token_is_a_bad_request(w: World) -> Outcome {
    let secrets = secrets(&w, 1).await?;
    secrets.with("limit", 1).with("continue", "made-up").list().await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_continue_token_goes_without_a_resource_version(w: World) -> Outcome {
    let secrets = secrets(&w, 2).await?;
    let one = secrets.with("limit", 1).list().await?.ok()?;
    let both = secrets.with("limit", 1).with("continue", next(&one)).with("resourceVersion", one.version());
    equal!(both.list().await?.code, 400);
    Ok(())
}

async fn an_expired_continue_token_is_410_with_a_fresh_one(w: World) -> Outcome {
    let secrets = secrets(&w, 3).await?;
    let one = secrets.with("limit", 1).list().await?.ok()?;
    secrets.create(&named("s9")).await?.ok()?;
    w.compact().await?;
    let status =
        secrets.with("limit", 1).with("continue", next(&one)).list().await?.refused(410, "Expired")?;
    check!(!next(&status).is_empty(), "{status}");
    let rest = secrets.with("continue", next(&status)).list().await?.is(200)?;
    equal!(names(&rest), ["s1", "s2", "s9"]);
    Ok(())
}

async fn a_list_is_sorted_by_name(w: World) -> Outcome {
    for name in ["b", "a.b", "c", "a"] {
        w.secrets().create(&named(name)).await?.ok()?;
    }
    equal!(names(&w.secrets().list().await?.ok()?), ["a", "a.b", "b", "c"]);
    Ok(())
}

async fn a_list_at_zero_answers(w: World) -> Outcome {
    let secrets = secrets(&w, 1).await?;
    let list = secrets.with("resourceVersion", "0").list().await?.is(200)?;
    equal!(list.text("kind"), "SecretList");
    Ok(())
}

async fn a_list_not_older_than_a_write_has_it(w: World) -> Outcome {
    let made = w.secrets().create(&named("a")).await?.ok()?;
    let fresh =
        w.secrets().with("resourceVersion", made.version()).with("resourceVersionMatch", "NotOlderThan");
    equal!(names(&fresh.list().await?.ok()?), ["a"]);
    equal!(names(&w.secrets().with("resourceVersion", made.version()).list().await?.ok()?), ["a"]);
    Ok(())
}

async fn an_exact_list_shows_the_past(w: World) -> Outcome {
    let secrets = secrets(&w, 2).await?;
    let then = secrets.list().await?.ok()?;
    secrets.delete("s0").await?.ok()?;
    secrets.create(&named("s2")).await?.ok()?;
    let exact = secrets.with("resourceVersion", then.version()).with("resourceVersionMatch", "Exact");
    let past = exact.list().await?.is(200)?;
    equal!(names(&past), ["s0", "s1"]);
    equal!(past.version(), then.version());
    Ok(())
}

async fn an_exact_list_of_a_forgotten_revision_is_410(w: World) -> Outcome {
    let secrets = secrets(&w, 1).await?;
    let then = secrets.list().await?.ok()?;
    secrets.create(&named("s2")).await?.ok()?;
    w.compact().await?;
    let exact = secrets.with("resourceVersion", then.version()).with("resourceVersionMatch", "Exact");
    exact.list().await?.refused(410, "Expired")?;
    Ok(())
}

async fn a_match_without_a_resource_version_is_invalid(w: World) -> Outcome {
    w.secrets().with("resourceVersionMatch", "Exact").list().await?.refused(422, "Invalid")?;
    Ok(())
}

async fn an_exact_match_of_zero_is_invalid(w: World) -> Outcome {
    let zero = w.secrets().with("resourceVersion", "0").with("resourceVersionMatch", "Exact");
    zero.list().await?.refused(422, "Invalid")?;
    Ok(())
}

async fn an_unknown_match_is_invalid(w: World) -> Outcome {
    let odd = w.secrets().with("resourceVersion", "1").with("resourceVersionMatch", "Roughly");
    odd.list().await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_list_of_the_future_times_out(w: World) -> Outcome {
    let now = w.secrets().list().await?.ok()?;
    let future = now.version().parse::<u64>().unwrap_or_default() + 1_000_000_000;
    let list = w.secrets().with("resourceVersion", future).with("resourceVersionMatch", "NotOlderThan");
    let status = list.list().await?.refused(504, "Timeout")?;
    check!(status.text("message").contains("Too large resource version"), "{status}");
    Ok(())
}

async fn a_get_not_older_than_a_write_has_it(w: World) -> Outcome {
    let made = w.secrets().create(&named("a")).await?.ok()?;
    equal!(w.secrets().with("resourceVersion", made.version()).get("a").await?.is(200)?, made);
    Ok(())
}

cases! { "lists":
    a_page_has_at_most_limit_items,
    pages_together_are_the_list,
    a_list_that_fits_has_no_more_pages,
    all_pages_are_of_one_revision,
    the_next_page_may_have_another_size,
    a_page_with_a_selector_does_not_count_the_rest,
    a_made_up_continue_token_is_a_bad_request,
    a_continue_token_goes_without_a_resource_version,
    an_expired_continue_token_is_410_with_a_fresh_one [Compaction],
    a_list_is_sorted_by_name,
    a_list_at_zero_answers,
    a_list_not_older_than_a_write_has_it,
    an_exact_list_shows_the_past,
    an_exact_list_of_a_forgotten_revision_is_410 [Compaction],
    a_match_without_a_resource_version_is_invalid,
    an_exact_match_of_zero_is_invalid,
    an_unknown_match_is_invalid,
    a_list_of_the_future_times_out,
    a_get_not_older_than_a_write_has_it,
}
