/**
 * A provider over a memory tree that does something else at one point of its work:
 * whatever a promise, an iterator or a value can be in JavaScript. Everywhere else it
 * answers truly, so that what a test sees is that one fault's doing.
 */
import type { Context } from '@deepseek-ai/cordis'
import { FsError } from '@deepseek-ai/dsh-fs'
import type { FsTarget } from '@deepseek-ai/dsh-fs'
import { memoryFs } from './memory-fs.ts'
import type { OperationLog, World } from './memory-fs.ts'

/**
 * Where a fault strikes: a call, or a moment of a stream. `iterator` is the request for the
 * stream's iterator, `return` its early end by the reader.
 */
export type Point = 'resolve' | 'stat' | 'lstat' | 'open' | 'iterator' | 'first' | 'middle' | 'end' | 'return'

export const CALLS: readonly Point[] = ['resolve', 'stat', 'lstat', 'open']
export const STREAM: readonly Point[] = ['first', 'middle', 'end']

/** What the provider does; `honest` is what it would have done. */
export type Behaviour = (honest: () => unknown, controls: Faults) => unknown

/** The faults that are in force, and what is to be known of them. */
export class Faults {
  private readonly current = new Map<string, Behaviour>()
  private readonly held: (() => void)[] = []
  /** How often a fault has struck. */
  struck = 0
  /** Whether a stream stays at the point where a fault has struck. */
  sticks = false
  /** Calls of the provider so far, each chunk that is asked for among them. */
  calls = 0
  /** Sees every call before it is answered. */
  onCall: ((call: number) => void) | undefined
  /** What every call does that no fault has befallen, instead of answering at once. */
  every: Behaviour | undefined
  /** Whether an honest call minds its signal. */
  mindsSignals = true

  set(point: Point, path: string, behave: Behaviour): void {
    this.current.set(`${point} ${path}`, behave)
  }

  heal(): void {
    this.current.clear()
    this.sticks = false
    this.struck = 0
  }

  /** Answer later, with what `answer` then gives, or never. */
  hold(answer: () => unknown): Promise<unknown> {
    return new Promise((resolve, reject) => this.held.push(() => {
      try {
        resolve(answer())
      } catch (error) {
        reject(error)
      }
    }))
  }

  /** Give every answer that was held back. */
  release(): void {
    for (const answer of this.held.splice(0)) answer()
  }

  at(point: Point, path: string, honest: () => unknown): unknown {
    this.onCall?.(++this.calls)
    const behave = this.current.get(`${point} ${path}`)
    if (behave === undefined) return this.every === undefined || point === 'iterator' ? honest() : this.every(honest, this)
    this.struck++
    return behave(honest, this)
  }
}

/** Build the Cordis plugin class of a provider over `world` that `faults` rules. */
export function faultyFs(world: World, log: OperationLog, faults: Faults) {
  const Honest = memoryFs(world, log)
  return class FaultyFs extends Honest {
    static override readonly name = 'faulty-fs'

    constructor(ctx: Context) {
      super(ctx)
    }

    override resolve(path: string, options?: { cwd?: string, signal?: AbortSignal }): Promise<FsTarget> {
      return faults.at('resolve', path, () => super.resolve(path, minded(options))) as Promise<FsTarget>
    }

    override stat(target: FsTarget, signal?: AbortSignal): ReturnType<InstanceType<typeof Honest>['stat']> {
      return faults.at('stat', target?.displayPath, () => {
        // What is not even an object it looks up all the same, and finds nothing.
        if (typeof target !== 'object' || target === null) return undefined
        known(target)
        return super.stat(target, minded({ signal }).signal)
      }) as never
    }

    override lstat(path: string, options?: { cwd?: string }, signal?: AbortSignal): ReturnType<InstanceType<typeof Honest>['lstat']> {
      return faults.at('lstat', path, () => super.lstat(path, options, minded({ signal }).signal)) as never
    }

    override streamText(target: FsTarget, signal?: AbortSignal): Promise<AsyncIterable<string>> {
      return faults.at('open', target.displayPath, async () => {
        known(target)
        const chunks: string[] = []
        for await (const chunk of await super.streamText(target, minded({ signal }).signal)) chunks.push(chunk)
        return stream(target.displayPath, chunks, minded({ signal }).signal)
      }) as Promise<AsyncIterable<string>>
    }
  }

  function minded<T extends { signal?: AbortSignal | undefined }>(options: T | undefined): T & { signal?: AbortSignal } {
    return { ...options, ...(faults.mindsSignals ? {} : { signal: undefined }) } as T & { signal?: AbortSignal }
  }

  /** A provider knows its own targets from others. */
  function known(target: FsTarget): void {
    if (typeof target.targetKey !== 'string') throw new FsError('not a target of this provider', 'FS_INVALID_TARGET' as never)
  }

  function stream(path: string, chunks: readonly string[], signal: AbortSignal | undefined): AsyncIterable<string> {
    let index = 0
    const pointOf = (at: number) => at >= chunks.length ? 'end' : at === 0 ? 'first' : 'middle'
    const iterator = {
      next: () => {
        const [at, before] = [index, faults.struck]
        const answer = faults.at(pointOf(at), path, async () => {
          if (signal?.aborted) throw new FsError('read aborted', 'FS_ABORTED')
          return at < chunks.length ? { done: false, value: chunks[at] } : { done: true, value: undefined }
        })
        if (!(faults.sticks && faults.struck > before)) index++
        return answer
      },
      return: () => faults.at('return', path, async () => ({ done: true, value: undefined })),
    }
    return { [Symbol.asyncIterator]: () => faults.at('iterator', path, () => iterator) } as AsyncIterable<string>
  }
}
