use harness_core::ToolContext;
use harness_tools::*;
use serde_json::json;
use std::time::Instant;
fn main() {
    let rt = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    rt.block_on(async{ let d=tempfile::tempdir().unwrap(); std::fs::write(d.path().join("f.txt"),"hello\n".repeat(200)).unwrap();
 let ws=Workspace::new(d.path()); let t=default_tools(&ws); let cx=ToolContext::detached();
 for (i,a,n) in [(0,json!({"path":"f.txt"}),5000),(6,json!({}),2000),(1,json!({"path":"w.txt","content":"x\n"}),200),(3,json!({"command":"true"}),100),(2,json!({"path":"f.txt","edits":[{"old_text":"zzz","new_text":"y"}]}),500)] {
  t[i].call(&cx,a.clone()).await; let s=Instant::now(); for _ in 0..n { t[i].call(&cx,a.clone()).await; } println!("{} {:?}", t[i].spec().name, s.elapsed()/n); }
 for root in ["/root/.cargo/registry/src","/usr"] { let ws=Workspace::new(root); let t=default_tools(&ws); for (i,a) in [(4,json!({"pattern":"fn zzqq_none"})),(4,json!({"pattern":"fn main"})),(5,json!({"pattern":"*.toml"})),(5,json!({"pattern":"*.nosuch"}))] { let s=Instant::now(); let o=t[i].call(&cx,a.clone()).await; println!("{root} {a} {:?} {}", s.elapsed(), o.shown_text().lines().count()); } }
 let mut l=Limits::default(); l.bash_spill_bytes=1<<30; let ws=Workspace::new(d.path()).with_limits(l); let t=default_tools(&ws); let s=Instant::now(); t[3].call(&cx,json!({"command":"yes abcdefghijklmnop | head -c 500M"})).await; println!("500MB output {:?}", s.elapsed());
 let f=d.path().join("big"); std::fs::write(&f,"0123456789abcdef\n".repeat(2_000_000)).unwrap(); let s=Instant::now(); let o=t[2].call(&cx,json!({"path":"big","edits":[{"old_text":"cdef","new_text":"CDEF","replace_all":true}]})).await; println!("edit 34MB?? {:?} {}", s.elapsed(), &o.shown_text()[..100]);
 let f=d.path().join("big2"); std::fs::write(&f,"0123456789abcdef\r\n".repeat(1_000_000)).unwrap(); let s=Instant::now(); let o=t[2].call(&cx,json!({"path":"big2","edits":[{"old_text":"cdef\n0123","new_text":"CDEF\n0123","replace_all":true}]})).await; println!("edit 18MB all {:?} {}", s.elapsed(), &o.shown_text()[..100]);
 let s=Instant::now(); let o=t[2].call(&cx,json!({"path":"big2","edits":[{"old_text":"nowhere to be found","new_text":"x"}]})).await; println!("edit miss {:?} {}", s.elapsed(), &o.shown_text()[..60]);
 println!("{}", std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|l| l.starts_with("VmHWM")).unwrap());
 });
}
