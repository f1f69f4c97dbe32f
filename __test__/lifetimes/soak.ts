/**
 * Does the same thing very often and tells by how much memory grows each time: the slope,
 * by least squares, of what is in use after collections. Nothing ought to grow but what
 * is kept on purpose.
 * Usage: node --expose-gc --max-semi-space-size=2 soak.ts [--composes N] [--sessions N] [--json]
 * Without that bound V8 lets its space for young objects grow with the load, far beyond what is in use.
 */
import { parseArgs } from 'node:util'
import * as ours from '@deepseek-ai/dsh-agent-instructions'
import { OPTIONS, Rig, rehearse, step, touch } from './rig.ts'

const { values } = parseArgs({ options: {
  composes: { type: 'string', default: '100000' },
  sessions: { type: 'string', default: '10000' },
  json: { type: 'boolean', default: false },
} })
const composes = Number(values.composes)
const sessions = Number(values.sessions)
const CHECKPOINTS = 16

/** Bytes for each time. */
export interface Growth {
  readonly what: string
  readonly times: number
  readonly resident: number
  /** Resident bytes again, as the median of the stretches: one that grows a space once does not count. */
  readonly typical: number
  readonly external: number
  readonly heap: number
}

async function inUse(): Promise<NodeJS.MemoryUsage> {
  // Finalizers of native objects run in turns of their own, and free what the next collection finds.
  for (let round = 0; round < 3; round++) {
    await globalThis.gc?.()
    await new Promise(resolve => setImmediate(resolve))
  }
  return process.memoryUsage()
}

/** Least squares through the points at equal distances. */
function slope(points: readonly number[], distance: number): number {
  const mean = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length
  const centre = (points.length - 1) / 2
  const level = mean(points)
  return mean(points.map((point, at) => (at - centre) * (point - level))) / mean(points.map((_, at) => (at - centre) ** 2)) / distance
}

async function growth(what: string, times: number, work: (time: number) => Promise<unknown>): Promise<Growth> {
  const stretch = Math.ceil(times / CHECKPOINTS)
  const points: NodeJS.MemoryUsage[] = []
  // The first stretches fill caches and let the heap find its size.
  const settling = Math.ceil(CHECKPOINTS / 2)
  for (let time = 0, checkpoint = 0; checkpoint < CHECKPOINTS + settling; checkpoint++) {
    for (let left = stretch; left > 0; left--) await work(time++)
    const usage = await inUse()
    if (checkpoint >= settling) points.push(usage)
  }
  const steps = points.slice(1).map(({ rss }, at) => rss - (points[at] as NodeJS.MemoryUsage).rss).sort((left, right) => left - right)
  const each = (pick: (usage: NodeJS.MemoryUsage) => number) => Math.round(slope(points.map(pick), stretch) * 10) / 10
  return {
    what,
    times: stretch * CHECKPOINTS,
    resident: each(usage => usage.rss),
    typical: Math.round(steps[steps.length >> 1] as number / stretch * 10) / 10,
    external: each(usage => usage.external),
    heap: each(usage => usage.heapUsed),
  }
}

const turn = () => new Promise(resolve => setImmediate(resolve))
const lines: Growth[] = []
const tell = (line: Growth) => {
  lines.push(line)
  if (!values.json) console.log(`${line.what.padEnd(34)}${String(line.times).padStart(8)}  ${[line.resident, line.typical, line.external, line.heap].map(bytes => bytes.toFixed(1).padStart(10)).join('')}`)
}
if (!values.json) console.log(`${'bytes for each'.padEnd(34)}${'times'.padStart(8)}  ${['resident', 'typical', 'external', 'heap'].map(title => title.padStart(10)).join('')}`)

{
  const rig = await Rig.open(ours)
  const { agent } = rig.agent()
  touch(agent)
  await step(agent)
  await agent.preStep()
  const { seq } = agent.session
  const { content: original } = rig.world.nodes.get('/w/p/AGENTS.md') as { content: string }
  tell(await growth('composition', composes, async time => {
    // Something to say, nothing to say, and now and then nobody left to say it to.
    if (time % 2 === 0) rig.edit()
    else rig.world.file('/w/p/AGENTS.md', original)
    if (time % 8 !== 0) return await rehearse(agent)
    const controller = new AbortController()
    rig.faults.onCall = () => controller.abort(new Error('given up'))
    await rehearse(agent, controller.signal).catch(() => {})
    rig.faults.onCall = undefined
  }))
  if (agent.session.seq !== seq) throw new Error('the session has grown, and so would its memory')
  await rig.host.stop()
}
{
  const rig = await Rig.open(ours)
  const work = async () => {
    const { agent, detach } = rig.agent()
    touch(agent)
    await step(agent)
    await step(agent)
    detach()
  }
  tell(await growth('session that has ended', sessions, work))
  rig.pace('never')
  tell(await growth('session given up in silence', sessions * 2, async () => {
    const { agent, detach } = rig.agent()
    const controller = new AbortController()
    const step = agent.preStep({ signal: controller.signal })
    await turn()
    controller.abort(new Error('given up'))
    await step.catch(() => {})
    detach()
  }))
  rig.pace('prompt')
  const kept: unknown[] = []
  tell(await growth('session that idles', Math.ceil(sessions / 4), async () => {
    const { agent } = rig.agent()
    await step(agent)
    kept.push(agent)
  }))
  await rig.host.stop()
}
{
  const rig = await Rig.open(ours)
  const load = { maxBytes: 65_536, cwd: '/w/p', dshHome: '/home/.dsh' }
  tell(await growth('load from a provider', sessions, async () => await ours.loadBaselineInstructions(load, rig.host.ctx.get('fs'))))
  tell(await growth('load from the disk', sessions, async () => await ours.loadBaselineInstructions({ maxBytes: 65_536, cwd: process.cwd() })))
  tell(await growth('mount and unmount', Math.ceil(sessions / 5), async () => {
    const { agent, detach } = rig.agent()
    touch(agent)
    await rig.host.unmount()
    await rig.host.mount(OPTIONS)
    await step(agent)
    detach()
  }))
  await rig.host.stop()
}
if (values.json) console.log(JSON.stringify(lines))
