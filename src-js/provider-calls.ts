/**
 * What one provider is asked at one moment, each question once.
 *
 * Tasks that ask the same at the same moment share the call: nothing can have changed
 * between their questions, since no other code has run. A provider may do anything:
 * throw, reject, return nonsense, or never settle. Nothing of that leaves this module
 * except as a finding or a reading that says "failed".
 *
 * @module @deepseek-ai/dsh-agent-instructions/provider-calls
 */
import { symbols } from '@deepseek-ai/cordis'
import type { FileSystem, FsTarget } from '@deepseek-ai/dsh-fs'
import { reasonOf } from './reason.ts'

/** The part of a provider that instruction loading uses; `contains` only where links are not simply followed. */
export type InstructionFs = Pick<FileSystem, 'resolve' | 'stat' | 'lstat' | 'streamText'> & Partial<Pick<FileSystem, 'contains'>>

/** The kinds of entry that a provider may report; only lstat reports a link. */
const ENTRY_TYPES = ['file', 'directory', 'symlink', 'other'] as const
export type EntryType = typeof ENTRY_TYPES[number]

/** What a provider says of one path. */
export type Finding =
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed', readonly reason: string }
  /** It said something, and nobody knows what. */
  | { readonly kind: 'unintelligible', readonly reason: string }
  | {
    readonly kind: 'present'
    /** What to read; `undefined` for what lstat finds. */
    readonly target: FsTarget | undefined
    readonly type: EntryType
    /** The provider's token, or one that equals no other where it gave none. */
    readonly version: string
    /** In bytes, as reported; `NaN` where nothing usable was. */
    readonly size: number
  }

/** How a stream came to its end: by itself, because nobody wanted more, or by a failure. */
export type Reading =
  | { readonly kind: 'ended' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed', readonly reason: string }

/** Whether a file may be loaded from where it lies. */
export type Admission =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'refused', readonly reason: string }
  | { readonly kind: 'failed', readonly reason: string }

/** Where files must lie. */
export interface Bounds {
  /** Absolute directories, in one of which. */
  readonly within: readonly string[]
  /** Whether a candidate may itself be a link. */
  readonly links: boolean
}

/** Takes a stream's next chunk and says whether it wants more. */
export type Sink = (chunk: string) => boolean

/** A stream that yields this many empty chunks in a row is taken to be stuck. */
const MAX_EMPTY_CHUNKS = 10_000

const ABSENT: Finding = { kind: 'absent' }
let anonymousVersions = 0

/**
 * Find the provider behind a look-up: Cordis hands out a fresh proxy each time.
 * @param fs - what `ctx.get('fs')` returned, or a bare provider.
 * @returns the provider itself; the same for all of its proxies.
 */
export function providerBehind(fs: InstructionFs): InstructionFs {
  return (fs as { [symbols.original]?: InstructionFs })[symbols.original] ?? fs
}

type Operation = 'resolve' | 'stat' | 'lstat' | 'streamText'

/** Calls that are issued together. */
export class ProviderCalls {
  private readonly fs: InstructionFs
  private readonly signal: AbortSignal | undefined
  /** Each looked up once: on a Cordis service every look-up makes a proxy of its own, which costs more than the call. */
  private readonly methods: Partial<Pick<InstructionFs, Operation>> = {}
  private readonly probes = new Map<string, Promise<Finding>>()
  private readonly peeks = new Map<string, Promise<Finding>>()
  private readonly streams = new Map<FsTarget, SharedStream>()
  private readonly directories = new Map<string, Promise<FsTarget>>()

  /**
   * @param fs - the provider, as it is to be called.
   * @param signal - handed to every call.
   */
  constructor(fs: InstructionFs, signal: AbortSignal | undefined) {
    this.fs = fs
    this.signal = signal
  }

  /**
   * Ask what is at a path, a final link followed: resolve, then stat.
   * @param path - absolute.
   * @returns what is there; never rejects.
   */
  probe(path: string): Promise<Finding> {
    let finding = this.probes.get(path)
    if (finding === undefined) this.probes.set(path, finding = this.resolveAndStat(path))
    return finding
  }

  /**
   * Ask what the entry at a path itself is: lstat.
   * @param path - absolute.
   * @returns what is there; never rejects.
   */
  peek(path: string): Promise<Finding> {
    let finding = this.peeks.get(path)
    if (finding === undefined) this.peeks.set(path, finding = this.lstat(path))
    return finding
  }

  /**
   * Stream a file.
   * @param target - as a probe found it.
   * @param sink - takes the text, chunk by chunk.
   * @returns how the stream ended; never rejects.
   */
  read(target: FsTarget, sink: Sink): Promise<Reading> {
    const running = this.streams.get(target)
    if (running !== undefined) return running.join(sink)
    const stream = new SharedStream()
    this.streams.set(target, stream)
    const reading = stream.join(sink)
    void stream.run(() => this.call('streamText', target, this.signal))
    return reading
  }

  /**
   * Ask whether a file lies within bounds, every link resolved by the provider itself.
   * @param path - absolute; what the target was resolved from.
   * @param target - as a probe found it.
   * @param bounds - where it must lie.
   * @returns whether it may be loaded; never rejects.
   */
  async admit(path: string, target: FsTarget, bounds: Bounds): Promise<Admission> {
    try {
      if (!bounds.links) {
        const entry = await this.peek(path)
        if (entry.kind === 'absent') return failed('it has gone')
        if (entry.kind !== 'present') return failed(entry.reason)
        if (entry.type === 'symlink') return { kind: 'refused', reason: 'it is a link' }
      }
      const directories = await Promise.allSettled(bounds.within.map(directory => this.directory(directory)))
      if (directories.some(directory => directory.status === 'fulfilled' && this.holds(directory.value, target))) return { kind: 'admitted' }
      const unknown = directories.find(directory => directory.status === 'rejected')
      return unknown === undefined ? { kind: 'refused', reason: 'it leads out of the project root and the harness home' } : failed(unknown.reason)
    } catch (error) {
      return failed(error)
    }
  }

  /**
   * Stream a file that must lie within bounds, its path leading to it, before and after: a link that is swapped in
   * meanwhile gives nothing away.
   * @param path - absolute; what the target was resolved from.
   * @param target - as a probe found it.
   * @param bounds - where it must lie.
   * @param sink - takes the text, chunk by chunk, on the understanding that it counts only if the stream ends well.
   * @returns how the stream ended; never rejects.
   */
  async readWithin(path: string, target: FsTarget, bounds: Bounds, sink: Sink): Promise<Reading> {
    const before = await this.leadsTo(path, target, bounds)
    if (before !== undefined) return before
    const reading = await new ProviderCalls(this.fs, this.signal).read(target, sink)
    return await this.leadsTo(path, target, bounds) ?? reading
  }

  private async resolveAndStat(path: string): Promise<Finding> {
    try {
      const target = await this.call('resolve', path, this.options())
      if (typeof target !== 'object' || target === null) return failed('the provider resolved it to nothing')
      return describe(await this.call('stat', target, this.signal), target)
    } catch (error) {
      return failed(error)
    }
  }

  private async lstat(path: string): Promise<Finding> {
    try {
      return describe(await this.call('lstat', path, undefined, this.signal), undefined)
    } catch (error) {
      return failed(error)
    }
  }

  /** Why the path does not lead to the target, within bounds; asked anew each time. */
  private async leadsTo(path: string, target: FsTarget, bounds: Bounds): Promise<{ kind: 'failed', reason: string } | undefined> {
    try {
      const calls = new ProviderCalls(this.fs, this.signal)
      const now = await calls.call('resolve', path, calls.options())
      if (now.targetKey !== target.targetKey) return failed('it no longer leads where it led when it was looked at')
      const admission = await calls.admit(path, now, bounds)
      return admission.kind === 'admitted' ? undefined : failed(admission.reason)
    } catch (error) {
      return failed(error)
    }
  }

  private directory(path: string): Promise<FsTarget> {
    let directory = this.directories.get(path)
    if (directory === undefined) this.directories.set(path, directory = (async () => await this.call('resolve', path, this.options()))())
    return directory
  }

  private holds(directory: FsTarget, target: FsTarget): boolean {
    const answer: unknown = this.fs.contains?.(directory, target)
    if (typeof answer !== 'boolean') throw new Error('the provider cannot tell what lies where')
    return answer
  }

  private options(): { signal?: AbortSignal } {
    return this.signal === undefined ? {} : { signal: this.signal }
  }

  /** The look-up may throw, as the call may: both are the caller's to contain. */
  private call<K extends Operation>(name: K, ...args: Parameters<InstructionFs[K]>): ReturnType<InstructionFs[K]> {
    const method = (this.methods[name] ??= this.fs[name]) as (...args: unknown[]) => ReturnType<InstructionFs[K]>
    return method.apply(this.fs, args)
  }
}

/** One stream and all who read it. Those who ask at the same moment miss nothing: no chunk comes before the next. */
class SharedStream {
  private readonly readers = new Map<Sink, (reading: Reading) => void>()

  join(sink: Sink): Promise<Reading> {
    return new Promise(resolve => this.readers.set(sink, resolve))
  }

  async run(open: () => Promise<AsyncIterable<unknown>>): Promise<void> {
    this.end(await this.drain(open).catch(failed))
  }

  private async drain(open: () => Promise<AsyncIterable<unknown>>): Promise<Reading> {
    let empty = 0
    for await (const chunk of await open()) {
      if (typeof chunk !== 'string') return failed('the provider streamed something that is no text')
      empty = chunk === '' ? empty + 1 : 0
      if (empty > MAX_EMPTY_CHUNKS) return failed('the provider streamed nothing without end')
      for (const [sink, resolve] of this.readers) {
        if (sink(chunk)) continue
        this.readers.delete(sink)
        resolve({ kind: 'stopped' })
      }
      if (this.readers.size === 0) break
    }
    return { kind: 'ended' }
  }

  private end(reading: Reading): void {
    for (const resolve of this.readers.values()) resolve(reading)
  }
}

function describe(info: unknown, target: FsTarget | undefined): Finding {
  if (info === undefined) return ABSENT
  if (typeof info !== 'object' || info === null) return unintelligible('the provider described it as nothing')
  let properties: { type?: unknown, version?: unknown, size?: unknown }
  try {
    const { type, version, size } = info as typeof properties
    properties = { type, version, size }
  } catch (error) {
    return unintelligible(error)
  }
  const { type, version, size } = properties
  // A word that is none of these says nothing, least of all that there is no file.
  if (!isEntryType(type)) return unintelligible('the provider gave it no known type')
  return {
    kind: 'present',
    target,
    type,
    // A token that is no token never matches another one, so the file is read anew.
    version: typeof version === 'string' ? version : `\0${++anonymousVersions}`,
    size: typeof size === 'number' ? size : Number.NaN,
  }
}

function isEntryType(type: unknown): type is EntryType {
  return (ENTRY_TYPES as readonly unknown[]).includes(type)
}

function unintelligible(error: unknown): Finding {
  return { kind: 'unintelligible', reason: reasonOf(error) }
}

function failed(error: unknown): { kind: 'failed', reason: string } {
  return { kind: 'failed', reason: reasonOf(error) }
}
