/**
 * Waiting that ends with a signal.
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
