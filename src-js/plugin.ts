/**
 * The plugin's life in a host: which event leads to which composition.
 *
 * Three listeners. `tools/result` collects touches; `session/event` follows the log
 * and releases what a step held back; `agent/pre-step` folds what the model has to
 * be told into the batch that enters. Everything that concerns one session runs in
 * one queue. ARCHITECTURE.md walks one touch through this file.
 *
 * @module @deepseek-ai/dsh-agent-instructions/plugin
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent, PreStepDecision } from '@deepseek-ai/dsh-agent'
import type { Session, UserMessage } from '@deepseek-ai/dsh-session'
import { abortable } from './abort.ts'
import { mountCommand } from './command.ts'
import { resolveConfig } from './config.ts'
import type { Config } from './config.ts'
import { SessionHistory } from './history.ts'
import { HostFiles, RootMarkerError } from './host-fs.ts'
import { foldAfterClaimed, instructionMessage, isInstructionMessage, pendingInstructions, sameInstructions } from './messages.ts'
import type { InstructionMessage } from './messages.ts'
import { ProviderMemory, SessionMemory } from './native.ts'
import type { NativeMessage, NativeShortfall } from './native.ts'
import { providerBehind } from './provider-calls.ts'
import type { InstructionFs } from './provider-calls.ts'
import { reasonOf } from './reason.ts'
import { TouchLedger } from './touches.ts'

/** What the plugin keeps of one session, for as long as the session itself lives. */
interface SessionState {
  readonly history: SessionHistory
  /** Touches that wait for the open step's end. */
  staged: string[]
  /** Touches that the next projection takes. */
  queued: string[]
  /** The queue's tail; it never rejects. */
  tail: Promise<void>
  /** Whether a projection is queued that has not started. */
  projecting: boolean
  /** For the projections that are queued or running; none before the first, and after they were given up. */
  patience: Patience | undefined
  knowledge: Knowledge | undefined
  /** Whether a person was told of files that the model was not told in full. */
  reported: boolean
}

/**
 * Mount the plugin.
 * @param ctx - the host's context; `fs` is looked up whenever it is needed.
 * @param config - validated options.
 */
export function apply(ctx: Context, config: Config): void {
  const instructions = new AgentInstructions(ctx, config)
  ctx.on('agent/pre-step', (payload, next) => instructions.preStep(payload, next))
  ctx.on('tools/result', (exec, result) => instructions.toolResult(exec, result))
  ctx.on('session/event', (session, event) => instructions.sessionEvent(session, event))
  ctx.effect(() => () => instructions.dispose())
  mountCommand(ctx, config)
}

/** What the core knows of a session. */
interface Knowledge {
  readonly memory: SessionMemory
  /** The provider that it is about. */
  readonly provider: InstructionFs
  /** The list of visible messages that it was told of, and how many of them. */
  list: readonly InstructionMessage[]
  count: number
}

/** How long projections may take. */
interface Patience {
  /** Gives them up. */
  readonly end: () => void
  /** Aborts when they are given up, and when the plugin is disposed. */
  readonly signal: AbortSignal
}

type PreStepPayload = { agent: Agent, messages: UserMessage[], step: number, signal: AbortSignal }
type ToolResultArguments = Parameters<TouchLedger['settle']>

class AgentInstructions {
  private readonly ctx: Context
  private readonly files: HostFiles
  private readonly touches = new TouchLedger()
  private readonly sessions = new WeakMap<Session, SessionState>()
  private readonly providers = new WeakMap<InstructionFs, ProviderMemory>()
  private readonly agents = new WeakMap<Session, Agent>()
  private readonly mounted = new AbortController()

  constructor(ctx: Context, config: Config) {
    this.ctx = ctx
    this.files = new HostFiles(resolveConfig(config))
  }

  dispose(): void {
    this.mounted.abort()
    this.files.dispose()
  }

  /** Collect the touches of a settled tool call; the step that is open decides when they count. */
  toolResult(...[exec, result]: ToolResultArguments): undefined {
    for (const { agent, path } of this.touches.settle(exec, result)) {
      const state = this.state(agent.session)
      this.agents.set(agent.session, agent)
      if (state.history.inStep()) {
        state.staged.push(path)
      } else {
        this.project(agent, [path])
      }
    }
  }

  /** Follow the log; a step's end releases what the step has held back. */
  sessionEvent(session: Session, event: Parameters<SessionHistory['follow']>[0]): void {
    const state = this.sessions.get(session)
    if (state === undefined) return
    state.history.follow(event)
    const agent = this.agents.get(session)
    if (event.type !== 'step/end' || state.staged.length === 0 || agent === undefined) return
    this.project(agent, state.staged.splice(0))
  }

  /** Fold what the model has to be told into the entering batch, or leave it in the inbox. */
  async preStep({ agent, messages: claimed, step, signal }: PreStepPayload, next: () => Promise<PreStepDecision>): Promise<PreStepDecision> {
    const decision = await next()
    signal.throwIfAborted()
    const state = this.state(agent.session)
    const enters = decision.kind === 'enter' && (decision.messages.length > 0 || step > 1)
    // Touches of a projection that was given up come first.
    if (state.queued.length > 0) this.project(agent, [])
    const composing = this.enqueue(state, async () => {
      signal.throwIfAborted()
      const pending = pendingInstructions(agent)
      if (pending === undefined) return await this.compose(agent, state, claimed, [], signal)
      // A projection has run meanwhile: what it put into the inbox is to be said, unless, not seeing the
      // batch at hand, it has said the very same again.
      const atHand = enters ? decision.messages : claimed
      return atHand.some(message => isInstructionMessage(message) && sameInstructions(message, pending)) ? undefined : pending
    }, signal)
    const composed = await abortable(composing, signal).catch((error: unknown) => {
      // What comes before it in the queue may never settle: it must hold up neither this step nor the next,
      // which takes over its touches.
      state.patience?.end()
      state.patience = undefined
      state.projecting = false
      throw error
    })
    signal.throwIfAborted()
    if (!enters || composed === undefined) {
      this.place(agent, state, composed)
      return decision
    }
    this.place(agent, state, undefined)
    return { ...decision, messages: foldAfterClaimed(decision.messages, claimed, composed) }
  }

  /** Bring the inbox's instruction message up to date with the touches that have come in. */
  private project(agent: Agent, touched: readonly string[]): void {
    const state = this.state(agent.session)
    state.queued.push(...touched)
    // Touches that arrive before a queued projection starts join it.
    if (state.projecting) return
    state.projecting = true
    const { signal } = state.patience ??= this.patience()
    void this.enqueue(state, async () => {
      if (signal.aborted) return
      state.projecting = false
      const paths = state.queued.splice(0)
      try {
        const message = await this.compose(agent, state, [], paths, signal)
        if (!this.mounted.signal.aborted) this.place(agent, state, message)
      } catch (error) {
        // Given up, or held up by a marker: the next step takes over.
        if (signal.aborted || error instanceof RootMarkerError) state.queued.unshift(...paths)
        if (!signal.aborted) throw error
      }
    })
  }

  /** Make `message` the inbox's instruction message; `undefined`, and what the model sees word for word, leave none. */
  private place(agent: Agent, state: SessionState, message: InstructionMessage | undefined): void {
    const pending = pendingInstructions(agent)
    if (message === undefined || state.history.visible().some(seen => sameInstructions(seen, message))) {
      if (pending !== undefined) agent.inbox.remove(pending.id)
    } else if (pending === undefined) {
      agent.inbox.prepend('next-step', message)
    } else if (!sameInstructions(pending, message)) {
      agent.inbox.replace(pending.id, message)
    }
  }

  /** Run one composition; `undefined` when nothing is to be said. Without a provider nothing is known, and what waits stays. */
  private async compose(
    agent: Agent,
    state: SessionState,
    claimed: readonly UserMessage[],
    touched: string[],
    signal: AbortSignal,
  ): Promise<InstructionMessage | undefined> {
    const fs = this.ctx.get('fs') as InstructionFs | undefined
    const pending = pendingInstructions(agent)
    if (fs === undefined) return pending
    const memory = this.memoryOf(state, fs)
    const failures = new Map<string, string>()
    const outcome = await this.files.run(fs, signal, engine => engine.compose(memory, {
      cwd: agent.session.header.cwd ?? process.cwd(),
      claimed: sourcesJson(claimed.filter(isInstructionMessage)),
      pending: sourcesJson(pending === undefined ? [] : [pending]),
      touched,
    }), failures)
    this.report(state, memory.takeShortfalls(), failures)
    return outcome === undefined ? undefined : instructionMessage(outcome as NativeMessage)
  }

  /** Tell a person, once in a session, which files the model was not told in full. */
  private report(state: SessionState, shortfalls: readonly NativeShortfall[], failures: ReadonlyMap<string, string>): void {
    if (state.reported || shortfalls.length === 0) return
    state.reported = true
    const accounts = shortfalls.map(({ displayPath, absolutePath, kind }) => {
      const reason = kind === 'unavailable' || kind === 'refused' ? failures.get(absolutePath) : undefined
      return `${displayPath} ${kind}${reason === undefined ? '' : ` (${reason})`}`
    })
    this.ctx.logger.warn(`instruction files not loaded in full: ${accounts.join('; ')}`)
  }

  private memoryOf(state: SessionState, fs: InstructionFs): SessionMemory {
    const provider = providerBehind(fs)
    const list = state.history.visible()
    let { knowledge } = state
    if (knowledge?.provider !== provider) {
      const shared = this.providers.get(provider) ?? new ProviderMemory()
      this.providers.set(provider, shared)
      // A new memory takes the model to have seen nothing, as that of a new session has.
      state.knowledge = knowledge = { memory: new SessionMemory(shared), provider, list, count: 0 }
    }
    const { memory, count } = knowledge
    if (knowledge.list !== list) memory.see(sourcesJson(list))
    else if (count < list.length) memory.seeFurther(sourcesJson(list.slice(count)))
    knowledge.list = list
    knowledge.count = list.length
    return memory
  }

  /**
   * Run `work` after everything queued for the session.
   * A failure is reported once and costs that work only; an abort is the caller's to see.
   */
  private enqueue<T>(state: SessionState, work: () => Promise<T>, signal?: AbortSignal): Promise<T | undefined> {
    const run = state.tail.then(work).catch((error: unknown) => {
      if (signal?.aborted || this.mounted.signal.aborted) return undefined
      this.ctx.logger.warn(`instruction refresh failed: ${reasonOf(error)}`)
      return undefined
    })
    state.tail = run.then(() => undefined)
    return run
  }

  private patience(): Patience {
    const controller = new AbortController()
    // Joined once for all projections of a session: it is a good part of what a single touch costs.
    return { end: () => controller.abort(), signal: AbortSignal.any([this.mounted.signal, controller.signal]) }
  }

  private state(session: Session): SessionState {
    let state = this.sessions.get(session)
    if (state === undefined) {
      state = {
        history: new SessionHistory(session),
        staged: [],
        queued: [],
        tail: Promise.resolve(),
        projecting: false,
        patience: undefined,
        knowledge: undefined,
        reported: false,
      }
      this.sessions.set(session, state)
    }
    return state
  }
}

function sourcesJson(messages: readonly InstructionMessage[]): string {
  return JSON.stringify(messages.map(({ source }) => source))
}
