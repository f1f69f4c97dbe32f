/**
 * Whatever a provider does, at whatever moment, to whichever file: nothing escapes, nobody
 * waits for ever, and nothing is concluded from it. Once it is well again the next step
 * tells the truth.
 */
import type { PreStepDecision } from '@deepseek-ai/dsh-agent'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type { UserMessage } from '@deepseek-ai/dsh-session'
import * as ours from '@deepseek-ai/dsh-agent-instructions'
import * as published from 'published-agent-instructions'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FAULTS } from './support/fault-table.ts'
import type { Fault, Word } from './support/fault-table.ts'
import { CONFIG, POSITIONS, Stage } from './support/fault-stage.ts'
import type { PositionName } from './support/fault-stage.ts'
import { CALLS, STREAM } from './support/faulty-fs.ts'
import type { Behaviour, Point } from './support/faulty-fs.ts'
import { Host, settle } from './support/host.ts'
import type { InstructionsPlugin, ScriptedAgent } from './support/host.ts'
import { memoryFs, World } from './support/memory-fs.ts'

/** The first session of a mount, a step that finds an edit, a touch, a resumed session, and a first step where another session was. */
type Phase = 'cold' | 'warm' | 'touch' | 'resume' | 'again'
const PHASES: readonly Phase[] = ['cold', 'warm', 'touch', 'resume', 'again']
const isFirst = (phase: Phase) => phase === 'cold' || phase === 'again'
const NESTED = POSITIONS['nested candidate'].scope
const NAMES = Object.keys(POSITIONS) as PositionName[]

const escaped: unknown[] = []
const escape = (error: unknown) => { escaped.push(error) }
beforeAll(() => { process.on('unhandledRejection', escape).on('uncaughtException', escape) })
afterAll(() => { process.off('unhandledRejection', escape).off('uncaughtException', escape) })
afterEach(async () => {
  await settle(2)
  expect(escaped.splice(0)).toEqual([])
})

/** Nothing is ever read of a marker. */
const canStrike = (name: PositionName, point: Point) => name !== 'root marker' || ['resolve', 'stat', 'lstat'].includes(point)

/** What an answer is worth at one place: `lstat` only spares work, and a marker that cannot be seen is none. */
function worth(fault: Fault, point: Point, name: PositionName): Word {
  if (fault.word === 'unknown' && (point === 'lstat' || name === 'root marker')) return 'honest'
  return fault.word
}

/** How often each point was struck, lest a row pass because nothing happened. */
const strikes = new Map<string, number>()

async function play(stage: Stage, phase: Phase, name: PositionName, point: Point, fault: Fault): Promise<void> {
  await stage.remount()
  if (phase === 'again') {
    stage.begin()
    await stage.step()
  }
  stage.begin()
  const { faults, warnings } = stage
  const { path, display, scope } = POSITIONS[name]
  const word = worth(fault, point, name)
  const nested = name === 'nested candidate'
  if (!isFirst(phase)) await stage.step()
  if (phase === 'warm' || phase === 'resume') await stage.touched()
  if (!isFirst(phase)) stage.edit(name)
  if (phase === 'resume') {
    await stage.remount()
    stage.resume()
  }
  const before = stage.known()

  faults.sticks = fault.sticks ?? false
  faults.set(point, path, fault.behave)
  // An early end needs a reason.
  if (point === 'return') faults.set('middle', path, () => ({ done: false, value: 7 }))
  await (phase === 'touch' || (isFirst(phase) && nested) ? stage.touched(word) : stage.step(word))
  const struck = faults.struck > 0
  strikes.set(`${phase} ${point}`, (strikes.get(`${phase} ${point}`) ?? 0) + faults.struck)
  const known = stage.known()
  if (!struck || word === 'honest') {
    expect(known).toEqual(expected(stage, phase, nested))
  } else if (word === 'unknown') {
    const kept = before[scope]
    const truth = expected(stage, phase, nested)
    delete truth[scope]
    expect(known).toEqual({ ...truth, ...(kept === undefined ? {} : { [scope]: kept }) })
  } else if (point === 'lstat') {
    expect(Object.keys(known)).toEqual(expect.arrayContaining(Object.keys(before)))
  }
  const inChain = !nested && name !== 'root marker'
  if (struck && word === 'unknown' && inChain && (isFirst(phase) || phase === 'resume')) expect(warnings).toHaveLength(1)
  expect(warnings.length).toBeLessThan(2)
  for (const warning of warnings) expect(warning).toContain(`instruction files not loaded in full: ${display} `)

  faults.heal()
  await (phase === 'touch' || nested ? stage.touched() : stage.step())
  expect(stage.known()).toEqual(expected(stage, phase, nested))
  const { seq } = stage.agent.session
  await stage.step()
  expect(stage.agent.session.events.slice(seq).filter(event => event.type === 'user/message')).toHaveLength(1)
  expect(warnings.length).toBeLessThan(2)
}

const note = (text: string) => createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'plugin', plugin: 'neighbour' } })

/** The truth, of the nested directory only once it was touched. */
function expected(stage: Stage, phase: Phase, nested: boolean): Record<string, string> {
  return stage.truth(isFirst(phase) && !nested ? NESTED : '')
}

describe.each(PHASES)('%s', phase => {
  for (const [row, fault] of FAULTS.entries()) {
    it(fault.name, async () => {
      const stage = await Stage.open()
      for (const [column, point] of fault.points.entries()) {
        // A bad value is a bad value wherever it turns up: these take turns.
        const all = NAMES.filter(name => canStrike(name, point))
        const names = fault.everywhere ? all : all.filter((_, index) => (index + row + column) % 2 === 0)
        for (const name of names) {
          try {
            await play(stage, phase, name, point, fault)
          } catch (error) {
            if (error instanceof Error) error.message = `${point} of the ${name}: ${error.message}`
            throw error
          }
        }
      }
      await stage.host.stop()
    })
  }
})

it('every point was struck in every phase', () => {
  const points: Point[] = [...CALLS, ...STREAM, 'iterator', 'return']
  const named = PHASES.flatMap(phase => points.map(point => `${phase} ${point}`))
  // Where another session was, every position holds a file, and what is known to be there is not peeked at.
  const missing = named.filter(name => name !== 'again lstat').filter(name => (strikes.get(name) ?? 0) === 0)
  expect(missing).toEqual([])
})

it('a marker is there or none as the published plugin has it, whatever is said of it', async () => {
  const fails: Behaviour[] = [() => { throw new Error('fault') }, () => Promise.reject(new Error('fault')), () => undefined]
  const garbles: Behaviour[] = [null, 7, 'text', true, {}, [], { type: 'weird' }].map(value => () => value)
  for (const behave of [...fails, ...garbles]) {
    // What is resolved to nonsense cannot be asked after.
    for (const point of fails.includes(behave) ? ['resolve', 'stat'] as const : ['stat'] as const) {
      const histories = []
      for (const plugin of [ours, published]) {
        const stage = await Stage.open(plugin)
        stage.begin('/w/p/c')
        await stage.step()
        const history = [stage.known()]
        expect(history).toEqual([stage.truth(NESTED)])
        stage.faults.set(point, POSITIONS['root marker'].path, behave)
        await stage.step()
        history.push(stage.known())
        stage.faults.heal()
        await stage.step()
        history.push(stage.known())
        expect(history[2]).toEqual(history[0])
        histories.push(history)
        await stage.host.stop()
      }
      expect(histories[0]).toEqual(histories[1])
    }
  }
})

describe('an answer that comes too late', () => {
  const answers = { 'is honest': (honest: () => unknown) => honest(), 'is a failure': () => { throw new Error('fault') }, 'is nothing': () => undefined }
  for (const [kind, answer] of Object.entries(answers)) {
    it(`${kind}, after the step was given up`, async () => {
      for (const point of [...CALLS, ...STREAM]) {
        const stage = await held(point, answer)
        await stage.step('never')
        stage.faults.release()
        await settle(4)
        expect(stage.known()).toEqual({})
        stage.faults.heal()
        await stage.step()
        await finish(stage)
      }
    })

    it(`${kind}, after the plugin was disposed and mounted again`, async () => {
      for (const point of [...CALLS, ...STREAM]) {
        const stage = await held(point, answer)
        stage.agent.prompt('go on')
        const decision = stage.agent.preStep()
        await settle(8)
        await stage.host.unmount()
        // The batch enters as it was.
        const stuck = settle(500).then(() => { throw new Error('the pre-step did not settle') })
        expect(stage.agent.enter(await Promise.race([decision, stuck])).map(({ source }) => source.kind)).toEqual(['user'])
        stage.agent.endStep()
        stage.faults.release()
        await settle(4)
        stage.faults.heal()
        await stage.host.mount(CONFIG)
        await stage.step()
        await finish(stage)
      }
    })
  }

  /** A stage whose overlay is not answered for until the test says so: an overlay is asked about in every way. */
  async function held(point: Point, answer: (honest: () => unknown) => unknown): Promise<Stage> {
    const stage = await Stage.open()
    stage.faults.set(point, POSITIONS.overlay.path, (honest, faults) => faults.hold(() => answer(honest)))
    return stage
  }

  async function finish(stage: Stage): Promise<void> {
    expect(stage.known()).toEqual(expected(stage, 'cold', false))
    expect(stage.warnings).toEqual([])
    await stage.host.stop()
  }
})

it.each([1, 2, 5])('%s projections that never settle hold up no step beyond its signal, and no later one', async touches => {
  const stage = await Stage.open()
  // A touch does not ask for this file's own entry.
  for (const point of [...CALLS, ...STREAM].filter(point => point !== 'lstat')) {
    stage.begin()
    await stage.step()
    stage.faults.set(point, POSITIONS['nested candidate'].path, () => new Promise(() => {}))
    for (let touch = 0; touch < touches; touch++) {
      stage.touch()
      await settle(4)
    }
    await stage.step('never')
    stage.faults.heal()
    await stage.step()
    expect(stage.known()).toEqual(stage.truth())
  }
  await stage.host.stop()
})

describe('the provider calls of a projection that never settles are aborted', () => {
  const ends: Record<string, (host: Host, agent: ScriptedAgent) => Promise<unknown>> = {
    'when the plugin is disposed': host => host.unmount(),
    'when a step gives it up': async (_, agent) => {
      const controller = new AbortController()
      agent.prompt('go on')
      const decision = agent.preStep({ signal: controller.signal })
      await settle(2)
      controller.abort()
      await expect(decision).rejects.toThrow()
    },
  }
  it.each(Object.entries(ends))('%s', async (_, end) => {
    const world = new World()
    world.directory('/w/p/.git')
    world.file('/w/p/AGENTS.md', 'rule: project')
    const signals: (AbortSignal | undefined)[] = []
    let answers = true
    const Provider = memoryFs(world, [])
    class Silent extends Provider {
      override lstat(...parameters: Parameters<InstanceType<typeof Provider>['lstat']>): ReturnType<InstanceType<typeof Provider>['lstat']> {
        if (answers) return super.lstat(...parameters)
        signals.push(parameters[2])
        return new Promise(() => {})
      }
    }
    const host = await new Host(ours as unknown as InstructionsPlugin, Silent).start(CONFIG)
    const agent = host.agent('/w/p')
    agent.prompt('begin')
    agent.enter(await agent.preStep())
    agent.endStep()
    answers = false
    agent.toolResult({ name: 'read', arguments: { file_path: 'src/file' } })
    await settle(4)
    expect(signals.length).toBeGreaterThan(0)
    expect(signals.map(signal => signal?.aborted)).toEqual(signals.map(() => false))
    await end(host, agent)
    expect(signals.map(signal => signal?.aborted)).toEqual(signals.map(() => true))
    await host.stop()
  })
})

describe('given up at every single call', () => {
  for (const minds of [true, false]) {
    const provider = minds ? 'a provider that minds its signal' : 'a provider that does not care'
    it(`a cold pre-step, ${provider}`, async () => await everyCall(minds, async () => {}))
    it(`a touch and the pre-step behind it, ${provider}`, async () => await everyCall(minds, async stage => {
      await stage.step()
      stage.edit('root candidate')
      stage.touch()
    }))
    it(`a cold pre-step where another session was, ${provider}`, async () => await everyCall(minds, async stage => {
      await stage.step()
      stage.begin()
    }))
    it(`a resumed pre-step, ${provider}`, async () => await everyCall(minds, async stage => {
      await stage.step()
      stage.edit('overlay')
      stage.resume()
    }))
  }

  async function everyCall(minds: boolean, prepare: (stage: Stage) => Promise<void>): Promise<void> {
    const stage = await Stage.open()
    const { faults } = stage
    faults.mindsSignals = minds
    let given = 0
    for (let at = 1; given === at - 1; at++) {
      await stage.remount()
      stage.begin()
      await prepare(stage)
      const { agent } = stage
      const { inbox } = agent.agent
      const controller = new AbortController()
      const reason = new Error(`given up at call ${at}`)
      faults.calls = 0
      faults.onCall = call => { if (call === at) controller.abort(reason) }
      agent.prompt('go on')
      let waiting: unknown[] = []
      const decide = (messages: UserMessage[]): PreStepDecision => {
        // What arrives while the step is on its way stays for the next one.
        inbox.append('next-step', note('arrived'))
        waiting = [...inbox.nextStep]
        return { kind: 'enter', messages }
      }
      const outcome = await agent.preStep({ signal: controller.signal, decide }).catch((error: unknown) => error)
      faults.onCall = undefined
      if (controller.signal.aborted) expect(outcome).toBe(reason)
      else agent.enter(outcome as PreStepDecision)
      given += Number(controller.signal.aborted)
      agent.endTurn()
      await settle(4)
      expect(inbox.nextStep).toEqual(expect.arrayContaining(waiting))
      await stage.step()
      expect(stage.known()).toEqual(stage.truth(Object.keys(stage.known()).includes(NESTED) ? '' : NESTED))
      expect(stage.warnings).toEqual([])
      const entered = agent.session.deriveMessages() as UserMessage[]
      expect(entered.filter(message => message.content.some(block => block.type === 'text' && block.text === 'arrived'))).toHaveLength(1)
    }
    expect(given).toBeGreaterThan(8)
    await stage.host.stop()
  }
})

describe('a provider without an operation', () => {
  for (const operation of CALLS) {
    const name = operation === 'open' ? 'streamText' : operation
    it.each([['that throws when it is looked up', { get() { throw new Error('fault') } }], ['that is no function', { value: 7 }]])(`${name}, %s`, async (_, property) => {
      const stage = await Stage.open()
      stage.spoil(name, property)
      // As nothing can be said, everything is tried again at every step; a person is told once.
      for (let step = 0; step < 3; step++) await stage.step()
      expect(stage.known()).toEqual(operation === 'lstat' ? expected(stage, 'cold', false) : {})
      expect(stage.warnings).toHaveLength(operation === 'lstat' ? 0 : 1)
      await stage.host.stop()
    })
  }
})
