/**
 * The child of memory.ts: starts idle sessions of one side, batch by batch, and
 * prints how fast its memory grows.
 */
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type { UserMessage } from '@deepseek-ai/dsh-session'
import { chain } from './layouts.ts'
import { SIDES } from './memory.ts'
import type { Footprint } from './memory.ts'
import { isInstructions, plugins, Stage } from './stage.ts'
import { memoryTree } from './trees.ts'

const BATCHES = 8

const [side, count] = process.argv.slice(2) as [typeof SIDES[number], string]
const stage = await Stage.open(side === 'published' ? plugins.published : plugins.ours, memoryTree(), chain(3))

/** A baseline message as JSON, to be entered where no plugin composes one. */
async function specimen(): Promise<string> {
  const agent = stage.agent()
  agent.prompt('begin')
  const decision = await agent.preStep()
  const message = decision.kind === 'enter' ? decision.messages.find(isInstructions) : undefined
  if (message === undefined) throw new Error('there is no baseline')
  agent.endTurn()
  const { content, source } = message
  return JSON.stringify({ content, source })
}

const json = await specimen()
const bare = side === SIDES[2]
if (bare) await stage.host.unmount()

async function start(): Promise<void> {
  const agent = stage.agent()
  agent.prompt('begin')
  const decision = await agent.preStep()
  if (decision.kind !== 'enter') throw new Error('the session was not entered')
  const messages: UserMessage[] = bare ? [...decision.messages, createUserMessage(JSON.parse(json))] : decision.messages
  if (!messages.some(isInstructions)) throw new Error('there is no baseline')
  agent.enter({ ...decision, messages })
  agent.endStep()
  stage.tree.log.length = 0
}

async function settled(): Promise<NodeJS.MemoryUsage> {
  for (let round = 0; round < 3; round++) {
    await stage.quiet()
    await globalThis.gc?.()
  }
  return process.memoryUsage()
}

/** Least squares: bytes for each session. */
function slope(points: readonly NodeJS.MemoryUsage[], pick: (usage: NodeJS.MemoryUsage) => number, step: number): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [points.map((_, index) => index * step), points.map(pick)]
  const [centre, level] = [mean(x), mean(y)]
  const products = x.map((value, index) => (value - centre) * ((y[index] as number) - level))
  return mean(products) / mean(x.map(value => (value - centre) ** 2))
}

const batch = Math.ceil(Number(count) / BATCHES)
// The first batch grows the heap's own spaces.
for (let index = 0; index < batch; index++) await start()
const points = [await settled()]
for (let round = 0; round < BATCHES; round++) {
  for (let index = 0; index < batch; index++) await start()
  points.push(await settled())
}
const kib = (pick: (usage: NodeJS.MemoryUsage) => number) => slope(points, pick, batch) / 1024
const footprint: Footprint = {
  side,
  sessions: batch * BATCHES,
  resident: kib(usage => usage.rss),
  heap: kib(usage => usage.heapUsed),
  external: kib(usage => usage.external),
}
process.stdout.write(JSON.stringify(footprint))
