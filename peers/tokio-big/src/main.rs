//! The Big benchmark on tokio: a task and an unbounded mpsc channel per worker,
//! on a runtime with two threads. A peer to compare Cleave's threads-fast
//! (systems/big) with, by the same rules:
//!
//! - every worker sends exactly `pings` pings to random others of its own
//!   neighbourhood, the next one upon the pong to the last;
//! - it answers pings until all workers of its neighbourhood have finished;
//! - a pong must come from the worker that was asked;
//! - targets are uniform, from a generator per worker (splitmix64; Steele, Lea,
//!   Flood 2014), never the worker itself.
//!
//! Usage: tokio-big NEIGHBOURHOODS WORKERS PINGS SEED. It prints one JSON object.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

/// Threads of the runtime: what the benchmark gives every contender.
const THREADS: usize = 2;

#[derive(Clone, Copy)]
enum Message {
    KickOff,
    Ping(u32),
    Pong(u32),
    Dismiss,
}

/// Totals over all workers, added once per worker.
#[derive(Default)]
struct Totals {
    sent: AtomicU64,
    answered: AtomicU64,
    received: AtomicU64,
}

struct Neighbourhood {
    inboxes: Vec<UnboundedSender<Message>>,
    unfinished: AtomicUsize,
}

impl Neighbourhood {
    /// Counts a finished worker; the last one dismisses all workers.
    fn finish(&self) {
        if self.unfinished.fetch_sub(1, Ordering::AcqRel) == 1 {
            for inbox in &self.inboxes {
                send(inbox, Message::Dismiss);
            }
        }
    }
}

fn send(inbox: &UnboundedSender<Message>, message: Message) {
    if inbox.send(message).is_err() {
        panic!("a worker is gone while its neighbours still send");
    }
}

struct Worker {
    index: u32,
    pings: u64,
    random: u64,
    awaited: Option<u32>,
    sent: u64,
    answered: u64,
    received: u64,
}

impl Worker {
    fn draw(&mut self, size: usize) -> u32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let high = (u128::from(mix(self.random)) * (size as u128 - 1)) >> 64;
        let target = high as u32;
        if target >= self.index {
            target + 1
        } else {
            target
        }
    }

    fn ping_next(&mut self, home: &Neighbourhood) {
        if self.sent == self.pings {
            home.finish();
            return;
        }
        let target = self.draw(home.inboxes.len());
        self.awaited = Some(target);
        self.sent += 1;
        send(&home.inboxes[target as usize], Message::Ping(self.index));
    }

    async fn work(
        mut self,
        mut inbox: UnboundedReceiver<Message>,
        home: Arc<Neighbourhood>,
        totals: Arc<Totals>,
    ) {
        while let Some(message) = inbox.recv().await {
            match message {
                Message::KickOff => self.ping_next(&home),
                Message::Ping(from) => {
                    self.answered += 1;
                    send(&home.inboxes[from as usize], Message::Pong(self.index));
                }
                Message::Pong(from) => {
                    assert_eq!(self.awaited.take(), Some(from), "a pong from a worker that was not asked");
                    self.received += 1;
                    self.ping_next(&home);
                }
                Message::Dismiss => break,
            }
        }
        totals.sent.fetch_add(self.sent, Ordering::Relaxed);
        totals.answered.fetch_add(self.answered, Ordering::Relaxed);
        totals.received.fetch_add(self.received, Ordering::Relaxed);
    }
}

/// The output function of splitmix64.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// CPU time of this process in seconds.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "read the CPU clock of this process");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

struct Job {
    neighbourhoods: usize,
    workers: usize,
    pings: u64,
    seed: u64,
}

/// Spawns all workers, which wait for the kick-off, and returns their neighbourhoods.
fn spawn(
    job: &Job,
    totals: &Arc<Totals>,
    tasks: &mut Vec<tokio::task::JoinHandle<()>>,
) -> Vec<Arc<Neighbourhood>> {
    let mut homes = Vec::new();
    for neighbourhood in 0..job.neighbourhoods {
        let (inboxes, readers): (Vec<_>, Vec<_>) = (0..job.workers).map(|_| unbounded_channel()).unzip();
        let home = Arc::new(Neighbourhood { inboxes, unfinished: AtomicUsize::new(job.workers) });
        for (index, inbox) in readers.into_iter().enumerate() {
            let number = (neighbourhood * job.workers + index) as u64;
            // The seed is computed as by seedOf in systems/big/worker.go.
            let worker = Worker {
                index: index as u32,
                pings: job.pings,
                random: mix(mix(job.seed).wrapping_add(number.wrapping_mul(0xd134_2543_de82_ef95))),
                awaited: None,
                sent: 0,
                answered: 0,
                received: 0,
            };
            tasks.push(tokio::spawn(worker.work(inbox, home.clone(), totals.clone())));
        }
        homes.push(home);
    }
    homes
}

/// Runs the job and returns the elapsed and the CPU seconds from the kick-off to
/// the end of the last worker. It runs on a thread of the runtime, like all work.
async fn run(job: Job, totals: Arc<Totals>) -> (f64, f64) {
    let mut tasks = Vec::new();
    let homes = spawn(&job, &totals, &mut tasks);
    let (cpu, clock) = (cpu_seconds(), Instant::now());
    for home in &homes {
        for inbox in &home.inboxes {
            send(inbox, Message::KickOff);
        }
    }
    for task in tasks {
        task.await.expect("a worker broke off");
    }
    (clock.elapsed().as_secs_f64(), cpu_seconds() - cpu)
}

fn main() {
    let arguments: Vec<u64> =
        std::env::args().skip(1).map(|text| text.parse().expect("a whole number")).collect();
    let [neighbourhoods, workers, pings, seed] = arguments[..] else {
        eprintln!("usage: tokio-big NEIGHBOURHOODS WORKERS PINGS SEED");
        std::process::exit(2);
    };
    assert!(
        neighbourhoods >= 1 && workers >= 2 && pings >= 1,
        "give at least 1 neighbourhood, 2 workers, 1 ping"
    );
    let job = Job { neighbourhoods: neighbourhoods as usize, workers: workers as usize, pings, seed };
    let totals = Arc::new(Totals::default());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).build().expect("a runtime");
    let (sender, receiver) = oneshot::channel();
    let counted = totals.clone();
    runtime.spawn(async move {
        let _ = sender.send(run(job, counted).await);
    });
    let (elapsed, cpu) = runtime.block_on(receiver).expect("the run broke off");
    println!(
        "{{\"round_trips\":{},\"sent\":{},\"answered\":{},\"received\":{},\
         \"elapsed_seconds\":{:.9},\"cpu_seconds\":{:.9}}}",
        neighbourhoods * workers * pings,
        totals.sent.load(Ordering::Relaxed),
        totals.answered.load(Ordering::Relaxed),
        totals.received.load(Ordering::Relaxed),
        elapsed,
        cpu
    );
}
