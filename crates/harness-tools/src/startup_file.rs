//! How a command tells which folder its shell ended in.
//!
//! The shell sets an EXIT trap before it runs the command. On exit the trap writes the folder to a
//! file that was made before and that only this user can read. So the command itself, its exit code,
//! its options, `$0`, `$#` and line numbers are what they would be without. Where no trap runs
//! (`exec`, `kill -9 $$`, a trap of the command's own) the folder is simply not known.
//!
//! bash is given the trap by `BASH_ENV`, a file that it reads first: the same file that the folder is
//! written to later. Other shells get it in front of the command, on the same line; so does bash if
//! the file is in a folder with an odd name, because it expands the variable's value, and some bytes
//! do not survive that.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The most that is read of the file. No system has longer paths by default; a command that writes
/// more into it is not believed.
const FOLDER_BYTES: u64 = 64 * 1024;

/// The file that belongs to one command; mode 0600. Deleted with the value.
#[derive(Debug)]
pub(crate) struct StartupFile(NamedTempFile);

impl StartupFile {
    /// Makes one in this folder.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        tempfile::Builder::new()
            .prefix("harness-shell-")
            .tempfile_in(folder)
            .map(Self)
    }

    /// Where it is.
    #[cfg(feature = "sandbox")]
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills it for bash, if it is plainly named, and gives the value for `BASH_ENV`. `usual` is what the variable would be
    /// otherwise: bash still reads that file, and so do its children.
    pub(crate) fn for_bash(&mut self, usual: Option<&OsStr>) -> io::Result<OsString> {
        let mut script = Vec::new();
        if let Some(usual) = usual {
            script.extend_from_slice(b"BASH_ENV=");
            script.extend_from_slice(&quoted(usual.as_bytes()));
            // bash expands the variable's value as if it stood between double quotes.
            let expanded = [b"\"", usual.as_bytes(), b"\""].concat();
            for part in [&b"\nif [ -f "[..], &expanded, b" ]; then . ", &expanded] {
                script.extend_from_slice(part);
            }
            script.extend_from_slice(b"; fi\n");
        } else {
            script.extend_from_slice(b"unset BASH_ENV\n");
        }
        script.extend_from_slice(&self.trap());
        script.push(b'\n');
        self.0.write_all(&script)?;
        Ok(self.0.path().as_os_str().to_owned())
    }

    /// Whether bash expands the path to itself.
    pub(crate) fn is_plainly_named(&self) -> bool {
        let mut bytes = self.0.path().as_os_str().as_bytes().iter();
        bytes.all(|byte| byte.is_ascii_alphanumeric() || b"/._-+,:=@ ".contains(byte))
    }

    /// The command with the trap in front of it.
    pub(crate) fn before(&self, command: &str) -> OsString {
        let mut text = self.trap();
        text.extend_from_slice(b"; ");
        text.extend_from_slice(command.as_bytes());
        OsString::from_vec(text)
    }

    /// `command` and `>|`: neither a function called `pwd` nor `set -C` changes what is written.
    /// Nothing of it is seen under `set -x`.
    fn trap(&self) -> Vec<u8> {
        let mut action = b"{ command pwd -P >| ".to_vec();
        action.extend_from_slice(&quoted(self.0.path().as_os_str().as_bytes()));
        action.extend_from_slice(b"; } 2>/dev/null");
        let mut trap = b"trap ".to_vec();
        trap.extend_from_slice(&quoted(&action));
        trap.extend_from_slice(b" EXIT");
        trap
    }

    /// The folder that was written to it.
    pub(crate) fn folder(&mut self) -> Option<PathBuf> {
        // By the handle: at the name there may be something else by now.
        let file = self.0.as_file_mut();
        file.rewind().ok()?;
        let mut bytes = Vec::new();
        file.take(FOLDER_BYTES).read_to_end(&mut bytes).ok()?;
        let line = bytes.strip_suffix(b"\n")?;
        let is_path = line.starts_with(b"/") && !line.contains(&0);
        is_path.then(|| PathBuf::from(OsString::from_vec(line.to_vec())))
    }
}

/// One word of the shell that stands for these bytes.
fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut word = vec![b'\''];
    for byte in bytes {
        match byte {
            b'\'' => word.extend_from_slice(b"'\\''"),
            _ => word.push(*byte),
        }
    }
    word.push(b'\'');
    word
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// Where the shell says that it ended, in a folder of this name, with the file in another one.
    fn told(shell: &str, name: &OsStr) -> (PathBuf, PathBuf) {
        let outer = tempfile::tempdir().expect("a folder");
        let root = outer.path().canonicalize().expect("there");
        let (files, folder) = (root.join("f").join(name), root.join("d").join(name));
        std::fs::create_dir_all(&files).expect("made");
        std::fs::create_dir_all(&folder).expect("made");
        let mut file = StartupFile::create(&files).expect("made");
        let mut command = Command::new(shell);
        if shell == "bash" && file.is_plainly_named() {
            let value = file.for_bash(None).expect("written");
            command.env("BASH_ENV", value).arg("-c").arg("cd \"$TO\"");
        } else {
            command.arg("-c").arg(file.before("cd \"$TO\""));
        }
        let output = command.env("TO", &folder).output().expect("ran");
        assert!(output.status.success(), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        (file.folder().expect("told"), folder)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        #[test]
        fn any_path_comes_back(bytes in proptest::collection::vec(1_u8.., 1..40)) {
            let mut name = bytes;
            name.retain(|byte| *byte != b'/');
            name.push(b'x');
            for shell in ["bash", "sh"] {
                let (told, folder) = told(shell, OsStr::from_bytes(&name));
                prop_assert_eq!(told, folder);
            }
        }
    }

    #[test]
    fn odd_names_come_back() {
        for name in [
            "a'b",
            "'",
            "\"",
            "a b\n",
            "$(x)`y`",
            "\\",
            "é\u{2192}",
            "-P",
            "\n",
        ] {
            for shell in ["bash", "sh"] {
                let (told, folder) = told(shell, OsStr::new(name));
                assert_eq!(told, folder, "{shell}: {name:?}");
            }
        }
    }

    #[test]
    fn the_usual_file_is_read_and_passed_on() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("own"), "X=read").expect("written");
        let mut file = StartupFile::create(folder.path()).expect("made");
        let value = file
            .for_bash(Some(OsStr::new("$OWN/own")))
            .expect("written");
        let mut command = Command::new("bash");
        command.env("OWN", folder.path()).env("BASH_ENV", value);
        let output = command.arg("-c").arg("cd /; echo $X $BASH_ENV").output();
        let output = output.expect("ran");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "read $OWN/own\n");
        assert_eq!(file.folder(), Some(PathBuf::from("/")));
    }

    #[test]
    fn what_a_command_writes_there_is_not_believed() {
        let folder = tempfile::tempdir().expect("a folder");
        for text in ["", "relative\n", "/no line break", "/a\0b\n"] {
            let mut file = StartupFile::create(folder.path()).expect("made");
            std::fs::write(file.0.path(), text).expect("written");
            assert_eq!(file.folder(), None, "{text:?}");
        }
    }
}
