//! The desk between the core and the host: batches go out through one weak
//! threadsafe function, answers come in by a plain call, all on the JavaScript thread.
//!
//! Batches wait at the desk until the function's call arrives, which takes all of them:
//! what several tasks ask in one turn crosses once, and reaches the host at one moment.
//! The function keeps the process alive only while a call is queued: a batch that was
//! dispatched is the provider's affair, and one that never settles holds nothing.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use napi::bindgen_prelude::{FnArgs, Function, Result, Uint32Array};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status};

use crate::core::operation::{Answer, Answerer, Bounds, Operation};
use crate::core::text::JsText;

/// Codes and joined paths of all batches that waited; see `host-fs.ts` for the other side.
pub type DispatchArgs = FnArgs<(Uint32Array, String)>;
type Dispatch = ThreadsafeFunction<(), (), DispatchArgs, Status, false, true>;

const PROBE: u32 = 0;
const PEEK: u32 = 1;
const READ: u32 = 2;
const ADMIT: u32 = 3;

/// Where the files of a batch must lie: anywhere; within bounds; within bounds and behind no link.
const UNBOUNDED: u32 = 0;
const BOUNDED: u32 = 1;
const WITHOUT_LINKS: u32 = 2;

/// One batch, by the task and the number under which it is answered.
struct Parcel {
    task: u32,
    batch: u32,
    operations: Vec<Operation>,
}

/// One host's outgoing side.
pub struct Desk {
    dispatch: RefCell<Option<Dispatch>>,
    waiting: RefCell<Vec<Parcel>>,
    env: Env,
}

impl Desk {
    /// Open a desk that hands batches to `dispatch`, which must neither throw nor reject.
    pub fn open(env: Env, dispatch: &Function<'_, DispatchArgs, ()>) -> Result<Rc<Self>> {
        let desk = Rc::new(Self { dispatch: RefCell::default(), waiting: RefCell::default(), env });
        let arrival = Rc::downgrade(&desk);
        let function = dispatch
            .build_threadsafe_function::<()>()
            .weak::<true>()
            .build_callback(move |_| Ok(encode(&arrival.upgrade().map(|desk| desk.take()).unwrap_or_default())))?;
        *desk.dispatch.borrow_mut() = Some(function);
        Ok(desk)
    }

    /// Drop the function; later batches are refused.
    pub fn close(&self) {
        self.dispatch.borrow_mut().take();
    }

    /// Leave one batch for the host. Returns whether it will arrive.
    pub fn send(&self, task: u32, batch: u32, operations: Vec<Operation>) -> bool {
        let mut slot = self.dispatch.borrow_mut();
        let Some(function) = slot.as_mut() else { return false };
        let mut waiting = self.waiting.borrow_mut();
        if waiting.is_empty() {
            #[allow(deprecated)] // the only spelling that napi offers for reference counts that come and go
            let _ = function.refer(&self.env);
            if function.call((), ThreadsafeFunctionCallMode::NonBlocking) != Status::Ok {
                #[allow(deprecated)]
                let _ = function.unref(&self.env);
                return false;
            }
        }
        waiting.push(Parcel { task, batch, operations });
        true
    }

    /// All that waits, as the queued call arrives.
    fn take(&self) -> Vec<Parcel> {
        if let Some(function) = self.dispatch.borrow_mut().as_mut() {
            #[allow(deprecated)]
            let _ = function.unref(&self.env);
        }
        std::mem::take(&mut self.waiting.borrow_mut())
    }
}

/// Every batch as its task, its number, how many operations it has and where its files must lie: a word and the lengths
/// of two directories; every operation as its kind and either path length or target; beside all paths joined. Lengths,
/// in code units, instead of separators: a configured name may hold anything.
fn encode(parcels: &[Parcel]) -> DispatchArgs {
    let width = parcels.iter().map(|parcel| 6 + 2 * parcel.operations.len()).sum();
    let mut codes: Vec<u32> = Vec::with_capacity(width);
    let mut paths = String::new();
    for Parcel { task, batch, operations } in parcels {
        codes.extend([*task, *batch, count(operations.len())]);
        // All files of a batch must lie in the same place: a composition has one root.
        match operations.iter().find_map(bounds_of) {
            None => codes.extend([UNBOUNDED, 0, 0]),
            Some(Bounds { within: [root, home], links }) => {
                codes.extend([if *links { BOUNDED } else { WITHOUT_LINKS }, code_units(root), code_units(home)]);
                paths.push_str(root);
                paths.push_str(home);
            }
        }
        for operation in operations {
            match operation {
                Operation::Probe { path } | Operation::Peek { path } => {
                    let kind = if matches!(operation, Operation::Probe { .. }) { PROBE } else { PEEK };
                    codes.extend([kind, code_units(path)]);
                    paths.push_str(path);
                }
                Operation::Admit { target, .. } => codes.extend([ADMIT, *target]),
                Operation::Read { target, .. } => codes.extend([READ, *target]),
            }
        }
    }
    (Uint32Array::new(codes), paths).into()
}

fn bounds_of(operation: &Operation) -> Option<&Bounds> {
    match operation {
        Operation::Admit { bounds, .. } => Some(bounds),
        Operation::Read { bounds, .. } => bounds.as_deref(),
        Operation::Probe { .. } | Operation::Peek { .. } => None,
    }
}

fn code_units(path: &str) -> u32 {
    count(if path.is_ascii() { path.len() } else { path.encode_utf16().count() })
}

#[allow(clippy::cast_possible_truncation)] // neither a path nor a batch comes near 2^32
fn count(length: usize) -> u32 {
    length as u32
}

/// What one task asks through the desk, and where its answers arrive.
#[derive(Default)]
pub struct Mailbox {
    next: Cell<u32>,
    outgoing: RefCell<Vec<(u32, Vec<Operation>)>>,
    awaited: RefCell<HashMap<u32, Awaited>>,
}

/// One batch that is out.
struct Awaited {
    /// Content streamed so far and the running count of its bytes, by operation.
    streams: HashMap<usize, (JsText, usize)>,
    limits: Vec<f64>,
    answers: Option<Vec<Answer>>,
}

impl Mailbox {
    /// Take the batches that are to be sent.
    pub fn take_outgoing(&self) -> Vec<(u32, Vec<Operation>)> {
        std::mem::take(&mut self.outgoing.borrow_mut())
    }

    /// Add a chunk to a read's content. Returns whether the content is still within its limit.
    #[allow(clippy::cast_precision_loss)] // a content comes nowhere near 2^53 bytes
    pub fn push_chunk(&self, batch: u32, index: usize, chunk: &JsText) -> bool {
        let mut awaited = self.awaited.borrow_mut();
        let Some(awaited) = awaited.get_mut(&batch) else { return false };
        let (stream, count) = awaited.streams.entry(index).or_default();
        stream.push(chunk);
        // Counted chunk by chunk, as the published package counts: the halves of a split pair are three bytes each.
        *count += chunk.len();
        let within = *count as f64 <= awaited.limits.get(index).copied().unwrap_or(0.0);
        if !within {
            // Nothing beyond the cap is kept, whatever the host goes on to stream.
            *stream = JsText::new();
        }
        within
    }

    /// Deliver a batch's answers; `answer` is asked for each operation that streamed nothing.
    pub fn deliver(&self, batch: u32, answer: impl Fn(usize, Option<JsText>) -> Answer) {
        if let Some(awaited) = self.awaited.borrow_mut().get_mut(&batch) {
            let mut streams = std::mem::take(&mut awaited.streams);
            awaited.answers = Some(
                (0..awaited.limits.len())
                    .map(|index| answer(index, streams.remove(&index).map(|(content, _)| content)))
                    .collect(),
            );
        }
    }
}

impl Answerer for Rc<Mailbox> {
    async fn answer(&self, batch: Vec<Operation>) -> Vec<Answer> {
        let id = self.next.get();
        self.next.set(id.wrapping_add(1));
        let limits = batch
            .iter()
            .map(|operation| if let Operation::Read { limit, .. } = operation { *limit } else { 0.0 })
            .collect();
        self.awaited.borrow_mut().insert(id, Awaited { streams: HashMap::new(), limits, answers: None });
        self.outgoing.borrow_mut().push((id, batch));
        poll_fn(|_| {
            let mut awaited = self.awaited.borrow_mut();
            match awaited.get_mut(&id).and_then(|awaited| awaited.answers.take()) {
                Some(answers) => {
                    awaited.remove(&id);
                    Poll::Ready(answers)
                }
                None => Poll::Pending,
            }
        })
        .await
    }
}
