//! A file that is being written, line by line, and made another one at the end.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file to which lines are added. What it holds is whole lines always, as far as the system allows.
#[derive(Debug)]
pub(super) struct UnfinishedFile {
    path: PathBuf,
    file: File,
    length: u64,
}

impl UnfinishedFile {
    /// Begins it, in the place of what is there.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => {
                let message = "there is something that is no file";
                return Err(io::Error::new(ErrorKind::InvalidInput, message));
            }
            _ => {}
        }
        // Made beside and moved: another one's rights, or another name for it, are not taken over.
        let file = beside(path)?.persist(path).map_err(|error| error.error)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            length: 0,
        })
    }

    /// How long it is.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Adds whole lines. If that fails, nothing is added.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.length))?;
        if let Err(error) = self.file.write_all(lines) {
            // Half a line is worse than none; if it stays, readers take it for a cut.
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += lines.len() as u64;
        Ok(())
    }

    /// Reads a part of it.
    pub(super) fn read(&mut self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Goes to its beginning, to be read from there.
    pub(super) fn rewind(&mut self) -> io::Result<&mut File> {
        self.file.seek(SeekFrom::Start(0))?;
        Ok(&mut self.file)
    }

    /// Puts another file in its place, whole or not at all.
    pub(super) fn replace(
        &mut self,
        write: impl FnOnce(&mut Self, &mut BufWriter<&mut File>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut next = beside(&self.path)?;
        let mut writer = BufWriter::new(next.as_file_mut());
        write(self, &mut writer)?;
        writer.flush()?;
        drop(writer);
        next.as_file().sync_data()?;
        self.file = next.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// A new file in the same folder, for its owner only.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if folder != OsStr::new("") => folder,
        _ => Path::new("."),
    };
    if path.file_name().is_none() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no name"));
    }
    let file = tempfile::Builder::new()
        .prefix(".trace-")
        .tempfile_in(folder);
    file.map_err(|error| match error.kind() {
        ErrorKind::NotFound => io::Error::new(ErrorKind::NotFound, "its folder is not there"),
        // Its message names a file that nobody knows of.
        kind => kind.into(),
    })
}
