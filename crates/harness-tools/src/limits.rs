//! Every bound of the tools, in one place.

use std::time::Duration;

/// The bounds that the tools keep. All are on by default; change a field to move one.
///
/// ```
/// use harness_tools::Limits;
///
/// let mut limits = Limits::default();
/// limits.bash_timeout = std::time::Duration::from_secs(600);
/// # assert_eq!(limits.read_lines, 2_000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes of text that one result carries, notices not counted. 50 KiB.
    pub output_bytes: usize,
    /// The most lines that one `read` shows. 2,000.
    pub read_lines: usize,
    /// How many bytes `read` goes on reading past the shown part, to count the lines of the file.
    /// 256 MiB. (Looking for the first line to show is not bounded: it was asked for.)
    pub read_scan_bytes: u64,
    /// The largest file that `edit` takes into memory, in bytes. 256 MiB.
    pub edit_file_bytes: u64,
    /// The most bytes of the diff that `edit` shows. 16 KiB.
    pub diff_bytes: usize,
    /// The largest picture file that `read` takes into memory, in bytes. 32 MiB.
    pub image_file_bytes: u64,
    /// The most memory that decoding a picture may take, in bytes. 256 MiB.
    pub image_decode_bytes: u64,
    /// The longest side of a picture that is sent, in pixels; larger ones are scaled down. 2,000.
    pub image_side: u32,
    /// The largest picture file that is sent, in bytes before base64; larger ones are encoded
    /// again. 3,750,000, which is 5 MB in base64.
    pub image_sent_bytes: usize,
    /// How long a command may run when the model names no time. 120 s.
    pub bash_timeout: Duration,
    /// The longest time that the model may name. 3,600 s.
    pub bash_timeout_max: Duration,
    /// How many lines of a command's output are shown: the last ones. 2,000.
    pub bash_lines: usize,
    /// The most bytes of output that are kept in a file. What comes after is shown, if it is among
    /// the last lines, but not kept. 128 MiB.
    pub bash_spill_bytes: u64,
    /// How long a process group may take to end after SIGTERM, before SIGKILL. 300 ms.
    pub bash_kill_grace: Duration,
    /// After the shell exited: how long its output must be silent before the call ends although a
    /// background process still holds the output. 100 ms.
    pub bash_silence: Duration,
    /// After the shell exited: how long a background process that is never silent is listened to.
    /// 1 s.
    pub bash_linger: Duration,
    /// The most jobs in the background at once, in one [`ShellSession`](crate::ShellSession); those
    /// that ended and were not asked for count, and give way. Each takes memory for about five times
    /// `output_bytes`, and up to `bash_spill_bytes` on disk. 16.
    pub bash_jobs: usize,
    /// How long the call that starts a job waits for a job that ends at once. 150 ms.
    pub bash_job_start: Duration,
    /// How many matches `grep` shows unless the model names a number. A model may name up to ten
    /// times as many. 100.
    pub grep_matches: usize,
    /// The most characters of a line that `grep` shows; of a longer one, a window. 500.
    pub grep_line_chars: usize,
    /// The most lines of context on each side of a match. 50.
    pub grep_context: usize,
    /// The longest line that `grep` can search, in bytes. 64 MiB.
    pub grep_line_bytes: usize,
    /// How many paths `find` shows unless the model names a number. A model may name up to ten
    /// times as many. 1,000.
    pub find_paths: usize,
    /// How many entries `ls` shows unless the model names a number. A model may name up to ten
    /// times as many. 500.
    pub ls_entries: usize,
    /// How many files and folders one `grep` or `find` visits. 2,000,000.
    pub walk_entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            output_bytes: 50 * 1024,
            read_lines: 2_000,
            read_scan_bytes: 256 * MIB,
            edit_file_bytes: 256 * MIB,
            diff_bytes: 16 * 1024,
            image_file_bytes: 32 * MIB,
            image_decode_bytes: 256 * MIB,
            image_side: 2_000,
            image_sent_bytes: 3_750_000,
            bash_timeout: Duration::from_mins(2),
            bash_timeout_max: Duration::from_hours(1),
            bash_lines: 2_000,
            bash_spill_bytes: 128 * MIB,
            bash_kill_grace: Duration::from_millis(300),
            bash_silence: Duration::from_millis(100),
            bash_linger: Duration::from_secs(1),
            bash_jobs: 16,
            bash_job_start: Duration::from_millis(150),
            grep_matches: 100,
            grep_line_chars: 500,
            grep_context: 50,
            grep_line_bytes: 64 * 1024 * 1024,
            find_paths: 1_000,
            ls_entries: 500,
            walk_entries: 2_000_000,
        }
    }
}

impl Limits {
    /// The number of results for a call: the default, or what the model names, up to tenfold.
    pub(crate) fn wanted(default: usize, named: Option<u64>) -> usize {
        match named {
            None => default,
            Some(named) => {
                let named = usize::try_from(named).unwrap_or(usize::MAX);
                named.clamp(1, default.saturating_mul(10).max(1))
            }
        }
    }
}
