//! Two operators at the same time: a hand-over of the lease that took too long, or somebody who started a second one by hand.

use simulation::{Campaign, Injected};

use crate::{
    stories::{SCALING, scaling_on},
    world::Stage,
};

/// Case 24, and worse: both work all the time, with no lease between them.
#[test]
fn two_operators_end_as_one() {
    let campaign = Campaign::against(scaling_on(&Stage::with_two_operators()), SCALING.reference().clone());
    campaign.meet(Injected::Nothing).unwrap_or_else(|finding| panic!("{finding}"));
}
