/**
 * What the lifetime tests and their child processes share: a mounted plugin over a
 * memory tree whose provider can be slow, or silent for ever.
 */
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type { PreStepDecision } from '@deepseek-ai/dsh-agent'
import type { SessionId } from '@deepseek-ai/dsh-session'
import { Faults, faultyFs } from '../support/faulty-fs.ts'
import { Host, ScriptedAgent } from '../support/host.ts'
import type { InstructionsPlugin } from '../support/host.ts'
import { World } from '../support/memory-fs.ts'

export const OPTIONS = { maxBytes: 65_536, dshHome: '/home/.dsh' }
const FILES = ['/home/.dsh/AGENTS.md', '/w/p/AGENTS.md', '/w/p/AGENTS.local.md', '/w/p/a/AGENTS.md']

/** How the provider answers: at once, after some turns of the event loop, or never. */
export type Pace = 'prompt' | 'slow' | 'never'

/** A log that keeps nothing: the rig must not grow by itself. */
const unread = () => Object.assign([] as string[], { push: () => 0 })

/** A mounted plugin. */
export class Rig {
  readonly world = new World()
  readonly faults = new Faults()
  readonly host: Host
  private counter = 0
  private edits = 0

  private constructor(plugin: InstructionsPlugin) {
    this.host = new Host(plugin, faultyFs(this.world, unread(), this.faults))
  }

  static async open(plugin: unknown, options: object = OPTIONS): Promise<Rig> {
    const rig = new Rig(plugin as InstructionsPlugin)
    rig.world.directory('/w/p/.git')
    for (const path of FILES) rig.edit(path)
    await rig.host.start(options)
    return rig
  }

  /** From now on the provider answers at this pace. */
  pace(pace: Pace): void {
    this.faults.every = pace === 'prompt' ? undefined : async honest => {
      if (pace === 'never') return await new Promise(() => {})
      await new Promise(resolve => setTimeout(resolve, 1))
      return await honest()
    }
  }

  edit(path = '/w/p/AGENTS.md'): void {
    this.world.file(path, `Edition ${++this.edits} of the instructions of ${path}.\n`.repeat(20))
  }

  /** An agent whose session is left to the collector once it is detached. */
  agent(): { agent: ScriptedAgent, detach: () => void } {
    const { sessions } = this.host.ctx
    const session = sessions.prepare(`session ${++this.counter}` as SessionId, { meta: { cwd: '/w/p' } })
    const detach = sessions.enter(session) as () => void
    return { agent: new ScriptedAgent(this.host.ctx, session), detach }
  }
}

/** Run one turn of one step and enter what comes of it. */
export async function step(agent: ScriptedAgent): Promise<string[]> {
  agent.prompt('go on')
  const entered = agent.enter(await agent.preStep())
  agent.endStep()
  return entered.map(({ source }) => source.kind)
}

/** Read a file below the session's directory, as the harness's tool would. */
export function touch(agent: ScriptedAgent): void {
  agent.toolResult({ name: 'read', arguments: { file_path: '/w/p/a/f.txt' } })
}

const note = createUserMessage({ content: [{ type: 'text', text: 'note' }], source: { kind: 'plugin', plugin: 'neighbour' } })

/** A pre-step whose batch is thrown away: nothing of it stays in the session. */
export async function rehearse(agent: ScriptedAgent, signal = new AbortController().signal): Promise<string[]> {
  const decision = await agent.preStep({ signal, decide: (): PreStepDecision => ({ kind: 'enter', messages: [note] }) })
  return decision.kind === 'enter' ? decision.messages.map(({ source }) => source.kind) : []
}
