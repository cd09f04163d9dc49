//! A real browser, without a window.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// Whoever has no browser can leave these tests out, and has to say so.
const LEFT_OUT: &str = "HARNESS_NO_BROWSER";
/// A browser that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(crate) struct Browser {
    program: PathBuf,
    folder: TempDir,
}

impl Browser {
    /// The browser of this machine; `None` if these tests are to be left out.
    pub(crate) fn find() -> Option<Self> {
        if std::env::var_os(LEFT_OUT).is_some_and(|value| value == "1") {
            println!("left out: {LEFT_OUT}=1");
            return None;
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
        let program = std::env::split_paths(&path)
            .flat_map(|folder| names.map(|name| folder.join(name)))
            .find(|program| program.is_file());
        let Some(program) = program else {
            panic!(
                "no browser is on PATH (one of {names:?}). Install one, for instance with \
                 `apt-get install chromium`, or set {LEFT_OUT}=1 to leave these tests out."
            );
        };
        Some(Self {
            program,
            folder: TempDir::new().unwrap(),
        })
    }

    /// Writes a page, and tells where it is.
    pub(crate) fn page(&self, name: &str, html: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, html).unwrap();
        path
    }

    /// The page as it is after its scripts have run.
    pub(crate) fn dump(&self, page: &Path) -> String {
        self.run(page, &["--dump-dom"])
    }

    /// The pixels of a picture of the page, row by row.
    pub(crate) fn picture(&self, page: &Path, name: &str, flags: &[&str]) -> Vec<[u8; 3]> {
        let path = match std::env::var_os("HARNESS_SCREENSHOTS") {
            Some(folder) => PathBuf::from(folder).join(name),
            None => self.folder.path().join(name),
        };
        let screenshot = format!("--screenshot={}", path.display());
        let mut all = vec![screenshot.as_str(), "--hide-scrollbars"];
        all.extend(flags);
        self.run(page, &all);
        pixels(&path)
    }

    fn run(&self, page: &Path, flags: &[&str]) -> String {
        let profile = TempDir::new().unwrap();
        let mut child = Command::new(&self.program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
                "--virtual-time-budget=5000",
                "--window-size=1280,2000",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(flags)
            .arg(format!("file://{}", page.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (done, wait) = mpsc::channel();
        thread::spawn(move || {
            let mut text = String::new();
            let read = stdout.read_to_string(&mut text);
            let _ = done.send(read.map(|_| text));
        });
        let answer = wait.recv_timeout(PATIENCE);
        // It has ended, or it will not.
        let _ = child.kill();
        child.wait().unwrap();
        answer.expect("the browser hangs").unwrap()
    }
}

fn pixels(picture: &Path) -> Vec<[u8; 3]> {
    let file = BufReader::new(File::open(picture).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(frame.bit_depth, png::BitDepth::Eight);
    bytes
        .chunks_exact(frame.color_type.samples())
        .map(|pixel| [pixel[0], pixel[1], pixel[2]])
        .collect()
}
