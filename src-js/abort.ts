/**
 * Waiting that ends with a signal, and work that ends with the last of several.
 *
 * @module @deepseek-ai/dsh-agent-instructions/abort
 */

/**
 * Wait for work, but no longer than a signal allows. The work itself goes on: what it waits for may never settle.
 * @param work - what is waited for.
 * @param signal - ends the waiting.
 * @returns what the work comes to.
 * @throws the signal's reason when aborted.
 */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/**
 * Join the signals of all who wait for one piece of work.
 * @param signals - one for each of them; `undefined` for one who waits however long it takes.
 * @returns a signal that aborts when the last of theirs has, theirs itself where all have the same; `release` lets go of them.
 */
export function allAborted(signals: readonly (AbortSignal | undefined)[]): { signal: AbortSignal | undefined, release: () => void } {
  const distinct = [...new Set(signals)]
  const [first] = distinct
  if (distinct.length === 1) return { signal: first, release() {} }
  const waiting = new Set(distinct.filter(signal => signal?.aborted !== true))
  const joint = new AbortController()
  const released = new AbortController()
  const check = (reason: unknown) => {
    if (waiting.size === 0) joint.abort(reason)
  }
  for (const signal of waiting) {
    signal?.addEventListener('abort', () => {
      waiting.delete(signal)
      check(signal.reason)
    }, { once: true, signal: released.signal })
  }
  check(first?.reason)
  return { signal: joint.signal, release: () => released.abort() }
}
