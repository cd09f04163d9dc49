//! What the user said of projects, and the file in which it stands.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use harness_trust::{Error, Trust, TrustEntry, TrustStore, Verdict};
use tempfile::TempDir;

/// A store that is not there yet, and folders to say something of.
struct Place {
    folder: TempDir,
    store: TrustStore,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = TrustStore::new(folder.path().join("data/harness/trust.toml"));
        Self { folder, store }
    }

    /// A folder that is there, by its real path.
    fn folder(&self, name: impl AsRef<Path>) -> PathBuf {
        let folder = self.folder.path().join("code").join(name);
        fs::create_dir_all(&folder).unwrap();
        folder.canonicalize().unwrap()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.store.path()).unwrap()
    }

    /// Puts this into the file.
    fn write(&self, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.store.path().parent().unwrap()).unwrap();
        fs::write(self.store.path(), text).unwrap();
        fs::set_permissions(self.store.path(), Permissions::from_mode(0o600)).unwrap();
    }

    fn is_full(&self, folder: &Path) -> bool {
        self.store.find(folder).unwrap().is_full()
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn problem<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn nothing_is_trusted_and_asking_makes_no_file() {
    let place = Place::new();
    let shop = place.folder("shop");
    let found = place.store.find(&shop).unwrap();
    assert!(!found.is_full());
    assert_eq!(
        (found.trust, found.tools.len(), found.rules.len()),
        (None, 0, 0)
    );
    assert_eq!(place.store.list().unwrap(), []);
    assert!(!place.store.path().parent().unwrap().exists());
}

#[test]
fn the_nearest_folder_that_says_something_counts() {
    let place = Place::new();
    let (code, shop) = (place.folder(""), place.folder("shop"));
    let (deep, other) = (place.folder("shop/a/b"), place.folder("shopping"));
    place.store.set(&code, Trust::None).unwrap();
    place.store.set(&shop, Trust::Full).unwrap();
    assert_eq!(
        place.store.find(&deep).unwrap().trust,
        Some((Trust::Full, shop.clone()))
    );
    assert!(place.is_full(&shop) && !place.is_full(&code) && !place.is_full(&other));
    assert_eq!(
        place.store.find(&other).unwrap().trust,
        Some((Trust::None, code.clone()))
    );
    // A nearer one takes it back for itself and what is in it.
    place.store.set(&deep, Trust::None).unwrap();
    assert!(!place.is_full(&deep) && place.is_full(&place.folder("shop/a")));
    // What is said of other things does not hide it.
    let a = place.folder("shop/a");
    place
        .store
        .add_rule(&a, Verdict::Allow, "run(make *)")
        .unwrap();
    assert!(place.is_full(&a));
    // The last word counts, and is the only one.
    place.store.set(&shop, Trust::None).unwrap();
    assert!(!place.is_full(&a));
    assert_eq!(place.text().matches("trust = ").count(), 3);
}

#[test]
fn tools_and_rules_of_all_folders_above() {
    use Verdict::{Allow, Ask, Deny};
    let place = Place::new();
    let (code, shop) = (place.folder(""), place.folder("shop"));
    let store = &place.store;
    store.set_tool(&code, "bash", Some(Deny)).unwrap();
    store.set_tool(&code, "edit", Some(Ask)).unwrap();
    store.set_tool(&shop, "bash", Some(Allow)).unwrap();
    for (folder, verdict, rule) in [
        (&code, Deny, "run(rm *)"),
        (&shop, Allow, "run(make *)"),
        (&shop, Allow, "run(make *)"),
        (&shop, Ask, "net"),
        (&shop, Allow, "read(a \"b\")"),
    ] {
        store.add_rule(folder, verdict, rule).unwrap();
    }
    let found = store.find(&shop).unwrap();
    let tools: Vec<_> = found.tools.into_iter().collect();
    let expected = [("bash", Allow, &shop), ("edit", Ask, &code)];
    assert_eq!(
        tools,
        expected.map(|(tool, verdict, by)| (tool.to_owned(), (verdict, by.clone())))
    );
    let rules = [
        (Allow, "run(make *)"),
        (Allow, "read(a \"b\")"),
        (Ask, "net"),
        (Deny, "run(rm *)"),
    ];
    assert_eq!(
        found.rules,
        rules.map(|(verdict, rule)| (verdict, rule.to_owned()))
    );
    assert_eq!(found.trust, None);

    // What is taken back is gone, and a folder of which nothing is left to say as well.
    store.set_tool(&shop, "bash", None).unwrap();
    assert_eq!(
        store.find(&shop).unwrap().tools["bash"],
        (Deny, code.clone())
    );
    let empty = place.folder("empty");
    store.set_tool(&empty, "bash", Some(Ask)).unwrap();
    store.set_tool(&empty, "bash", None).unwrap();
    let folders: Vec<_> = store
        .list()
        .unwrap()
        .into_iter()
        .map(|(folder, _)| folder)
        .collect();
    assert_eq!(folders, [code, shop]);
}

#[test]
fn a_link_is_what_it_leads_to() {
    let place = Place::new();
    let (good, evil) = (place.folder("good"), place.folder("evil"));
    let link = good.parent().unwrap().join("link");
    symlink(&good, &link).unwrap();
    assert_eq!(place.store.set(&link, Trust::Full).unwrap(), good);
    assert!(place.is_full(&good) && place.is_full(&link));
    assert!(place.is_full(&link.join("../good/.")));
    // The link's name is worth nothing.
    fs::remove_file(&link).unwrap();
    symlink(&evil, &link).unwrap();
    assert!(!place.is_full(&link));
    // A link in a trusted folder that leads out of it.
    symlink(&evil, good.join("out")).unwrap();
    assert!(!place.is_full(&good.join("out")));
    // What is not there, or no folder can be.
    let error = place.store.find(&good.join("missing"));
    assert!(matches!(error, Err(Error::Folder { .. })), "{error:?}");
    assert!(place.store.set(&good.join("missing"), Trust::Full).is_err());
}

#[test]
fn what_is_forgotten() {
    let place = Place::new();
    let (shop, gone) = (place.folder("shop"), place.folder("gone/shop"));
    let link = shop.parent().unwrap().join("link");
    symlink(shop.parent().unwrap().join("gone"), &link).unwrap();
    for folder in [&shop, &gone] {
        place.store.set(folder, Trust::Full).unwrap();
        place.store.add_rule(folder, Verdict::Allow, "net").unwrap();
    }
    assert!(place.store.forget(&shop).unwrap());
    assert!(!place.store.forget(&shop).unwrap());
    assert_eq!(
        place.store.find(&shop).unwrap(),
        place.store.find(&place.folder("x")).unwrap()
    );
    // One that is not there any more, by whatever path it is named.
    fs::remove_dir(&gone).unwrap();
    assert!(place.store.forget(&link.join("shop")).unwrap());
    assert_eq!(place.store.list().unwrap(), []);
    place
        .store
        .set(&place.folder("gone/shop"), Trust::Full)
        .unwrap();
    fs::remove_dir(&gone).unwrap();
    assert!(place.store.forget(&shop.join("../gone/./shop")).unwrap());
    assert!(!place.store.forget(Path::new("/nowhere/at/all")).unwrap());
}

#[test]
fn the_file_is_the_users_alone() {
    let place = Place::new();
    let shop = place.folder("shop");
    place.store.set(&shop, Trust::Full).unwrap();
    let file = place.store.path();
    let folder = file.parent().unwrap();
    assert_eq!((mode(file), mode(folder)), (0o600, 0o700));
    assert_eq!(mode(folder.parent().unwrap()), 0o700);
    assert_eq!(mode(&file.with_extension("lock")), 0o600);
    // One that others may read is read, and is shut by the next change.
    fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
    assert!(place.is_full(&shop));
    place.store.set(&shop, Trust::None).unwrap();
    assert_eq!(mode(file), 0o600);
    // Nothing is left beside it.
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["trust.lock", "trust.toml"]);
    // One that others may write is nobody's word.
    for others in [0o620, 0o602, 0o666] {
        fs::set_permissions(file, Permissions::from_mode(others)).unwrap();
        let before = place.text();
        assert!(problem(place.store.find(&shop)).contains("others may write it"));
        assert!(place.store.set(&shop, Trust::Full).is_err());
        assert!(place.store.forget(&shop).is_err());
        assert_eq!((place.text(), mode(file)), (before, others));
    }
}

#[test]
fn the_file_of_somebody_else_is_not_believed() {
    let place = Place::new();
    let shop = place.folder("shop");
    place.store.set(&shop, Trust::Full).unwrap();
    // Only root can give a file away; to anybody else, a file of root's is somebody else's.
    let store = match std::os::unix::fs::chown(place.store.path(), Some(12_345), None) {
        Ok(()) => place.store.clone(),
        Err(_) => TrustStore::new("/etc/passwd"),
    };
    assert!(problem(store.find(&shop)).contains("it belongs to somebody else"));
    assert!(problem(store.list()).contains("it belongs to somebody else"));
}

#[test]
fn a_file_that_cannot_be_understood_is_an_error_and_is_kept() {
    let place = Place::new();
    let shop = place.folder("shop");
    let large = format!("version = 1\n#{}\n", "x".repeat(1024 * 1024));
    let rows: &[(&[u8], &str)] = &[
        (b"", "missing field `version`"),
        (
            b"version = 2\n",
            "its version is 2, and this program knows 1",
        ),
        (b"version = 0\n", "its version is 0"),
        (b"version = \"1\"\n", "line 1"),
        (b"version = 1\nprojects = 5\n", "line 2"),
        (
            b"version = 1\n[projects.\"/a\"]\ntrust = \"ful\"\n",
            "line 3",
        ),
        (
            b"version = 1\n[projects.\"/a\"]\ntrusted = true\n",
            "unknown field `trusted`",
        ),
        (
            b"version = 1\n[projects.\"/a\".tools]\nbash = \"maybe\"\n",
            "unknown variant `maybe`",
        ),
        (b"version = 1\nproject = {}\n", "unknown field `project`"),
        (
            b"version = 1\n[projects.\"/a\"]\n[projects.\"/a\"]\n",
            "duplicate",
        ),
        (b"version = 1\n[projects.\"/a", "line 2"),
        (b"version = 1\n# \xff\n", "UTF-8"),
        (b"\0\0\0\0", "line 1"),
        (large.as_bytes(), "larger than 1048576 bytes"),
    ];
    for (bytes, expected) in rows {
        place.write(bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]);
        let changes: [Result<(), Error>; 6] = [
            place.store.find(&shop).map(drop),
            place.store.list().map(drop),
            place.store.set(&shop, Trust::Full).map(drop),
            place.store.add_rule(&shop, Verdict::Allow, "net").map(drop),
            place.store.set_tool(&shop, "bash", None).map(drop),
            place.store.forget(&shop).map(drop),
        ];
        for change in changes {
            let problem = problem(change);
            assert!(problem.contains(expected), "{shown}: {problem}");
            assert!(problem.contains("trust.toml"), "{problem}");
        }
        assert_eq!(fs::read(place.store.path()).unwrap(), *bytes, "{shown}");
    }
    // And a folder in its place.
    fs::remove_file(place.store.path()).unwrap();
    fs::create_dir(place.store.path()).unwrap();
    assert!(problem(place.store.find(&shop)).contains("it is not a file"));
    assert!(place.store.set(&shop, Trust::Full).is_err());
}

/// A change that would make the file too large to be read again is not made.
#[test]
fn it_never_writes_what_it_would_not_read() {
    let place = Place::new();
    let shop = place.folder("shop");
    place.store.set(&shop, Trust::Full).unwrap();
    let rule = format!("read({})", "x".repeat(1024 * 1024));
    let added = place.store.add_rule(&shop, Verdict::Allow, &rule);
    assert!(problem(added).contains("larger than 1048576 bytes"));
    assert!(place.is_full(&shop));
}

#[test]
fn any_name_of_a_folder_is_kept() {
    let place = Place::new();
    let names = [
        "a b",
        "a.b",
        "it's",
        "\"x\"",
        "'''",
        "\"\"\"",
        "a\nb",
        "a\r\nb",
        "\t",
        "\u{1b}[31m",
        "#x",
        "[x]",
        "]",
        "a=b",
        "\\n",
        "C:\\x",
        "größe",
        "日本",
        "\u{202e}x",
        "~",
        "*",
        "-",
        "\u{7f}",
    ];
    for name in names {
        let folder = place.folder(name);
        assert_eq!(place.store.set(&folder, Trust::Full).unwrap(), folder);
        place.store.add_rule(&folder, Verdict::Deny, name).unwrap();
        place
            .store
            .set_tool(&folder, name, Some(Verdict::Ask))
            .unwrap();
    }
    let listed = place.store.list().unwrap();
    assert_eq!(listed.len(), names.len());
    for name in names {
        let folder = place.folder(name);
        let found = place.store.find(&folder).unwrap();
        assert!(found.is_full(), "{name:?}");
        assert_eq!(found.rules, [(Verdict::Deny, name.to_owned())], "{name:?}");
        assert_eq!(
            found.tools[name],
            (Verdict::Ask, folder.clone()),
            "{name:?}"
        );
        let entry: Vec<&TrustEntry> = listed
            .iter()
            .filter(|it| it.0 == folder)
            .map(|it| &it.1)
            .collect();
        assert_eq!(entry.len(), 1, "{name:?}");
        assert_eq!(entry[0].trust, Some(Trust::Full));
        assert!(place.store.forget(&folder).unwrap(), "{name:?}");
    }
    assert_eq!(place.store.list().unwrap(), []);
}

#[test]
fn a_folder_that_is_not_utf8_has_what_is_said_above() {
    let place = Place::new();
    let code = place.folder("");
    let strange = place.folder(OsStr::from_bytes(b"caf\xe9"));
    let error = place.store.set(&strange, Trust::Full);
    assert!(problem(error).contains("not UTF-8"));
    assert!(place.store.forget(&strange).is_err());
    assert!(!place.store.path().exists());
    assert!(!place.is_full(&strange));
    place.store.set(&code, Trust::Full).unwrap();
    assert!(place.is_full(&strange));
}

/// Some keep their configuration elsewhere, behind a link.
#[test]
fn a_link_in_the_place_of_the_file_is_read_and_replaced() {
    let place = Place::new();
    let shop = place.folder("shop");
    place.store.set(&shop, Trust::Full).unwrap();
    let elsewhere = place.folder.path().join("elsewhere.toml");
    fs::rename(place.store.path(), &elsewhere).unwrap();
    symlink(&elsewhere, place.store.path()).unwrap();
    assert!(place.is_full(&shop));
    let before = fs::read(&elsewhere).unwrap();
    let other = place.folder("other");
    place.store.set(&other, Trust::Full).unwrap();
    assert!(place.is_full(&shop) && place.is_full(&other));
    assert!(fs::symlink_metadata(place.store.path()).unwrap().is_file());
    assert_eq!(fs::read(&elsewhere).unwrap(), before);
    // One that leads nowhere says nothing.
    fs::remove_file(place.store.path()).unwrap();
    symlink(place.folder.path().join("nowhere"), place.store.path()).unwrap();
    assert!(!place.is_full(&shop));
    place.store.set(&shop, Trust::Full).unwrap();
    assert!(place.is_full(&shop));
    assert!(!place.folder.path().join("nowhere").exists());
}

#[test]
fn a_lock_that_was_left_behind_locks_nobody_out() {
    let place = Place::new();
    let shop = place.folder("shop");
    place.write("version = 1\n");
    fs::write(place.store.path().with_extension("lock"), "1234\n").unwrap();
    place.store.set(&shop, Trust::Full).unwrap();
    assert!(place.is_full(&shop));
}

/// How many folders each writer says something of.
const FOLDERS: usize = 12;
/// How many write at the same time.
const WRITERS: usize = 4;

fn writes(store: &TrustStore, code: &Path, writer: usize) {
    for number in 0..FOLDERS {
        let own = code.join(format!("{writer}-{number}"));
        fs::create_dir_all(&own).unwrap();
        store.set(&own, Trust::Full).unwrap();
        // And all of the same one.
        store
            .add_rule(
                code,
                Verdict::Allow,
                &format!("run(make {writer}-{number})"),
            )
            .unwrap();
        assert!(store.find(&own).unwrap().is_full());
    }
}

fn nothing_is_lost(place: &Place, code: &Path) {
    let found = place.store.find(code).unwrap();
    assert_eq!(found.rules.len(), WRITERS * FOLDERS);
    assert_eq!(place.store.list().unwrap().len(), WRITERS * FOLDERS + 1);
}

#[test]
fn threads_that_write_at_once_lose_nothing() {
    let place = Place::new();
    let code = place.folder("");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (store, code) = (&place.store, &code);
            scope.spawn(move || writes(store, code, writer));
        }
    });
    nothing_is_lost(&place, &code);
}

const STORE: &str = "HARNESS_TRUST_TEST_STORE";
const CODE: &str = "HARNESS_TRUST_TEST_CODE";
const WRITER: &str = "HARNESS_TRUST_TEST_WRITER";

/// Nothing by itself: a writer of the test below, in a process of its own.
#[test]
fn plays_its_part() {
    let Ok(store) = std::env::var(STORE) else {
        return;
    };
    let value = |name| std::env::var(name).unwrap();
    let writer = value(WRITER).parse().unwrap();
    writes(&TrustStore::new(store), Path::new(&value(CODE)), writer);
}

#[test]
fn processes_that_write_at_once_lose_nothing() {
    let place = Place::new();
    let code = place.folder("");
    let start = |writer: usize| {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "trust_store::plays_its_part",
                "--test-threads",
                "1",
            ])
            .env(STORE, place.store.path())
            .env(CODE, &code)
            .env(WRITER, writer.to_string())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let writers: Vec<_> = (0..WRITERS).map(start).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    nothing_is_lost(&place, &code);
}
