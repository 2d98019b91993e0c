//! The four lists, page by page.

use serde_json::Map;

use super::{
    Engine,
    catalogue::List,
    exchange::Exchange,
    message::{Outcome, param},
};

impl Engine {
    pub(crate) fn list(&self, exchange: &Exchange, list: List) -> Outcome {
        let cursors = self.cursors[list as usize];
        let from = match param(&exchange.message, "cursor") {
            None => Some(0),
            Some(cursor) => cursor.as_str().and_then(|cursor| cursors.decode(cursor)),
        };
        let count = self.page_size.unwrap_or(usize::MAX).max(1);
        // A cursor of ours from before a change may lie behind the end by now: it is as unknown as a foreign one.
        let Some(page) = from.and_then(|from| self.catalogue.page(list, from, count)) else {
            return Outcome::invalid_params("unknown cursor");
        };
        let dialect = self.dialect(exchange);
        let mut items = page.items;
        items.iter_mut().for_each(|item| dialect.fit(list.shape(), item));
        let mut members = Map::new();
        members.insert(list.member().into(), items.into());
        if let Some(next) = page.next {
            members.insert("nextCursor".into(), cursors.encode(next).into());
        }
        Outcome::Result(self.complete(exchange, members))
    }
}
