/** The host: the harness's own packages on one Cordis context, with this package among them. */
import { Context } from '@deepseek-ai/cordis'
import * as instructions from '@deepseek-ai/dsh-agent-instructions'
import AgentRegistry from '@deepseek-ai/dsh-agent'
import type { Agent } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import LocalFileSystem from '@deepseek-ai/dsh-fs-local'
import LlmRuntime, { createUserMessage } from '@deepseek-ai/dsh-llm'
import SessionStore, { SessionId } from '@deepseek-ai/dsh-session'
import type { SessionEvent } from '@deepseek-ai/dsh-session'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import * as fileTools from '@deepseek-ai/dsh-tool-fs'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import type { ScriptedModel } from './model.ts'

/** What a host is set up with. */
export interface HostOptions {
  cwd: string
  dshHome: string
  maxBytes: number
  model: ScriptedModel
  /** Log of an earlier session to go on with. */
  log?: readonly SessionEvent[]
}

/** A running host with one agent. */
export class Host {
  private readonly context: Context
  private readonly agent: Agent
  private readonly failures: string[] = []

  private constructor(context: Context, agent: Agent) {
    this.context = context
    this.agent = agent
    context.on('agent/error', ({ error }) => {
      this.failures.push(error instanceof Error ? error.message : String(error))
    })
  }

  /**
   * Mount everything and create an agent.
   * @param options - directories, budget, model, and perhaps a session to go on with.
   * @returns the running host.
   */
  static async start({ cwd, dshHome, maxBytes, model, log }: HostOptions): Promise<Host> {
    const context = new Context()
    await context.plugin(SessionStore)
    await context.plugin(LlmRuntime)
    await context.plugin(SystemPrompt)
    await context.plugin(ToolRuntime)
    await context.plugin(AgentRegistry)
    await context.plugin(AgentLoop, { agents: [] })
    await context.plugin(LocalFileSystem, { cwd, diffBasisMaxBytes: 1024 * 1024 })
    await context.plugin(fileTools, {})
    await context.plugin(instructions, { dshHome, maxBytes })
    context.llm.registerAdapter(['scripted'], model)
    const { agent } = await context.agents.create({
      sessionId: SessionId('demo'),
      meta: { cwd },
      agentOptions: { provider: 'scripted', model: 'scripted' },
      ...log === undefined ? {} : { seed: log },
    })
    return new Host(context, agent)
  }

  /**
   * Send a prompt and wait until the agent has nothing left to do.
   * @param text - what the person says.
   * @throws when the turn failed.
   */
  async prompt(text: string): Promise<void> {
    this.agent.followup(createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }))
    await this.agent.whenIdle()
    if (this.failures.length > 0) throw new Error(`the turn failed: ${this.failures.join('; ')}`)
  }

  /**
   * Stop everything.
   * @returns the session's log, as it would be read back from a disk.
   */
  async stop(): Promise<SessionEvent[]> {
    const log = JSON.parse(JSON.stringify(this.agent.session.events)) as SessionEvent[]
    await this.context.fiber.dispose()
    return log
  }
}
