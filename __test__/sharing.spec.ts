/** Sessions that ask the same provider the same at one moment share the call, and nothing else. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as ours from '@deepseek-ai/dsh-agent-instructions'
import type { PreStepDecision } from '@deepseek-ai/dsh-agent'
import { allAborted } from '../src-js/abort.ts'
import { ProviderCalls } from '../src-js/provider-calls.ts'
import type { InstructionFs } from '../src-js/provider-calls.ts'
import { Host } from './support/host.ts'
import type { InstructionsPlugin, ScriptedAgent } from './support/host.ts'
import { memoryFs, World } from './support/memory-fs.ts'

const SESSIONS = 8
const world = new World()
world.directory('/w/p/.git')
world.file('/w/p/AGENTS.md', 'rule: project')
world.file('/w/p/a/AGENTS.md', 'rule: '.repeat(40_000))
const log: string[] = []
let pause: (() => Promise<void>) | undefined
let host: Host

beforeEach(async () => {
  log.length = 0
  pause = undefined
  host = new Host(ours as unknown as InstructionsPlugin, memoryFs(world, log, async () => await pause?.()))
  await host.start({ dshHome: '/w/home', maxBytes: 500_000 })
})
afterEach(() => host.stop())

const textOf = (decision: PreStepDecision) => decision.kind === 'enter'
  ? decision.messages.flatMap(({ content }) => content.map(block => block.type === 'text' ? block.text : '')).join('\n')
  : ''
const agents = (count: number, cwd = '/w/p/a') => Array.from({ length: count }, () => {
  const agent = host.agent(cwd)
  agent.prompt('begin')
  return agent
})
const start = (all: readonly ScriptedAgent[]) => Promise.all(all.map(agent => agent.preStep()))

describe('sessions that start together', () => {
  it('ask as often as one of them, and are told the same', async () => {
    const [alone] = await start(agents(1))
    const asked = [...log]
    await host.stop()
    host = new Host(ours as unknown as InstructionsPlugin, memoryFs(world, log))
    await host.start({ dshHome: '/w/home', maxBytes: 500_000 })
    log.length = 0
    const together = await start(agents(SESSIONS))
    expect(log.toSorted()).toEqual(asked.toSorted())
    for (const decision of together) expect(textOf(decision)).toBe(textOf(alone as PreStepDecision))
    expect(textOf(alone as PreStepDecision)).toContain('rule: project')
  })

  it('do not end each other: one that is given up leaves the call to the others', async () => {
    const [alone] = await start(agents(1))
    const all = agents(3)
    let open = () => {}
    const gate = new Promise<void>(resolve => { open = resolve })
    pause = () => gate
    const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()]
    const steps = all.map((agent, index) => agent.preStep({ signal: ([first, second, third][index] as AbortController).signal }))
    const given = [expect(steps[0]).rejects.toThrow('enough'), expect(steps[1]).rejects.toThrow('enough')]
    await new Promise(setImmediate)
    first.abort(new Error('enough'))
    second.abort(new Error('enough'))
    await Promise.all(given)
    open()
    expect(textOf(await steps[2] as PreStepDecision)).toBe(textOf(alone as PreStepDecision))
  })

  it('give up what nobody else has asked for, whoever else is still waiting', async () => {
    const signals: AbortSignal[] = []
    const provider = memoryFs(world, [])
    class Stuck extends provider {
      override resolve(path: string, options?: { cwd?: string, signal?: AbortSignal }): ReturnType<InstanceType<typeof provider>['resolve']> {
        if (!path.startsWith('/w/p/a/')) return super.resolve(path, options)
        if (options?.signal !== undefined) signals.push(options.signal)
        return new Promise(() => {})
      }
    }
    const stuck = await new Host(ours as unknown as InstructionsPlugin, Stuck).start({ dshHome: '/w/home', maxBytes: 500_000 })
    const [here, elsewhere] = [stuck.agent('/w/p/a'), stuck.agent('/w/p')]
    for (const agent of [here, elsewhere]) agent.prompt('begin')
    const controller = new AbortController()
    const [given, other] = [here.preStep({ signal: controller.signal }), elsewhere.preStep()]
    expect(textOf(await other)).toContain('rule: project')
    expect(signals.length).toBeGreaterThan(0)
    expect(signals.some(signal => signal.aborted)).toBe(false)
    controller.abort(new Error('enough'))
    await expect(given).rejects.toThrow('enough')
    expect(signals.every(signal => signal.aborted)).toBe(true)
    await stuck.stop()
  })

  it('are each told of a failure, and each of its end', async () => {
    world.faults.set('read:/w/p/AGENTS.md', 3)
    const all = agents(2)
    const failed = await start(all)
    world.faults.clear()
    for (const [index, decision] of failed.entries()) {
      expect(textOf(decision)).not.toContain('rule: project')
      const agent = all[index] as ScriptedAgent
      agent.enter(decision)
      agent.endStep(true)
      expect(textOf(await agent.preStep())).toContain('rule: project')
    }
  })
})

describe('provider calls', () => {
  const chunks = async function* (log: string[]) {
    for (const chunk of ['a', 'b', 'c']) {
      log.push(chunk)
      yield chunk
    }
  }

  it('stream on while anyone wants more, and no longer', async () => {
    const streamed: string[] = []
    const fs = { streamText: async () => chunks(streamed) } as unknown as InstructionFs
    const calls = new ProviderCalls(fs, undefined)
    const target = {} as never
    const heard: [string[], string[], string[]] = [[], [], []]
    const upTo = (count: number, mine: string[]) => (chunk: string) => mine.push(chunk) < count
    const readings = await Promise.all([calls.read(target, upTo(1, heard[0])), calls.read(target, upTo(2, heard[1]))])
    expect(readings).toEqual([{ kind: 'stopped' }, { kind: 'stopped' }])
    expect(heard).toEqual([['a'], ['a', 'b'], []])
    expect(streamed).toEqual(['a', 'b'])
    expect(await new ProviderCalls(fs, undefined).read(target, upTo(9, heard[2]))).toEqual({ kind: 'ended' })
    expect(heard[2]).toEqual(['a', 'b', 'c'])
  })
})

describe('a joint signal', () => {
  it('is the only one there is', () => {
    const { signal } = new AbortController()
    expect(allAborted([signal, signal]).signal).toBe(signal)
    expect(allAborted([undefined]).signal).toBeUndefined()
  })

  it('aborts with the last of them, for its reason', () => {
    const [one, other] = [new AbortController(), new AbortController()]
    const { signal } = allAborted([one.signal, other.signal])
    one.abort('one')
    expect(signal?.aborted).toBe(false)
    other.abort('other')
    expect(signal?.reason).toBe('other')
    expect(allAborted([one.signal, other.signal]).signal?.aborted).toBe(true)
  })

  it('never aborts for one who waits however long it takes, nor once released', () => {
    const [one, other] = [new AbortController(), new AbortController()]
    const endless = allAborted([one.signal, undefined]).signal
    const { signal, release } = allAborted([one.signal, other.signal])
    one.abort()
    release()
    other.abort()
    expect([endless?.aborted, signal?.aborted]).toEqual([false, false])
  })
})
