/**
 * Plays one scenario on one host and notes, after every action, all that a host, a
 * model or a log reader could see.
 */
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type { PreStepDecision } from '@deepseek-ai/dsh-agent'
import type { SessionEvent, UserMessage } from '@deepseek-ai/dsh-session'
import { Host } from '../support/host.ts'
import type { InstructionsPlugin, ScriptedAgent } from '../support/host.ts'
import { World, memoryFs } from '../support/memory-fs.ts'
import type { OperationLog } from '../support/memory-fs.ts'
import type { Action, CallAction, Decision, Scenario, WorldAction } from './scenario.ts'

/** What could be seen after one action. */
export interface Observation {
  action: Action | 'setup'
  /** The pre-step's decision, or the error that it threw. */
  decision?: unknown
  inbox: unknown
  surface: unknown
  /** Durable inbox splices, unless the action made several touches at once (issue "touches coalesce"). */
  splices: unknown
}

/** One host on which a scenario is played. */
export class Player {
  private readonly world = new World()
  private readonly log: OperationLog = []
  private readonly host: Host
  private readonly ids = new Map<string, string>()
  private named = 0
  private agent!: ScriptedAgent
  private mark = 0
  /** Touches since the last one that was projected. */
  private touches = 0
  private config: object
  private readonly scenario: Scenario

  constructor(scenario: Scenario, plugin: InstructionsPlugin) {
    this.scenario = scenario
    this.config = scenario.config
    this.host = new Host(plugin, memoryFs(this.world, this.log))
  }

  /** Play everything. */
  async play(): Promise<Observation[]> {
    for (const action of this.scenario.setup) this.change(action)
    await this.host.start(this.config)
    this.agent = this.host.agent(this.scenario.cwd)
    const observations: Observation[] = []
    for (const action of this.scenario.actions) {
      const decision = await this.act(action)
      await this.settle()
      observations.push(this.observe(action, decision, this.touches > 1))
      // Touches of an open step are projected together when it ends.
      if (!this.agent.stepOpen) this.touches = 0
    }
    await this.host.stop()
    return observations
  }

  /** Let everything that was set in motion come to rest. */
  private async settle(): Promise<void> {
    for (let quiet = 0, seen = -1; quiet < 4; quiet = seen === this.log.length ? quiet + 1 : 0) {
      seen = this.log.length
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  private change(action: WorldAction): void {
    const { world } = this
    switch (action.do) {
      case 'file': return this.replace(action.path, () => world.file(action.path, action.content))
      case 'directory': return this.replace(action.path, () => world.directory(action.path))
      case 'other': return this.replace(action.path, () => world.other(action.path))
      case 'link': return this.replace(action.path, () => world.link(action.path, action.to))
      case 'remove': return world.remove(action.path)
      case 'rename': if (world.nodes.has(action.from) && action.from !== action.to) this.replace(action.to, () => world.rename(action.from, action.to)); return
      case 'touchVersion': {
        const node = world.nodes.get(action.path)
        if (node !== undefined) node.version = world.version()
        return
      }
      case 'fault': world.faults.set(`${action.point}:${action.path}`, action.at); return
      case 'heal': world.faults.clear(); return
      case 'stream': world.chunkSize = action.chunkSize; world.sizes = action.sizes
    }
  }

  /** Whatever stands at the path or, as a file, above it gives way. */
  private replace(path: string, create: () => void): void {
    const parts = path.split('/')
    for (let length = 2; length < parts.length; length++) {
      const parent = parts.slice(0, length).join('/')
      const node = this.world.nodes.get(parent)
      if (node !== undefined && node.kind !== 'directory') this.world.remove(parent)
    }
    const own = this.world.nodes.get(path)
    if (own !== undefined && own.kind !== 'directory') this.world.remove(path)
    else if (own?.kind === 'directory' && create.toString().includes('world.directory') === false) this.world.remove(path)
    create()
  }

  private call(action: CallAction, parent?: object): void {
    const token = Object.freeze({})
    for (const nested of action.nested) this.call(nested, token)
    const controller = new AbortController()
    if (action.aborted) controller.abort()
    if (action.name !== 'run_code') this.touches++
    this.agent.toolResult({
      name: action.name,
      arguments: action.arguments,
      isError: action.isError,
      agentless: action.agentless,
      token,
      signal: controller.signal,
      ...(parent === undefined ? {} : { parent }),
    })
  }

  private async act(action: Action): Promise<unknown> {
    switch (action.do) {
      case 'prompt': this.agent.prompt('do it'); return undefined
      case 'context': this.agent.agent.inbox.append(action.at, note('context')); return undefined
      case 'call': this.call(action); return undefined
      case 'step': return await this.step(action)
      case 'end': this.agent.endStep(action.keepTurn); return undefined
      case 'compact': this.agent.compact(action.from, action.to); return undefined
      case 'resume': {
        this.closeTurn()
        const { session } = this.agent
        this.agent = this.host.agent(session.header.cwd, session.events)
        this.agent.turn = lastTurn(session.events)
        this.mark = this.agent.session.seq
        return undefined
      }
      case 'remount': {
        this.config = { ...this.config, ...action.config }
        await this.host.unmount()
        await this.host.mount(this.config)
        return undefined
      }
      case 'agent': {
        this.closeTurn()
        this.agent = this.host.agent(action.cwd)
        this.mark = 0
        return undefined
      }
      default: this.change(action); return undefined
    }
  }

  private closeTurn(): void {
    this.agent.endStep()
  }

  private async step(action: Extract<Action, { do: 'step' }>): Promise<unknown> {
    if (this.agent.stepOpen) this.agent.endStep(true)
    const controller = new AbortController()
    if (action.abort === 'before') controller.abort(new Error('stopped before'))
    try {
      const decision = await this.agent.preStep({
        signal: controller.signal,
        decide: async claimed => {
          for (const during of action.during) {
            if (during.do === 'call') this.call(during)
            else this.change(during)
            await this.settle()
          }
          if (action.abort === 'during') controller.abort(new Error('stopped during'))
          return decide(action.decision, claimed)
        },
      })
      this.agent.enter(decision)
      return this.clean(decision)
    } catch (error) {
      this.agent.endTurn()
      return `threw ${String(error)}`
    }
  }

  private observe(action: Action, decision: unknown, coalesces: boolean): Observation {
    const { session, agent } = this.agent
    const events = session.events.slice(this.mark)
    this.mark = session.seq
    // Of several touches, only what stays is compared: whether an intermediate message gave it another identity is not.
    if (coalesces) for (const { id, source } of agent.inbox.nextStep) if (source.kind === 'agent-instructions') this.name(id)
    const splices = events.filter(event => event.type === 'agent/inbox/spliced').map(event => event.data)
    return {
      action,
      ...(decision === undefined ? {} : { decision }),
      inbox: this.clean({ step: agent.inbox.nextStep, turn: agent.inbox.nextTurn }),
      surface: this.clean(session.deriveMessages()),
      splices: coalesces ? 'several touches' : this.clean(splices),
    }
  }

  private name(id: string): string {
    const name = `#${this.named++}`
    this.ids.set(id, name)
    return name
  }

  /** Copy a value with message identities numbered by first appearance: which message is which stays visible. */
  private clean(value: unknown): unknown {
    return JSON.parse(JSON.stringify(value), (key, inner: unknown) => {
      if (key !== 'id' || typeof inner !== 'string') return inner
      const name = this.ids.get(inner)
      return name ?? this.name(inner)
    })
  }
}

function note(text: string): UserMessage {
  return createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'plugin', plugin: 'neighbour' } })
}

function decide(decision: Decision, claimed: UserMessage[]): PreStepDecision {
  const instructions = (message: UserMessage) => message.source.kind === 'agent-instructions'
  switch (decision) {
    case 'reject': return { kind: 'reject' }
    case 'empty': return { kind: 'enter', messages: [] }
    case 'drop-instructions': return { kind: 'enter', messages: claimed.filter(message => !instructions(message)) }
    case 'drop-user': return { kind: 'enter', messages: [note('instead'), ...claimed.filter(instructions)] }
    case 'reverse': return { kind: 'enter', messages: [...claimed].reverse() }
    case 'surround': return { kind: 'enter', messages: [note('before'), ...claimed, note('after')] }
    case 'keep': return { kind: 'enter', messages: claimed }
  }
}

function lastTurn(events: readonly SessionEvent[]): number {
  const start = events.findLast(event => event.type === 'turn/start')
  return start?.type === 'turn/start' ? start.data.turn : 0
}
