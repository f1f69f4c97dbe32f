/**
 * Answers the core's questions through the host's provider.
 *
 * The core sends batches of operations, those of several tasks together; each is put to
 * the provider at once, and a batch is answered when all of it has settled. What a provider
 * may do wrong ends in provider-calls.ts and arrives here as "failed"; only an abort
 * ends a task early.
 *
 * @module @deepseek-ai/dsh-agent-instructions/host-fs
 */
import type { FsTarget } from '@deepseek-ai/dsh-fs'
import { allAborted } from './abort.ts'
import { InstructionEngine } from './native.ts'
import type { NativeConfig, Progress } from './native.ts'
import { ProviderCalls, providerBehind } from './provider-calls.ts'
import type { Admission, Bounds, EntryType, Finding, InstructionFs, Reading, Sink } from './provider-calls.ts'

/** What a finished task came to. */
export type Outcome = NonNullable<Progress['outcome']> | undefined

/** A root marker could not be probed, under `rootMarkerErrors: 'throw'`. */
export class RootMarkerError extends Error {
  override readonly name = 'RootMarkerError'
}

/** One running task. */
interface Task {
  readonly fs: InstructionFs
  readonly provider: InstructionFs
  readonly signal: AbortSignal | undefined
  /** Resolved targets, the paths they came from and the sizes that were reported of them; named to the core by index. */
  readonly targets: { readonly target: FsTarget, readonly path: string, readonly size: number }[]
  /** What went wrong, by path. */
  readonly failures: Map<string, string>
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

/** One batch of operations that a task waits for. */
interface Batch {
  readonly id: number
  readonly number: number
  readonly task: Task
  /** Where its files must lie; anywhere where it is undefined. */
  readonly bounds: Bounds | undefined
  readonly operations: readonly Operation[]
}

/** A kind, and what it is about: a path, or the index of a target. */
type Operation =
  | { readonly kind: 'probe', readonly path: string }
  | { readonly kind: 'peek', readonly path: string }
  | { readonly kind: 'read', readonly target: number }
  | { readonly kind: 'admit', readonly target: number }

// The wire format's numbers; src/binding/desk.rs and engine.rs are the other side.
const operationKinds = ['probe', 'peek', 'read', 'admit'] as const
const boundsKinds = { none: 0, links: 1, noLinks: 2 } as const
const status = { absent: 0, present: 1, unavailable: 2, content: 3, oversized: 4, admitted: 5, refused: 6, unintelligible: 7 } as const
const entryKind: Record<EntryType, number> = { file: 0, directory: 1, symlink: 2, other: 3 }
const ANSWER_WIDTH = 5

/** An answer on its way: status, kind, target, size and version. */
interface Answer {
  status: number
  kind?: number
  target?: number
  size?: number
  version?: string
}

const UNAVAILABLE: Answer = { status: status.unavailable }
const ABSENT: Answer = { status: status.absent }
const CONTENT: Answer = { status: status.content }
const OVERSIZED: Answer = { status: status.oversized }
const ADMITTED: Answer = { status: status.admitted }
const REFUSED: Answer = { status: status.refused }
const UNINTELLIGIBLE: Answer = { status: status.unintelligible }

/** An engine and the provider calls of its tasks. */
export class HostFiles {
  readonly engine: InstructionEngine
  private readonly tasks = new Map<number, Task>()

  /**
   * @param config - resolved options of the mounted plugin.
   */
  constructor(config: NativeConfig) {
    // Called by the addon's threadsafe function: it must neither throw nor return a promise that rejects.
    this.engine = new InstructionEngine(config, (codes, paths) => this.dispatch(codes, paths))
  }

  /**
   * Drive one task to its end.
   * @param fs - the provider that answers it.
   * @param signal - ends the task at once, whatever the provider is doing.
   * @param start - starts the task in the engine.
   * @param failures - takes down why a path could not be answered for.
   * @returns what the task came to.
   * @throws the signal's reason when aborted; an error that names a root marker, under `rootMarkerErrors: 'throw'`;
   * an error of the engine otherwise.
   */
  run(
    fs: InstructionFs,
    signal: AbortSignal | undefined,
    start: (engine: InstructionEngine) => Progress,
    failures = new Map<string, string>(),
  ): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const progress = start(this.engine)
      if (progress.done) {
        resolve(outcomeOf(progress, failures))
        return
      }
      const { task } = progress
      const end = () => {
        this.tasks.delete(task)
        signal?.removeEventListener('abort', abort)
      }
      const abort = () => {
        end()
        this.engine.cancel(task)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', abort)
      this.tasks.set(task, {
        fs,
        provider: providerBehind(fs),
        signal,
        targets: [],
        failures,
        resolve(outcome) {
          end()
          resolve(outcome)
        },
        reject(error) {
          end()
          reject(error)
        },
      })
    })
  }

  /** Drop every task; their promises reject. */
  dispose(): void {
    this.engine.dispose()
    for (const task of [...this.tasks.values()]) task.reject(new Error('the plugin was disposed'))
  }

  /** Put all that waits to the providers: tasks that ask one provider the very same do so together. */
  private dispatch(codes: Uint32Array, paths: string): void {
    const batches = this.decode(codes, paths)
    const byTask = new Map<Task, Batch[]>()
    for (const batch of batches) add(byTask, batch.task, batch)
    const together = new Map<InstructionFs, Map<string, Batch[]>>()
    for (const [task, own] of byTask) {
      const byQuestions = together.get(task.provider) ?? new Map<string, Batch[]>()
      together.set(task.provider, byQuestions)
      // A lone task shares with nobody.
      const questions = byTask.size === 1 ? '' : JSON.stringify(own.map(({ bounds, operations }) => [bounds, operations]))
      for (const batch of own) add(byQuestions, questions, batch)
    }
    for (const byQuestions of together.values()) {
      for (const batches of byQuestions.values()) {
        const { signal, release } = allAborted(batches.map(({ task }) => task.signal))
        const calls = new ProviderCalls((batches[0] as Batch).task.fs, signal)
        void Promise.all(batches.map(batch => this.answer(batch, calls))).finally(release)
      }
    }
  }

  private decode(codes: Uint32Array, paths: string): Batch[] {
    const batches: Batch[] = []
    let at = 0
    let offset = 0
    const next = () => codes[at++] as number
    const path = (length: number) => paths.slice(offset, offset += length)
    while (at < codes.length) {
      const [id, number, count, kind, root, home] = [next(), next(), next(), next(), next(), next()]
      const within = [path(root), path(home)]
      const bounds = kind === boundsKinds.none ? undefined : { within, links: kind === boundsKinds.links }
      const operations: Operation[] = []
      while (operations.length < count) {
        const kind = operationKinds[next()] as Operation['kind']
        const argument = next()
        operations.push(kind === 'read' || kind === 'admit' ? { kind, target: argument } : { kind, path: path(argument) })
      }
      const task = this.tasks.get(id)
      if (task !== undefined) batches.push({ id, number, task, bounds, operations })
    }
    return batches
  }

  private async answer({ id, number, task, bounds, operations }: Batch, calls: ProviderCalls): Promise<void> {
    const results = await Promise.all(operations.map((operation, index) => {
      if (operation.kind === 'probe' || operation.kind === 'peek') return calls[operation.kind](operation.path)
      const { path, target } = named(task, operation)
      if (operation.kind === 'admit') return calls.admit(path, target, bounds as Bounds)
      const sink: Sink = chunk => this.tasks.get(id) === task && this.engine.chunk(id, number, index, chunk)
      return bounds === undefined ? calls.read(target, sink) : calls.readWithin(path, target, bounds, sink)
    }))
    if (this.tasks.get(id) !== task) return
    try {
      const progress = this.complete(id, number, results.map((result, index) => answerOf(task, operations[index] as Operation, result)))
      if (progress.done) task.resolve(outcomeOf(progress, task.failures))
    } catch (error) {
      task.reject(error)
    }
  }

  private complete(id: number, batch: number, answers: readonly Answer[]): Progress {
    const codes = new Float64Array(answers.length * ANSWER_WIDTH)
    let versions = ''
    let at = 0
    for (const answer of answers) {
      const version = answer.version ?? ''
      codes[at] = answer.status
      codes[at + 1] = answer.kind ?? 0
      codes[at + 2] = answer.target ?? 0
      codes[at + 3] = answer.size ?? Number.NaN
      codes[at + 4] = version.length
      versions += version
      at += ANSWER_WIDTH
    }
    return this.engine.complete(id, batch, codes, versions)
  }
}

/** What a task that has ended came to; throws where it could not do without a marker. */
function outcomeOf({ outcome, unprobedMarker }: Progress, failures: ReadonlyMap<string, string>): Outcome {
  if (unprobedMarker === undefined) return outcome
  throw new RootMarkerError(`the project root marker ${unprobedMarker} cannot be probed: ${failures.get(unprobedMarker) ?? ''}`)
}

function add<K>(groups: Map<K, Batch[]>, key: K, batch: Batch): void {
  const group = groups.get(key)
  if (group === undefined) groups.set(key, [batch])
  else group.push(batch)
}

/** The target that the core names by its index. */
function named(task: Task, { target }: { readonly target: number }): Task['targets'][number] {
  return task.targets[target] as Task['targets'][number]
}

/** What a provider's word on an operation comes to. */
function answerOf(task: Task, operation: Operation, result: Finding | Admission | Reading): Answer {
  const { path, size } = operation.kind === 'read' || operation.kind === 'admit' ? named(task, operation) : { path: operation.path, size: Number.NaN }
  switch (result.kind) {
    case 'absent': return ABSENT
    case 'ended': return CONTENT
    case 'unintelligible': return fail(task, path, result.reason, UNINTELLIGIBLE)
    case 'failed':
      // What a probe could not find out is the reason, whatever a peek has met with.
      return operation.kind === 'peek' && task.failures.has(path) ? UNAVAILABLE : fail(task, path, result.reason)
    case 'admitted': return ADMITTED
    case 'refused': return fail(task, path, result.reason, REFUSED)
    case 'stopped':
      // It was asked for because its reported size, if there was one, is within the cap: one of the two is wrong.
      return Number.isNaN(size) ? OVERSIZED : fail(task, path, 'the provider streamed more than the size that it reported')
    case 'present': {
      const { target, type, version, size } = result
      return {
        status: status.present,
        kind: entryKind[type],
        target: target === undefined ? 0 : task.targets.push({ target, path, size }) - 1,
        size,
        version,
      }
    }
  }
}

/** Take down why nothing better can be answered. */
function fail(task: Task, path: string, reason: string, answer = UNAVAILABLE): Answer {
  task.failures.set(path, reason)
  return answer
}
