/**
 * Answers the core's questions through the host's provider.
 *
 * The core sends batches of operations; each is put to the provider at once and
 * answered when all have settled. A provider may do anything: throw, reject,
 * return nonsense, or never settle. Nothing of that leaves this module except as
 * an answer that says "unavailable"; only an abort ends a task early.
 *
 * @module @deepseek-ai/dsh-agent-instructions/host-fs
 */
import type { FileSystem, FsTarget } from '@deepseek-ai/dsh-fs'
import { InstructionEngine } from './native.ts'
import type { NativeConfig, Progress } from './native.ts'
import { reasonOf } from './reason.ts'

/** The part of a provider that instruction loading uses. */
export type InstructionFs = Pick<FileSystem, 'resolve' | 'stat' | 'lstat' | 'streamText'>

/** What a finished task came to. */
export type Outcome = NonNullable<Progress['outcome']> | undefined

/**
 * A provider's methods, each looked up once for a batch: on a Cordis service every look-up makes a proxy of its own,
 * which costs more than the call.
 */
class BoundMethods {
  private readonly fs: InstructionFs
  private readonly methods: Partial<InstructionFs> = {}

  constructor(fs: InstructionFs) {
    this.fs = fs
  }

  /** The look-up may throw, as the call may: both are the caller's to contain. */
  call<K extends keyof InstructionFs>(name: K, ...args: Parameters<InstructionFs[K]>): ReturnType<InstructionFs[K]> {
    const method = (this.methods[name] ??= this.fs[name]) as (...args: unknown[]) => ReturnType<InstructionFs[K]>
    return method.apply(this.fs, args)
  }
}

/** One running task. */
interface Task {
  readonly fs: InstructionFs
  readonly signal: AbortSignal | undefined
  /** Resolved targets, the paths they came from and the sizes that were reported of them; named to the core by index. */
  readonly targets: { readonly target: FsTarget, readonly path: string, size?: number }[]
  /** What went wrong, by path. */
  readonly failures: Map<string, string>
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

// The wire format's numbers; src/binding/desk.rs and engine.rs are the other side.
const operationKind = { probe: 0, peek: 1, read: 2 } as const
const status = { absent: 0, present: 1, unavailable: 2, content: 3, oversized: 4 } as const
const entryKind = { file: 0, directory: 1, symlink: 2, other: 3 } as const
const OPERATION_WIDTH = 3
const ANSWER_WIDTH = 5

/** A stream that yields this many empty chunks in a row is taken to be stuck. */
const MAX_EMPTY_CHUNKS = 10_000

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

/** An engine and the provider calls of its tasks. */
export class HostFiles {
  readonly engine: InstructionEngine
  private readonly tasks = new Map<number, Task>()
  private anonymousVersions = 0

  /**
   * @param config - resolved options of the mounted plugin.
   */
  constructor(config: NativeConfig) {
    // Called by the addon's threadsafe function: it must neither throw nor return a promise that rejects.
    this.engine = new InstructionEngine(config, (task, batch, codes, paths) => {
      void this.answer(task, batch, codes, paths)
    })
  }

  /**
   * Drive one task to its end.
   * @param fs - the provider that answers it.
   * @param signal - ends the task at once, whatever the provider is doing.
   * @param start - starts the task in the engine.
   * @param failures - takes down why a path could not be answered for.
   * @returns what the task came to.
   * @throws the signal's reason when aborted; an error of the engine otherwise.
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
        resolve(progress.outcome)
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

  private async answer(id: number, batch: number, codes: number[], paths: string): Promise<void> {
    const task = this.tasks.get(id)
    if (task === undefined) return
    const pending: Promise<Answer>[] = []
    const methods = new BoundMethods(task.fs)
    let offset = 0
    for (let at = 0; at < codes.length; at += OPERATION_WIDTH) {
      const operation = codes[at]
      const argument = codes[at + 1] as number
      if (operation === operationKind.read) {
        pending.push(this.read(task, methods, id, batch, pending.length, argument))
      } else {
        const path = paths.slice(offset, offset += argument)
        pending.push(operation === operationKind.peek ? this.peek(task, methods, path) : this.probe(task, methods, path))
      }
    }
    const answers = await Promise.all(pending)
    if (this.tasks.get(id) !== task) return
    try {
      const progress = this.complete(id, batch, answers)
      if (progress.done) task.resolve(progress.outcome)
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

  private async probe(task: Task, methods: BoundMethods, path: string): Promise<Answer> {
    try {
      const target = await methods.call('resolve', path, task.signal === undefined ? {} : { signal: task.signal })
      if (typeof target !== 'object' || target === null) return fail(task, path, 'the provider resolved it to nothing')
      const info = await methods.call('stat', target, task.signal)
      if (info === undefined) return ABSENT
      const found: Task['targets'][number] = { target, path }
      const answer = this.present(task, path, info, task.targets.push(found) - 1)
      if (answer.size !== undefined) found.size = answer.size
      return answer
    } catch (error) {
      return fail(task, path, error)
    }
  }

  private async peek(task: Task, methods: BoundMethods, path: string): Promise<Answer> {
    try {
      const info = await methods.call('lstat', path, undefined, task.signal)
      return info === undefined ? ABSENT : this.present(task, path, info, 0)
    } catch (error) {
      return fail(task, path, error)
    }
  }

  private present(task: Task, path: string, info: unknown, target: number): Answer {
    if (typeof info !== 'object' || info === null) return fail(task, path, 'the provider described it as nothing')
    const { type, version, size } = info as { type?: unknown, version?: unknown, size?: unknown }
    // A word that is none of these says nothing, least of all that there is no file.
    if (!isEntryKind(type)) return fail(task, path, 'the provider gave it no known type')
    return {
      status: status.present,
      kind: entryKind[type],
      target,
      size: typeof size === 'number' ? size : Number.NaN,
      // A token that is no token never matches another one, so the file is read anew.
      version: typeof version === 'string' ? version : `\0${++this.anonymousVersions}`,
    }
  }

  private async read(task: Task, methods: BoundMethods, id: number, batch: number, index: number, named: number): Promise<Answer> {
    const { target, path, size } = task.targets[named] as Task['targets'][number]
    try {
      const stream = await methods.call('streamText', target, task.signal)
      let empty = 0
      for await (const chunk of stream) {
        if (typeof chunk !== 'string') return fail(task, path, 'the provider streamed something that is no text')
        empty = chunk === '' ? empty + 1 : 0
        if (empty > MAX_EMPTY_CHUNKS) return fail(task, path, 'the provider streamed nothing without end')
        if (task.signal?.aborted || this.tasks.get(id) !== task) return UNAVAILABLE
        if (this.engine.chunk(id, batch, index, chunk)) continue
        // It was asked for because its reported size, if there was one, is within the cap: one of the two is wrong.
        return size === undefined || Number.isNaN(size)
          ? { status: status.oversized }
          : fail(task, path, 'the provider streamed more than the size that it reported')
      }
      return { status: status.content }
    } catch (error) {
      return fail(task, path, error)
    }
  }
}

function isEntryKind(type: unknown): type is keyof typeof entryKind {
  return typeof type === 'string' && Object.hasOwn(entryKind, type)
}

function fail(task: Task, path: string, error: unknown): Answer {
  task.failures.set(path, reasonOf(error))
  return UNAVAILABLE
}
