//! How hard ids are to guess, estimated from several of them.

use std::collections::BTreeSet;

/// An estimate in bits of the variety of ids: the positions at which they differ, with the alphabet in use.
pub(crate) fn variety(ids: &[&[u8]]) -> u32 {
    let length = ids.iter().map(|id| id.len()).max().unwrap_or(0);
    let varied = (0..length).filter(|position| {
        let column: BTreeSet<Option<&u8>> = ids.iter().map(|id| id.get(*position)).collect();
        column.len() > 1
    });
    let varied: Vec<usize> = varied.collect();
    let used: Vec<u8> =
        ids.iter().flat_map(|id| varied.iter().filter_map(|position| id.get(*position).copied())).collect();
    // Hundredths of bits per character.
    let per_character = if used.iter().all(u8::is_ascii_digit) {
        332
    } else if used.iter().all(u8::is_ascii_hexdigit) {
        400
    } else {
        595
    };
    u32::try_from(varied.len()).unwrap_or(u32::MAX).saturating_mul(per_character) / 100
}

#[cfg(test)]
mod tests {
    use super::variety;

    fn bits(ids: &[&str]) -> u32 {
        variety(&ids.iter().map(|id| id.as_bytes()).collect::<Vec<_>>())
    }

    #[test]
    fn random_ids_have_more_variety_than_counters_and_times() {
        let random = [
            "6f9619ff-8b86-4011-b42d-00c04fc964ff",
            "0b1c2d3e-4f50-4162-9384-95a6b7c8d9e0",
            "c56a4180-65aa-42ec-a945-5fd21dec0538",
        ];
        assert!(bits(&random) >= 100, "{}", bits(&random));
        assert!(bits(&["session-1", "session-2", "session-10"]) < 16);
        assert!(bits(&["1732350000123", "1732350000456", "1732350001234"]) < 32);
        assert_eq!(bits(&["same", "same"]), 0);
    }
}
