/**
 * What the boundary itself costs. A session that knows everything asks one batch
 * and is silent; with answers on the spot, such a step is little more than one
 * batch out through the threadsafe function and one call back in.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { resolveConfig } from '../lib/config.js'
import { InstructionEngine, ProviderMemory, SessionMemory } from '../lib/native.js'
import { summarize } from './measure.ts'
import type { Effort } from './measure.ts'

/** The cost of one round, in milliseconds. */
export interface Boundary {
  /** Operations in its batch. */
  readonly operations: number
  readonly round: number
  /** A bare turn of the event loop, which a queued call cannot do without. */
  readonly loop: number
}

// The wire format: six numbers for a batch and two for each of its operations; five for an answer, the first of
// which says "absent" or "present".
const BATCH_WIDTH = 6
const OPERATION_WIDTH = 2
const ANSWER_WIDTH = 5
const PRESENT = 1
const DIRECTORY = 1

/** Rounds in one sample: a single one is too short for the clock. */
const BURST = 200
/** Bursts before anything counts. */
const WARM_UP = 10
const CWD = '/project'

/**
 * Measure rounds of different width.
 * @param effort - how many bursts.
 * @returns one line for each width.
 */
export async function measureBoundary(effort: Effort): Promise<Boundary[]> {
  const lines: Boundary[] = []
  for (const operations of [2, 21, 101]) lines.push(await measureRounds(operations, effort))
  return lines
}

async function measureRounds(operations: number, effort: Effort): Promise<Boundary> {
  let rounds = 0
  let asked = 0
  let finished: () => void = () => {}
  const engine = new InstructionEngine(resolveConfig({
    dshHome: '/home/.dsh',
    maxBytes: 65_536,
    projectRootMarkers: [],
    instructionFileCandidates: [],
    // The user-global file makes up the number.
    localInstructionFileCandidates: Array.from({ length: operations - 1 }, (_, index) => `RULES-${index}.md`),
  }), (codes, paths) => {
    rounds++
    for (let at = 0; at < codes.length;) {
      const [task, batch, width] = codes.subarray(at) as unknown as [number, number, number]
      at += BATCH_WIDTH + width * OPERATION_WIDTH
      asked += width
      const answers = new Float64Array(width * ANSWER_WIDTH)
      // Nothing is anywhere but the session's own directory, which shows that this provider can be believed.
      if (width === 1 && paths === CWD) answers.set([PRESENT, DIRECTORY])
      if (engine.complete(task, batch, answers, '').done) finished()
    }
  })
  const memory = new SessionMemory(new ProviderMemory())
  const step = () => new Promise<void>(resolve => {
    finished = resolve
    engine.compose(memory, { cwd: CWD, claimed: '[]', pending: '[]', touched: [] })
  })
  await step()
  const [round, loop]: [number[], number[]] = [[], []]
  for (let burst = -WARM_UP; burst < effort.rounds; burst++) {
    rounds = asked = 0
    const start = performance.now()
    for (let index = 0; index < BURST; index++) await step()
    const between = performance.now()
    for (let index = 0; index < BURST; index++) await nextTurn()
    const end = performance.now()
    if (rounds !== BURST || asked !== BURST * operations) {
      throw new Error(`${BURST} steps asked ${asked} operations in ${rounds} rounds, not ${operations} in one each`)
    }
    if (burst < 0) continue
    round.push((between - start) / BURST)
    loop.push((end - between) / BURST)
  }
  engine.dispose()
  return { operations, round: summarize(round).median, loop: summarize(loop).median }
}
