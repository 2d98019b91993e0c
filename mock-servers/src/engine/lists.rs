//! The four lists, page by page.

use serde_json::Map;

use super::{
    Engine,
    dispatch::Dispatch,
    message::{Outcome, param},
    server_lists::List,
};

impl Engine {
    pub(crate) fn list(&self, dispatch: &Dispatch, list: List) -> Outcome {
        let cursors = self.pagination.cursors[list as usize];
        let from = match param(&dispatch.message, "cursor") {
            None => Some(0),
            Some(cursor) => cursor.as_str().and_then(|cursor| cursors.decode(cursor)),
        };
        let count = self.pagination.page_size.unwrap_or(usize::MAX).max(1);
        // A cursor from before a change may be behind the end; it is unknown then.
        let Some(page) = from.and_then(|from| self.items.lists.page(list, from, count)) else {
            return Outcome::invalid_params("unknown cursor");
        };
        let features = self.features(dispatch);
        let mut items = page.items;
        items.iter_mut().for_each(|item| features.fit(list.shape(), item));
        let mut members = Map::new();
        members.insert(list.member().into(), items.into());
        if let Some(next) = page.next {
            members.insert("nextCursor".into(), cursors.encode(next).into());
        }
        Outcome::Result(self.complete(dispatch, members))
    }
}
