//! What developers do all day goes on to work.

use std::path::Path;

use harness_sandbox::Profile;

use crate::cage::{Cage, has};

#[test]
fn shells_work() {
    let Some(cage) = Cage::new() else { return };
    let line = "set -e\n\
        cat <<END > doc\nhere\nEND\n\
        seq 1 20000 | sort -rn | head -n 1\n\
        t=$(mktemp -d); echo x > $t/x; cat $t/x; rm -r $t\n\
        cat <<END | wc -c\n$(seq 1 40000)\nEND\n\
        find . -name doc -exec cat {} ';' | xargs -n 1 echo\n\
        tar -cf a.tar doc && tar -tf a.tar\n\
        echo err >&2; echo err > /dev/stderr\n\
        sh -c 'exit 0' & wait $!";
    let said = cage.says(line).worked();
    assert!(said.starts_with("20000\nx\n"), "{said}");
    if has("bash") {
        let policy = cage.policy(Profile::WorkspaceWrite);
        let line = "bash -c 'set -e; diff <(seq 3) <(seq 3); cat <<< word; read x <<< y; \
                    echo z | tee >(cat >/dev/null); ulimit -n >/dev/null; coproc cat; kill %1'";
        cage.run(&policy, line).worked();
    }
}

#[test]
fn git_works() {
    let Some(cage) = Cage::new() else { return };
    if !has("git") {
        return;
    }
    cage.says(
        "set -e; git init -q . && git config user.name n && git config user.email e && git add . \
         && git commit -qm first && git checkout -qb side && echo x >> file && git commit -qam second \
         && git checkout -q - && git merge -q side && git stash list && git gc -q && git status --short \
         && git clone -q . clone && test -f clone/file && git worktree add -q wt side && git log --oneline",
    )
    .worked();
}

#[test]
fn python_works() {
    let Some(cage) = Cage::new() else { return };
    if !has("python3") {
        return;
    }
    cage.says(
        "python3 -c 'import subprocess, tempfile, threading, multiprocessing, asyncio, sqlite3\n\
         t = threading.Thread(target=print, args=(1,)); t.start(); t.join()\n\
         print(subprocess.run([\"echo\", \"x\"], capture_output=True).stdout)\n\
         tempfile.NamedTemporaryFile().write(b\"x\")\n\
         p = multiprocessing.get_context(\"fork\").Process(target=print, args=(2,)); p.start(); p.join()\n\
         multiprocessing.Lock()\n\
         asyncio.run(asyncio.sleep(0))\n\
         d = sqlite3.connect(\"x.db\"); d.execute(\"create table t (a)\"); d.commit()'",
    )
    .worked();
}

#[test]
fn node_works() {
    let Some(cage) = Cage::new() else { return };
    if !has("node") {
        return;
    }
    cage.says(
        "node -e 'const fs = require(\"fs\"), c = require(\"child_process\"); \
         const { Worker } = require(\"worker_threads\"); fs.writeFileSync(\"n\", \"x\"); \
         console.log(c.execSync(\"echo child\").toString()); \
         fs.promises.readFile(\"n\").then(() => new Worker(\"1\", { eval: true })); \
         c.spawn(\"cat\", { stdio: \"pipe\" }).stdin.end(); \
         if (process.argv.length < 3) c.fork(\".\").on(\"error\", () => {});' && test -f n",
    )
    .worked();
}

#[test]
fn a_compiler_works() {
    let Some(cage) = Cage::new() else { return };
    if !has("cargo") || !has("cc") {
        return;
    }
    std::fs::create_dir(cage.path("home/ws/src")).expect("made");
    cage.put(
        "home/ws/Cargo.toml",
        "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    cage.put(
        "home/ws/src/main.rs",
        "fn main() { std::thread::spawn(|| println!(\"built\")).join().unwrap(); }\n\
         #[test] fn t() {}\n",
    );
    // Its home is where the tests run from; nothing of it is written.
    let toolchain = Path::new(env!("CARGO")).parent().expect("a folder");
    let line = format!(
        "PATH={}:$PATH CARGO_TARGET_DIR=target RUSTUP_TOOLCHAIN= \
         sh -c 'cargo run -q --offline && cargo test -q --offline'",
        toolchain.display()
    );
    let said = cage.says(&line).worked();
    assert!(said.starts_with("built\n"), "{said}");
}
