/**
 * Hosts from 0.1.2 on, by their shape: sessions without `events`, enter decisions with further fields, no
 * dsh-invariants, another name for the renderer. None of them is told by its version.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import * as ours from '@deepseek-ai/dsh-agent-instructions'
import type { PreStepDecision } from '@deepseek-ai/dsh-agent'
import type { Session, SessionEvent, UserMessage } from '@deepseek-ai/dsh-session'
import { Host, settle } from './support/host.ts'
import type { InstructionsPlugin, ScriptedAgent } from './support/host.ts'
import { World, memoryFs } from './support/memory-fs.ts'

const CONFIG = { maxBytes: 65_536, dshHome: '/home/.dsh' }

/** The ways in which a session gives its events away. */
const SHAPES = {
  'events': ['events'],
  'eventAt and snapshotEvents': ['eventAt', 'snapshotEvents'],
  'eventAt alone': ['eventAt'],
  'snapshotEvents alone': ['snapshotEvents'],
} as const
type Shape = keyof typeof SHAPES
type Way = typeof SHAPES[Shape][number]

/** How often each way was taken. */
type Asked = Record<Way, number>

/** The whole log, whatever the session's shape. */
function logOf(session: Session): readonly SessionEvent[] {
  return [...(session as unknown as { log: readonly SessionEvent[] }).log]
}

/** Give a session these ways to its events, and no other: what it does not have is not even inherited. */
function reshape(session: Session, shape: Shape): Asked {
  const asked: Asked = { events: 0, eventAt: 0, snapshotEvents: 0 }
  const counted = <T>(way: Way, value: T): T => {
    asked[way]++
    return value
  }
  const { events: _, ...others } = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(session) as object) as Record<string, PropertyDescriptor>
  const ways: Record<Way, PropertyDescriptor> = {
    events: { get: () => counted('events', logOf(session)) },
    eventAt: { value: (seq: number) => counted('eventAt', logOf(session)[seq]) },
    snapshotEvents: { value: () => counted('snapshotEvents', Object.freeze(logOf(session))) },
  }
  const own = Object.fromEntries(SHAPES[shape].map(way => [way, ways[way]]))
  Object.setPrototypeOf(session, Object.create(Object.prototype, { ...others, ...own }) as object)
  return asked
}

const hosts: Host[] = []
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.stop()
})

async function start(world: World): Promise<Host> {
  const host = new Host(ours as unknown as InstructionsPlugin, memoryFs(world, []))
  hosts.push(host)
  return await host.start(CONFIG)
}

function worldOf(files: Record<string, string>): World {
  const world = new World()
  world.directory('/w/p/.git')
  for (const [path, content] of Object.entries(files)) world.file(path, content)
  return world
}

/** An agent whose session has the shape from the moment on when the loop hands it to plugins. */
function agentOf(host: Host, shape: Shape, seed?: readonly SessionEvent[]): { agent: ScriptedAgent, asked: Asked } {
  const agent = host.agent('/w/p', seed)
  agent.turn = seed?.filter(event => event.type === 'turn/start').length ?? 0
  return { agent, asked: reshape(agent.session, shape) }
}

/** One turn of one step: the instruction texts that enter. */
async function turn(agent: ScriptedAgent, during?: () => unknown): Promise<string[]> {
  agent.prompt('go on')
  const entered = agent.enter(await agent.preStep())
  await during?.()
  agent.endStep()
  await settle()
  return entered.flatMap(instructionTexts)
}

function instructionTexts({ source, content }: UserMessage): string[] {
  if (source.kind !== 'agent-instructions') return []
  return content.map(block => block.type === 'text' ? block.text : '')
}

describe.each(Object.keys(SHAPES) as Shape[])('a session with %s', shape => {
  it('has no other way to its events', async () => {
    const { agent } = agentOf(await start(worldOf({})), shape)
    for (const way of ['events', 'eventAt', 'snapshotEvents'] as const) {
      expect(way in agent.session).toBe((SHAPES[shape] as readonly Way[]).includes(way))
    }
  })

  it('is told what it has not seen, and nothing twice', async () => {
    const world = worldOf({ '/w/p/AGENTS.md': 'root', '/w/p/a/AGENTS.md': 'nested' })
    const { agent } = agentOf(await start(world), shape)
    expect(await turn(agent, () => agent.toolResult({ name: 'read', arguments: { file_path: 'a/x' } })))
      .toEqual([expect.stringContaining('Instructions from: AGENTS.md\n\nroot')])
    expect(await turn(agent)).toEqual([expect.stringContaining('Additional instructions from: a/AGENTS.md')])
    expect(await turn(agent)).toEqual([])
    world.file('/w/p/a/AGENTS.md', 'changed')
    expect(await turn(agent)).toEqual([expect.stringContaining('Updated instructions from: a/AGENTS.md')])
  })

  it('is resumed from its log: a baseline that stands there is not said again, an edit meanwhile is', async () => {
    const world = worldOf({ '/w/p/AGENTS.md': 'root' })
    const host = await start(world)
    const first = agentOf(host, shape).agent
    await turn(first)
    const log = logOf(first.session)
    expect(await turn(agentOf(host, shape, log).agent)).toEqual([])
    world.file('/w/p/AGENTS.md', 'edited')
    expect(await turn(agentOf(host, shape, log).agent)).toEqual([expect.stringContaining('Updated instructions from: AGENTS.md')])
  })

  it('is told anew what a compaction took away', async () => {
    const { agent } = agentOf(await start(worldOf({ '/w/p/AGENTS.md': 'root' })), shape)
    await turn(agent)
    agent.compact(0, agent.session.surface.nodes.length - 1)
    expect(await turn(agent)).toEqual([expect.stringContaining('Instructions from: AGENTS.md')])
  })

  it('is known to be within a step by a plugin that was mounted during it', async () => {
    const host = await start(worldOf({ '/w/p/a/AGENTS.md': 'nested' }))
    const { agent } = agentOf(host, shape)
    agent.prompt('go on')
    agent.enter(await agent.preStep())
    await host.unmount()
    await host.mount(CONFIG)
    agent.toolResult({ name: 'read', arguments: { file_path: 'a/x' } })
    await settle()
    expect(agent.agent.inbox.nextStep).toEqual([])
    agent.endStep(true)
    await settle()
    expect(agent.agent.inbox.nextStep.flatMap(instructionTexts)).toEqual([expect.stringContaining('a/AGENTS.md')])
  })

  it('is followed event by event: a warm step walks no log', async () => {
    const { agent, asked } = agentOf(await start(worldOf({ '/w/p/AGENTS.md': 'root' })), shape)
    await turn(agent)
    await turn(agent)
    const before = { ...asked }
    for (let count = 0; count < 10; count++) await turn(agent)
    expect(asked).toEqual(before)
    // One event is asked for where that is possible, not a copy of all.
    if (shape === 'eventAt and snapshotEvents') expect(asked.snapshotEvents).toBe(0)
  })
})

describe('an enter decision with further fields', () => {
  const further = { startsRequestSeries: true, series: { id: 'a' } }
  const decide = (messages: UserMessage[]) => ({ kind: 'enter', messages, ...further }) as PreStepDecision

  it('keeps them when instructions are folded into its messages', async () => {
    const { agent } = agentOf(await start(worldOf({ '/w/p/AGENTS.md': 'root' })), 'eventAt alone')
    agent.prompt('go on')
    const decision = await agent.preStep({ decide })
    expect(decision).toMatchObject({ kind: 'enter', ...further })
    expect(agent.enter(decision).flatMap(instructionTexts)).toHaveLength(1)
  })

  it('is returned as it is when there is nothing to say', async () => {
    const { agent } = agentOf(await start(worldOf({})), 'eventAt alone')
    agent.prompt('go on')
    let decided: PreStepDecision | undefined
    expect(await agent.preStep({ decide: messages => decided = decide(messages) })).toBe(decided)
  })

  it('keeps them on a later step whose only message are the instructions', async () => {
    const world = worldOf({ '/w/p/AGENTS.md': 'root' })
    const { agent } = agentOf(await start(world), 'eventAt alone')
    agent.prompt('go on')
    agent.enter(await agent.preStep())
    world.file('/w/p/AGENTS.md', 'edited')
    agent.endStep(true)
    const decision = await agent.preStep({ decide })
    expect(decision).toMatchObject(further)
    expect(agent.enter(decision).flatMap(instructionTexts)).toEqual([expect.stringContaining('edited')])
  })
})

/** Run a module in a process that cannot find packages of these names. */
function without(packages: readonly string[], source: string): { status: number | null, output: string } {
  const hooks = `
    const missing = ${JSON.stringify(packages)}
    export async function resolve(specifier, context, next) {
      if (missing.some(name => specifier === name || specifier.startsWith(name + '/'))) {
        throw Object.assign(new Error('not installed: ' + specifier), { code: 'ERR_MODULE_NOT_FOUND' })
      }
      return next(specifier, context)
    }`
  const url = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`
  const register = `import { register } from 'node:module'; register(${JSON.stringify(url(hooks))})`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', url(register), '--input-type=module', '--eval', source], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    encoding: 'utf8',
  })
  return { status, output: stdout + stderr }
}

describe('without dsh-invariants', () => {
  const missing = ['@deepseek-ai/dsh-invariants']

  it('cannot be imported at all, in the processes of these tests', () => {
    expect(without(missing, 'import \'@deepseek-ai/dsh-invariants\'')).toMatchObject({ status: 1, output: expect.stringContaining('not installed') })
  })

  it('the package is imported and mounted; nor does it load what only its command line needs', () => {
    expect(without([...missing, 'commander', 'yaml'], `
      import { Context } from '@deepseek-ai/cordis'
      import * as plugin from '@deepseek-ai/dsh-agent-instructions'
      const ctx = new Context()
      await ctx.plugin(plugin, { maxBytes: 1 })
      await ctx.fiber.dispose()
      console.log(plugin.name)`)).toEqual({ status: 0, output: 'agent-instructions\n' })
  })

  it('the companion can be mounted, and waits for a service that never comes', () => {
    expect(without(missing, `
      import { Context } from '@deepseek-ai/cordis'
      import * as companion from '@deepseek-ai/dsh-agent-instructions/invariant'
      const ctx = new Context()
      let applied = false
      ctx.plugin({ ...companion, apply: () => { applied = true } })
      await new Promise(resolve => setTimeout(resolve, 50))
      console.log(companion.name, applied)`)).toEqual({ status: 0, output: 'workspace-context-invariant false\n' })
  })
})

it('renders under either name', () => {
  expect(ours.renderAgentInstructions).toBe(ours.renderWorkspaceContext)
  const files = [{ absolutePath: '/AGENTS.md', displayPath: 'AGENTS.md', content: 'text' }]
  expect(ours.renderAgentInstructions(files, { maxBytes: 1000 }).text).toContain('Instructions from: AGENTS.md\n\ntext')
})
