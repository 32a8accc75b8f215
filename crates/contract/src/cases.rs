//! The cases, one file per area.

mod apply;
mod apply_lists;
mod cel;
mod collections;
mod concurrency;
mod crds;
mod deletion;
mod dry_run;
mod field_validation;
mod garbage;
mod generation;
mod managers;
mod metadata_only;
mod names;
mod namespaces;
mod objects;
mod paging;
mod patch;
mod schema;
mod selectors;
mod strategic;
mod subresources;
mod validation;
mod watch;

use crate::Case;

pub(crate) const TABLES: &[&[Case]] = &[
    objects::CASES,
    concurrency::CASES,
    apply::CASES,
    apply_lists::CASES,
    managers::CASES,
    patch::CASES,
    strategic::CASES,
    generation::CASES,
    subresources::CASES,
    deletion::CASES,
    garbage::CASES,
    schema::CASES,
    validation::CASES,
    cel::CASES,
    crds::CASES,
    selectors::CASES,
    paging::CASES,
    watch::CASES,
    names::CASES,
    dry_run::CASES,
    field_validation::CASES,
    metadata_only::CASES,
    namespaces::CASES,
    collections::CASES,
];
