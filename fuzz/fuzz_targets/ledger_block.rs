#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = horizon_fuzz::bodies::frames::ledger_block(data);
});
