/**
 * One side of a comparison: a real Cordis host with one of the two plugins
 * mounted over a tree of its own.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import * as ours from '@deepseek-ai/dsh-agent-instructions'
import * as published from 'published-agent-instructions'
import type { Context } from '@deepseek-ai/cordis'
import type { SessionEvent, UserMessage } from '@deepseek-ai/dsh-session'
import { Host } from '../__test__/support/host.ts'
import type { InstructionsPlugin, ScriptedAgent } from '../__test__/support/host.ts'
import type { Layout, LayoutFactory } from './layouts.ts'
import type { Tree, TreeFactory } from './trees.ts'

/** Which plugin is mounted. */
export type SideName = 'published' | 'ours'

/** A message of the plugins that are compared. */
export type Instructions = UserMessage & {
  source: { kind: 'agent-instructions', changes: { action: string, scope: string, path: string }[] }
}

/** Both plugins, by side. */
export const plugins: Record<SideName, InstructionsPlugin> = {
  published: published as unknown as InstructionsPlugin,
  ours: ours as unknown as InstructionsPlugin,
}

const PATIENCE = 60_000

/** A mounted plugin over a laid-out tree. */
export class Stage {
  readonly host: Host
  readonly tree: Tree
  readonly layout: Layout
  private watcher: ((event: SessionEvent) => void) | undefined

  private constructor(host: Host, tree: Tree, layout: Layout) {
    this.host = host
    this.tree = tree
    this.layout = layout
  }

  /** Lay out a fresh tree and mount one side over it. */
  static async open(plugin: InstructionsPlugin, makeTree: TreeFactory, layOut: LayoutFactory): Promise<Stage> {
    const tree = makeTree()
    const layout = layOut(tree)
    const stage = new Stage(new Host(plugin, tree.provider), tree, layout)
    await stage.host.start(layout.config)
    stage.ctx.on('session/event', (_session, event) => stage.watcher?.(event))
    return stage
  }

  /** Mount the plugin anew: it remembers nothing of earlier sessions. */
  async remount(): Promise<void> {
    await this.host.unmount()
    await this.host.mount(this.layout.config)
  }

  get ctx(): Context {
    return this.host.ctx
  }

  /** A live agent over a fresh session, or over one resumed from `seed`. */
  agent(seed?: readonly SessionEvent[]): ScriptedAgent {
    return this.host.agent(this.layout.cwd, seed)
  }

  /**
   * Idle until nothing has been asked of the provider for a while: what a trial has set in motion
   * ends with it, and the next one meets a process at rest, as a step does after the model's answer.
   * @param pause - milliseconds of idling.
   */
  async quiet(pause = 2): Promise<void> {
    for (let asked = -1; asked !== this.tree.log.length;) {
      asked = this.tree.log.length
      await sleep(pause)
    }
  }

  /** Wait until the message that waits in the agent's inbox satisfies `reached`; resolves as soon as it is there. */
  waiting(agent: ScriptedAgent, reached: (message: Instructions) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const impatience = setTimeout(() => {
        this.watcher = undefined
        reject(new Error(`the inbox still holds ${JSON.stringify(pending(agent)?.source)} after ${PATIENCE} ms`))
      }, PATIENCE)
      this.watcher = event => {
        if (event.type !== 'agent/inbox/spliced') return
        // The log entry comes first; the inbox itself follows within the same job.
        queueMicrotask(() => {
          const message = pending(agent)
          if (message === undefined || !reached(message)) return
          clearTimeout(impatience)
          this.watcher = undefined
          resolve()
        })
      }
    })
  }

  /** Spell a message without what differs from tree to tree and from run to run. */
  spell(messages: readonly UserMessage[]): string {
    return JSON.stringify(messages.map(({ content, source }) => ({ content, source }))).replaceAll(this.tree.root, '')
  }

  async close(): Promise<void> {
    await this.host.stop()
    this.tree.dispose()
  }
}

/**
 * Tell the plugins' messages from all others.
 * @param message - any user message.
 * @returns whether one of the compared plugins sent it.
 */
export function isInstructions(message: UserMessage): message is Instructions {
  return (message.source as { kind: string }).kind === 'agent-instructions'
}

/**
 * Look into an inbox.
 * @param agent - whose inbox.
 * @returns the instruction message that waits there.
 */
export function pending({ agent }: ScriptedAgent): Instructions | undefined {
  return [...agent.inbox.nextStep, ...agent.inbox.nextTurn].find(isInstructions)
}
