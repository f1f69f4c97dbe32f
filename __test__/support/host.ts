/**
 * A host small enough to script: a real Cordis context, the real session store
 * and inbox, and an agent that a test steps by hand. What an agent loop would
 * do at a boundary is one method here.
 */
import { Context } from '@deepseek-ai/cordis'
import { Inbox } from '@deepseek-ai/dsh-agent'
import type { Agent, PreStepDecision } from '@deepseek-ai/dsh-agent'
import { scopeTarget } from '@deepseek-ai/dsh-scope'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import SessionStore from '@deepseek-ai/dsh-session'
import type { Session, SessionEvent, SessionId, UserMessage } from '@deepseek-ai/dsh-session'

/** The plugin under test: ours or the published one. */
export interface InstructionsPlugin {
  name: string
  Config: unknown
  apply: (ctx: Context, config: never) => void
}

/** A tool call as `tools/result` observers see it. */
export interface ToolCall {
  name: string
  arguments: unknown
  isError?: boolean
  token?: object
  parent?: object
  signal?: AbortSignal
  agentless?: boolean
}

/** One live agent over one session. */
export class ScriptedAgent {
  readonly agent: Agent
  readonly ctx: Context
  readonly session: Session
  turn = 0
  step = 0
  stepOpen = false
  turnOpen = false
  readonly warnings: string[] = []

  constructor(ctx: Context, session: Session) {
    this.ctx = ctx
    this.session = session
    const inbox = new Inbox(session, { inserted() {}, discarded() {}, claimed() {} })
    this.agent = {
      id: session.id,
      options: {},
      session,
      inbox,
      status: 'idle',
      ctx,
      inject: (message: UserMessage) => inbox.append('next-step', message),
    } as unknown as Agent
  }

  /** Queue a user prompt for the next turn. */
  prompt(text: string): void {
    this.agent.inbox.append('next-turn', createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }))
  }

  /** Run the `agent/pre-step` waterfall over the claimed batch. */
  async preStep(options: {
    signal?: AbortSignal
    decide?: (claimed: UserMessage[]) => PreStepDecision | Promise<PreStepDecision>
  } = {}): Promise<PreStepDecision> {
    const first = !this.turnOpen
    if (first) {
      this.turn++
      this.step = 0
      this.session.append('turn/start', { turn: this.turn })
      this.turnOpen = true
    }
    const claimed = this.agent.inbox.claim(first ? 'next-turn' : 'next-step', this.turn)
    const waterfall = this.ctx.waterfall as unknown as (...args: unknown[]) => Promise<PreStepDecision>
    return await waterfall.call(this.ctx, scopeTarget(this.agent, this.agent), 'agent/pre-step', {
      agent: this.agent,
      messages: claimed,
      turn: this.turn,
      step: this.step + 1,
      signal: options.signal ?? new AbortController().signal,
    }, async () => options.decide === undefined ? { kind: 'enter', messages: claimed } : await options.decide(claimed))
  }

  /** Append an entered batch and leave the step open, as the loop does before the model request. */
  enter(decision: PreStepDecision): UserMessage[] {
    if (decision.kind === 'reject' || (this.step === 0 && decision.messages.length === 0)) {
      this.endTurn()
      return []
    }
    this.step++
    this.session.append('step/start', { turn: this.turn, step: this.step })
    this.stepOpen = true
    for (const message of decision.messages) this.session.append('user/message', message, { surfaceOp: 'append' })
    return decision.messages
  }

  /** Close the open step, then the turn unless `keepTurn`. */
  endStep(keepTurn = false): void {
    if (this.stepOpen) this.session.append('step/end', { turn: this.turn, step: this.step })
    this.stepOpen = false
    if (!keepTurn) this.endTurn()
  }

  endTurn(): void {
    if (this.turnOpen) this.session.append('turn/end', { turn: this.turn, reason: { kind: 'completed' } })
    this.turnOpen = false
  }

  /** Publish one tool outcome to the `tools/result` observers. */
  toolResult(call: ToolCall): object {
    const token = call.token ?? Object.freeze({})
    const agent = call.agentless ? undefined : this.agent
    const exec = Object.freeze({
      callId: 'call',
      rootCallId: 'call',
      name: call.name,
      arguments: call.arguments,
      ...(agent === undefined ? {} : { agent }),
      ...(call.parent === undefined ? {} : { parent: call.parent }),
      token,
      signal: call.signal ?? new AbortController().signal,
    })
    const result = Object.freeze(call.isError
      ? { isError: true, content: [], error: { name: 'Error', message: 'failed' } }
      : { isError: false, content: [], value: null })
    const args = [scopeTarget(this as object, agent), 'tools/result', exec, result]
    for (const callback of this.ctx.events.dispatch('emit', args)) {
      try {
        void Promise.resolve(callback(...args)).catch(error => this.warnings.push(String(error)))
      } catch (error) {
        this.warnings.push(String(error))
      }
    }
    return token
  }

  /** Replace a range of the surface by one summary, as compaction does. */
  compact(first: number, last: number): void {
    const nodes = [...this.session.surface.nodes]
    const shadowed = nodes.slice(first, last + 1)
    if (shadowed.length === 0) return
    this.session.append('user/message', createUserMessage({
      content: [{ type: 'text', text: 'summary' }],
      source: { kind: 'plugin', plugin: 'compaction' },
    }), {
      surfaceOp: { op: 'replace', start: shadowed[0]!, end: shadowed.at(-1)! },
      sourceEventSeqs: shadowed,
    })
  }
}

/** A mounted context with one provider and one instructions plugin. */
export class Host {
  readonly ctx = new Context()
  readonly plugin: InstructionsPlugin
  readonly provider: unknown
  readonly providerConfig: object
  private fiber: { dispose(): Promise<void> } | undefined
  private counter = 0

  constructor(plugin: InstructionsPlugin, provider?: unknown, providerConfig: object = {}) {
    this.plugin = plugin
    this.provider = provider
    this.providerConfig = providerConfig
  }

  async start(config: object): Promise<this> {
    await this.ctx.plugin(SessionStore as never, {} as never)
    if (this.provider !== undefined) await this.ctx.plugin(this.provider as never, this.providerConfig as never)
    await this.mount(config)
    return this
  }

  async mount(config: object): Promise<void> {
    this.fiber = await this.ctx.plugin(this.plugin as never, config as never) as never
  }

  async unmount(): Promise<void> {
    await this.fiber?.dispose()
    this.fiber = undefined
  }

  agent(cwd: string | undefined, seed?: readonly SessionEvent[], id?: string): ScriptedAgent {
    const session = this.ctx.sessions.create((id ?? `s${++this.counter}`) as SessionId, {
      ...(seed === undefined ? {} : { seed }),
      meta: cwd === undefined ? {} : { cwd },
    })
    return new ScriptedAgent(this.ctx, session)
  }

  async stop(): Promise<void> {
    await (this.ctx as unknown as { fiber: { dispose(): Promise<void> } }).fiber.dispose()
  }
}

/** Let every queued projection and microtask settle. */
export async function settle(rounds = 20): Promise<void> {
  for (let round = 0; round < rounds; round++) await new Promise(resolve => setImmediate(resolve))
}
