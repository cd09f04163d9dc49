//! A text file that a person named, read within a bound: a name may turn out to be `/dev/zero`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most bytes of such a file.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Reads the file's text, without a byte order mark.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let count = File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)?;
    if count as u64 > MAX_BYTES {
        let message = format!("it is larger than {MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}
