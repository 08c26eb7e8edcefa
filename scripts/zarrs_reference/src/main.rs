//! Chunks encoded and decoded by zarrs: one JSON object a line in, one a line out.
//!
//! In: `do` ("encode" or "decode"), `shape`, `data_type`, `fill_value`, `codecs` as in `zarr.json`,
//! and `data`, the bytes in hexadecimal. Out: `ok` with the bytes, or `error`.

use std::io::{BufRead, Write};
use std::num::NonZeroU64;
use std::sync::Arc;

use serde_json::{json, Value};
use zarrs::array::{Array, ArrayBytes, ArrayMetadata};
use zarrs::storage::store::MemoryStore;
use zarrs_codec::{ArrayToBytesCodecTraits, CodecOptions};

type Failure = Box<dyn std::error::Error>;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Result<Vec<u8>, Failure> {
    (0..text.len())
        .step_by(2)
        .map(|place| Ok(u8::from_str_radix(&text[place..place + 2], 16)?))
        .collect()
}

fn answer(request: &Value) -> Result<String, Failure> {
    let shape: Vec<NonZeroU64> = serde_json::from_value(request["shape"].clone())?;
    let metadata: ArrayMetadata = serde_json::from_value(json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": request["data_type"],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": request["fill_value"],
        "codecs": request["codecs"],
    }))?;
    let array = Array::new_with_metadata(Arc::new(MemoryStore::new()), "/", metadata)?;
    let data = from_hex(request["data"].as_str().unwrap_or_default())?;
    let (codecs, options) = (array.codecs(), CodecOptions::default());
    let (data_type, fill_value) = (array.data_type(), array.fill_value());
    if request["do"] == "encode" {
        let given = ArrayBytes::new_flen(data);
        Ok(hex(&codecs.encode(given, &shape, data_type, fill_value, &options)?))
    } else {
        let found = codecs.decode(data.into(), &shape, data_type, fill_value, &options)?;
        Ok(hex(&found.into_fixed()?))
    }
}

fn main() -> Result<(), Failure> {
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let reply = match answer(&request) {
            Ok(bytes) => json!({"ok": bytes}),
            Err(error) => json!({"error": error.to_string()}),
        };
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}
