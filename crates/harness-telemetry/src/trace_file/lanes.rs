//! In which lane each span is drawn, so that a lane has spans one inside the other, and inside of a span only what it is
//! made of.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// What there is to know of a span to place it. Times are in nanoseconds since the epoch.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    pub(super) trace: u128,
    pub(super) span: u64,
    pub(super) parent: u64,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Where spans go, of which more come: into the first lane in which nothing else is at that time.
///
/// Spans come as they end, the inner ones first, so that nothing is known of what an inner one is in.
#[derive(Debug, Default)]
pub(super) struct GrowingLanes {
    /// When the last span of each lane ended.
    ends: Vec<u64>,
}

impl GrowingLanes {
    /// The lane for a span, from 1.
    pub(super) fn place(&mut self, start: u64, end: u64) -> usize {
        let end = end.max(start.saturating_add(1));
        let free = self.ends.iter().position(|last| *last <= start);
        let lane = free.unwrap_or(self.ends.len());
        match self.ends.get_mut(lane) {
            Some(last) => *last = end,
            None => self.ends.push(end),
        }
        lane + 1
    }

    /// How many lanes there are.
    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }
}

/// Where all spans go: the lane of each, from 1, and the order in which they are to be written.
#[derive(Debug)]
pub(super) struct Lanes {
    pub(super) of_each: Vec<usize>,
    pub(super) order: Vec<usize>,
    pub(super) count: usize,
}

impl Lanes {
    pub(super) fn of(extents: &[Extent]) -> Self {
        let mut by_id = HashMap::with_capacity(extents.len());
        for (index, extent) in extents.iter().enumerate() {
            by_id.entry((extent.trace, extent.span)).or_insert(index);
        }
        let mut roots = Vec::new();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); extents.len()];
        for (index, extent) in extents.iter().enumerate() {
            let parent = by_id.get(&(extent.trace, extent.parent)).copied();
            match parent.and_then(|parent| children.get_mut(parent)) {
                Some(children) => children.push(index),
                None => roots.push(index),
            }
        }
        // The longer first: of two that begin together, it is the outer one.
        let key = |index: &usize| extents.get(*index).map(|it| (it.start, Reverse(it.end)));
        roots.sort_by_key(key);
        let mut lanes = vec![0; extents.len()];
        let mut depths = vec![0_usize; extents.len()];
        let mut blocks: Vec<BTreeMap<u64, u64>> = Vec::new();
        let mut open: Vec<usize> = roots.iter().rev().copied().collect();
        for root in roots {
            if let (Some(extent), Some(lane)) = (extents.get(root), lanes.get_mut(root)) {
                *lane = free_lane(&mut blocks, extent);
            }
        }
        while let Some(index) = open.pop() {
            let (Some(extent), Some(lane)) = (extents.get(index), lanes.get(index).copied()) else {
                continue;
            };
            let mut inner = children
                .get_mut(index)
                .map(std::mem::take)
                .unwrap_or_default();
            inner.sort_by_key(key);
            let depth = depths.get(index).copied().unwrap_or_default() + 1;
            let mut free_from = extent.start;
            for child in &inner {
                let Some(it) = extents.get(*child) else {
                    continue;
                };
                let fits = it.start >= free_from && it.end <= extent.end;
                let place = if fits {
                    free_from = it.end.max(it.start.saturating_add(1));
                    lane
                } else {
                    free_lane(&mut blocks, it)
                };
                if let (Some(lane), Some(known)) = (lanes.get_mut(*child), depths.get_mut(*child)) {
                    (*lane, *known) = (place, depth);
                }
            }
            open.extend(inner.into_iter().rev());
        }
        // Those in a circle of parents are in no root.
        for (extent, lane) in extents.iter().zip(&mut lanes) {
            if *lane == 0 {
                *lane = free_lane(&mut blocks, extent);
            }
        }
        let mut order: Vec<usize> = (0..extents.len()).collect();
        order.sort_by_key(|index| (key(index), depths.get(*index).copied()));
        Self {
            of_each: lanes,
            order,
            count: blocks.len(),
        }
    }
}

/// The first lane in which nothing is at that time; from then on, the span is there.
fn free_lane(lanes: &mut Vec<BTreeMap<u64, u64>>, extent: &Extent) -> usize {
    let end = extent.end.max(extent.start.saturating_add(1));
    let is_free = |blocks: &BTreeMap<u64, u64>| {
        let before = blocks.range(..end).next_back();
        before.is_none_or(|(_, last)| *last <= extent.start)
    };
    let found = lanes.iter().position(is_free);
    let place = found.unwrap_or_else(|| {
        lanes.push(BTreeMap::new());
        lanes.len() - 1
    });
    if let Some(blocks) = lanes.get_mut(place) {
        blocks.insert(extent.start, end);
    }
    place + 1
}
