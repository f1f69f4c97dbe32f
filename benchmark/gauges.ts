/**
 * What is measured of a trial's work.
 */

/** Does the work and says how much of something it took, in milliseconds. */
export type Gauge = (work: () => Promise<unknown>) => Promise<number>

/** Gaps shorter than this are an event loop's ordinary business. */
const NOTICEABLE = 1

/** From the first call to the result. */
export async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/**
 * How long nothing else could run. With an immediate always queued the loop never
 * sleeps, so the gap between two of its turns is the time that callbacks kept the
 * thread to themselves.
 */
async function gaps(work: () => Promise<unknown>): Promise<number[]> {
  const found: number[] = []
  let last = performance.now()
  let running = true
  const note = () => {
    const now = performance.now()
    found.push(now - last)
    last = now
  }
  const turn = () => {
    if (!running) return
    note()
    setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  running = false
  note()
  return found
}

/** The longest time for which the event loop stood still. */
export const longestBlock: Gauge = async work => Math.max(...await gaps(work))

/** All the time for which the event loop stood still noticeably: its gaps of more than a millisecond, added up. */
export const blocked: Gauge = async work => (await gaps(work)).filter(gap => gap > NOTICEABLE).reduce((sum, gap) => sum + gap, 0)

/** Processor time of the main thread alone, as the kernel accounts for it: time during which another process ran is not in it. */
export const mainThread: Gauge = async work => {
  const start = process.threadCpuUsage()
  await work()
  const { user, system } = process.threadCpuUsage(start)
  return (user + system) / 1000
}
